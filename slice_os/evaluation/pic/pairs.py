"""Pairs of phrases in their sentences: what is measured on PiC PS, and their vectors."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from slice_os.arrays import BoolArray, Float64Array, FloatArray
from slice_os.datasets.files import DataFile
from slice_os.datasets.span_sets import Span
from slice_os.errors import imported
from slice_os.evaluation.encoders.span_vectors import cosines, distinct_vectors, phrases_in_context
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.pic.phrase_files import (
    PAIRS,
    PhrasePair,
    find_phrase,
    find_splits,
    load_pairs,
)

PHRASE, IN_CONTEXT = SETTINGS = ("phrase", "phrase-in-context")


@dataclass(frozen=True, slots=True)
class PlacedPair:
    """A pair, and the spans of its phrases in their sentences."""

    pair: PhrasePair
    place1: Span
    place2: Span


@dataclass(frozen=True, slots=True)
class PairSplits:
    """The pairs of each split whose phrases are verbatim, and how many others are skipped.

    ``split`` is the one that is reported.
    """

    split: str
    pairs: dict[str, tuple[PlacedPair, ...]]
    not_found: dict[str, int]
    files: tuple[DataFile, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence on the skipped pairs, if there are any."""
        counts = ", ".join(f"{n} of {name}" for name, n in self.not_found.items() if n)
        note = f"Skipped, since a phrase is not verbatim in its sentence: {counts}."
        return (note,) if counts else ()


@dataclass(frozen=True, slots=True)
class PairVectors:
    """``(n, dimension)`` vectors of both phrases of pairs, and which pairs are similar."""

    first: FloatArray
    second: FloatArray
    similar: BoolArray

    @property
    def cosines(self) -> Float64Array:
        """``(n,)`` similarity of each pair."""
        return cosines(self.first, self.second)

    @property
    def side_by_side(self) -> FloatArray:
        """``(n, 2 · dimension)``."""
        return np.concatenate([self.first, self.second], axis=1)

    def select(self, rows: BoolArray) -> PairVectors:
        """Those of some rows."""
        return PairVectors(self.first[rows], self.second[rows], self.similar[rows])


