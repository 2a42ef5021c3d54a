"""Let two networks read rows, and one of them hits that nobody read, to teach a third one.

    python recipes/taught_rows.py DATA TEACHER read.jsonl contrasts.jsonl OUT

TEACHER is the folder torch of a larger network (slice-verify-teacher.toml), read.jsonl of
recipes/read_contrasts.py, contrasts.jsonl of recipes/contrasts.py. The larger network orders
natural hits better, the bundled one contrasts. So each row gets, beside its label, the mean of the
label and of a probability: that of TEACHER for hits that were read, that of the bundled network for
written wordings and contrasts. Beside them stand hits of searches over each kind of text that hits
were read of, for its own phrases, for those of other kinds, and for those of contrasts. They get
the probability of TEACHER. No sentence of an evaluation set and no phrase of benchmarks/ is among
them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from random import Random

from recipes.found_contrasts import hit_row, hits_of, phrases
from recipes.read_contrasts import allowed, development_phrases
from recipes.verifier_parts.claim_network import trained_odds
from recipes.verifier_parts.contrast_rows import (
    ContrastRow,
    read_rows,
    sampled_rows,
    write_rows,
)
from recipes.verifier_parts.odds import Reads, bundled_odds
from recipes.verifier_parts.read_hits import CORPORA, searched_texts
from slice_os import Document, SpanEncoder
from slice_os.verifier.claims import claim_in
from slice_os.verifier.decision import probability_of

READ, UNREAD = "read-", "unread-"
RANKS = (*range(7), 9, 14, 24)
WORDS = range(3, 251)
TEXTS, LONG_TEXTS, LONG = 1_200, 350, 200  # a text is long from so many code points on average
OWN, OTHERS, OF_CONTRASTS = 110, 60, 70  # phrases searched over each kind of text
AT_ONCE = 4_096
LIKELY = 0.5


def unread(
    data: Path, read: Sequence[ContrastRow], some: Iterator[str], share: float, rng: Random
) -> Iterator[ContrastRow]:
    """Hits over texts of each kind; their ``says`` is not known yet."""
    encoder = SpanEncoder()
    known = sorted({row.phrase for row in read})
    for kind in CORPORA:
        texts = sorted({text for text in searched_texts(data, kind) if len(text.split()) in WORDS})
        rng.shuffle(texts)
        long = sum(map(len, texts)) > LONG * len(texts)
        first = texts[: int((LONG_TEXTS if long else TEXTS) * share)]
        own = sorted({row.phrase for row in read if row.source == READ + kind})
        wanted = [*_sampled(own, OWN * share, rng), *_sampled(known, OTHERS * share, rng)]
        wanted += islice(some, int(OF_CONTRASTS * share))
        documents = [Document(str(at), text) for at, text in enumerate(first)]
        for hits in hits_of(encoder, documents, dict.fromkeys(wanted), RANKS):
            yield from (hit_row(hit, False, "near", UNREAD + kind) for hit in hits)
        print(f"{kind} searched", flush=True)


def _sampled(values: Sequence[str], count: float, rng: Random) -> list[str]:
    return rng.sample(values, min(int(count), len(values)))


def taught(rows: Sequence[ContrastRow], odds_of: Reads) -> Iterator[ContrastRow]:
    """Rows with what a network makes of them: its probability, or the mean of it and the label."""
    for first in range(0, len(rows), AT_ONCE):
        some = rows[first : first + AT_ONCE]
        odds = odds_of([claim_in(row.phrase, row.text, row.start, row.end) for row in some])
        for row, probability in zip(some, map(probability_of, odds), strict=True):
            if row.source.startswith(UNREAD):
                says = probability >= LIKELY
                kind = "paraphrase" if says else "near"
                yield replace(row, says=says, kind=kind, taught=round(probability, 4))
            else:
                yield replace(row, taught=round((row.says + probability) / 2, 4))
        print(f"{first + len(some):,} of {len(rows):,} rows read", flush=True)


def main() -> None:
    """Choose rows, find hits, and write what the networks say of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("teacher", type=Path)
    parser.add_argument("read", type=Path)
    parser.add_argument("contrasts", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--written", type=int, default=20_000, help="rows of read.jsonl")
    parser.add_argument("--contrast-rows", type=int, default=16_000)
    parser.add_argument("--share", type=float, default=1.0, help="of hits, read and not")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    rng = Random(options.seed)  # noqa: S311
    left, fits = development_phrases(), allowed(options.data)
    rows = list(read_rows(options.read))
    contrasts = list(filter(fits, read_rows(options.contrasts)))
    read = [row for row in rows if row.source.startswith(READ)]
    written = [row for row in rows if not row.source.startswith(READ)]
    kept = sampled_rows(written, options.written, rng)
    kept += sampled_rows(contrasts, options.contrast_rows, rng)
    some = (group[0].phrase for group in phrases(contrasts, rng))
    searched = unread(options.data, read, some, options.share, rng)
    found = (row for row in searched if row.phrase not in left and fits(row))
    natural = [*read[: int(options.share * len(read))], *found]
    teacher, bundled = trained_odds(options.teacher), bundled_odds()
    write_rows(chain(taught(natural, teacher), taught(kept, bundled)), options.out)


if __name__ == "__main__":
    main()
