"""STS-B-Context in the report: scores against gold, and examples of good and bad rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slice_os.evaluation.results import Example, Figure, Series
from slice_os.evaluation.stats import ranks
from slice_os.evaluation.sts_b_context.context_rows import ContextRow
from slice_os.evaluation.sts_b_context.passage_scores import Scores

BANDS = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5))
EXAMPLES = 4


def figures(scores: Sequence[Scores], rows: Sequence[ContextRow]) -> tuple[Figure, ...]:
    """A scatter plot of each encoder's scores by gold, and their histograms."""
    gold = [row.gold for row in rows]
    plots: list[Figure] = []
    for one in scores:
        title, label = f"{one.encoder}, {one.setting}", _label(one)
        values = [float(value) for value in one.values]
        plots.append(
            Figure(
                "scatter",
                title,
                "similarity by people",
                label,
                (Series("", tuple(gold), tuple(values)),),
            )
        )
        bands = tuple(
            Series(
                f"gold {low}–{high}",
                tuple(
                    value
                    for value, score in zip(values, gold, strict=True)
                    if low <= score < high or score == high == BANDS[-1][1]
                ),
            )
            for low, high in BANDS
        )
        plots.append(Figure("histogram", title, label, "rows", bands))
    return tuple(plots)


def examples(scores: Sequence[Scores], rows: Sequence[ContextRow]) -> tuple[Example, ...]:
    """For each encoder, paraphrases it found and rows that it ranks far too high or too low."""
    gold_ranks = ranks([row.gold for row in rows])
    shown: list[Example] = []
    for one in scores:
        if one.max_size is None:
            continue
        above = ranks(one.values) - gold_ranks
        right = [
            i for i in np.argsort(-(gold_ranks - np.abs(above))) if _overlap(one, rows, i) > 0.5
        ]
        for group, order in (
            ("found", right),
            ("ranked too high", np.argsort(-above)),
            ("ranked too low", np.argsort(above)),
        ):
            shown += [_example(one, rows[i], i, group) for i in order[:EXAMPLES]]
    return tuple(shown)


def _example(one: Scores, row: ContextRow, number: int, group: str) -> Example:
    return Example(
        group=f"{one.encoder}: {group}",
        query=row.query,
        text=row.passage,
        found=one.places[number],
        gold=row.place,
        note=f"gold {row.gold:g} of 5, {_label(one)} {one.values[number]:.3f}",
    )


def _label(one: Scores) -> str:
    return "BM25" if one.encoder == "bm25" else "cosine"


def _overlap(one: Scores, rows: Sequence[ContextRow], number: int) -> float:
    """Intersection over union of the found span and the paraphrase, in characters."""
    found, gold = one.places[number], rows[number].place
    if found is None or gold is None:
        return 0.0
    shared = min(found[1], gold[1]) - max(found[0], gold[0])
    return max(0, shared) / (max(found[1], gold[1]) - min(found[0], gold[0]))
