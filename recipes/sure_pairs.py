"""Pairs that a verifier is sure of, to move an encoder's cosines by.

    python recipes/sure_pairs.py taught.jsonl OUT.csv [--pairs N] [--seed N]

taught.jsonl is of recipes/taught_rows.py. Half of the pairs say the same, half are near without
saying it; contradictions are left out, since no cosine tells them, and so are the sets that
benchmarks/far_wordings.py measures by. OUT is a table in the form of STS-B, with scores of 5 and 0.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from random import Random

from recipes.verifier_parts.contrast_rows import HELD, ContrastRow, read_rows

KINDS = ("paraphrase", "intent", "near")
SURE, LONGEST = 0.9, 25


def sure(row: ContrastRow) -> bool:
    """Whether label and teacher agree on a row that a cosine can tell."""
    taught = row.says if row.taught is None else row.taught
    likely = taught if row.says else 1 - taught
    words = max(len(row.phrase.split()), len(row.text[row.start : row.end].split()))
    known = row.kind in KINDS and row.source not in HELD
    return known and likely >= SURE and words <= LONGEST


def main() -> None:
    """Choose, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("taught", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pairs", type=int, default=24_000)
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    rng = Random(options.seed)  # noqa: S311
    rows = list(filter(sure, read_rows(options.taught)))
    rng.shuffle(rows)
    half = options.pairs // 2
    chosen = [row for says in (True, False) for row in [r for r in rows if r.says is says][:half]]
    rng.shuffle(chosen)
    with options.out.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        for row in chosen:
            span = " ".join(row.text[row.start : row.end].split())
            writer.writerow((row.phrase, span, 5.0 if row.says else 0.0))
    print(f"{options.out}: {len(chosen):,} pairs")


if __name__ == "__main__":
    main()
