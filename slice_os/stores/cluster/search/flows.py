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
from slice_os.stores.cluster.search.searches import Answer, Asked, Body
from slice_os.stores.cluster.server.answers import NotFoundError, no_index, refusal

T = TypeVar("T")


@dataclass(eq=False)
class SearchFlows:
    """Flows over one index; messages call the store by its location."""

    index: Index
    location: str

    def filtered(self, query: Query) -> Flow[Query]:
        """The query with its filter as the index compares its fields; see `resolve_where`."""
        ask = partial(self.msearch, Asked(self.index.settings, query))
        where = yield from resolve_where(self.index.name, self.location, query.where, ask)
        return replace(query, where=where)

    def asked(self, query: Query) -> Flow[Asked]:
        """What the index is asked for a query."""
        return Asked(self.index.settings, (yield from self.filtered(query)))

    def rank(self, query: Query, num_candidates: int) -> Flow[ScoredCandidates]:
        """The ``num_candidates`` best passages by span vector, and by BM25, scored exactly."""
        asked = yield from self.asked(query)
        found = yield from self.msearch(asked, asked.ranking(num_candidates))
        best = searches.ranked_best(found)
        candidates = yield from self._candidates(asked, searches.ids_of(found), best)
        return (yield from self._with_bm25(asked, candidates))

    def rank_fused(
        self, query: Query, num_candidates: int
    ) -> Flow[tuple[ScoredCandidates, FloatArray]]:
        """The passages that the server's own fusion ranks first, and its scores."""
        asked = yield from self.asked(query)
        found = yield from self.fused_there(asked, num_candidates)
        best = yield from self.best_bm25(asked)
        some = yield from self._candidates(asked, searches.ids_of(found), best)
        candidates = yield from self._with_bm25(asked, some)
        return candidates, hybrid.scores(found, [str(key) for key in candidates.keys])

    def fused_there(self, asked: Asked, num_candidates: int) -> Flow[list[Answer]]:
        """The answers to the server's ``hybrid`` query, one per phrase.

        Raises a `StoreError` if the server does not have it.
        """
        if not hybrid.installed((yield LIST_PLUGINS)):
            raise StoreError(
                f"{self.location}: fusion 'server' needs OpenSearch's {hybrid.PLUGIN} plugin, "
                "which is not installed there; use another fusion"
            )
        return (yield from self.msearch(asked, hybrid.bodies(asked, num_candidates)))

    def scan(self, query: Query, threshold: float, exhaustive: bool) -> Stream[ScoredCandidates]:
        """Passages with a span at or above the threshold; see `Store.scan`."""
        asked = yield from self.asked(query)
        best = yield from self.best_bm25(asked)
        ids = None if exhaustive else (yield from self.near(asked, threshold))
        if ids is None:
            yield from self._walk(asked, threshold, best)
        else:
            yield from self.fetch_above(asked, ids, threshold, best)

    def _walk(self, asked: Asked, threshold: float, best: FloatArray) -> Stream[ScoredCandidates]:
        body = asked.walk()
        params = searches.ALL_SHARDS | searches.NAMED_SCORES

        def scan(point: str) -> Stream[ScoredCandidates]:
            hits = None
            while hits := (yield from next_page(point, body, hits, params)):
                found = yield Compute(partial(searches.candidates, hits, asked.query, best))
                yield from self._emit_above(asked, found, threshold, point)

        yield from at_point(self.index.name, self.index.engine, scan)

    def fetch_above(
        self,
        asked: Asked,
        ids: Sequence[str],
        threshold: float,
        best: FloatArray,
        point: str | None = None,
    ) -> Stream[ScoredCandidates]:
        """Of some passages, those with a span at or above the threshold."""
        for some in searches.pieces(ids, searches.WALK_PASSAGES):
            found = yield from self._candidates(asked, some, best, point)
            yield from self._emit_above(asked, found, threshold, point)

    def near(self, asked: Asked, threshold: float) -> Flow[list[str] | None]:
        """Ids of the passages that the index proposes for a threshold, in stored order.

        None if there may be more than the engine finds, so that all have to be scored.
        """
        least = searches.proposal_score(threshold)
        found: set[tuple[str, int]] = set()
        for vector in asked.query.phrases.vectors:
            (answer,) = yield from self.msearch(asked, [asked.nearest(vector, least)])
            found.update(searches.places(answer["hits"]["hits"]))
            if len(answer["hits"]["hits"]) == searches.GRAPH_WIDTH:
                if (further := asked.radial(vector, least)) is None:
                    return None
                walk = partial(all_places, body=further)
                found |= yield from at_point(self.index.name, self.index.engine, walk)
        return [passage_key(*place) for place in sorted(found)]

    def _candidates(
        self, asked: Asked, ids: Sequence[str], best: FloatArray, point: str | None = None
    ) -> Flow[ScoredCandidates]:
        """Fetch passages by id, and score them here.

        ``best`` is the highest BM25 of each phrase; without a point in time, the index is read as
        it is now. The passages have the BM25 of the first `Asked.batches` of phrases.
        """
        hits = yield from self._hits(asked, ids, asked.fetch, point)
        work = partial(searches.candidates, hits, asked.query, best)
        found: ScoredCandidates = yield Compute(work)
        return found

    def _emit_above(
        self, asked: Asked, found: ScoredCandidates, threshold: float, point: str | None = None
    ) -> Stream[ScoredCandidates]:
        """The candidates at or above the threshold, if there are any, with all BM25."""
        kept = found.at_least(threshold)
        if kept.keys:
            yield Emit((yield from self._with_bm25(asked, kept, point)))

    def _with_bm25(
        self, asked: Asked, found: ScoredCandidates, point: str | None = None
    ) -> Flow[ScoredCandidates]:
        """The same with the BM25 of all other phrases."""
        _, *others = asked.batches()
        keys = [str(key) for key in found.keys]
        for rows in others:
            hits = yield from self._hits(asked, keys, partial(asked.evidence, rows=rows), point)
            found = searches.with_evidence(found, hits)
        return found

    def _hits(
        self,
        asked: Asked,
        ids: Sequence[str],
        body: Callable[[Sequence[str]], Body],
        point: str | None,
    ) -> Flow[list[Answer]]:
        """Hits with named scores, now or at a point in time; ``body`` is of ids."""
        hits: list[Answer] = []
        where = {"index": self.index.name, "params": searches.NAMED_SCORES | asked.steady}
        if point is not None:
            where = {"params": searches.NAMED_SCORES | searches.ALL_SHARDS}
        for some in searches.pieces(ids, searches.FETCHED_PASSAGES):
            page = searches.from_point(body(some), point)
            hits += (yield Call("search", {**where, "body": page}, ("hits",)))["hits"]["hits"]
        return hits

    def best_bm25(self, asked: Asked) -> Flow[FloatArray]:
        """``(n_phrases,)``, the highest BM25 of each phrase."""
        return searches.best_bm25((yield from self.msearch(asked, asked.best())))

    def msearch(self, asked: Asked, bodies: Sequence[Body]) -> Flow[list[Answer]]:
        """The answers to several searches.

        Raises a `StoreError` if one of them fails.
        """
        answers = yield from self.answers(asked, bodies)
        for one in answers:
            if "error" in one:
                raise refusal(one, self.location)
        return answers

    def answers(self, asked: Asked, bodies: Sequence[Body]) -> Flow[list[Answer]]:
        """The answers to several searches, failed ones included."""
        lines = asked.msearch(self.index.name, bodies)
        found = yield Call("msearch", {"body": lines}, ("responses",))
        answers: list[Answer] = found["responses"]
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
