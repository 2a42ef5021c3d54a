"""A corpus for applications that use asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from slice_os.corpus import Corpus
from slice_os.encoder.model_folder import ModelCard, made_by
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import imported
from slice_os.hits.hit import Hit, Hits
from slice_os.query.options import (
    DEFAULT_MINING,
    DEFAULT_SEARCH,
    SERVER,
    HitOptions,
    MineKeywords,
    MineOptions,
    SearchKeywords,
    SearchOptions,
    load_fusion,
)
from slice_os.query.query import Query
from slice_os.search.refinement import Refinement, arranged, prepare
from slice_os.search.run import FoundHits, all_hits, best_hits, fused, hits_in, passage_requests
from slice_os.stores.cluster.search.exchange import AsyncDriver
from slice_os.stores.cluster.search.flows import require
from slice_os.stores.cluster.search.server_flows import ServerFlows
from slice_os.stores.cluster.server.connection import Connection, parse_location
from slice_os.stores.cluster.server.detection import as_client
from slice_os.stores.current import Asking
from slice_os.stores.registry import find_backend
from slice_os.verifier.claims import Verifier

if TYPE_CHECKING:
    from elasticsearch import AsyncElasticsearch
    from opensearchpy import AsyncOpenSearch
    from typing_extensions import Unpack

BATCH_HITS = 64


class AsyncCorpus:
    """Searches and mines a store without blocking the event loop, with the results of `Corpus`.

    Requests to an index go through an asyncio client. Phrases are encoded, and
    passages scored, in threads, and so is all work on a local store. To fill a store, use `Corpus`.

    Examples:
        >>> async with AsyncCorpus("http://localhost:9200/calls") as calls:
        ...     hits = await calls.search("I want to cancel my subscription")
        ...     async for hit in calls.mine("I want to cancel my subscription"):
        ...         hit.text, hit.cosine

    Arguments are those of `Corpus`; a client is an asyncio one of your own, which stays open.

    Raises a `MissingExtraError` if aiohttp is not installed, for an index, and a `StoreError` on
    an address without one.
    """

    def __init__(
        self,
        store: str | Path,
        encoder: SpanEncoder | str | Path | None = None,
        *,
        client: AsyncOpenSearch | AsyncElasticsearch | None = None,
        verifier: Verifier | str | None = None,
    ) -> None:
        store = str(store)
        self._encoder = encoder
        self._verifier = verifier
        self._owns_client = client is None
        self._opened: tuple[ServerFlows, SpanEncoder] | None = None
        self._opening = asyncio.Lock()
        self._asking = Asking()
        self._local: Corpus | None = None
        self._connection: Connection | None = None
        self._driver: AsyncDriver
        if client is not None:
            self._name, self._driver = store, AsyncDriver(as_client(client), store)
            return
        if find_backend(store).folder(store) is not None:
            self._local = Corpus(store, encoder, verifier=verifier)
            return
        imported("aiohttp", "The asyncio client", "async")
        self._connection = parse_location(store)
        self._name = self._connection.index

    async def search(
        self,
        phrases: str | Sequence[str],
        options: SearchOptions = DEFAULT_SEARCH,
        **changes: Unpack[SearchKeywords],
    ) -> Hits:
        """The best hits for any of the phrases; see `Corpus.search`."""
        options = replace(options, **changes)
        if self._local is not None:
            return await asyncio.to_thread(self._local.search, phrases, options)
        flows, query, refine = await self._prepared(phrases, options)
        hits = await self._best(flows, query, refine.to_score(options))
        return await asyncio.to_thread(refine.best, hits, options)

    async def mine(
        self,
        phrases: str | Sequence[str],
        options: MineOptions = DEFAULT_MINING,
        **changes: Unpack[MineKeywords],
    ) -> AsyncGenerator[Hit, None]:
        """The hits of `Corpus.mine`, one by one, as `Corpus.iter_mine` yields them."""
        options = replace(options, **changes)
        if self._local is not None:
            found = _from_thread(self._local.iter_mine(phrases, options))
        else:
            found = self._mined(phrases, options)
        async with aclosing(found) as hits:
            async for hit in hits:
                yield hit

    async def close(self) -> None:
        """Close the store, or the client if the corpus opened it."""
        if self._local is not None:
            await asyncio.to_thread(self._local.close)
        elif self._owns_client and self._connection is None:
            await self._driver.client.close()

    async def __aenter__(self) -> AsyncCorpus:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _mined(
        self, phrases: str | Sequence[str], options: MineOptions
    ) -> AsyncGenerator[Hit, None]:
        flows, query, refine = await self._prepared(phrases, options)
        least = refine.threshold
        gathers = options.order is not None or options.collapse
        gathered: list[Hit] = []
        scan = flows.scan(query, least, options.exhaustive)
        async with aclosing(self._driver.stream(scan)) as pages:
            async for candidates in pages:
                # Both are generators, so that the thread does all of the work.
                found = refine.each(all_hits(candidates, query, least))
                hits = await asyncio.to_thread(list, found)
                if gathers:
                    gathered += hits
                    continue
                for hit in hits:
                    yield hit
        for hit in await asyncio.to_thread(arranged, gathered, refine.options):
            yield hit

    async def _prepared(
        self, phrases: str | Sequence[str], options: HitOptions
    ) -> tuple[ServerFlows, Query, Refinement]:
        flows, encoder = await self._open()
        query, refine = await asyncio.to_thread(prepare, encoder, phrases, options, self._verifier)
        return flows, query, refine

    async def _open(self) -> tuple[ServerFlows, SpanEncoder]:
        """The index and its encoder, opened on first use, and again after the alias was swapped."""
        async with self._opening:
            if self._opened is not None and not self._asking.is_due():
                return self._opened
            if (connection := self._connection) is not None:
                await asyncio.to_thread(connection.find_engine)
                self._driver = AsyncDriver(connection.async_client(), connection.location)
                self._connection = None
            driver = self._driver
            index = await driver.run(require(self._name, driver.location, driver.engine))
            self._asking = Asking()
            if self._opened is None or self._opened[0].index.name != index.name:
                encoder = await asyncio.to_thread(self._load_encoder, index.settings.encoder)
                self._opened = ServerFlows(index, driver.location), encoder
            return self._opened

    def _load_encoder(self, card: ModelCard) -> SpanEncoder:
        if isinstance(self._encoder, SpanEncoder):
            encoder = self._encoder
        else:
            encoder = SpanEncoder(self._encoder or made_by(card, self._driver.location))
        card.check_made(self._driver.location, encoder.card)
        return encoder

    async def _best(self, flows: ServerFlows, query: Query, options: SearchOptions) -> Hits:
        """The best hits by score, as `slice_os.search.run.search` finds them."""
        options.check_reach()
        steps = passage_requests(query, options, exhaustive=False)
        step = next(steps)
        while isinstance(step, SearchOptions):
            step = steps.send(await self._found(flows, query, step))
        return step

    async def _found(self, flows: ServerFlows, query: Query, options: SearchOptions) -> FoundHits:
        run, most = self._driver.run, options.num_candidates
        if (best := await run(flows.best_passages(query, options))) is not None:
            return await asyncio.to_thread(hits_in, best, query, options)
        if options.fusion == SERVER:
            candidates, scores = await run(flows.rank_fused(query, most))
        else:
            candidates = await run(flows.rank(query, most))
            scores = fused(candidates, load_fusion(options.fusion))
        return await asyncio.to_thread(best_hits, candidates, scores, query, options)


async def _from_thread(hits: Generator[Hit, None, None]) -> AsyncGenerator[Hit, None]:
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1, thread_name_prefix="mine") as thread:
        try:
            while batch := await loop.run_in_executor(thread, list, islice(hits, BATCH_HITS)):
                for hit in batch:
                    yield hit
        finally:
            await loop.run_in_executor(thread, hits.close)
