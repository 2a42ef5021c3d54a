"""Measures of ranked passages, and of spans against gold spans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from operator import add, attrgetter
from typing import TypeAlias

import numpy as np

from slice_os.datasets.span_sets import DocumentSpan, Span
from slice_os.errors import imported
from slice_os.evaluation.measures import Measure, mean_interval

Gold: TypeAlias = Mapping[str, Sequence[Span]]

PRIMARY = "nDCG@10"
# Measures of rankings by column, in the notation of ir-measures.
RANKING = {"ndcg@10": PRIMARY, "recall@5": "R@5", "recall@10": "R@10", "recall@100": "R@100"}


@dataclass(frozen=True, slots=True)
class Rates:
    """Precision, 0 if nothing was given; recall, 0 if nothing is gold; their harmonic mean."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class SpanCounts:
    """Given spans against gold spans; add these up for micro-averages.

    ``right`` are the given spans with IoU of at least one half with some gold span, ``found`` the
    gold spans with such an IoU with some given one. Characters are code points in any span of
    that kind, shared ones in spans of both.
    """

    given: int = 0
    right: int = 0
    gold: int = 0
    found: int = 0
    given_characters: int = 0
    shared_characters: int = 0
    gold_characters: int = 0

    def __add__(self, other: SpanCounts) -> SpanCounts:
        return SpanCounts(*map(add, astuple(self), astuple(other)))

    @property
    def spans(self) -> Rates:
        """Of the spans given, and of the gold spans."""
        return _rates(self.right, self.given, self.found, self.gold)

    @property
    def characters(self) -> Rates:
        """Of the characters given, and of the gold characters."""
        shared = self.shared_characters
        return _rates(shared, self.given_characters, shared, self.gold_characters)


def iou(one: Span, other: Span) -> float:
    """Intersection over union of two spans, in code points."""
    shared = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return shared / ((one[1] - one[0]) + (other[1] - other[0]) - shared)


def count_spans(given: Sequence[DocumentSpan], gold: Gold) -> SpanCounts:
    """Compare the spans given for one question with its gold spans; either may overlap."""
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


def first_overlap(given: Iterable[DocumentSpan], gold: Gold) -> float:
    """One over the rank of the first span that shares a character with a gold one; else 0."""
    for rank, (doc_id, start, end) in enumerate(given, start=1):
        if any(start < b and a < end for a, b in gold.get(doc_id, ())):
            return 1 / rank
    return 0.0


def answering(passages: Sequence[Span], spans: Iterable[Span]) -> list[int]:
    """The passages of a document that count as answers, as rising indices.

    A passage is an answer if it holds at least half of a span, or at least half of it is inside
    one. If a span has no such passage, the first of those that hold most of it is its answer.
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
    indices: list[int] = np.flatnonzero(counts).tolist()
    return indices


def halves_overlap(found: DocumentSpan, gold: Gold) -> bool:
    """Whether at least half of a span, or of a gold span, is inside the other."""
    return any(
        2 * (min(found.end, end) - max(found.start, start))
        >= min(found.end - found.start, end - start)
        for start, end in gold.get(found.doc_id, ())
    )


def ranking_scores(
    rankings: Mapping[str, Sequence[str]],
    relevant: Mapping[str, Iterable[str]],
    names: Sequence[str] = tuple(RANKING.values()),
) -> dict[str, dict[str, float]]:
    """Values for each question of measures of its ranking, by their names in `ir-measures`.

    Rankings are from the first rank down; each question has one relevant passage at least. A
    value is 0 if nothing was ranked.
    """
    ir_measures = imported("ir_measures", "measuring retrieval", "eval")
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
    values = {name: dict.fromkeys(relevant, 0.0) for name in names}
    measures = [ir_measures.parse_measure(name) for name in names]
    for metric in ir_measures.iter_calc(measures, qrels, run):
        values[str(metric.measure)][metric.query_id] = metric.value
    return values


def best_cut(scores: Sequence[float], counts: Sequence[SpanCounts], gold_characters: int) -> float:
    """The threshold of span scores with the best F1 of characters; infinite if none improves it.

    Spans of one question do not overlap; ``counts`` are of each span by itself.
    """
    if not len(scores):
        return float("inf")
    values = np.asarray(scores, dtype=np.float64)
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    shared = np.cumsum([counts[index].shared_characters for index in order])
    given = np.cumsum([counts[index].given_characters for index in order])
    f1 = 2 * shared / np.maximum(given + gold_characters, 1)
    # Spans with equal scores are given together.
    last = np.append(ranked[1:] != ranked[:-1], True)
    f1 = np.where(last, f1, -1)
    best = int(f1.argmax())
    return float(ranked[best]) if f1[best] > 0 else float("inf")


@dataclass(frozen=True, slots=True)
class Observed:
    """Values by the names in `RANKING` of each question that has an answer, and of all spans.

    ``reciprocal_ranks`` are one over the rank of the first right span of the same questions.
    """

    rankings: Mapping[str, Mapping[str, float]]
    reciprocal_ranks: Sequence[float]
    counts: SpanCounts


def mean(values: Iterable[float]) -> float:
    """The mean; nan of nothing."""
    numbers = list(values)
    return float(np.mean(numbers)) if numbers else float("nan")


def _ranking(column: str, name: str) -> Measure[Observed]:
    return Measure(
        column,
        lambda one: mean(one.rankings[name].values()),
        (lambda one: mean_interval(list(one.rankings[name].values()))) if name == PRIMARY else None,
    )


def _rates(right: int, given: int, found: int, gold: int) -> Rates:
    precision, recall = right / given if given else 0.0, found / gold if gold else 0.0
    both = precision + recall
    return Rates(precision, recall, 2 * precision * recall / both if both else 0.0)


MEASURES: tuple[Measure[Observed], ...] = (
    *(_ranking(column, name) for column, name in RANKING.items()),
    Measure("mrr", lambda one: mean(one.reciprocal_ranks)),
    *(
        Measure(f"{unit}_{name}", attrgetter(f"counts.{unit}s.{name}"))
        for unit in ("span", "character")
        for name in ("precision", "recall", "f1")
    ),
)
