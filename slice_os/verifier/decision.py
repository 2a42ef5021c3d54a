"""The decision of the bundled verifier: from similarity and network to one probability."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log
from pathlib import Path

import numpy as np

from slice_os.arrays import Float64Array
from slice_os.encoder.model_folder import check_size, checked, read_json
from slice_os.errors import ModelError
from slice_os.verifier.similarity import NUMBERS

DECISION = Path(__file__).with_name("decision.json")
"""The bundled one, which benchmarks/verifier_fitting.py makes."""

_NEAREST = 1e-4
# Log-odds of the network: from there on it hears a phrase where it is merely named, and of a hit,
# less those, what is surely a contrast and what surely is not.
HEARD, CONTRAST, ALIKE = 0.75, -3.5, -2.0


@dataclass(frozen=True, slots=True)
class Decision:
    """A table of log-odds by what the network says and how near the words are.

    Between the numbers of its rows and columns it is interpolated, and beyond them it goes on as at
    the edge. So no nearness makes up for what the network is sure of. But it judges statements: of
    a phrase that only names something, similarity knows more, and the network tells contrasts.

    Attributes:
        encoder_id: the encoder whose vectors the similarity is of.
        similarity: ``(len(NUMBERS) + 1,)`` weights of the log-odds by similarity alone; last, a
            constant.
        read: ``(n,)`` log-odds by the network, rising.
        near: ``(m,)`` log-odds by similarity, rising.
        odds: ``(n, m)`` log-odds by both.
        named: of a phrase that only names something, the weights of what the network says, less
            what it says where the phrase is merely named, and of similarity; last, a constant.
        sets: what it was fitted to, by the names of benchmarks/verifier_fitting.py.
        provenance: for people.
    """

    encoder_id: str
    similarity: tuple[float, ...]
    read: tuple[float, ...]
    near: tuple[float, ...]
    odds: tuple[tuple[float, ...], ...]
    named: tuple[float, float, float]
    sets: tuple[str, ...]
    provenance: str

    def nearness(self, numbers: Float64Array) -> Float64Array:
        """``(n,)`` log-odds by similarity alone, of ``(n, len(NUMBERS))``."""
        weights = np.array(self.similarity)
        # A sum, not a matrix product, so that no row depends on how many there are.
        odds: Float64Array = (numbers * weights[:-1]).sum(axis=1) + weights[-1]
        return odds

    def together(self, read: float, near: float, heard: float | None = None) -> float:
        """The log-odds by both.

        ``heard`` is what the network says of words that merely name the phrase; None if it has a
        verb.
        """
        row, down = place(self.read, read)
        column, across = place(self.near, near)
        above, below = (
            (1 - across) * each[column] + across * each[column + 1]
            for each in self.odds[row : row + 2]
        )
        odds = (1 - down) * above + down * below
        if heard is None or heard >= HEARD:
            return odds
        behind = read - heard
        network, words, constant = self.named
        share = max(0.0, min(1.0, (behind - CONTRAST) / (ALIKE - CONTRAST)))
        return odds + share * (network * behind + words * near + constant - odds)


def place(grid: Sequence[float], value: float) -> tuple[int, float]:
    """The cell of a grid that a value, or its edge, is in, and how far on it is, from 0 to 1."""
    kept = max(grid[0], min(grid[-1], value))
    cell = min(bisect_right(grid, kept), len(grid) - 1) - 1
    return cell, (kept - grid[cell]) / (grid[cell + 1] - grid[cell])


@cache
def read_decision(path: Path = DECISION) -> Decision:
    """Read a decision; without a path, the bundled one.

    Raises a `ModelError` if the file is missing or holds something else.
    """
    check_size(path)
    decision = checked(Decision, read_json(path))
    grids = decision.read, decision.near
    if (
        len(decision.similarity) != len(NUMBERS) + 1
        or [len(row) for row in decision.odds] != [len(decision.near)] * len(decision.read)
        or any(len(grid) < 2 or sorted(set(grid)) != list(grid) for grid in grids)
    ):
        raise ModelError(f"{path}: made for other numbers; fit it again")
    return decision


def log_odds(probability: float) -> float:
    """Of a probability, taken for no nearer to 0 or 1 than 0.0001."""
    kept = max(_NEAREST, min(1 - _NEAREST, probability))
    return log(kept / (1 - kept))


def probability_of(odds: float) -> float:
    """The probability of log-odds."""
    return 1 / (1 + exp(-odds))
