"""A corpus for applications that use asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from slice_os.corpus import Corpus
from slice_os.encoder.model_folder import ModelCard, bundled_model
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.hits.hit import Hit, Hits
from slice_os.query.filters import Filter, parse_where
from slice_os.query.options import (
    DEFAULT_FUSION,
    NUM_CANDIDATES,
    SERVER,
    SPAN,
    check_threshold,
    load_fusion,
)
from slice_os.query.query import Query
from slice_os.search.fill_page import FilledPage, FoundHits
from slice_os.search.refinement import Refinement, refinement
from slice_os.search.run import (
    all_hits,
    best_hits,
    check_page,
    fused,
    make_query,
    page_hits,
)
from slice_os.stores.candidates import ScoredCandidates
from slice_os.stores.opensearch.async_store import AsyncOpenSearchStore
from slice_os.stores.opensearch.server.connection import parse_location
from slice_os.stores.registry import find_backend
from slice_os.stores.result_page import PageRequest
from slice_os.verifier.claims import Verifier

if TYPE_CHECKING:
    from opensearchpy import AsyncOpenSearch


BATCH_HITS = 64


class AsyncCorpus:
    """Searches and mines a store without blocking the event loop, with the results of `Corpus`.

    Requests to an index go through opensearch-py's asyncio client. Phrases are encoded, and
    passages scored, in threads, and so is all work on a local store. To fill a store, use `Corpus`.

    Examples:
        >>> async with AsyncCorpus("http://localhost:9200/calls") as calls:
        ...     hits = await calls.search("I want to cancel my subscription")
        ...     async for hit in calls.mine("I want to cancel my subscription"):
        ...         hit.text, hit.cosine

    Args:
        store: folder of a local store, or ``http(s)://[user@]host[:port]/index``; with ``client``,
            the name of the index.
        encoder: an encoder, or the model to load; None for the one the store was made with.
        client: your own asyncio client, which stays open when the corpus closes.
        verifier: checks hits; None for the bundled one.

    Raises:
        MissingExtraError: if aiohttp is not installed, for an index.
        StoreError: on an address without an index.
    """

    def __init__(
        self,
        store: str | Path,
        encoder: SpanEncoder | str | Path | None = None,
        *,
        client: AsyncOpenSearch | None = None,
        verifier: Verifier | None = None,
    ) -> None:
        store = str(store)
        self._encoder = encoder
        self._verifier = verifier
        self._owns_client = client is None
        self._opened: tuple[AsyncOpenSearchStore, SpanEncoder] | None = None
        self._opening = asyncio.Lock()
        self._local: Corpus | None = None
        if client is not None:
            self._client, self._name, self._location = client, store, store
            return
        if find_backend(store).folder(store) is not None:
            self._local = Corpus(store, encoder, verifier=verifier)
            return
        connection = parse_location(store)
        self._client = connection.async_client()
        self._name, self._location = connection.index, connection.location

    async def search(
        self,
        phrases: str | Sequence[str],
        *,
        counter_phrases: Sequence[str] = (),
        top_k: int = 10,
        offset: int = 0,
        threshold: float | None = None,
        where: Filter | None = None,
        fusion: str = DEFAULT_FUSION,
        num_candidates: int = NUM_CANDIDATES,
        per_passage: int = 1,
        verify: bool | None = None,
        min_probability: float | None = None,
        order: str | None = None,
        unit: str = SPAN,
        collapse: bool = False,
    ) -> Hits:
        """The best hits for any of the phrases; see `Corpus.search`."""
        if self._local is not None:
            return await asyncio.to_thread(
                self._local.search,
                phrases,
                counter_phrases=counter_phrases,
                top_k=top_k,
                offset=offset,
                threshold=threshold,
                where=where,
                fusion=fusion,
                num_candidates=num_candidates,
                per_passage=per_passage,
                verify=verify,
                min_probability=min_probability,
                order=order,
                unit=unit,
                collapse=collapse,
            )
        wanted = PageRequest(top_k, offset, threshold, fusion, num_candidates, per_passage)
        check_page(wanted, exhaustive=False)
        refine = await self._refinement(verify, min_probability, order)
        store, query = await self._query(phrases, where, unit, refine, counter_phrases)
        hits = await _scored(store, query, refine.scored_page(wanted), collapse)
        return await asyncio.to_thread(refine.page, hits, wanted)

    async def mine(
        self,
        phrases: str | Sequence[str],
        *,
        counter_phrases: Sequence[str] = (),
        threshold: float | None = None,
        where: Filter | None = None,
        exhaustive: bool = True,
        verify: bool | None = None,
        min_probability: float | None = None,
        unit: str = SPAN,
    ) -> AsyncGenerator[Hit, None]:
        """Every hit at or above the threshold, one by one; see `Corpus.mine`."""
        if threshold is not None:
            check_threshold(threshold)
        if self._local is not None:
            mined = self._local.iter_mine(
                phrases,
                counter_phrases=counter_phrases,
                threshold=threshold,
                where=where,
                exhaustive=exhaustive,
                verify=verify,
                min_probability=min_probability,
                unit=unit,
            )
            async with aclosing(_from_thread(mined)) as hits:
                async for hit in hits:
                    yield hit
            return
        refine = await self._refinement(verify, min_probability)
        store, query = await self._query(phrases, where, unit, refine, counter_phrases)
        least = refine.threshold(threshold, store.index.settings.encoder.threshold)
        async with aclosing(store.scan(query, least, exhaustive)) as pages:
            async for candidates in pages:
                for hit in await asyncio.to_thread(_hits, candidates, query, least, refine):
                    yield hit

    async def close(self) -> None:
        """Close the store, or the client if the corpus opened it."""
        if self._local is not None:
            await asyncio.to_thread(self._local.close)
        elif self._owns_client:
            await self._client.close()

    async def __aenter__(self) -> AsyncCorpus:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _query(
        self,
        phrases: str | Sequence[str],
        where: Filter | None,
        unit: str,
        refine: Refinement,
        counter_phrases: Sequence[str],
    ) -> tuple[AsyncOpenSearchStore, Query]:
        store, encoder = await self._open()
        query = await asyncio.to_thread(
            make_query,
            encoder,
            phrases,
            parse_where(where),
            unit,
            refine.verifies,
            counter_phrases,
        )
        return store, query

    async def _refinement(
        self, verify: bool | None, min_probability: float | None, order: str | None = None
    ) -> Refinement:
        _, encoder = await self._open()
        return await asyncio.to_thread(
            refinement, encoder, self._verifier, verify, min_probability, order
        )

    async def _open(self) -> tuple[AsyncOpenSearchStore, SpanEncoder]:
        """The index and its encoder, opened on first use."""
        async with self._opening:
            if self._opened is None:
                store = await AsyncOpenSearchStore.open(self._client, self._name, self._location)
                card = store.index.settings.encoder
                encoder = await asyncio.to_thread(self._load_encoder, card)
                self._opened = store, encoder
            return self._opened

    def _load_encoder(self, card: ModelCard) -> SpanEncoder:
        if isinstance(self._encoder, SpanEncoder):
            encoder = self._encoder
        else:
            encoder = SpanEncoder(self._encoder or bundled_model(card, self._location))
        card.check_made(self._location, encoder.card)
        return encoder


async def _from_thread(hits: Generator[Hit, None, None]) -> AsyncGenerator[Hit, None]:
    """The hits of a generator that runs in a thread of its own."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1, thread_name_prefix="mine") as thread:
        try:
            while batch := await loop.run_in_executor(thread, list, islice(hits, BATCH_HITS)):
                for hit in batch:
                    yield hit
        finally:
            await loop.run_in_executor(thread, hits.close)


async def _scored(
    store: AsyncOpenSearchStore, query: Query, wanted: PageRequest, collapse: bool
) -> Hits:
    """A page of hits by score."""
    attempt = FilledPage.of(wanted, query, collapse, exhaustive=False)
    if attempt is None:
        return (await _found(store, query, wanted)).hits
    while (page := attempt.page(await _found(store, query, attempt.request))) is None:
        attempt = attempt.more()
    return page


async def _found(store: AsyncOpenSearchStore, query: Query, wanted: PageRequest) -> FoundHits:
    """The hits in a page of passages."""
    if (page := await store.page(query, wanted)) is not None:
        return await asyncio.to_thread(page_hits, page, query, wanted)
    if wanted.fusion == SERVER:
        candidates, scores = await store.rank_fused(query, wanted.num_candidates)
    else:
        candidates = await store.rank(query, wanted.num_candidates)
        scores = fused(candidates, load_fusion(wanted.fusion))
    return await asyncio.to_thread(best_hits, candidates, scores, query, wanted)


def _hits(
    candidates: ScoredCandidates, query: Query, threshold: float, refine: Refinement
) -> list[Hit]:
    return list(refine.each(all_hits(candidates, query, threshold)))
