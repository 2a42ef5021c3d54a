"""Rows for the last training of the verifier: written sets, hits that were read, and older rows.

    python recipes/read_contrasts.py DATA found.jsonl OUT [--contrasts N] [--hits N] [--seed N]

Written sets (recipes/written) have far wordings that say their phrase and near ones that do not;
each is there twice, with other borders. By themselves they would teach that far wordings are right
and near ones wrong, so each phrase gets its own words, which say it, and the words of others, which
do not, and the sets in which near and far wordings are as often right as wrong are there four
times. Of wordings that are merely near, half are left out: in hits that were read
(recipes/labelled), users accept some that say the gist. Of found.jsonl, which
recipes/found_contrasts.py made, so many contrasts and hits come along, so that nothing is
forgotten. Rows with a sentence of an evaluation set, or a phrase of benchmarks/, are dropped. Those
of the phrases in recipes/written/development.txt go to OUT.development instead.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from recipes.verifier_parts.builder import HASHES
from recipes.verifier_parts.contrast_rows import (
    ContrastRow,
    by_phrase,
    read_rows,
    sampled_rows,
    write_rows,
)
from recipes.verifier_parts.frames import Statement
from recipes.verifier_parts.placed_rows import placed_rows, ragged
from recipes.verifier_parts.read_hits import labelled_rows
from recipes.verifier_parts.written import WRITTEN, written_rows
from slice_os.datasets.decontamination import read_hashes, sentence_hash
from slice_os.training.record_types import Passage

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
NEAR = 0.5
OWN_WORDS, CONTEXT, PLACED, OTHERS = range(3, 15), range(6, 25), 0.6, 2
BALANCED = "written-balanced", "written-later", "written-gist"
DEVELOPMENT = WRITTEN / "development.txt"


def benchmark_phrases() -> Iterator[str]:
    """The phrases of the contrasts and of the natural hits that are measured."""
    for path in sorted(BENCHMARKS.glob("[cn]*/*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)["phrase"]


def development_phrases() -> set[str]:
    """Phrases that nothing is learned from."""
    return set(DEVELOPMENT.read_text(encoding="utf-8").splitlines())


def allowed(data: Path) -> Callable[[ContrastRow], bool]:
    """Whether a row has no sentence of an evaluation set, and no phrase of benchmarks/."""
    apart = read_hashes(data / HASHES).hashes | set(map(sentence_hash, benchmark_phrases()))

    def fits(row: ContrastRow) -> bool:
        texts = row.phrase, row.text, row.text[row.start : row.end]
        return not apart & set(map(sentence_hash, texts))

    return fits


def again(row: ContrastRow, rng: Random) -> ContrastRow:
    """The row with other borders, as a claim of a phrase of its own."""
    stop = "" if row.phrase.endswith((".", "?", "!")) else "."
    start, end = ragged(Passage(row.text, row.start, row.end), rng)
    return replace(row, phrase=row.phrase + stop, start=start, end=end)


def own_words(rows: Sequence[ContrastRow], rng: Random) -> Iterator[ContrastRow]:
    """Phrases and wordings as they are, most of them in other text, as what says them."""
    short = [row.text[row.start : row.end] for row in rows if row.says]
    texts = [*by_phrase(rows), *(text for text in short if len(text.split()) in OWN_WORDS)]
    statements = [Statement(text, text, True, "paraphrase", "written-same") for text in texts]
    around = [row.text for row in rows if row.start == 0 and len(row.text.split()) in CONTEXT]
    return placed_rows(statements, around, PLACED, rng)


def other_words(rows: Sequence[ContrastRow], rng: Random) -> Iterator[ContrastRow]:
    """Phrases with words that were written for another one."""
    for phrase in by_phrase(rows):
        for other in rng.sample(rows, OTHERS):
            if other.phrase != phrase:
                wrong = replace(other, says=False, kind="random", source="written-other")
                yield replace(wrong, phrase=phrase, against=None)


def main() -> None:
    """Choose the rows, and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("found", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--contrasts", type=int, default=8_000)
    parser.add_argument("--hits", type=int, default=6_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = Random(options.seed)  # noqa: S311
    older = list(read_rows(options.found))
    hits = sampled_rows((row for row in older if row.source.startswith("found")), options.hits, rng)
    others = (row for row in older if not row.source.startswith("found"))
    contrasts = sampled_rows(others, options.contrasts, rng)
    fits = allowed(options.data)
    written = list(filter(fits, written_rows(rng)))
    read = list(filter(fits, labelled_rows(options.data)))
    left = development_phrases()
    apart = [row for row in (*written, *read) if row.phrase in left]
    written = [row for row in written if row.kind != "near" or rng.random() < NEAR]
    written, read = ([row for row in rows if row.phrase not in left] for rows in (written, read))
    made = [*own_words(written, rng), *other_words(written, rng)]
    balanced = [row for row in written if row.source in BALANCED]
    repeated = [again(row, rng) for row in (*written, *balanced, *balanced)]
    rows = [*written, *repeated, *made, *read, *contrasts, *hits]
    write_rows(rows, options.out)
    write_rows(apart, options.out.with_suffix(f"{options.out.suffix}.development"))
    print(
        f"{options.out}: {len(rows):,} rows, {len(written):,} written ones twice, "
        f"{len(made):,} with own words or others', "
        f"{len(read):,} hits that were read, {len(contrasts):,} contrasts and {len(hits):,} hits"
    )


if __name__ == "__main__":
    main()