def load_splits(data: Path, split: str | None = None) -> PairSplits:
    """The pairs of a folder of PiC PS, or of a file in it, which then is the split to report.

    Otherwise that is test, or dev if there is no test.
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
        pairs[name] = tuple(
            PlacedPair(one, place1, place2)
            for one in loaded
            if (place1 := find_phrase(one.phrase1, one.sentence1))
            and (place2 := find_phrase(one.phrase2, one.sentence2))
        )
        not_found[name] = len(loaded) - len(pairs[name])
        files.append(DataFile.of(path, len(pairs[name])))
        if {placed.pair.similar for placed in pairs[name]} != {True, False}:
            raise PAIRS.malformed(path, "needs both positive and negative pairs")
    return PairSplits(split, pairs, not_found, tuple(files))


def encode_pairs(encoder: TextEncoder, pairs: Sequence[PlacedPair], setting: str) -> PairVectors:
    """Vectors of the phrases of pairs; each distinct phrase or sentence is encoded once.

    In the setting ``phrase``, phrases are read by themselves; in ``phrase-in-context``, they are
    the tokens of the phrase from one pass over its sentence.
    """
    if setting == PHRASE:
        phrases = [one.pair.phrase1 for one in pairs] + [one.pair.phrase2 for one in pairs]
        vectors = distinct_vectors(encoder.phrases, phrases)
    else:
        sentences = [one.pair.sentence1 for one in pairs] + [one.pair.sentence2 for one in pairs]
        places = [one.place1 for one in pairs] + [one.place2 for one in pairs]
        vectors = phrases_in_context(encoder, sentences, places)
    similar = np.array([placed.pair.similar for placed in pairs])
    return PairVectors(vectors[: len(pairs)], vectors[len(pairs) :], similar)


def hold_out(pairs: Sequence[PlacedPair]) -> BoolArray:
    """``(n,)`` pairs to hold out: all of a tenth of the first sentences, chosen at random."""
    sentences = sorted({placed.pair.sentence1 for placed in pairs})
    order = np.random.default_rng(0).permutation(len(sentences))
    chosen = {sentences[index] for index in order[: max(1, round(len(order) * 0.1))]}
    return np.array([placed.pair.sentence1 in chosen for placed in pairs])


def best_threshold(scores: Float64Array, labels: BoolArray) -> float:
    """The threshold that classifies these examples best.

    As in PiC (section 5.1), every score is tried; a pair is similar if its score is at least the
    threshold. The lowest of equally good thresholds wins.
    """
    values, inverse = np.unique(scores, return_inverse=True)
    positive = np.bincount(inverse, weights=labels, minlength=len(values))
    negative = np.bincount(inverse, weights=~labels, minlength=len(values))
    right = np.cumsum(negative) - negative + positive[::-1].cumsum()[::-1]
    return float(values[np.argmax(right)])


@dataclass(frozen=True, slots=True)
class Discriminant:
    """A linear function of a score, above 0 for "similar"; ``offset`` is its value at 0."""

    slope: float
    offset: float

    @property
    def threshold(self) -> float:
        """The score at which it changes sign; nan if it never does."""
        return -self.offset / self.slope if self.slope else float("nan")

    def predict(self, scores: Float64Array) -> BoolArray:
        """Whether each is similar, ``(n,)``."""
        return self.slope * np.asarray(scores, dtype=np.float64) + self.offset >= 0


def fit_discriminant(scores: Float64Array, labels: BoolArray) -> Discriminant:
    """The linear discriminant of one score, PCPE's "simple linear discriminative model".

    Both classes are assumed to be normal with one variance (its maximum-likelihood estimate),
    and as frequent as in the examples (Hastie, Tibshirani and Friedman 2009, section 4.3).
    """
    positive, negative = (scores[side].astype(np.float64) for side in (labels, ~labels))
    gap = float(positive.mean() - negative.mean())
    deviations = np.concatenate([positive - positive.mean(), negative - negative.mean()])
    variance = float(deviations @ deviations) / len(scores)
    slope = gap / variance if variance else 0.0
    middle = float(positive.mean() + negative.mean()) / 2
    return Discriminant(slope, float(np.log(len(positive) / len(negative))) - slope * middle)


HIDDEN = 256
BATCH = 200
LEARNING_RATE = 1e-4
MIN_EPOCHS, MAX_EPOCHS, PATIENCE = 3, 100, 10


@dataclass(frozen=True, slots=True)
class PairClassifier:
    """A torch module that gives one logit a row, and the best accuracy on the dev examples."""

    network: Any
    epochs: int
    dev_accuracy: float

    def predict(self, pairs: FloatArray) -> BoolArray:
        """Whether each pair is similar, from ``(n, 2 · dimension)`` vectors side by side."""
        import torch

        with torch.inference_mode():
            logits = self.network(torch.from_numpy(np.ascontiguousarray(pairs)))
        similar: BoolArray = (logits[:, 0] >= 0).numpy()
        return similar


def train_classifier(
    pairs: FloatArray,
    labels: BoolArray,
    dev_pairs: FloatArray,
    dev_labels: BoolArray,
    seed: int = 0,
) -> PairClassifier:
    """Train on the vectors of pairs, as PiC describes (section 5.1 and appendix A).

    A layer of 256 units with ReLU and one output with a sigmoid over the two vectors side by
    side; cross-entropy, Adam (1e-4), batches of 200, at most 100 epochs, stopped when accuracy
    on the dev examples has not risen for 10. As in the authors' code, the encoder itself is not
    trained; unlike there, the weights of the best epoch on dev are kept. Pairs are
    ``(n, 2 · dimension)``, labels ``(n,)``; the seed is for the weights and the order.
    """
    torch = imported("torch", "The PiC classifier", "train")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = torch.nn.Sequential(
            torch.nn.Linear(pairs.shape[1], HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 1)
        )
        optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
        inputs, targets = torch.from_numpy(pairs), torch.from_numpy(labels.astype(np.float32))
        best = PairClassifier(network, 0, -1.0)
        for epoch in range(1, MAX_EPOCHS + 1):
            for rows in torch.randperm(len(inputs)).split(BATCH):
                loss = torch.nn.functional.binary_cross_entropy_with_logits(
                    network(inputs[rows])[:, 0], targets[rows]
                )
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            state = PairClassifier(network, epoch, best.dev_accuracy)
            reached = float(np.mean(state.predict(dev_pairs) == dev_labels))
            if reached > best.dev_accuracy:
                best = PairClassifier(copy.deepcopy(network), epoch, reached)
            elif epoch >= MIN_EPOCHS and epoch - best.epochs >= PATIENCE:
                break
    return replace(best, epochs=epoch)
