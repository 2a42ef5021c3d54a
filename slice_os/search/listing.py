"""Documents with hits, and what others have or lack, in place of hits, as grep lists files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TypeAlias

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.hits.document_hits import DocumentHits, ranked
from slice_os.hits.hit import Hit, without_vectors
from slice_os.query.options import LOW_THRESHOLD, Cut, MineOptions
from slice_os.query.query import Query
from slice_os.search.refinement import prepare
from slice_os.search.run import likelihood, mine, nearest_spans
from slice_os.stores.protocol import Store
from slice_os.threads import checkpoint
from slice_os.verifier.claims import Verifier

WITH, WITHOUT, COUNTS = LISTINGS = ("with", "without", "counts")

Topics: TypeAlias = Mapping["str | None", Sequence[int]]
"""The rows of a query that each topic has; None for phrases without one."""
Limited: TypeAlias = Callable[[Iterable[Hit]], Iterable[Hit]]

_ALL: Topics = {None: ()}
# Documents that are looked at together for what comes nearest.
_AT_ONCE = 64


@dataclass(frozen=True)
class Search:
    """Hits that count, and what comes nearest in a document that has none.

    Attributes:
        query: for all phrases.
        topics: which of them are each topic's.
        judged: spans of a topic with their probability, without those that cannot count.
        cut: what hits of phrases must reach; each topic has its own.
    """

    store: Store
    query: Query
    topics: Topics
    judged: Callable[[Iterable[Hit], str | None], Iterable[Hit]]
    _hits: Callable[[Callable[[Hit], None]], Iterator[Hit]]
    cut: Cut = field(default_factory=Cut)

    def hits(self) -> Iterator[Hit]:
        """The hits that count, as they come."""
        return self._hits(lambda _: None)

    def documents(
        self, doc_ids: Iterable[str], listing: str, limited: Limited = iter
    ) -> Iterator[DocumentHits]:
        """The documents of a listing, by the hits that ``limited`` leaves; see `list_documents`.

        Those that the filter of the query leaves out are not listed.
        """
        seen = Seen()
        hits = limited(seen.noted(self._hits(seen.note)))
        nearest = self._nearest if listing == WITHOUT or self.query.where else None
        return list_documents(hits, doc_ids, listing, seen, self.topics, nearest)

    def _nearest(self, doc_ids: Sequence[str], seen: Seen) -> Collection[str]:
        """Note what comes nearest in documents; returns those that the filter, if any, admits.

        No verifier reads what is so far away that mining would not look at it.
        """
        spans = nearest_spans(self.store, self.query, doc_ids, self.topics)
        for topic in self.topics:
            own = [found[topic] for found in spans.values() if topic in found]
            new = [span for span in own if (span.doc_id, topic) not in seen.best]
            near = self.judged([span for span in new if span.cosine >= LOW_THRESHOLD], topic)
            far = (replace(span, topic=topic) for span in new if span.cosine < LOW_THRESHOLD)
            for hit in chain(near, far):
                seen.note(without_vectors(hit))
        return spans if self.query.where else doc_ids


@dataclass
class Seen:
    """The likeliest hit of each document and topic, whether it counts or not."""

    best: dict[tuple[str, str | None], Hit] = field(default_factory=dict)

    def note(self, hit: Hit) -> None:
        """Keep a hit that is likelier than the known one; rejected ones come last."""
        key = hit.doc_id, hit.topic
        known = self.best.get(key)
        if known is None or likelihood(hit) > likelihood(known):
            self.best[key] = hit

    def noted(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """The hits, each of which is noted."""
        for hit in hits:
            self.note(hit)
            yield hit


def search_phrases(
    store: Store,
    encoder: SpanEncoder,
    phrases: str | Sequence[str],
    options: MineOptions,
    verifier: Verifier | str | None = None,
) -> Search:
    """The search of `Corpus.iter_mine`, as hits come: neither ordered nor collapsed."""
    query, refine = prepare(encoder, phrases, options, verifier)

    def hits(below: Callable[[Hit], None]) -> Iterator[Hit]:
        mined = mine(store, query, threshold=refine.threshold, exhaustive=options.exhaustive)
        return refine.each(mined, below)

    rows: Topics = {None: range(len(query.phrases.texts))}
    return Search(store, query, rows, lambda spans, _: refine.judged(spans), hits, refine.cut)


def first_of_each(
    hits: Iterable[Hit], most: int | None, counts: Counter[str] | None = None
) -> Iterator[Hit]:
    """The first hits of each document; ``counts`` has how many there were."""
    counts = Counter() if counts is None else counts
    for hit in hits:
        if most is None or counts[hit.doc_id] < most:
            counts[hit.doc_id] += 1
            yield hit


def list_documents(
    hits: Iterable[Hit],
    doc_ids: Iterable[str],
    listing: str,
    seen: Seen,
    topics: Topics = _ALL,
    nearest: Callable[[Sequence[str], Seen], Collection[str]] | None = None,
) -> Iterator[DocumentHits]:
    """The documents with a hit, or all with their number of hits, or with what they have or lack.

    Args:
        hits: as they come.
        doc_ids: of all documents, asked for after the hits.
        listing: ``with``, ``counts`` or, for what documents have or lack, ``without``: topic by
            topic, from the document that most surely lacks it.
        seen: the likeliest hits, once all have come.
        topics: that documents have or lack.
        nearest: notes what comes nearest in documents without a hit, and returns those to list;
            None to list all.

    Raises an `InputError` on another listing.
    """
    if listing not in LISTINGS:
        raise InputError(f"no listing {listing!r}; there are {', '.join(LISTINGS)}")
    counts: Counter[tuple[str, str | None]] = Counter()
    documents: Counter[str] = Counter()
    for hit in hits:
        counts[hit.doc_id, hit.topic] += 1
        documents[hit.doc_id] += 1
        if listing == WITH and documents[hit.doc_id] == 1:
            yield DocumentHits(hit.doc_id)
    if listing == WITH:
        return

    def rows() -> Iterator[DocumentHits]:
        rest = iter(doc_ids)
        while some := list(islice(rest, _AT_ONCE)):
            checkpoint()
            left = [one for one in some if any((one, topic) not in seen.best for topic in topics)]
            admitted = nearest(left, seen) if nearest else left
            for doc_id in some:
                if doc_id in left and doc_id not in admitted:
                    continue
                if listing == COUNTS:
                    yield DocumentHits(doc_id, documents[doc_id])
                else:
                    for topic in topics:
                        key = doc_id, topic
                        yield DocumentHits.of(doc_id, topic, counts[key], seen.best.get(key))

    yield from ranked(rows()) if listing == WITHOUT else rows()
