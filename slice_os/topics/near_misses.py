"""Near misses of topics: what almost was a hit, clustered, as suggestions for their files."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.corpus import Corpus
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.hits.hit import Hit
from slice_os.query.filters import Filter
from slice_os.topics.assignment import assign
from slice_os.topics.run import make_rules, mine_phrases, span_cosines
from slice_os.topics.topic import Cut, Topic

MARGIN = 0.1
CLUSTER_COSINE = 0.8
MOST_MISSES = 2_000


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Near misses of a topic that say much the same: a phrase or a counter-phrase to be.

    Attributes:
        topic: its name.
        text: the one that represents them best.
        spans: number of them.
        documents: number of their documents.
        phrase: the nearest phrase of the topic.
        cosine: of the nearest of them.
        hits: all of them, the nearest first.
    """

    topic: str
    text: str
    spans: int
    documents: int
    phrase: str
    cosine: float
    hits: tuple[Hit, ...]


def near_misses(
    corpus: Corpus,
    topics: Sequence[Topic],
    *,
    margin: float = MARGIN,
    where: Filter | None = None,
    and_hits: bool = False,
) -> Iterator[Hit]:
    """Spans below a topic's cut by no more than a margin, nearer to it than to counter-phrases.

    Args:
        corpus: where to look.
        topics: whose near misses.
        margin: how far below: in cosine, or in probability if that is what cuts.
        where: conditions on metadata; see `Corpus.search`.
        and_hits: also the hits themselves.
    """
    rules = make_rules(topics, corpus.encoder)
    wide = [replace(rule, cut=_lowered(rule.cut, margin)) for rule in rules]
    cuts = {rule.topic.name: rule.cut for rule in rules}
    cosines = span_cosines(rules, corpus.encoder)
    refine = corpus.refinement()
    hits = mine_phrases(corpus, wide, refine, where)
    for hit in assign(hits, wide, cosines, verify=refine.each):
        if and_hits or not cuts[hit.topic or ""].admits(hit):
            yield hit


def suggest(
    corpus: Corpus,
    topics: Sequence[Topic],
    *,
    most: int = 10,
    margin: float = MARGIN,
    where: Filter | None = None,
) -> list[Suggestion]:
    """What topics may have missed, or should be told to leave out: the largest clusters first.

    Args:
        corpus: where to look.
        topics: whose near misses.
        most: suggestions for each topic.
        margin: see `near_misses`.
        where: conditions on metadata; see `Corpus.search`.
    """
    best: dict[str, list[tuple[float, int, Hit]]] = {topic.name: [] for topic in topics}
    for number, hit in enumerate(near_misses(corpus, topics, margin=margin, where=where)):
        heap = best[hit.topic or ""]
        heapq.heappush(heap, (hit.cosine, -number, hit))
        if len(heap) > MOST_MISSES:
            heapq.heappop(heap)
    return [
        suggestion
        for heap in best.values()
        for suggestion in _clusters([hit for *_, hit in sorted(heap)[::-1]], corpus.encoder)[:most]
    ]


def _lowered(cut: Cut, margin: float) -> Cut:
    if cut.probability:
        return replace(cut, probability=max(cut.probability - margin, 1e-3))
    return replace(cut, cosine=cut.cosine - margin)


def _clusters(hits: Sequence[Hit], encoder: SpanEncoder) -> list[Suggestion]:
    """Each hit joins the first cluster whose nearest hit it is like, or begins one."""
    if not hits:
        return []
    texts = list(dict.fromkeys(" ".join(hit.text.split()) for hit in hits))
    vectors = encoder.encode_phrases(texts)
    leaders: list[int] = []
    members: dict[int, list[int]] = {}
    for row, vector in enumerate(vectors):
        cosines = vectors[leaders] @ vector
        leader = leaders[int(cosines.argmax())] if len(leaders) else row
        if not len(leaders) or cosines.max() < CLUSTER_COSINE:
            leader = row
            leaders.append(row)
        members.setdefault(leader, []).append(row)
    cluster_of = {texts[row]: leader for leader, rows in members.items() for row in rows}
    found: dict[int, list[Hit]] = {leader: [] for leader in leaders}
    for hit in hits:
        found[cluster_of[" ".join(hit.text.split())]].append(hit)
    suggestions = [
        Suggestion(
            topic=mine[0].topic or "",
            text=texts[_central(members[leader], vectors)],
            spans=len(mine),
            documents=len({hit.doc_id for hit in mine}),
            phrase=mine[0].phrase,
            cosine=mine[0].cosine,
            hits=tuple(mine),
        )
        for leader, mine in found.items()
    ]
    return sorted(suggestions, key=lambda each: (-each.documents, -each.cosine))


def _central(rows: list[int], vectors: FloatArray) -> int:
    """The row that is nearest to the others on average."""
    chosen = vectors[rows]
    return rows[int(np.argmax(chosen @ chosen.sum(axis=0)))]
