"""Batches of claims for training a verifier, with the words that speak against each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from random import Random

import numpy as np
import numpy.typing as npt

from slice_os.arrays import IntArray
from slice_os.encoder.token_model import pad
from slice_os.verifier.claims import claim_in
from slice_os.verifier.cross_encoder import AGAINST, ClaimInputs

from .contrast_rows import ContrastRow, by_phrase

_UNKNOWN = -100
# Groups are shuffled, then sorted by length within so many, then their batches are shuffled.
_POOL = 2_000
# More claims of one phrase make several groups.
_MOST = 12
_CODE_POINTS, _SPECIAL = 4, 4  # of a word piece, about; and pieces that are no words


@dataclass(frozen=True, slots=True)
class ClaimBatch:
    """Rows for a forward pass.

    Attributes:
        ids, mask: ``(n, length)`` word-piece ids, padded with 0, and 1 for a piece.
        types: ``(n, length)`` 1 for the words of the hit.
        says: ``(n,)`` 1 if the claim holds, else 0; or what a teacher makes of it.
        phrases: ``(n,)`` equal numbers for claims of one phrase.
        against: ``(n, length)`` 0 for a piece that does not speak against the claim, the place of
            its kind in `AGAINST` and 1 for one that does, -100 where that is not known.
    """

    ids: IntArray
    mask: IntArray
    types: IntArray
    says: npt.NDArray[np.float32]
    phrases: IntArray
    against: IntArray


@dataclass(frozen=True, slots=True)
class _Group:
    """Rows of one phrase, and the word pieces of the longest claim, about."""

    rows: list[ContrastRow]
    length: int


class ClaimBatches:
    """Contrasts as batches, epoch by epoch, without end; the same seed gives the same ones."""

    def __init__(
        self,
        contrasts: Iterable[ContrastRow],
        inputs: ClaimInputs,
        *,
        batch_pieces: int,
        max_length: int,
        seed: int,
    ) -> None:
        self._inputs = inputs
        self._longest, self._budget, self._seed = max_length, batch_pieces, seed
        self._groups = [
            self._group(rows[first : first + _MOST])
            for rows in by_phrase(contrasts).values()
            for first in range(0, len(rows), _MOST)
        ]

    def after(self, steps: int) -> Iterator[ClaimBatch]:
        """The batches of all steps but the first so many."""
        return map(self._batch, islice(self._planned(), steps, None))

    def _group(self, rows: list[ContrastRow]) -> _Group:
        claims = [claim_in(row.phrase, row.text, row.start, row.end) for row in rows]
        code_points = max(len(one.phrase) + len(one.before) + len(one.text) for one in claims)
        return _Group(rows, min(self._longest, _SPECIAL + code_points // _CODE_POINTS))

    def _planned(self) -> Iterator[list[_Group]]:
        for epoch in count():
            choose = Random(f"{self._seed}/{epoch}")  # noqa: S311
            groups = choose.sample(self._groups, len(self._groups))
            for first in range(0, len(groups), _POOL):
                pool = sorted(groups[first : first + _POOL], key=lambda group: group.length)
                batches = list(self._packed(pool))
                choose.shuffle(batches)
                yield from batches

    def _packed(self, groups: Sequence[_Group]) -> Iterator[list[_Group]]:
        """Groups, by rising length, in batches of about so many pieces."""
        batch: list[_Group] = []
        for group in groups:
            rows = sum(len(one.rows) for one in batch) + len(group.rows)
            if batch and rows * group.length > self._budget:
                yield batch
                batch = []
            batch.append(group)
        if batch:
            yield batch

    def _batch(self, groups: Sequence[_Group]) -> ClaimBatch:
        contrasts = [row for group in groups for row in group.rows]
        claims = [claim_in(row.phrase, row.text, row.start, row.end) for row in contrasts]
        rows = [self._inputs.row(claim) for claim in claims]
        ids, mask = pad([row.ids for row in rows])
        types, _ = pad([row.types for row in rows])
        against = np.full_like(ids, _UNKNOWN)
        for number, (contrast, claim, row) in enumerate(zip(contrasts, claims, rows, strict=True)):
            if contrast.against is not None:
                before = contrast.start - claim.start
                found = _labels(contrast, row.places + before)
                against[number, : len(row.ids)] = np.where(row.places[:, 1] > 0, found, _UNKNOWN)
        aims = [row.says if row.taught is None else row.taught for row in contrasts]
        says = np.array(aims, dtype=np.float32)
        phrases = np.repeat(np.arange(len(groups)), [len(group.rows) for group in groups])
        return ClaimBatch(ids, mask, types, says, phrases, against)


def _labels(contrast: ContrastRow, places: IntArray) -> IntArray:
    """Of each piece, whether it speaks against the claim, and how."""
    labels = np.zeros(len(places), dtype=np.int64)
    for start, end in contrast.against or ():
        inside = (places[:, 0] < end) & (places[:, 1] > start)
        labels[inside] = tuple(AGAINST).index(contrast.kind) + 1
    return labels
