"""Near misses of topics, and suggestions for their files."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.corpus import Corpus
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.hits.hit import Hit, counting
from slice_os.labels.label import Label
from slice_os.query.filters import Filter, parse_where
from slice_os.query.options import CLAUSE
from slice_os.search.run import mine
from slice_os.topics.match import Suggestion
from slice_os.topics.run import TopicQuery, labels_of_store, make_aims
from slice_os.topics.topic import Topic

MARGIN = 0.1
CLUSTER_COSINE = 0.8
MOST_MISSES = 2_000


def near_misses(
    corpus: Corpus,
    topics: Sequence[Topic],
    *,
    margin: float = MARGIN,
    where: Filter | None = None,
    and_hits: bool = False,
    labels: Sequence[Label] | None = None,
) -> Iterator[Hit]:
    """Spans below what a topic needs by no more than a margin; none nearer to a counter-phrase.

    The margin is in cosine, or in probability if the topic needs that; ``where`` has conditions
    on metadata, as in `Corpus.search`. With ``and_hits``, the hits themselves come, too. Labels
    are those of `mine_topics`.
    """
    encoder = corpus.encoder
    known = labels_of_store(corpus) if labels is None else labels
    aims = make_aims(topics, encoder, verifier=corpus.refinement().verifier, labels=known)
    by_name = {aim.topic.name: aim for aim in aims}
    wide = [aim.lowered(margin) for aim in aims]
    asked = TopicQuery.of(wide, encoder, parse_where(where))
    for hit in counting(asked.assign(mine(corpus.store, asked.query, threshold=asked.least))):
        if and_hits or not by_name[hit.topic or ""].admits(hit):
            yield hit


def suggest(
    corpus: Corpus,
    topics: Sequence[Topic],
    *,
    most: int = 10,
    margin: float = MARGIN,
    where: Filter | None = None,
    labels: Sequence[Label] | None = None,
) -> list[Suggestion]:
    """Hits that topics may have missed, or should leave out: ``most`` each, large clusters first.

    The other arguments are those of `near_misses`.
    """
    best: dict[str, list[tuple[float, int, Hit]]] = {topic.name: [] for topic in topics}
    for number, hit in enumerate(
        near_misses(corpus, topics, margin=margin, where=where, labels=labels)
    ):
        heap = best[hit.topic or ""]
        heapq.heappush(heap, (hit.cosine, -number, hit))
        if len(heap) > MOST_MISSES:
            heapq.heappop(heap)
    found = []
    for heap in best.values():
        clauses = [hit.widened(CLAUSE) for *_, hit in sorted(heap)[::-1]]
        found += _clusters(clauses, corpus.encoder)[:most]
    return found


def leaders(vectors: FloatArray) -> list[int]:
    """For each of ``(n, dimension)`` unit vectors, the row of the first of its cluster.

    A vector joins the nearest of the former first ones if it is like that, or begins a cluster.
    """
    first: list[int] = []
    found = []
    for row, vector in enumerate(vectors):
        cosines = vectors[first] @ vector
        if not first or cosines.max() < CLUSTER_COSINE:
            first.append(row)
            found.append(row)
        else:
            found.append(first[int(cosines.argmax())])
    return found


def _clusters(hits: Sequence[Hit], encoder: SpanEncoder) -> list[Suggestion]:
    """Hits that say much the same, by `leaders`."""
    if not hits:
        return []
    said = [" ".join(hit.text.split()) for hit in hits]
    texts = list(dict.fromkeys(said))
    vectors = encoder.encode(texts)
    first = np.array(leaders(vectors))
    leader_of = dict(zip(texts, first.tolist(), strict=True))
    found: dict[int, list[Hit]] = defaultdict(list)
    for hit, text in zip(hits, said, strict=True):
        found[leader_of[text]].append(hit)
    suggestions = []
    for leader, own in found.items():
        members = np.flatnonzero(first == leader)
        chosen = vectors[members]
        # The one that is nearest to the others on average.
        central = members[np.argmax(chosen @ chosen.sum(axis=0))]
        topic, documents = own[0].topic or "", len({hit.doc_id for hit in own})
        place = (len(own), documents, own[0].phrase, own[0].cosine, tuple(own))
        suggestions.append(Suggestion(topic, texts[central], *place))
    return sorted(suggestions, key=lambda each: (-each.documents, -each.cosine))
