"""Measures of answers with places: ranked passages, and spans against gold spans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np

from slice_os.datasets.span_sets import Span
from slice_os.errors import MissingExtraError

Place: TypeAlias = tuple[str, int, int]
Gold: TypeAlias = Mapping[str, Sequence[Span]]

MEASURES = ("nDCG@10", "R@5", "R@10", "R@100")


@dataclass(frozen=True, slots=True)
class SpanCounts:
    """How spans that were given compare with gold spans; sums of these are micro-averages.

    Attributes:
        given: spans given.
        right: of them, those with IoU of at least one half with some gold span.
        gold: gold spans.
        found: of them, those with such an IoU with some span given.
        given_characters: code points in any span given.
        shared_characters: of them, those in a gold span as well.
        gold_characters: code points in any gold span.
    """

    given: int = 0
    right: int = 0
    gold: int = 0
    found: int = 0
    given_characters: int = 0
    shared_characters: int = 0
    gold_characters: int = 0

    def __add__(self, other: SpanCounts) -> SpanCounts:
        names = [field.name for field in fields(self)]
        return SpanCounts(*(getattr(self, name) + getattr(other, name) for name in names))

    def scores(self) -> dict[str, float]:
        """Precision, recall and F1 of spans and of their characters; 0 where undefined."""
        spans = _scores(_ratio(self.right, self.given), _ratio(self.found, self.gold))
        characters = _scores(
            _ratio(self.shared_characters, self.given_characters),
            _ratio(self.shared_characters, self.gold_characters),
        )
        return {
            **{f"span_{name}": value for name, value in spans.items()},
            **{f"character_{name}": value for name, value in characters.items()},
        }


def iou(one: Span, other: Span) -> float:
    """Intersection over union of two spans, in code points."""
    shared = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return shared / ((one[1] - one[0]) + (other[1] - other[0]) - shared)


def count_spans(given: Sequence[Place], gold: Gold) -> SpanCounts:
    """Compare the spans given for one question with its gold spans.

    Args:
        given: documents and spans; they may overlap.
        gold: gold spans of each document that has any; they may overlap.
    """
    right, shared = 0, 0
    found: set[tuple[str, Span]] = set()
    by_document: dict[str, list[Span]] = {}
    for doc_id, start, end in given:
        by_document.setdefault(doc_id, []).append((start, end))
    for doc_id, spans in by_document.items():
        answers = gold.get(doc_id, ())
        for span in spans:
            matches = [answer for answer in answers if iou(span, answer) >= 0.5]
            right += bool(matches)
            found |= {(doc_id, answer) for answer in matches}
        shared += size(spans) + size(answers) - size([*spans, *answers])
    return SpanCounts(
        given=len(given),
        right=right,
        gold=sum(len(set(answers)) for answers in gold.values()),
        found=len(found),
        given_characters=sum(map(size, by_document.values())),
        shared_characters=shared,
        gold_characters=sum(map(size, gold.values())),
    )


def size(spans: Iterable[Span]) -> int:
    """Code points in the union of spans."""
    total, reached = 0, 0
    for start, end in sorted(spans):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def first_overlap(given: Iterable[Place], gold: Gold) -> float:
    """One over the rank of the first span that shares a character with a gold one; else 0."""
    for rank, (doc_id, start, end) in enumerate(given, start=1):
        if any(start < b and a < end for a, b in gold.get(doc_id, ())):
            return 1 / rank
    return 0.0


def answering(passages: Sequence[Span], spans: Iterable[Span]) -> list[int]:
    """Which passages of a document count as answers.

    A passage counts where it holds at least half of a span, or at least half of it lies in one;
    where that leaves none for a span, the first of those that hold most of it.

    Args:
        passages: ``(start, end)`` of each, in order.
        spans: the answers.

    Returns:
        Indices of passages, rising.
    """
    places = np.array(passages, dtype=np.int64).reshape(-1, 2)
    counts = np.zeros(len(places), dtype=bool)
    for start, end in spans:
        shared = np.minimum(places[:, 1], end) - np.maximum(places[:, 0], start)
        least = np.minimum(places[:, 1] - places[:, 0], end - start)
        halves = 2 * shared >= least
        if not halves.any() and shared.max(initial=0) > 0:
            halves[shared.argmax()] = True
        counts |= halves
    return [int(index) for index in np.flatnonzero(counts)]


def ranking_scores(
    rankings: Mapping[str, Sequence[str]], relevant: Mapping[str, Iterable[str]]
) -> dict[str, dict[str, float]]:
    """`MEASURES` of each question, by `ir-measures`.

    Args:
        rankings: for each question, passages from the first rank down.
        relevant: for each question, the passages that count as answers; one at least.

    Returns:
        For each measure, its value for each question; 0 where nothing was ranked.

    Raises:
        MissingExtraError: without ir-measures.
    """
    try:
        import ir_measures
    except ImportError:
        raise MissingExtraError("measuring retrieval", "eval") from None
    qrels = [
        ir_measures.Qrel(question, passage, 1)
        for question, passages in relevant.items()
        for passage in passages
    ]
    run = [
        ir_measures.ScoredDoc(question, passage, -float(rank))
        for question, passages in rankings.items()
        for rank, passage in enumerate(passages)
    ]
    values = {name: dict.fromkeys(relevant, 0.0) for name in MEASURES}
    measures = [ir_measures.parse_measure(name) for name in MEASURES]
    for metric in ir_measures.iter_calc(measures, qrels, run):
        values[str(metric.measure)][metric.query_id] = metric.value
    return values


def best_cut(scores: Sequence[float], counts: Sequence[SpanCounts], gold_characters: int) -> float:
    """The score from which on spans are best given, by the F1 of their characters.

    Args:
        scores: of each span that could be given; those of one question do not overlap.
        counts: of each by itself.
        gold_characters: code points in all gold spans.

    Returns:
        A threshold; infinite where nothing is worth giving.
    """
    order = np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable")
    if not len(order):
        return float("inf")
    ranked = np.asarray(scores, dtype=np.float64)[order]
    shared = np.cumsum([counts[index].shared_characters for index in order])
    given = np.cumsum([counts[index].given_characters for index in order])
    f1 = 2 * shared / np.maximum(given + gold_characters, 1)
    # Equal scores stand or fall together.
    last = np.append(ranked[1:] != ranked[:-1], True)
    f1 = np.where(last, f1, -1)
    best = int(f1.argmax())
    return float(ranked[best]) if f1[best] > 0 else float("inf")


def _scores(precision: float, recall: float) -> dict[str, float]:
    f1 = _ratio(2 * precision * recall, precision + recall)
    return {"precision": precision, "recall": recall, "f1": f1}


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
