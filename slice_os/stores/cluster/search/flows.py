"""The requests of every kind of search, as flows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from slice_os.arrays import FloatArray
from slice_os.errors import StoreError
from slice_os.query.query import Query
from slice_os.stores.candidates import ScoredCandidates
from slice_os.stores.cluster.engines.engine import Engine
from slice_os.stores.cluster.schema.indices import PROJECTION_KEY, Index
from slice_os.stores.cluster.schema.records import passage_key
from slice_os.stores.cluster.schema.settings import settings_of
from slice_os.stores.cluster.search import hybrid, searches
from slice_os.stores.cluster.search.exchange import (
    LIST_PLUGINS,
    Call,
    Compute,
    Emit,
    Flow,
    Stream,
    sure,
)
from slice_os.stores.cluster.search.metadata import resolve_where
from slice_os.stores.cluster.search.searches import Answer, Body
from slice_os.stores.cluster.server.answers import NotFoundError, no_index, refusal

T = TypeVar("T")


@dataclass(eq=False)
class SearchFlows:
    """Flows over one index; messages call the store by its location."""

    index: Index
    location: str

    def filtered(self, query: Query) -> Flow[Query]:
        """The query with its filter as the index compares its fields; see `resolve_where`."""
        ask = partial(self.msearch, query=query)
        where = yield from resolve_where(self.index.name, self.location, query.where, ask)
        return replace(query, where=where)

    def rank(self, query: Query, num_candidates: int) -> Flow[ScoredCandidates]:
        """The ``num_candidates`` best passages by span vector, and by BM25, scored exactly."""
        query = yield from self.filtered(query)
        bodies = searches.ranking(query, self.index.settings, num_candidates)
        found = yield from self.msearch(bodies, query)
        best = searches.ranked_best(found)
        candidates = yield from self._candidates(query, searches.ids_of(found), best)
        return (yield from self._with_bm25(candidates, query))

    def rank_fused(
        self, query: Query, num_candidates: int
    ) -> Flow[tuple[ScoredCandidates, FloatArray]]:
        """The passages that the server's own fusion ranks first, and its scores."""
        query = yield from self.filtered(query)
        found = yield from self.fused_there(query, num_candidates)
        best = yield from self.best_bm25(query)
        some = yield from self._candidates(query, searches.ids_of(found), best)
        candidates = yield from self._with_bm25(some, query)
        return candidates, hybrid.scores(found, [str(key) for key in candidates.keys])

    def fused_there(self, query: Query, num_candidates: int) -> Flow[list[Answer]]:
        """The answers to the server's ``hybrid`` query, one per phrase.

        Raises a `StoreError` if the server does not have it.
        """
        if not hybrid.installed((yield LIST_PLUGINS)):
            raise StoreError(
                f"{self.location}: fusion 'server' needs OpenSearch's {hybrid.PLUGIN} plugin, "
                "which is not installed there; use another fusion"
            )
        bodies = hybrid.bodies(query, self.index.settings, num_candidates)
        return (yield from self.msearch(bodies, query))

    def scan(self, query: Query, threshold: float, exhaustive: bool) -> Stream[ScoredCandidates]:
        """Passages with a span at or above the threshold; see `Store.scan`."""
        query = yield from self.filtered(query)
        best = yield from self.best_bm25(query)
        ids = None if exhaustive else (yield from self.near(query, threshold))
        if ids is None:
            yield from self._walk(query, threshold, best)
        else:
            yield from self.fetch_above(ids, query, threshold, best)

    def _walk(self, query: Query, threshold: float, best: FloatArray) -> Stream[ScoredCandidates]:
        body = searches.walk(query, self.index.engine)
        params = searches.ALL_SHARDS | searches.NAMED_SCORES

        def scan(point: str) -> Stream[ScoredCandidates]:
            hits = None
            while hits := (yield from next_page(point, body, hits, params)):
                found = yield Compute(partial(searches.candidates, hits, query, best))
                yield from self._emit_above(found, query, threshold, point)

        yield from at_point(self.index.name, self.index.engine, scan)

    def fetch_above(
        self,
        ids: Sequence[str],
        query: Query,
        threshold: float,
        best: FloatArray,
        point: str | None = None,
    ) -> Stream[ScoredCandidates]:
        """Of some passages, those with a span at or above the threshold."""
        for some in searches.pieces(ids, searches.WALK_PASSAGES):
            found = yield from self._candidates(query, some, best, point)
            yield from self._emit_above(found, query, threshold, point)

    def near(self, query: Query, threshold: float) -> Flow[list[str] | None]:
        """Ids of the passages that the index proposes for a threshold, in stored order.

        None if there may be more than the engine finds, so that all have to be scored.
        """
        least = searches.proposal_score(threshold)
        found: set[tuple[str, int]] = set()
        for vector in query.phrases.vectors:
            nearest = searches.nearest(vector, self.index.settings, query.where, least)
            (answer,) = yield from self.msearch([nearest], query)
            found.update(searches.places(answer["hits"]["hits"]))
            if len(answer["hits"]["hits"]) == searches.GRAPH_WIDTH:
                further = searches.radial(vector, self.index.settings, query.where, least)
                if further is None:
                    return None
                walk = partial(all_places, body=further)
                found |= yield from at_point(self.index.name, self.index.engine, walk)
        return [passage_key(*place) for place in sorted(found)]

    def _candidates(
        self, query: Query, ids: Sequence[str], best: FloatArray, point: str | None = None
    ) -> Flow[ScoredCandidates]:
        """Fetch passages by id, and score them here.

        ``best`` is the highest BM25 of each phrase; without a point in time, the index is read as
        it is now. The passages have the BM25 of the first `searches.batches` of phrases.
        """
        hits = yield from self._hits(ids, searches.fetch, query, point)
        found: ScoredCandidates = yield Compute(partial(searches.candidates, hits, query, best))
        return found

    def _emit_above(
        self, found: ScoredCandidates, query: Query, threshold: float, point: str | None = None
    ) -> Stream[ScoredCandidates]:
        """The candidates at or above the threshold, if there are any, with all BM25."""
        kept = found.at_least(threshold)
        if kept.keys:
            yield Emit((yield from self._with_bm25(kept, query, point)))

    def _with_bm25(
        self, found: ScoredCandidates, query: Query, point: str | None = None
    ) -> Flow[ScoredCandidates]:
        """The same with the BM25 of all other phrases."""
        _, *others = searches.batches(query.phrases.texts)
        keys = [str(key) for key in found.keys]
        for rows in others:
            hits = yield from self._hits(keys, partial(searches.evidence, rows=rows), query, point)
            found = searches.with_evidence(found, hits)
        return found

    def _hits(
        self,
        ids: Sequence[str],
        body: Callable[[Sequence[str], Sequence[str], Engine], Body],
        query: Query,
        point: str | None,
    ) -> Flow[list[Answer]]:
        """Hits with named scores, now or at a point in time; ``body`` is of ids and phrases."""
        hits: list[Answer] = []
        asked = {"index": self.index.name, "params": searches.NAMED_SCORES | searches.steady(query)}
        if point is not None:
            asked = {"params": searches.NAMED_SCORES | searches.ALL_SHARDS}
        for some in searches.pieces(ids, searches.FETCHED_PASSAGES):
            page = searches.from_point(body(some, query.phrases.texts, self.index.engine), point)
            hits += (yield Call("search", {**asked, "body": page}, ("hits",)))["hits"]["hits"]
        return hits

    def best_bm25(self, query: Query) -> Flow[FloatArray]:
        """``(n_phrases,)``, the highest BM25 of each phrase."""
        return searches.best_bm25(
            (yield from self.msearch(searches.best(query, self.index.engine), query))
        )

    def msearch(self, bodies: Sequence[Body], query: Query) -> Flow[list[Answer]]:
        """The answers to several searches.

        Raises a `StoreError` if one of them fails.
        """
        answers = yield from self.answers(bodies, query)
        for one in answers:
            if "error" in one:
                raise refusal(one, self.location)
        return answers

    def answers(self, bodies: Sequence[Body], query: Query) -> Flow[list[Answer]]:
        """The answers to several searches, failed ones included."""
        lines = searches.msearch(self.index.name, bodies, query)
        answers: list[Answer] = (yield Call("msearch", {"body": lines}, ("responses",)))[
            "responses"
        ]
        return answers


