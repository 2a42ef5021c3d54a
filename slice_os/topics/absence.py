"""What topics find in a store, and what comes nearest in documents without a hit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from slice_os.corpus import Corpus
from slice_os.hits.hit import Hit
from slice_os.query.filters import Filter
from slice_os.search.listing import Search
from slice_os.topics.labels import Label
from slice_os.topics.run import topic_query
from slice_os.topics.topic import Topic


def search_topics(
    corpus: Corpus,
    topics: Sequence[Topic],
    where: Filter | None,
    labels: Iterable[Label],
    *,
    exhaustive: bool = True,
    exclusive: bool = False,
    **options: Any,
) -> Search:
    """The search of `mine_topics`, with its options."""
    asked = topic_query(corpus, topics, where=where, labels=labels, **options)

    def hits(below: Callable[[Hit], None]) -> Iterator[Hit]:
        return asked.mined(corpus.store, exhaustive, exclusive, below)

    def judged(span: Hit) -> Hit:
        rule = next(rule for rule in asked.rules if span.phrase in rule.topic.all_phrases)
        return next(rule.judged([span]))

    return Search(corpus.store, asked.query, judged, hits)
