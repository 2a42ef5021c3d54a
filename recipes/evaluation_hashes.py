"""Regenerate the list of evaluation sentences that no training text may contain.

    python recipes/evaluation_hashes.py DATA            # compare the list with the sets in DATA
    python recipes/evaluation_hashes.py DATA --write    # regenerate it in slice_os/datasets

The list has one sha1 for each text of three sets, all in full (docs/datasets.md says where to get
them): both sentences of every pair of STS-B test (stsb/stsb-en-test.csv), phrase, paraphrase and
passage of every row of STS-B-Context (sts-b-context/sts-test-sentences-clean.tsv), and both
sentences of every pair of PiC PS test (pic/ps_test.json). `slice_os.datasets.decontamination`
says how a text is normalised before it is hashed.

A part of a set (sts-test-sentences-clean.half.tsv) is compared, too, but only the complete sets
are written.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterator
from pathlib import Path

from slice_os.datasets.decontamination import SHIPPED_HASHES, read_hashes, sentence_hash
from slice_os.datasets.graded_pairs import read_sts_b
from slice_os.evaluation.pic.phrase_files import load_pairs
from slice_os.evaluation.sts_b_context.context_rows import load_rows

COMPLETE = (
    "stsb/stsb-en-test.csv",
    "sts-b-context/sts-test-sentences-clean.tsv",
    "pic/ps_test.json",
)
PARTS = ("sts-b-context/sts-test-sentences-clean.half.tsv",)


def texts(path: Path) -> Iterator[str]:
    """The texts of one of the sets."""
    if path.suffix == ".csv":
        for pair in read_sts_b(path):
            yield from (pair.first, pair.second)
    elif path.suffix == ".tsv":
        for row in load_rows(path):
            yield from (row.query, row.paraphrase, row.passage)
    else:
        for phrases in load_pairs(path):
            yield from (phrases.sentence1, phrases.sentence2)


def main() -> None:
    """Compare, and write if requested."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    listed = read_hashes(SHIPPED_HASHES).hashes
    missing = [name for name in COMPLETE if not (options.data / name).is_file()]
    found: set[str] = set()
    for name in (*COMPLETE, *PARTS):
        if (options.data / name).is_file():
            hashes = {sentence_hash(text) for text in texts(options.data / name)}
            print(f"{name}: {len(hashes):,} texts, {len(hashes & listed):,} of them in the list")
            found |= hashes
    for name in missing:
        print(f"{name}: not found")
    if options.write:
        if missing:
            raise SystemExit("not written: the list needs all three sets")
        content = "".join(f"{one}\n" for one in sorted(found)).encode()
        SHIPPED_HASHES.write_bytes(gzip.compress(content, mtime=0))
        print(f"{SHIPPED_HASHES}: {len(found):,} hashes")
        return
    print(f"the list: {len(listed):,} hashes, {len(listed - found):,} of texts that are not here")
    if found - listed or (not missing and listed != found):
        raise SystemExit("the list does not fit these sets")


if __name__ == "__main__":
    main()
