"""Documents without a hit, and how near the nearest span of each is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from slice_os.corpus import Corpus
from slice_os.hits.hit import Hit, without_vectors
from slice_os.query.filters import Filter, parse_where
from slice_os.query.options import MineOptions
from slice_os.query.query import Query
from slice_os.search.refinement import prepare
from slice_os.search.run import likelier, mine, nearest_span
from slice_os.topics.labels import Label
from slice_os.topics.run import TopicQuery, make_rules, mine_topics
from slice_os.topics.topic import Topic


@dataclass(frozen=True)
class Search:
    """Hits that count, and what comes nearest in a document that has none.

    Attributes:
        corpus: what is searched.
        query: for all phrases.
        judged: a span with its probability, and its topic if there are topics.
        below: by document, the likeliest hit that fails for its probability; known once the hits
            of the document have come.
    """

    corpus: Corpus
    query: Query
    judged: Callable[[Hit], Hit]
    _hits: Callable[[Callable[[Hit], None]], Iterator[Hit]]
    below: dict[str, Hit] = field(default_factory=dict)

    def hits(self) -> Iterator[Hit]:
        """The hits that count, as they come."""
        return self._hits(self._note)

    def nearest(self, doc_id: str) -> Hit | None:
        """The likeliest hit of a document that fails for its probability, or else its nearest span.

        None if it has no words that the filter admits.
        """
        if doc_id in self.below:
            return self.below[doc_id]
        span = nearest_span(self.corpus.store, self.query, doc_id)
        return span and without_vectors(self.judged(span))

    def _note(self, hit: Hit) -> None:
        self.below[hit.doc_id] = likelier(hit, self.below.get(hit.doc_id))


def search_phrases(corpus: Corpus, phrases: Sequence[str], options: MineOptions) -> Search:
    """The search of `Corpus.iter_mine`, as hits come: neither ordered nor collapsed."""
    own = corpus.refinement(options.verify).verifier
    query, refine = prepare(corpus.encoder, phrases, options, own)

    def hits(below: Callable[[Hit], None]) -> Iterator[Hit]:
        threshold = refine.threshold(corpus.encoder.card.threshold)
        mined = mine(corpus.store, query, threshold=threshold, exhaustive=options.exhaustive)
        for hit in refine.judged(mined):
            if refine.admits(hit):
                yield hit
            else:
                below(hit)

    return Search(corpus, query, lambda span: next(refine.judged([span])), hits)


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

    return Search(corpus, query, judged, hits)
