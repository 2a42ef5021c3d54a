"""Pairs of phrases in their sentences: what is measured on PiC PS, and their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.datasets.files import DataFile
from slice_os.datasets.span_sets import Span
from slice_os.evaluation.encoders.span_vectors import cosines, phrases_in_context
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.pic.phrase_files import (
    PAIRS,
    PhrasePair,
    find_phrase,
    find_splits,
    load_pairs,
)
from slice_os.evaluation.stats import Labels, Numbers

PHRASE, IN_CONTEXT = SETTINGS = ("phrase", "phrase-in-context")


@dataclass(frozen=True, slots=True)
class PlacedPair:
    """A pair, and the spans of its phrases in their sentences."""

    pair: PhrasePair
    place1: Span
    place2: Span


@dataclass(frozen=True, slots=True)
class PairSplits:
    """The splits of a folder of PiC PS.

    Attributes:
        split: the one that is reported.
        pairs: of each split, the pairs whose phrases were found verbatim.
        not_found: of each split, how many other pairs there were; they are skipped.
        files: the train file, the reported one, and dev if there is one.
    """

    split: str
    pairs: dict[str, tuple[PlacedPair, ...]]
    not_found: dict[str, int]
    files: tuple[DataFile, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence on the skipped pairs, if there are any."""
        counts = [f"{count} of {name}" for name, count in self.not_found.items() if count]
        if not counts:
            return ()
        return (f"Skipped, since a phrase is not verbatim in its sentence: {', '.join(counts)}.",)


@dataclass(frozen=True, slots=True)
class PairVectors:
    """``(n, dimension)`` vectors of both phrases of pairs, and which pairs are similar."""

    first: FloatArray
    second: FloatArray
    similar: Labels

    @property
    def cosines(self) -> Numbers:
        """``(n,)`` similarity of each pair."""
        return cosines(self.first, self.second)

    @property
    def side_by_side(self) -> FloatArray:
        """``(n, 2 · dimension)``."""
        return np.concatenate([self.first, self.second], axis=1)

    def select(self, rows: Labels) -> PairVectors:
        """Those of some rows."""
        return PairVectors(self.first[rows], self.second[rows], self.similar[rows])


def load_splits(data: Path, split: str | None = None) -> PairSplits:
    """The pairs of a folder of PiC PS, or of a file in it, which then is the split to report.

    Otherwise that is test, or dev if there is no test.

    Raises:
        InputError: if train or the split to report is missing, malformed or empty.
    """
    paths = find_splits(data.parent if data.is_file() else data, "ps")
    if data.is_file() and split is None:
        split = next((name for name, path in paths.items() if path == data), None)
    split = split or ("test" if "test" in paths else "dev")
    if "train" not in paths or split not in paths:
        raise PAIRS.malformed(data, f"has only the splits {sorted(paths)}, not train and {split}")
    pairs, not_found, files = {}, {}, []
    for name, path in paths.items():
        loaded = load_pairs(path)
        pairs[name] = tuple(filter(None, map(_locate, loaded)))
        not_found[name] = len(loaded) - len(pairs[name])
        files.append(DataFile.of(path, len(pairs[name])))
        if {placed.pair.similar for placed in pairs[name]} != {True, False}:
            raise PAIRS.malformed(path, "needs both positive and negative pairs")
    return PairSplits(split, pairs, not_found, tuple(files))


def encode_pairs(encoder: TextEncoder, pairs: Sequence[PlacedPair], setting: str) -> PairVectors:
    """Vectors of the phrases of pairs; each distinct phrase or sentence is encoded once.

    In the setting ``phrase``, phrases are read by themselves; in ``phrase-in-context``, they are
    the tokens of the phrase from one pass over its sentence.

    Raises:
        InputError: if a phrase has no word.
    """
    if setting == PHRASE:
        phrases = [placed.pair.phrase1 for placed in pairs]
        phrases += [placed.pair.phrase2 for placed in pairs]
        unique = {phrase: row for row, phrase in enumerate(dict.fromkeys(phrases))}
        vectors = encoder.phrases(list(unique))[[unique[phrase] for phrase in phrases]]
    else:
        sentences = [placed.pair.sentence1 for placed in pairs]
        sentences += [placed.pair.sentence2 for placed in pairs]
        places = [[placed.place1] for placed in pairs] + [[placed.place2] for placed in pairs]
        vectors = np.concatenate(phrases_in_context(encoder, sentences, places))
    similar = np.array([placed.pair.similar for placed in pairs])
    return PairVectors(vectors[: len(pairs)], vectors[len(pairs) :], similar)


def hold_out(pairs: Sequence[PlacedPair], fraction: float = 0.1, seed: int = 0) -> Labels:
    """``(n,)`` pairs to hold out: all of a fraction of the first sentences, chosen at random."""
    sentences = sorted({placed.pair.sentence1 for placed in pairs})
    order = np.random.default_rng(seed).permutation(len(sentences))
    chosen = {sentences[index] for index in order[: max(1, round(len(order) * fraction))]}
    return np.array([placed.pair.sentence1 in chosen for placed in pairs])


def _locate(pair: PhrasePair) -> PlacedPair | None:
    place1 = find_phrase(pair.phrase1, pair.sentence1)
    place2 = find_phrase(pair.phrase2, pair.sentence2)
    return PlacedPair(pair, place1, place2) if place1 and place2 else None
