"""Find hits over a dozen kinds of text, with what the bundled verifier says of them.

    python recipes/reader_hits.py DATA contrasts.jsonl OUT [--files N] [--phrases N] [--part I/N]
        [--seed N]

The hits of each phrase over a store of a few hundred texts of one kind: the first ones, and some by
chance down to rank 60. Phrases are those of recipes/labelled and recipes/written, those of
contrasts (recipes/contrasts.py), and sentences of other texts of the same kind. OUT gets files of
about 3,000 hits, each with the vectors that a reader of vectors reads; a run that stops goes on
from the last one, and several can share the work in parts. No text of benchmarks/natural is read,
and no sentence of an evaluation set.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from recipes.read_contrasts import benchmark_phrases
from recipes.verifier_parts.builder import HASHES
from recipes.verifier_parts.contrast_rows import read_rows
from recipes.verifier_parts.read_hits import LABELLED, searched_texts
from recipes.verifier_parts.readings import Teacher, write_readings
from recipes.verifier_parts.written import WRITTEN
from slice_os import Corpus, Document, Hit, SpanEncoder
from slice_os.datasets.decontamination import read_hashes, sentence_hash
from slice_os.hits.hit import HitWithVectors
from slice_os.query.options import SearchOptions
from slice_os.search.run import make_query, search
from slice_os.text.sentences import sentence_ends
from slice_os.verifier.bundled import NETWORK
from slice_os.verifier.cross_encoder import CrossEncoderVerifier

KINDS = sorted(path.stem for path in LABELLED.glob("*.jsonl"))
TEXTS, DEEPEST = 300, 60
FIRST, BY_CHANCE = 10, 20
WORDS, OWN_WORDS = range(4, 400), range(4, 17)
# Shares of phrases: of hits that were read and of written sets, of contrasts; the rest are
# sentences of other texts of the kind.
WRITTEN_SHARE, CONTRAST_SHARE = 0.45, 0.35


def main() -> None:
    """Find hits, let the bundled verifier read them, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("contrasts", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--phrases", type=int, default=100, help="of a file")
    parser.add_argument("--part", default="0/1", help="such as 2/16, of 0 to 15")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    apart = read_hashes(options.data / HASHES).hashes | set(map(sentence_hash, benchmark_phrases()))
    written = sorted(filter(lambda one: sentence_hash(one) not in apart, written_phrases()))
    drawn = {row.phrase for row in read_rows(options.contrasts)}
    made = sorted(one for one in drawn if fits(one) and sentence_hash(one) not in apart)
    texts: dict[str, list[str]] = {}
    encoder = SpanEncoder()
    teacher = Teacher(encoder, CrossEncoderVerifier(NETWORK))
    own, parts = map(int, options.part.split("/"))
    for number in range(own, options.files, parts):
        kind = KINDS[number % len(KINDS)]
        path = options.out / f"{number:04}-{kind}.npz"
        if path.exists():
            continue
        if kind not in texts:
            texts[kind] = kept(searched_texts(options.data, kind), apart)
        rng = Random(f"{options.seed}/{number}")  # noqa: S311
        chosen = rng.sample(texts[kind], min(2 * TEXTS, len(texts[kind])))
        middle = len(chosen) // 2
        wanted = phrases(written, made, chosen[middle:], options.phrases, rng)
        hits = list(found(encoder, chosen[:middle], wanted, rng))
        write_readings(teacher.readings(hits), path)
        print(f"{path.name}: {len(hits):,} hits", flush=True)


def written_phrases() -> set[str]:
    """The phrases of hits that were read, and of written sets."""
    paths = [*LABELLED.glob("*.jsonl"), *WRITTEN.glob("*.jsonl")]
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    return {json.loads(line)["phrase"] for line in lines}


def fits(text: str) -> bool:
    """Whether a text is as long as a phrase."""
    return len(text.split()) in OWN_WORDS


def kept(texts: Iterable[str], apart: Set[str]) -> list[str]:
    """Different texts of ordinary length without a sentence that is kept apart."""
    fitting = sorted({text for text in texts if len(text.split()) in WORDS})
    return [one for one in fitting if not apart & set(map(sentence_hash, sentences(one)))]


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text."""
    return [
        line.strip()
        for start, end in pairwise([0, *sentence_ends(text)])
        for line in text[start:end].split("\n")
    ]


def phrases(
    written: Sequence[str], made: Sequence[str], others: Sequence[str], count: int, rng: Random
) -> list[str]:
    """Phrases to search for."""
    n_written, n_made = round(count * WRITTEN_SHARE), round(count * CONTRAST_SHARE)
    own = [one for text in others[:TEXTS] for one in sentences(text) if fits(one)]
    own = rng.sample(own, min(len(own), count - n_written - n_made))
    return list(dict.fromkeys([*rng.sample(written, n_written), *rng.sample(made, n_made), *own]))


def found(
    encoder: SpanEncoder, texts: Sequence[str], wanted: Sequence[str], rng: Random
) -> Iterator[HitWithVectors]:
    """Hits of each phrase, the first ones and some of the others."""
    with TemporaryDirectory() as folder, Corpus(Path(folder) / "s", encoder) as corpus:
        corpus.add(Document(str(number), text) for number, text in enumerate(texts))
        for phrase in wanted:
            query = make_query(encoder, phrase, word_vectors=True)
            hits: list[Hit] = list(search(corpus.store, query, SearchOptions(top_k=DEEPEST)))
            rest = hits[FIRST:]
            some = hits[:FIRST] + rng.sample(rest, min(len(rest), BY_CHANCE))
            yield from (hit for hit in some if isinstance(hit, HitWithVectors))


if __name__ == "__main__":
    main()