def resolve(name: str, location: str, engine: Engine) -> Flow[Index | None]:
    """The index of that name, or the one behind an alias of that name; None if there is neither.

    Raises a `StoreError` if the alias stands for several indices, or slice-os did not make the
    index.
    """
    try:
        found = yield from sure(Call("indices.get_mapping", {"index": name}))
    except NotFoundError:
        return None
    if len(found) != 1:
        raise StoreError(f"{location}: stands for {len(found)} indices; name one of them")
    ((concrete, body),) = found.items()
    index = Index(concrete, settings_of(body["mappings"], location, engine))
    if index.settings.dimensions == index.settings.encoder.dimension:
        return index
    read = Call("get", {"index": index.name, "id": PROJECTION_KEY})
    return index.with_projection((yield read))


def require(name: str, location: str, engine: Engine) -> Flow[Index]:
    """As `resolve`, but a `StoreError` if there is no index."""
    index = yield from resolve(name, location, engine)
    if index is None:
        raise no_index(location)
    return index


def pages(index: str, engine: Engine, body: Body) -> Stream[list[Answer]]:
    """The hits of a search, page by page, in one state of a concrete index."""

    def scan(point: str) -> Stream[list[Answer]]:
        hits = None
        while hits := (yield from next_page(point, body, hits)):
            yield Emit(hits)

    yield from at_point(index, engine, scan)


def all_places(point: str, body: Body) -> Flow[set[tuple[str, int]]]:
    """Document and ordinal of all hits of a search at a point in time."""
    found, hits = set[tuple[str, int]](), None
    while hits := (yield from next_page(point, body, hits)):
        found.update(searches.places(hits))
    return found


def next_page(
    point: str,
    body: Body,
    hits: list[Answer] | None,
    params: Mapping[str, str] = searches.ALL_SHARDS,
) -> Flow[list[Answer]]:
    """The hits after those of a page, or the first ones; none after a page that is not full.

    The body has a ``size``, and a ``sort`` that is different for every hit.
    """
    if hits is not None and len(hits) < body["size"]:
        return []
    page = searches.from_point(body, point, hits or ())
    found: list[Answer] = (yield Call("search", {"body": page, "params": params}, ("hits",)))[
        "hits"
    ]["hits"]
    return found


def at_point(
    index: str, engine: Engine, use: Callable[[str], Generator[Any, Any, T]]
) -> Generator[Any, Any, T]:
    """The result of a flow on one state of an index."""
    asked, send = engine.point, "transport.perform_request"
    params = {"keep_alive": searches.KEEP_ALIVE, **asked.whole}
    opening = {"method": "POST", "url": f"/{index}{asked.path}", "params": params}
    point = (yield Call(send, opening, (asked.key,)))[asked.key]
    try:
        return (yield from use(point))
    finally:
        # If the server cannot be told, the point expires by itself.
        with suppress(StoreError):
            body = {asked.key: point}
            yield Call(send, {"method": "DELETE", "url": asked.path, "body": body})
