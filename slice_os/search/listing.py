"""Documents with hits, without, or all of them, in place of hits, as grep lists files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.hits.document_hits import DocumentHits
from slice_os.hits.hit import Hit, without_vectors
from slice_os.query.options import MineOptions
from slice_os.query.query import Query
from slice_os.search.refinement import prepare
from slice_os.search.run import likelier, mine, nearest_span
from slice_os.stores.protocol import Store
from slice_os.threads import checkpoint
from slice_os.verifier.claims import Verifier

WITH, WITHOUT, COUNTS = LISTINGS = ("with", "without", "counts")


@dataclass(frozen=True)
class Search:
    """Hits that count, and what comes nearest in a document that has none.

    Attributes:
        query: for all phrases.
        judged: a span with its probability, and its topic if there are topics.
        below: by document, the likeliest hit that fails for its probability; known once the hits
            of the document have come.
    """

    store: Store
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
        span = nearest_span(self.store, self.query, doc_id)
        return span and without_vectors(self.judged(span))

    def documents(
        self,
        doc_ids: Iterable[str],
        listing: str,
        limited: Callable[[Iterable[Hit]], Iterable[Hit]] = iter,
    ) -> Iterator[DocumentHits]:
        """The documents of a listing, by the hits that ``limited`` leaves; see `list_documents`.

        Those that the filter of the query leaves out are not listed.
        """
        hits = limited(self.hits())
        near = self.nearest if listing == WITHOUT or self.query.where else None
        return list_documents(hits, doc_ids, listing, near, filtered=bool(self.query.where))

    def _note(self, hit: Hit) -> None:
        self.below[hit.doc_id] = likelier(hit, self.below.get(hit.doc_id))


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
        threshold = refine.threshold(encoder.card.threshold)
        mined = mine(store, query, threshold=threshold, exhaustive=options.exhaustive)
        for hit in refine.judged(mined):
            if refine.admits(hit):
                yield hit
            else:
                below(hit)

    return Search(store, query, lambda span: next(refine.judged([span])), hits)


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
    nearest: Callable[[str], Hit | None] | None = None,
    filtered: bool = False,
) -> Iterator[DocumentHits]:
    """The documents with a hit, those without, or all of them with their number of hits.

    Args:
        hits: as they come.
        doc_ids: of all documents, asked for after the hits.
        listing: ``with``, ``without`` or ``counts``.
        nearest: what comes nearest in a document without a hit, if that is known.
        filtered: leave out documents that have no nearest span.

    Raises an `InputError` on another listing.
    """
    if listing not in LISTINGS:
        raise InputError(f"no listing {listing!r}; there are {', '.join(LISTINGS)}")
    counts: Counter[str] = Counter()
    for hit in hits:
        counts[hit.doc_id] += 1
        if listing == WITH and counts[hit.doc_id] == 1:
            yield DocumentHits(hit.doc_id)
    for doc_id in doc_ids if listing != WITH else ():
        checkpoint()
        count = counts[doc_id]
        near = nearest(doc_id) if nearest and not count else None
        if filtered and not count and near is None:
            continue
        if listing == COUNTS:
            yield DocumentHits(doc_id, count)
        elif not count:
            yield DocumentHits(doc_id, nearest=near)
