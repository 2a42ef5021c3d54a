"""The classifier over two phrase vectors that PiC trains for phrase similarity."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.errors import MissingExtraError
from slice_os.evaluation.stats import Labels

HIDDEN = 256
BATCH = 200
LEARNING_RATE = 1e-4
MIN_EPOCHS, MAX_EPOCHS, PATIENCE = 3, 100, 10


@dataclass(frozen=True, slots=True)
class PairClassifier:
    """A trained classifier.

    Attributes:
        network: a torch module that gives one logit per row.
        epochs: how many epochs it was trained.
        dev_accuracy: the best accuracy on the examples that stopped the training.
    """

    network: Any
    epochs: int
    dev_accuracy: float

    def predict(self, pairs: FloatArray) -> Labels:
        """Whether each pair is similar.

        Args:
            pairs: ``(n, 2 · dimension)``, the two vectors of each pair side by side.
        """
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
    trained; unlike there, the weights of the best epoch on dev are kept.

    Args:
        pairs: ``(n, 2 · dimension)``.
        labels: ``(n,)`` whether each pair is similar.
        dev_pairs: the same for the dev examples, which decide when to stop.
        dev_labels: the same for the dev examples.
        seed: for the initial weights and the order of examples.

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
