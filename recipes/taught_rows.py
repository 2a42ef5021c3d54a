"""Let a verifier read contrasts and hits that nobody has labelled, to teach other models.

    python recipes/taught_rows.py VERIFIER found.jsonl OUT --data DATA

VERIFIER is a folder that recipes/verifier.py made, found.jsonl of recipes/found_contrasts.py. Rows
keep their label, and get the mean of it and of the verifier's probability. Hits are the first ones
of phrases over real text in which nothing was placed, so most are near and wrong in the ways of
real text; they get the verifier's probability. Of those that it clearly refuses one in four is
kept. No text of benchmarks/natural is read.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random

from recipes.found_contrasts import TEXTS, hit_row, hits_of, passages, phrases
from recipes.verifier_parts.contrast_rows import (
    ContrastRow,
    by_phrase,
    first_rows,
    read_rows,
    write_rows,
)
from slice_os import Document, SpanEncoder
from slice_os.verifier.claims import claim_in
from slice_os.verifier.cross_encoder import CrossEncoderVerifier

RANKS = (*range(6), 9, 14, 24)
PHRASES = 180  # searched over the same texts
AT_ONCE = 4_096
LIKELY, CLEAR = 0.5, 0.005


def unread(
    data: Path, encoder: SpanEncoder, some: Iterable[list[ContrastRow]], count: int, rng: Random
) -> Iterator[ContrastRow]:
    """Hits over texts of each kind in turn; their ``says`` is not known yet.

    Fewer than ``count``, if there are no more phrases.
    """
    texts = passages(data)
    for those in texts.values():
        rng.shuffle(those)
    found, made = iter(some), 0
    while made < count:
        for kind in [*texts]:
            documents = [Document(str(at), text) for at, text in enumerate(texts[kind][:TEXTS])]
            texts[kind] = texts[kind][TEXTS:]
            wanted = [rows[0].phrase for rows in islice(found, PHRASES)]
            if not wanted:
                return
            for hits in hits_of(encoder, documents, wanted, RANKS):
                made += len(hits)
                yield from (hit_row(hit, False, "near", "unread") for hit in hits)
        print(f"{made:,} hits", flush=True)


def taught(teacher: CrossEncoderVerifier, rows: Sequence[ContrastRow]) -> Iterator[ContrastRow]:
    """Rows with what the verifier says of them."""
    for first in range(0, len(rows), AT_ONCE):
        some = rows[first : first + AT_ONCE]
        claims = [claim_in(row.phrase, row.text, row.start, row.end) for row in some]
        for at, (row, verdict) in enumerate(zip(some, teacher.check(claims), strict=True)):
            probability = verdict.probability
            if row.source == "unread":
                if probability < CLEAR and at % 4:
                    continue
                says = probability >= LIKELY
                kind = "paraphrase" if says else "near"
                yield replace(row, says=says, kind=kind, taught=round(probability, 4))
            else:
                yield replace(row, taught=round((row.says + probability) / 2, 4))
        print(f"{first + len(some):,} of {len(rows):,} read", flush=True)


def main() -> None:
    """Choose rows, find hits, and write what the verifier says of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verifier", type=Path)
    parser.add_argument("found", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--rows", type=int, default=150_000, help="rows, those of phrases with hits first"
    )
    parser.add_argument("--hits", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=2)
    options = parser.parse_args()
    rng = Random(options.seed)  # noqa: S311
    rows = list(read_rows(options.found))
    groups = list(by_phrase(rows).values())
    order = rng.sample(groups, len(groups))
    order.sort(key=lambda group: not any(row.source == "found" for row in group))
    kept = first_rows(order, options.rows)
    hits = unread(options.data, SpanEncoder(), phrases(rows, rng), options.hits, rng)
    teacher = CrossEncoderVerifier(options.verifier)
    write_rows(taught(teacher, [*kept, *hits]), options.out)


if __name__ == "__main__":
    main()
