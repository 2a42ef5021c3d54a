"""The OpenSearch store for reading from asyncio; it asks and understands as the other one does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from opensearchpy import exceptions

from slice_os.arrays import FloatArray
from slice_os.candidates import ScoredCandidates
from slice_os.query import Query
from slice_os.stores.opensearch import hybrid, responses, search_bodies
from slice_os.stores.opensearch.indices import (
    PROJECTION_KEY,
    Index,
    errors_explained,
    no_index,
    the_index,
)
from slice_os.stores.opensearch.search_bodies import Answer, Body

if TYPE_CHECKING:
    from opensearchpy import AsyncOpenSearch


class AsyncOpenSearchStore:
    """An index of passages, asked without blocking; passages are scored in a thread.

    Args:
        client: an asyncio client of your own, or one that `Connection.async_client` makes.
        index: what `open_index` gave.
        location: how messages call this store.
    """

    def __init__(self, client: AsyncOpenSearch, index: Index, location: str) -> None:
        self.client = client
        self.index = index
        self.location = location

    async def rank(self, query: Query, num_candidates: int) -> ScoredCandidates:
        """The ``num_candidates`` passages best by span vector, and by BM25, scored exactly."""
        found = await self._msearch(
            search_bodies.ranking(query, self.index.settings, num_candidates), query
        )
        return await self._candidates(query, responses.ids_of(found), responses.ranked_best(found))

    async def rank_fused(
        self, query: Query, num_candidates: int
    ) -> tuple[ScoredCandidates, FloatArray]:
        """Evidence of the passages that the server's own fusion puts first, and its scores."""
        with errors_explained(self.location):
            hybrid.require(await self.client.cat.plugins(format="json"), self.location)
        found = await self._msearch(
            hybrid.bodies(query, self.index.settings, num_candidates), query
        )
        best = responses.best_bm25(await self._msearch(search_bodies.best(query), query))
        candidates = await self._candidates(query, responses.ids_of(found), best)
        return candidates, hybrid.scores(found, candidates)

    async def scan(
        self, query: Query, threshold: float, exhaustive: bool
    ) -> AsyncGenerator[ScoredCandidates, None]:
        """Evidence of passages with a span at or above the threshold; see `Store.sweep`."""
        best = responses.best_bm25(await self._msearch(search_bodies.best(query), query))
        pages = self._walk(query, best) if exhaustive else self._proposed(query, threshold, best)
        async with aclosing(pages):
            async for page in pages:
                if kept := responses.at_least(page, threshold):
                    yield kept

    async def _walk(self, query: Query, best: FloatArray) -> AsyncGenerator[ScoredCandidates, None]:
        async with aclosing(self._pages(search_bodies.walk(query), with_bm25=True)) as pages:
            async for hits in pages:
                yield await asyncio.to_thread(responses.candidates, hits, query, best)

    async def _proposed(
        self, query: Query, threshold: float, best: FloatArray
    ) -> AsyncGenerator[ScoredCandidates, None]:
        least = search_bodies.proposal_score(threshold)
        vectors = query.phrases.vectors
        hits = [hit for vector in vectors async for hit in self._near(vector, query, least)]
        for ids in search_bodies.pieces(
            responses.in_stored_order(hits), search_bodies.WALK_PASSAGES
        ):
            yield await self._candidates(query, ids, best)

    async def _near(
        self, vector: FloatArray, query: Query, least: float
    ) -> AsyncGenerator[Answer, None]:
        nearest = search_bodies.nearest(vector, self.index.settings, query.where, least)
        (answer,) = await self._msearch([nearest], query)
        hits = answer["hits"]["hits"]
        for hit in hits:
            yield hit
        if len(hits) >= search_bodies.GRAPH_WIDTH:
            further = search_bodies.radial(vector, self.index.settings, query.where, least)
            async for page in self._pages(further):
                for hit in page:
                    yield hit

    async def _candidates(
        self, query: Query, ids: Sequence[str], best: FloatArray
    ) -> ScoredCandidates:
        hits: list[Answer] = []
        for some in search_bodies.pieces(ids, search_bodies.FETCHED_PASSAGES):
            body = search_bodies.candidates(some, query.phrases.texts)
            params = search_bodies.NAMED_SCORES | search_bodies.steady(query)
            with errors_explained(self.location):
                answer = await self.client.search(index=self.index.name, body=body, params=params)
            hits += answer["hits"]["hits"]
        return await asyncio.to_thread(responses.candidates, hits, query, best)

    async def _msearch(self, bodies: Sequence[Body], query: Query) -> list[Answer]:
        lines = search_bodies.msearch(self.index.name, bodies, query)
        with errors_explained(self.location):
            answer = await self.client.msearch(body=lines)
        return responses.each(answer, self.location)

    async def _pages(
        self, body: Body, with_bm25: bool = False
    ) -> AsyncGenerator[list[Answer], None]:
        params = search_bodies.ALL_SHARDS | (search_bodies.NAMED_SCORES if with_bm25 else {})
        with errors_explained(self.location):
            point = await self.client.create_pit(
                index=self.index.name, params=search_bodies.NEW_POINT
            )
            try:
                hits: list[Answer] = []
                while True:
                    page = search_bodies.from_point(body, point["pit_id"], hits)
                    hits = (await self.client.search(body=page, params=params))["hits"]["hits"]
                    if not hits:
                        return
                    yield hits
            finally:
                await self.client.delete_pit(body={"pit_id": [point["pit_id"]]})


async def open_index(client: AsyncOpenSearch, name: str, location: str) -> Index:
    """The index of that name, or the one behind an alias of that name.

    Raises:
        StoreError: if there is none, or several, or one that is not ours.
    """
    with errors_explained(location):
        try:
            found = await client.indices.get_mapping(index=name)
        except exceptions.NotFoundError:
            raise no_index(location) from None
        index = the_index(found, location)
        if not index.needs_projection:
            return index
        return index.with_projection(await client.get(index=index.name, id=PROJECTION_KEY))
