"""Batches of rows that go through a model together, and their padding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slice_os.arrays import IntArray


def plan_batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Group rows of similar length, longest first, within a budget of padded pieces.

    Args:
        lengths: pieces of each row.
        budget: pieces that a padded batch may hold; a longer row gets a batch to itself.

    Returns:
        Indices into ``lengths``; each index once.
    """
    batches: list[list[int]] = []
    widest = 0
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if batches and widest * (len(batches[-1]) + 1) <= budget:
            batches[-1].append(index)
        else:
            batches.append([index])
            widest = lengths[index]
    return batches


def pad(rows: Sequence[Sequence[int] | IntArray]) -> tuple[IntArray, IntArray]:
    """Pad rows of ids with zeros, on the right, to the longest.

    Returns:
        The ids and a mask that is 1 for an id and 0 for padding, each ``(n_rows, longest)``.
    """
    ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        mask[index, : len(row)] = 1
    return ids, mask
