"""Span retrieval in the report: scores of right and wrong hits, and examples."""

from __future__ import annotations

from collections.abc import Sequence

from slice_os.datasets.span_sets import SpanSet
from slice_os.evaluation.results import Example, Figure, Series
from slice_os.evaluation.span_retrieval.measures import first_overlap
from slice_os.evaluation.span_retrieval.ranking import RankingTask
from slice_os.evaluation.span_retrieval.systems import Answers

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
        groups[hit].append(
            Example(
                f"{name}: {'hits' if hit else 'misses'}",
                task.query,
                texts[doc_id][low:high],
                (start - low, end - low),
                (gold[0] - low, gold[1] - low),
                f"cosine {page[0].score:.3f}",
            )
        )
    return groups[True] + groups[False]
