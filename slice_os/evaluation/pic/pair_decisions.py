"""Decisions whether the phrases of a pair mean the same, fitted on a training set."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.errors import MissingExtraError
from slice_os.evaluation.stats import Labels, Numbers


def best_threshold(scores: Numbers, labels: Labels) -> float:
    """The threshold that classifies these examples best.

    As in PiC (section 5.1), every score is tried; a pair is similar if its score is at least the
    threshold. The lowest of equally good thresholds wins.

    Raises:
        ValueError: on no examples.
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

    def predict(self, scores: Numbers) -> Labels:
        """Whether each is similar, ``(n,)``."""
        return self.slope * np.asarray(scores, dtype=np.float64) + self.offset >= 0


def fit_discriminant(scores: Numbers, labels: Labels) -> Discriminant:
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

    def predict(self, pairs: FloatArray) -> Labels:
        """Whether each pair is similar, from ``(n, 2 · dimension)`` vectors side by side."""
        import torch

        with torch.inference_mode():
            logits = self.network(torch.from_numpy(np.ascontiguousarray(pairs)))
        similar: Labels = (logits[:, 0] >= 0).numpy()
        return similar


def train_classifier(
    pairs: FloatArray, labels: Labels, dev_pairs: FloatArray, dev_labels: Labels, seed: int = 0
) -> PairClassifier:
    """Train on the vectors of pairs, as PiC describes (section 5.1 and appendix A).

    A layer of 256 units with ReLU and one output with a sigmoid over the two vectors side by
    side; cross-entropy, Adam (1e-4), batches of 200, at most 100 epochs, stopped when accuracy
    on the dev examples has not risen for 10. As in the authors' code, the encoder itself is not
    trained; unlike there, the weights of the best epoch on dev are kept. Pairs are
    ``(n, 2 · dimension)``, labels ``(n,)``; the seed is for the weights and the order.

    Raises:
        MissingExtraError: if torch is not installed.
    """
    try:
        import torch
    except ImportError:
        raise MissingExtraError("The PiC classifier", "train") from None

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = torch.nn.Sequential(
            torch.nn.Linear(pairs.shape[1], HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 1)
        )
        optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
        inputs, targets = torch.from_numpy(pairs), torch.from_numpy(labels.astype(np.float32))
        best: PairClassifier | None = None
        best_epoch = 0
        for epoch in range(1, MAX_EPOCHS + 1):
            for rows in torch.randperm(len(inputs)).split(BATCH):
                loss = torch.nn.functional.binary_cross_entropy_with_logits(
                    network(inputs[rows])[:, 0], targets[rows]
                )
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            state = PairClassifier(network, epoch, 0.0)
            reached = float(np.mean(state.predict(dev_pairs) == dev_labels))
            if best is None or reached > best.dev_accuracy:
                best, best_epoch = PairClassifier(copy.deepcopy(network), epoch, reached), epoch
            elif epoch >= MIN_EPOCHS and epoch - best_epoch >= PATIENCE:
                break
    return PairClassifier(best.network, epoch, best.dev_accuracy) if best else state
