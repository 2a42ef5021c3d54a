from __future__ import annotations

import numpy as np
import pytest

from slice_os.stores.local.terms import TermCounts, coarse, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The customers' plan isn't cancelled", ["customers", "plan", "isn_t", "cancelled"]),
        (
            "O'Neill’s non-refundable 3,000 at b.org",
            ["o_neill", "non", "refundable", "3_000", "b_org"],
        ),
        ("____ snake_case ... 😀", ["snake_case"]),
        ("取消订阅", ["取", "消", "订", "阅"]),
        ("to be or not", []),
        ("", []),
    ],
)
def test_terms_are_those_of_lucene(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_lengths_are_as_coarse_as_in_lucene() -> None:
    """From the table of Lucene's ``SmallFloat.byte4ToInt``."""
    lengths = np.array([0, 1, 23, 24, 39, 40, 41, 42, 100, 1_000, 100_000])
    kept = [0, 1, 23, 24, 39, 40, 40, 42, 96, 984, 98_328]
    np.testing.assert_array_equal(coarse(lengths), kept)


@pytest.mark.parametrize("found", [1, 2, 4])
def test_frequencies_are_computed_back(found: int) -> None:
    """From weights by FTS5's formula, for a term in few, half or all passages."""
    lengths, frequencies = np.array([3, 10, 50, 7]), np.array([1, 3, 40, 7])[:found]
    idf = max(np.log((4 - found + 0.5) / (found + 0.5)), 0) or 1e-6
    norms = 1.2 * (0.25 + 0.75 * lengths[:found] / lengths.mean())
    weights = idf * frequencies * 2.2 / (frequencies + norms)
    worked = TermCounts(lengths).frequencies(weights, np.arange(found))
    np.testing.assert_array_equal(worked, frequencies)
