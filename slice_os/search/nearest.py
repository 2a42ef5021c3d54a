"""What comes nearest to phrases in one document, however far that is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from slice_os.hits.hit import Hit
from slice_os.query.filters import DOCUMENT_ID, Condition
from slice_os.query.query import Query
from slice_os.search.hit_builder import HitBuilder
from slice_os.stores.protocol import Store


def nearest_span(store: Store, query: Query, doc_id: str) -> Hit | None:
    """The span of a document with the highest cosine to any of the phrases, not verified.

    Counter-phrases do not count. None if the filter of the query admits no passage of it.
    """
    own = Condition(DOCUMENT_ID, "eq", (doc_id,))
    asked = replace(query, where=(*query.where, own), counters=None)
    best = None
    for candidates in filter(lambda some: some.keys, store.scan(asked, -1.0, exhaustive=True)):
        place = candidates.cosines.argmax()
        row, column = map(int, np.unravel_index(place, candidates.cosines.shape))
        key = candidates.keys[column]
        if passage := candidates.load([key]).get(key):
            (hit,) = HitBuilder(passage, asked).hits(row, limit=1)
            best = hit if best is None or hit.cosine > best.cosine else best
    return best


def likelier(one: Hit, other: Hit | None) -> Hit:
    """The likelier of two hits, or else the nearer one."""
    return one if other is None or likelihood(one) > likelihood(other) else other


def likelihood(hit: Hit) -> tuple[float, float]:
    """What ranks hits by how near they come: the probability, then the cosine."""
    return hit.probability or 0.0, hit.cosine
