"""The answers of retrieval systems, and fitting them on a training set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from slice_os.datasets.span_sets import DocumentSpan, SpanSet
from slice_os.evaluation.harness import Progress, track
from slice_os.evaluation.results import Example, Figure, Series
from slice_os.evaluation.span_retrieval.measures import (
    PRIMARY,
    SpanCounts,
    best_cut,
    count_spans,
    first_overlap,
    mean,
    ranking_scores,
)
from slice_os.evaluation.span_retrieval.ranking import (
    DENSE,
    HYBRID,
    LIKELIEST,
    PASSAGE_HYBRID,
    RankedHit,
    RankingTask,
    SpanIndex,
)
from slice_os.query.fusion import BM25_WEIGHT, weighted

PRIMARY_CUTOFF = 10
SPAN_SYSTEMS = (DENSE, HYBRID, LIKELIEST)
FUSED_SYSTEMS = (HYBRID, PASSAGE_HYBRID)
WEIGHTS = tuple(round(0.05 * step, 2) for step in range(20))
# Hits on the first page: fewer for one document than for a whole corpus.
PAGE_OF_DOCUMENT, PAGE_OF_CORPUS = 10, 100


@dataclass(frozen=True, slots=True)
class Fit:
    """The weight of BM25 in a fusion, and the least score of a span; None for first hits only."""

    weight: float = BM25_WEIGHT
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """The ranked passages and the first hits of a system, by the id of the question."""

    rankings: dict[str, list[str]] = field(default_factory=dict)
    pages: dict[str, list[RankedHit]] = field(default_factory=dict)

    def given(self, question: str, threshold: float | None) -> list[DocumentSpan]:
        """The spans of all hits at or above the threshold, or without one of the first hit."""
        page = self.pages[question]
        if threshold is None:
            return [hit.span for hit in page[:1]]
        return [hit.span for hit in page if hit.score >= threshold]


def answer(
    index: SpanIndex,
    tasks: Sequence[RankingTask],
    systems: Iterable[str],
    fits: Mapping[str, Fit],
    label: str,
    progress: Progress,
) -> dict[str, Answers]:
    """The answers of systems to questions, without the likeliest hits if nothing verifies hits."""
    answers = {name: Answers() for name in systems if name != LIKELIEST or index.verifies}
    pages: list[tuple[RankingTask, str, list[tuple[int, float]]]] = []
    if read := answers.get(LIKELIEST):
        for task in track(tasks, f"{label}, read", len(tasks), progress):
            shown = index.likeliest(task, _size(task))
            read.rankings[task.id] = list(dict.fromkeys(str(number) for number, _ in shown))
            read.pages[task.id] = [hit for _, hit in shown]
    scoring = {system: found for system, found in answers.items() if system != LIKELIEST}
    for scored in track(index.score(tasks), label, len(tasks), progress):
        for system, found in scoring.items():
            scores = scored.scores(system, fits.get(system, Fit()).weight)
            rows = scored.ranking(scores)
            found.rankings[scored.task.id] = [str(scored.first + row) for row in rows]
            page = [(scored.first + row, float(scores[row])) for row in rows[: _size(scored.task)]]
            pages.append((scored.task, system, page))
    hits = index.hits(
        (task.query, number)
        for task, system, page in pages
        if system in SPAN_SYSTEMS
        for number, _ in page
    )
    for task, system, page in pages:
        if system in SPAN_SYSTEMS:
            weight = 0.0 if system == DENSE else fits.get(system, Fit()).weight
            given = [
                RankedHit(score + weighted(weight).cosine * hit.score, hit.span)
                for number, score in page
                for hit in hits[task.query, number]
            ]
        else:
            given = [RankedHit(score, index.places[number]) for number, score in page]
        given.sort(key=lambda hit: -hit.score)
        answers[system].pages[task.id] = given[: _size(task)]
    return answers


def _size(task: RankingTask) -> int:
    """Hits on the first page."""
    return PAGE_OF_CORPUS if task.doc_id is None else PAGE_OF_DOCUMENT


def fit(
    index: SpanIndex,
    tasks: Sequence[RankingTask],
    systems: Sequence[str],
    label: str,
    progress: Progress,
) -> dict[str, Fit]:
    """Fit the weight of each fusion by nDCG@10, and then each threshold by F1 of characters."""
    weights = _fit_weights(index, tasks, [name for name in systems if name in FUSED_SYSTEMS])
    fits = {name: Fit(weights.get(name, BM25_WEIGHT)) for name in systems}
    answers = answer(index, tasks, systems, fits, label, progress)
    return {
        name: Fit(fits[name].weight, _fit_threshold(tasks, found))
        for name, found in answers.items()
    }


def relevant(index: SpanIndex, tasks: Iterable[RankingTask]) -> dict[str, list[str]]:
    """The passages that answer each question, of the questions that have any."""
    found = {task.id: [str(number) for number in index.answers(task)] for task in tasks}
    return {question: numbers for question, numbers in found.items() if numbers}


def _fit_weights(
    index: SpanIndex, tasks: Sequence[RankingTask], systems: Sequence[str]
) -> dict[str, float]:
    if not systems:
        return {}
    runs: dict[tuple[str, float], dict[str, list[str]]] = {
        (name, weight): {} for name in systems for weight in WEIGHTS
    }
    answering = relevant(index, tasks)
    for scored in index.score(tasks):
        if scored.task.id not in answering:
            continue
        for (name, weight), run in runs.items():
            rows = scored.ranking(scored.scores(name, weight), PRIMARY_CUTOFF)
            run[scored.task.id] = [str(scored.first + row) for row in rows]
    means = {
        key: mean(ranking_scores(run, answering, (PRIMARY,))[PRIMARY].values())
        for key, run in runs.items()
    }
    return {name: max(WEIGHTS, key=lambda weight: means[name, weight]) for name in systems}


def _fit_threshold(tasks: Sequence[RankingTask], answers: Answers) -> float:
    hits = [(hit, task.gold) for task in tasks for hit in answers.pages[task.id]]
    counts = [count_spans([hit.span], gold) for hit, gold in hits]
    total = sum((count_spans([], task.gold) for task in tasks), SpanCounts())
    return best_cut([hit.score for hit, _ in hits], counts, total.gold_characters)


EXAMPLES_A_GROUP = 6
CONTEXT_CHARACTERS = 200
LONGEST_EXAMPLE = 2_000


def first_hits(title: str, tasks: Sequence[RankingTask], answers: Answers) -> Figure:
    """Cosines of first hits; a hit is right if it touches a gold span."""
    right: list[float] = []
    wrong: list[float] = []
    for task in tasks:
        for hit in answers.pages[task.id][:1]:
            (right if first_overlap([hit.span], task.gold) else wrong).append(hit.score)
    series = (Series("right", tuple(right)), Series("wrong", tuple(wrong)))
    return Figure("histogram", title, "cosine", "questions", series)


def hits_and_misses(
    name: str, data: SpanSet, tasks: Sequence[RankingTask], answers: Answers
) -> list[Example]:
    """First hits of questions about one document each, in context."""
    texts = {document.id: document.text for document in data.documents}
    groups: dict[bool, list[Example]] = {True: [], False: []}
    for task in tasks:
        page = answers.pages[task.id]
        if not task.gold or not page:
            continue
        doc_id, start, end = page[0].span
        hit = bool(first_overlap([page[0].span], task.gold))
        gold = min(task.gold[doc_id], key=lambda span: abs(span[0] - start))
        low = max(0, min(start, gold[0]) - CONTEXT_CHARACTERS)
        high = max(end, gold[1]) + CONTEXT_CHARACTERS
        if len(groups[hit]) == EXAMPLES_A_GROUP or high - low > LONGEST_EXAMPLE:
            continue
        group, note = f"{name}: {'hits' if hit else 'misses'}", f"cosine {page[0].score:.3f}"
        found, right = (start - low, end - low), (gold[0] - low, gold[1] - low)
        text = texts[doc_id][low:high]
        groups[hit].append(Example(group, task.query, text, found, right, note))
    return groups[True] + groups[False]
