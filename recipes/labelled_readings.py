"""Hits that people labelled, and contrasts, as readings, with what the bundled verifier says.

    python recipes/labelled_readings.py DATA contrasts.jsonl HITS [--contrasts N] [--labelled N]
        [--part I/N]

HITS gets a file for each kind of recipes/labelled and files of contrasts (recipes/contrasts.py),
beside those of recipes/reader_hits.py. Each hit is read in its whole text. Phrases of benchmarks
are left out, as recipes/read_contrasts.py does.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np

from recipes.read_contrasts import benchmark_phrases
from recipes.verifier_parts.builder import HASHES
from recipes.verifier_parts.contrast_rows import read_rows, sampled_rows
from recipes.verifier_parts.read_hits import HITS, LABELLED, searched_texts, text_key
from recipes.verifier_parts.readings import Teacher, write_readings
from slice_os import SpanEncoder
from slice_os.datasets.decontamination import read_hashes, sentence_hash
from slice_os.hits.hit import Context, Hit, HitWithVectors
from slice_os.text.documents import own_extent
from slice_os.text.passage_layout import Reading, passage_sentences
from slice_os.text.words import touched_words
from slice_os.verifier.bundled import NETWORK
from slice_os.verifier.cross_encoder import CrossEncoderVerifier

AROUND = 500  # code points of a long text that are encoded before a hit, and behind it
FILE = 2_000  # contrasts

Row = tuple[str, str, int, int, bool]
"""Phrase, text, start, end, and whether the words there say the phrase."""


def main() -> None:
    """Encode, let the bundled verifier read, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("contrasts", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--contrasts", type=int, default=60_000, dest="count")
    parser.add_argument("--labelled", type=int, help="hits of a kind; all if not given")
    parser.add_argument("--part", default="0/1", help="such as 2/16, of 0 to 15")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    apart = read_hashes(options.data / HASHES).hashes | set(map(sentence_hash, benchmark_phrases()))
    encoder = SpanEncoder()
    teacher = Teacher(encoder, CrossEncoderVerifier(NETWORK))
    made = sampled_rows(read_rows(options.contrasts), options.count, Random(1))  # noqa: S311
    rows = [(row.phrase, row.text, row.start, row.end, row.says) for row in made]
    sets: dict[str, Iterator[Row]] = {
        f"labelled-{path.stem}": islice(labelled(path, options.data), options.labelled)
        for path in _labelled()
    }
    sets |= {f"made-{at:06}": iter(rows[at : at + FILE]) for at in range(0, len(rows), FILE)}
    own, parts = map(int, options.part.split("/"))
    for name in list(sets)[own::parts]:
        out = options.out / f"{name}.npz"
        if not out.exists():
            some = sorted(row for row in sets[name] if sentence_hash(row[0]) not in apart)
            hits = list(in_texts(encoder, some))
            write_readings(teacher.readings(hits, [row[4] for row in some]), out)
            print(f"{out.name}: {len(hits):,} hits", flush=True)


def _labelled() -> list[Path]:
    return sorted(LABELLED.glob("*.jsonl"))


def labelled(path: Path, data: Path) -> Iterator[Row]:
    """The labelled hits of a file; those left open are left out."""
    texts = {text_key(text): text for text in searched_texts(data, path.stem)}
    for row in HITS.json_lines(path):
        phrase, right = row.text("phrase"), row.values["right"]
        if right is not None:
            yield phrase, texts[row.text("text")], row.values["start"], row.values["end"], right


def in_texts(encoder: SpanEncoder, rows: Iterable[Row]) -> Iterator[HitWithVectors]:
    """Rows as hits, with the vectors of the words around them."""
    calibration = encoder.calibration
    if calibration is None:
        raise SystemExit(f"{encoder.folder} has no calibration")
    for phrase, whole, start, end, _ in rows:
        shift = whole.rfind(" ", 0, start - AROUND) + 1 if start > AROUND else 0
        close = whole.find(" ", end + AROUND)
        text = whole[shift : None if close < 0 else close]
        start, end = start - shift, end - shift
        aligned, vectors = encoder.encode_text(text)
        first, last = touched_words(aligned.words, start, end)
        mean = vectors[aligned.words[first, 2] : aligned.words[last - 1, 3]].sum(axis=0)
        if phrase not in encoder.recent:
            encoder.encode_phrases([phrase])
        ours, pieces = encoder.recent[phrase]
        unit = pieces.sum(axis=0)
        cosine = float(unit @ mean / np.linalg.norm(mean) / np.linalg.norm(unit))
        prior = calibration.probabilities(cosine, len(ours.words), last - first).item()
        hit = Hit(
            *(phrase, "", start, end, text[start:end], cosine, None, cosine, {}),
            Context(0, len(text), text),
            prior,
            sentence=own_extent(passage_sentences(text, 0), start, end),
        )
        more = {"vectors": vectors, "words": aligned.words, "first": first, "last": last}
        yield HitWithVectors.of(hit, **more, reading=Reading(text))


if __name__ == "__main__":
    main()
