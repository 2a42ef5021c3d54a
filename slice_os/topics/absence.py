"""What topics find in a store, and what comes nearest in documents without a hit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from slice_os.corpus import Corpus
from slice_os.hits.hit import Hit
from slice_os.query.filters import Filter, parse_where
from slice_os.search.listing import Search
from slice_os.topics.labels import Label
from slice_os.topics.run import TopicQuery, make_rules, mine_topics
from slice_os.topics.topic import Topic


def search_topics(
    corpus: Corpus,
    topics: Sequence[Topic],
    where: Filter | None,
    labels: Iterable[Label],
    **options: Any,
) -> Search:
    """The search of `mine_topics`, with its options."""
    own = corpus.refinement(options.get("verify")).verifier
    rules = make_rules(topics, corpus.encoder, verify=options.get("verify"), verifier=own)
    query = TopicQuery.of(rules, corpus.encoder, parse_where(where)).query
    known = list(labels)

    def hits(below: Callable[[Hit], None]) -> Iterator[Hit]:
        return mine_topics(corpus, topics, where=where, labels=known, below=below, **options)

    def judged(span: Hit) -> Hit:
        rule = next(rule for rule in rules if span.phrase in rule.topic.all_phrases)
        return next(rule.judged([span]))

    return Search(corpus.store, query, judged, hits)
