"""What retrieval systems answer, and what they are fitted to on a training set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from slice_os.evaluation.harness import Progress, track
from slice_os.evaluation.span_retrieval.measures import (
    Place,
    SpanCounts,
    best_cut,
    count_spans,
    ranking_scores,
)
from slice_os.evaluation.span_retrieval.ranking import (
    DENSE,
    HYBRID,
    PASSAGE_HYBRID,
    RankingTask,
    SpanIndex,
    TaskScores,
)
from slice_os.fusion import BM25_WEIGHT

PRIMARY = "nDCG@10"
SPAN_SYSTEMS = (DENSE, HYBRID)
FUSED_SYSTEMS = (HYBRID, PASSAGE_HYBRID)
WEIGHTS = tuple(round(0.05 * step, 2) for step in range(20))
# Hits that count as shown: a page of one document, more of a whole corpus.
PAGE_OF_DOCUMENT, PAGE_OF_CORPUS = 10, 100


@dataclass(frozen=True, slots=True)
class Fit:
    """What a system was fitted to.

    Attributes:
        weight: of BM25, where it fuses.
        threshold: least score of a span that it gives; None: the first hit alone is given.
    """

    weight: float = BM25_WEIGHT
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class RankedHit:
    """A hit on the first page: its score, and the place it points at."""

    score: float
    place: Place


@dataclass(frozen=True, slots=True)
class Answers:
    """What a system answers, by the id of the question.

    Attributes:
        rankings: numbers of passages, best first.
        pages: the first hits.
    """

    rankings: dict[str, list[str]] = field(default_factory=dict)
    pages: dict[str, list[RankedHit]] = field(default_factory=dict)

    def given(self, question: str, threshold: float | None) -> list[Place]:
        """The places that a system gives for a question: all hits from a threshold on.

        Without one it is the first hit.
        """
        page = self.pages[question]
        if threshold is None:
            return [hit.place for hit in page[:1]]
        return [hit.place for hit in page if hit.score >= threshold]


def answer(
    index: SpanIndex,
    asked: Sequence[RankingTask],
    systems: Iterable[str],
    fits: Mapping[str, Fit],
    label: str,
    progress: Progress,
) -> dict[str, Answers]:
    """The answers of systems to questions.

    Args:
        index: the documents.
        asked: the questions.
        systems: their names.
        fits: of those that are not as shipped.
        label: of the progress.
        progress: told of the questions done.
    """
    answers = {system: Answers() for system in systems}
    for known in track(index.known(asked), label, len(asked), progress):
        _answer(index, known, answers, fits)
    return answers


def fit(
    index: SpanIndex,
    asked: Sequence[RankingTask],
    systems: Sequence[str],
    label: str,
    progress: Progress,
) -> dict[str, Fit]:
    """Fit the weight of each fusion by nDCG@10, and then each threshold by F1 of characters.

    Args:
        index: the training documents.
        asked: their questions.
        systems: names.
        label: of the progress.
        progress: told of the questions done.
    """
    weights = _fit_weights(index, asked, [name for name in systems if name in FUSED_SYSTEMS])
    fits = {name: Fit(weights.get(name, BM25_WEIGHT)) for name in systems}
    answers = answer(index, asked, systems, fits, label, progress)
    return {name: Fit(fits[name].weight, _fit_threshold(asked, answers[name])) for name in systems}


def relevant(index: SpanIndex, asked: Iterable[RankingTask]) -> dict[str, list[str]]:
    """The passages that answer each question, of the questions that have any."""
    found = {one.id: [str(number) for number in index.answers(one)] for one in asked}
    return {question: numbers for question, numbers in found.items() if numbers}


def _answer(
    index: SpanIndex, known: TaskScores, answers: Mapping[str, Answers], fits: Mapping[str, Fit]
) -> None:
    asked = known.asked
    size = PAGE_OF_CORPUS if asked.doc_id is None else PAGE_OF_DOCUMENT
    scores = {name: known.scores(name, fits.get(name, Fit()).weight) for name in answers}
    rankings = {name: known.ranking(values) for name, values in scores.items()}
    wanted = {row for name in SPAN_SYSTEMS if name in rankings for row in rankings[name][:size]}
    spans = index.span_places(known, wanted)
    for name, rows in rankings.items():
        answers[name].rankings[asked.id] = [str(known.first + row) for row in rows]
        answers[name].pages[asked.id] = [
            RankedHit(
                float(scores[name][row]),
                spans[row] if name in SPAN_SYSTEMS else index.passage_place(known.first + row),
            )
            for row in rows[:size]
        ]


def _fit_weights(
    index: SpanIndex, asked: Sequence[RankingTask], systems: Sequence[str]
) -> dict[str, float]:
    if not systems:
        return {}
    runs: dict[tuple[str, float], dict[str, list[str]]] = {
        (name, weight): {} for name in systems for weight in WEIGHTS
    }
    for known in index.known(asked):
        for (name, weight), run in runs.items():
            rows = known.ranking(known.scores(name, weight))
            run[known.asked.id] = [str(known.first + row) for row in rows]
    answering = relevant(index, asked)
    means = {
        key: float(np.mean(list(ranking_scores(run, answering)[PRIMARY].values())))
        for key, run in runs.items()
    }
    return {name: max(WEIGHTS, key=lambda weight: means[name, weight]) for name in systems}


def _fit_threshold(asked: Sequence[RankingTask], answers: Answers) -> float:
    scores: list[float] = []
    counts: list[SpanCounts] = []
    for one in asked:
        for hit in answers.pages[one.id]:
            scores.append(hit.score)
            counts.append(count_spans([hit.place], one.gold))
    gold = sum((count_spans([], one.gold) for one in asked), SpanCounts())
    return best_cut(scores, counts, gold.gold_characters)
