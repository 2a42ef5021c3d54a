"""Mining with a threshold on the server, as flows."""

from __future__ import annotations

from dataclasses import dataclass

from slice_os.arrays import FloatArray
from slice_os.query.query import Query
from slice_os.stores.candidates import ScoredCandidates
from slice_os.stores.opensearch.search import scripted, searches
from slice_os.stores.opensearch.search.exchange import Stream
from slice_os.stores.opensearch.search.flows import SearchFlows, all_hits, at_point
from slice_os.stores.opensearch.search.scripted import ScriptEngine
from slice_os.stores.opensearch.search.searches import Answer, Body

# What a script computes in single precision may be that far below the exact cosine.
PRECISION = 3e-4
# Passages times phrases of a slice, so that no request takes long.
SLICE_PASSAGES = 8_000
# Of one point in time, by default.
MAX_SLICES = 1_024


@dataclass(frozen=True, slots=True)
class ServerScan:
    """A scan with a threshold on the server: only passages that have a hit are fetched.

    ``best`` is the highest BM25 of each phrase, ``passages`` how many the query admits.
    """

    flows: SearchFlows
    query: Query
    threshold: float
    engine: ScriptEngine
    best: FloatArray
    passages: int

    def everything(self) -> Stream[ScoredCandidates]:
        """Every passage that the query admits, in slices of one state of the index."""

        def scan(point: str) -> Stream[ScoredCandidates]:
            hits: list[Answer] = []
            pairs = self.passages * len(self.query.phrases.texts)
            slices = min(max(1, pairs // SLICE_PASSAGES), MAX_SLICES)
            body = self._body(searches.admitted(self.query.where))
            for number in range(slices):
                part = {"slice": {"id": number, "max": slices}} if slices > 1 else {}
                hits += yield from all_hits(point, body | part)
            yield from self._fetch(hits, point)

        yield from at_point(self.flows.index.name, scan)

    def proposed(self) -> Stream[ScoredCandidates]:
        """The passages that the index proposes."""
        ids = yield from self.flows.near(self.query, self.threshold)
        hits: list[Answer] = []
        for some in searches.pieces(ids, scripted.LARGEST_ANSWER):
            body = self._body(searches.by_id(some))
            (answer,) = yield from self.flows.msearch([body], self.query)
            hits += answer["hits"]["hits"]
        yield from self._fetch(hits)

    def _body(self, passages: Body) -> Body:
        return scripted.scan(self.query, passages, self.engine, self.threshold - PRECISION)

    def _fetch(self, hits: list[Answer], point: str | None = None) -> Stream[ScoredCandidates]:
        ids = searches.in_stored_order(hits)
        return self.flows.fetch_above(ids, self.query, self.threshold, self.best, point)
