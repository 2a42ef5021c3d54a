"""The OpenSearch store for reading from asyncio; it asks and understands as the other one does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from opensearchpy import exceptions

from slice_os.spans import FloatArray
from slice_os.stores.base import Evidence, Query
from slice_os.stores.opensearch import answers, hybrid, requests
from slice_os.stores.opensearch.indices import (
    AXES_KEY,
    Index,
    errors_explained,
    no_index,
    the_index,
)
from slice_os.stores.opensearch.requests import Answer, Body

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

    async def rank(self, query: Query, depth: int) -> Evidence:
        """Evidence of the ``depth`` passages that the index proposes by vector, and by BM25."""
        found = await self._msearch(requests.ranking(query, self.index.settings, depth), query)
        return await self._evidence(query, answers.ids_of(found), answers.ranked_best(found))

    async def rank_fused(self, query: Query, depth: int) -> tuple[Evidence, FloatArray]:
        """Evidence of the passages that the server's own fusion puts first, and its scores."""
        with errors_explained(self.location):
            hybrid.require(await self.client.cat.plugins(format="json"), self.location)
        found = await self._msearch(hybrid.bodies(query, self.index.settings, depth), query)
        best = answers.best_bm25(await self._msearch(requests.best(query), query))
        evidence = await self._evidence(query, answers.ids_of(found), best)
        return evidence, hybrid.scores(found, evidence)

    async def sweep(
        self, query: Query, threshold: float, exhaustive: bool
    ) -> AsyncGenerator[Evidence, None]:
        """Evidence of passages with a span at or above the threshold; see `Store.sweep`."""
        best = answers.best_bm25(await self._msearch(requests.best(query), query))
        pages = self._walk(query, best) if exhaustive else self._proposed(query, threshold, best)
        async with aclosing(pages):
            async for page in pages:
                if kept := answers.at_least(page, threshold):
                    yield kept

    async def _walk(self, query: Query, best: FloatArray) -> AsyncGenerator[Evidence, None]:
        async with aclosing(self._pages(requests.walk(query), with_bm25=True)) as pages:
            async for hits in pages:
                yield await asyncio.to_thread(answers.evidence, hits, query, best)

    async def _proposed(
        self, query: Query, threshold: float, best: FloatArray
    ) -> AsyncGenerator[Evidence, None]:
        least = requests.proposal_score(threshold)
        vectors = query.phrases.vectors
        hits = [hit for vector in vectors async for hit in self._near(vector, query, least)]
        for ids in requests.pieces(answers.in_stored_order(hits), requests.WALK_PASSAGES):
            yield await self._evidence(query, ids, best)

    async def _near(
        self, vector: FloatArray, query: Query, least: float
    ) -> AsyncGenerator[Answer, None]:
        nearest = requests.nearest(vector, self.index.settings, query.where, least)
        (answer,) = await self._msearch([nearest], query)
        hits = answer["hits"]["hits"]
        for hit in hits:
            yield hit
        if len(hits) >= requests.GRAPH_WIDTH:
            further = requests.radial(vector, self.index.settings, query.where, least)
            async for page in self._pages(further):
                for hit in page:
                    yield hit

    async def _evidence(self, query: Query, ids: Sequence[str], best: FloatArray) -> Evidence:
        hits: list[Answer] = []
        for some in requests.pieces(ids, requests.FETCHED_PASSAGES):
            body = requests.evidence(some, query.phrases.texts)
            params = requests.NAMED_SCORES | requests.steady(query)
            with errors_explained(self.location):
                answer = await self.client.search(index=self.index.name, body=body, params=params)
            hits += answer["hits"]["hits"]
        return await asyncio.to_thread(answers.evidence, hits, query, best)

    async def _msearch(self, bodies: Sequence[Body], query: Query) -> list[Answer]:
        lines = requests.msearch(self.index.name, bodies, query)
        with errors_explained(self.location):
            answer = await self.client.msearch(body=lines)
        return answers.each(answer, self.location)

    async def _pages(
        self, body: Body, with_bm25: bool = False
    ) -> AsyncGenerator[list[Answer], None]:
        params = requests.ALL_SHARDS | (requests.NAMED_SCORES if with_bm25 else {})
        with errors_explained(self.location):
            point = await self.client.create_pit(index=self.index.name, params=requests.NEW_POINT)
            try:
                hits: list[Answer] = []
                while True:
                    page = requests.from_point(body, point["pit_id"], hits)
                    hits = (await self.client.search(body=page, params=params))["hits"]["hits"]
                    if not hits:
                        return
                    yield hits
            finally:
                await self.client.delete_pit(body={"pit_id": [point["pit_id"]]})


async def open_index(client: AsyncOpenSearch, name: str, location: str) -> Index:
    """The index of that name, or the one behind an alias of that name.

    Raises:
        StoreError: where there is none, or several, or one that is not ours.
    """
    with errors_explained(location):
        try:
            found = await client.indices.get_mapping(index=name)
        except exceptions.NotFoundError:
            raise no_index(location) from None
        index = the_index(found, location)
        if not index.needs_axes:
            return index
        return index.with_axes(await client.get(index=index.name, id=AXES_KEY))
