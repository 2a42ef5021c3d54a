"""Claims as the input of a cross-encoder: phrase and sentence, with the hit marked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slice_os.arrays import IntArray
from slice_os.encoder.alignment import AlignedText, Aligner
from slice_os.encoder.batches import pad
from slice_os.verifier.claims import Claim


class ClaimInputs:
    """Builds the rows of ids that a cross-encoder reads: ``[CLS] phrase [SEP] sentence [SEP]``.

    The words of the hit have token type 1, everything else 0. A sentence that is too long loses
    what is farthest from the hit, a phrase or a hit that is too long its end.

    Args:
        aligner: of the model's tokenizer.
        max_length: longest row, special tokens included.
    """

    def __init__(self, aligner: Aligner, max_length: int) -> None:
        self._aligner = aligner
        special = len(aligner.prefix) + 2 * len(aligner.suffix)
        self._capacity = max_length - special

    def rows(self, claims: Sequence[Claim]) -> tuple[IntArray, IntArray]:
        """Ids and token types of claims, each ``(n_claims, longest)``, padded with 0."""
        built = [self.row(claim) for claim in claims]
        ids, _ = pad([row for row, _ in built])
        types, _ = pad([kinds for _, kinds in built])
        return ids, types

    def row(self, claim: Claim) -> tuple[list[int], list[int]]:
        """Ids and token types of a claim."""
        phrase = self._aligner.align(claim.phrase).piece_ids.tolist()[: self._capacity // 2]
        aligned = self._aligner.align(claim.text)
        room = self._capacity - len(phrase)
        first, last = _pieces(aligned, claim.start, claim.end)
        last = min(last, first + room)
        spare = room - (last - first)
        n_pieces = len(aligned.piece_ids)
        left = min(first, max(spare // 2, spare - (n_pieces - last)))
        opens, closes = first - left, min(n_pieces, last + spare - left)
        prefix, suffix = list(self._aligner.prefix), list(self._aligner.suffix)
        head = [*prefix, *phrase, *suffix]
        ids = [*head, *aligned.piece_ids[opens:closes].tolist(), *suffix]
        types = np.zeros(len(ids), dtype=np.int64)
        types[len(head) + first - opens : len(head) + last - opens] = 1
        return ids, types.tolist()


def _pieces(aligned: AlignedText, start: int, end: int) -> tuple[int, int]:
    """The pieces of the words between two code points; all of them if there is no word."""
    words = aligned.words
    inside = np.flatnonzero((words[:, 1] > start) & (words[:, 0] < end))
    if not len(inside):
        return 0, len(aligned.piece_ids)
    return int(words[inside[0], 2]), int(words[inside[-1], 3])
