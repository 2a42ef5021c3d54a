"""Batches of labelled claims: those of one phrase stay together, and rows are alike long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt

from slice_os.arrays import IntArray
from slice_os.encoder.engines import pad
from slice_os.training.contrasts.contrast_rows import ContrastRow
from slice_os.training.verifier.recipe import VerifierRecipe
from slice_os.verifier.claims import claim_in
from slice_os.verifier.cross_encoder import ClaimInputs

# Groups are shuffled, then sorted by length within so many, then their batches are shuffled.
_POOL = 400
# More claims of one phrase make several groups.
_MOST = 12


@dataclass(frozen=True, slots=True)
class ClaimBatch:
    """Rows for a forward pass.

    Attributes:
        ids: ``(n, length)`` word-piece ids, padded with 0.
        mask: ``(n, length)`` 1 for a piece, 0 for padding.
        types: ``(n, length)`` 1 for the words of the hit.
        says: ``(n,)`` 1 if the claim holds, else 0.
        phrases: ``(n,)`` equal numbers for claims of one phrase.
    """

    ids: IntArray
    mask: IntArray
    types: IntArray
    says: npt.NDArray[np.float32]
    phrases: IntArray


@dataclass(frozen=True, slots=True)
class _Row:
    ids: list[int]
    types: list[int]
    says: bool


class ClaimBatches:
    """Contrasts as batches, epoch by epoch, without end."""

    def __init__(
        self, contrasts: Iterable[ContrastRow], inputs: ClaimInputs, recipe: VerifierRecipe
    ) -> None:
        self._inputs = inputs
        self._batch_pieces = recipe.batch_pieces
        self._seed = recipe.seed
        choose = Random(f"{recipe.seed}/singles")  # noqa: S311
        of_phrase: dict[str, list[ContrastRow]] = {}
        for row in contrasts:
            of_phrase.setdefault(row.phrase, []).append(row)
        self._groups = [
            rows[first : first + _MOST]
            for rows in of_phrase.values()
            if len(rows) > 1 or choose.random() < recipe.singles
            for first in range(0, len(rows), _MOST)
        ]

    def __iter__(self) -> Iterator[ClaimBatch]:
        epoch = 0
        while True:
            yield from self._epoch(Random(f"{self._seed}/{epoch}"))  # noqa: S311
            epoch += 1

    def _epoch(self, choose: Random) -> Iterator[ClaimBatch]:
        groups = choose.sample(self._groups, len(self._groups))
        for first in range(0, len(groups), _POOL):
            pool = [[self._row(one) for one in group] for group in groups[first : first + _POOL]]
            pool.sort(key=_longest)
            batches = list(self._packed(pool))
            choose.shuffle(batches)
            yield from map(_batch, batches)

    def _packed(self, groups: Sequence[list[_Row]]) -> Iterator[list[list[_Row]]]:
        """Groups, by rising length, in batches of so many pieces."""
        batch: list[list[_Row]] = []
        rows = 0
        for group in groups:
            if batch and (rows + len(group)) * _longest(group) > self._batch_pieces:
                yield batch
                batch, rows = [], 0
            batch.append(group)
            rows += len(group)
        if batch:
            yield batch

    def _row(self, contrast: ContrastRow) -> _Row:
        claim = claim_in(contrast.phrase, contrast.text, contrast.start, contrast.end)
        return _Row(*self._inputs.row(claim), contrast.says)


def _longest(group: list[_Row]) -> int:
    return max(len(row.ids) for row in group)


def _batch(groups: Sequence[list[_Row]]) -> ClaimBatch:
    rows = [row for group in groups for row in group]
    ids, mask = pad([row.ids for row in rows])
    types, _ = pad([row.types for row in rows])
    says = np.array([row.says for row in rows], dtype=np.float32)
    phrases = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return ClaimBatch(ids, mask, types, says, phrases)
