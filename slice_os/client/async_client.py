"""The client of the service for programs that wait for many things at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from slice_os.client import calls
from slice_os.client.calls import Call, Phrases
from slice_os.client.exchange import Service, array, load_httpx, result
from slice_os.client.records import (
    Case,
    FieldValue,
    Highlights,
    HitOptions,
    MineOptions,
    NearMisses,
    SearchOptions,
    StoreOptions,
    StoreRecord,
    Tagged,
    TopicTable,
)
from slice_os.client.streams import MinedLines, Progress
from slice_os.hits.hit import Hit, Hits
from slice_os.text.documents import Document
from slice_os.topics.labels import Label
from slice_os.topics.tallies import Tally

if TYPE_CHECKING:
    import httpx
    from typing_extensions import Unpack

    from slice_os.arrays import FloatArray

T = TypeVar("T")


class AsyncClient:
    """Asks a service as `Client` does; every method is to be awaited, or iterated by ``async for``.

    Args:
        address: of the service.
        api_key: sent with every request; None for none.
        store: the store to ask, unless a call names one; None if the service has one alone.
        timeout: seconds to wait for an answer, or for the next piece of a stream.
        retries: how often a request is repeated.
        http: sends the requests; it stays open when the client closes.

    Raises:
        MissingExtraError: without httpx.
    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8000",
        *,
        api_key: str | None = None,
        store: str | None = None,
        timeout: float = 60.0,
        retries: int = 3,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._service = Service(address, api_key, store, retries)
        self._httpx = load_httpx()
        self._own: httpx.AsyncClient | None = None
        if http is None:
            http = self._own = self._httpx.AsyncClient(timeout=timeout)
        self._http = http

    async def search(self, phrases: Phrases, **options: Unpack[SearchOptions]) -> Hits:
        """The best passages for any of the phrases; see `Corpus.search`."""
        return await self._result(calls.search(phrases, self._service.options(options)))

    async def mine(
        self,
        phrases: Phrases = (),
        *,
        topics: Sequence[str] = (),
        progress: Progress | None = None,
        **options: Unpack[MineOptions],
    ) -> Hits:
        """Every hit of phrases, or of topics; see `Corpus.mine`."""
        lines = MinedLines(progress)
        call = calls.mine(phrases, topics, self._service.options(options))
        items = tuple([hit async for hit in self._mined(call, lines)])
        return Hits(items, options.get("threshold"), lines.exhaustive())

    async def iter_mine(
        self,
        phrases: Phrases = (),
        *,
        topics: Sequence[str] = (),
        progress: Progress | None = None,
        **options: Unpack[MineOptions],
    ) -> AsyncGenerator[Hit, None]:
        """The hits of `mine` as they arrive; the service stops if you close the generator."""
        lines = MinedLines(progress)
        call = calls.mine(phrases, topics, self._service.options(options))
        async with aclosing(self._mined(call, lines)) as hits:
            async for hit in hits:
                yield hit
        lines.exhaustive()

    async def scan(
        self,
        documents: Iterable[Document],
        phrases: Phrases,
        **options: Unpack[HitOptions],
    ) -> Hits:
        """Every hit in documents that are not stored; see `slice_os.scan`."""
        return await self._result(calls.scan(documents, phrases, options))

    async def tag(
        self, documents: Iterable[Document], topics: Sequence[str] | None = None
    ) -> list[Tagged]:
        """The topics of documents that are not stored; None for all topics of the service."""
        return await self._result(calls.tag(documents, topics))

    async def encode_phrases(self, phrases: Sequence[str]) -> FloatArray:
        """``(n_phrases, dimension)`` unit vectors of phrases."""
        return array(await self._result(calls.encode_phrases(phrases)))

    async def encode_spans(self, text: str, spans: Sequence[tuple[int, int]]) -> FloatArray:
        """``(n_spans, dimension)`` unit vectors of code points ``start:end`` of a text."""
        return array(await self._result(calls.encode_spans(text, spans)))

    async def stores(self) -> list[StoreRecord]:
        """The stores of the service."""
        return await self._result(calls.stores())

    async def field_values(self, store: str, field: str, limit: int = 100) -> list[FieldValue]:
        """The most frequent values of a metadata field."""
        return await self._result(calls.field_values(store, field, limit))

    async def add(self, documents: Iterable[Document], store: str | None = None) -> int:
        """Store documents, replacing those with the same id; returns how many were given."""
        return await self._result(calls.add(documents, self._service.chosen(store)))

    async def document_ids(self, store: str | None = None) -> AsyncIterator[str]:
        """The ids of the documents in a store, in order."""
        chosen, after = self._service.chosen(store), None
        while True:
            ids, after = await self._result(calls.document_ids(chosen, after))
            for doc_id in ids:
                yield doc_id
            if after is None:
                return

    async def document(self, doc_id: str, store: str | None = None) -> Document:
        """A document; the offsets of hits count the code points of its text."""
        return await self._result(calls.document(doc_id, self._service.chosen(store)))

    async def delete(self, doc_id: str, store: str | None = None) -> None:
        """Delete a document."""
        await self._result(calls.delete(doc_id, self._service.chosen(store)))

    async def highlights(
        self,
        doc_id: str,
        phrases: Phrases = (),
        *,
        topics: Sequence[str] = (),
        **options: Unpack[StoreOptions],
    ) -> Highlights:
        """A document with all hits of phrases, or of topics, in it."""
        given = self._service.options(options)
        return await self._result(calls.highlights(doc_id, phrases, topics, given))

    async def topics(self) -> list[TopicTable]:
        """The topics, by name."""
        return await self._result(calls.topics())

    async def topic(self, name: str) -> TopicTable:
        """A topic."""
        return await self._result(calls.topic(name))

    async def save_topic(self, topic: TopicTable) -> TopicTable:
        """Store a topic, and return it with its new etag.

        A topic that has an ``etag``, because it was read, takes the place of that version alone.

        Raises:
            ConflictError: if somebody else has changed it since, or a topic without an etag
                has the name of one that is there.
        """
        return await self._result(calls.save_topic(topic))

    async def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        await self._result(calls.delete_topic(name))

    async def try_topic(self, name: str) -> list[Case]:
        """Try the examples of a topic."""
        return await self._result(calls.try_topic(name))

    async def suggest(
        self, name: str, *, store: str | None = None, limit: int = 10
    ) -> list[NearMisses]:
        """Near misses of a topic in a store, clustered."""
        options = self._service.options({"store": store, "limit": limit})
        return await self._result(calls.suggest(name, options))

    async def learn(
        self, name: str, *, store: str | None = None, exclusive: bool = False
    ) -> TopicTable:
        """Learn from the labels of a topic; returns the topic with what it learned."""
        options = self._service.options({"store": store, "exclusive": exclusive})
        return await self._result(calls.learn(name, options))

    async def counts(
        self,
        name: str | None = None,
        *,
        store: str | None = None,
        by: str = "day",
        date_field: str = "date",
    ) -> list[Tally]:
        """How often a topic occurs, by ``day``, by ``document`` or by a metadata field.

        None for all topics, which are counted in one pass over the store.
        """
        options = self._service.options({"store": store, "date_field": date_field})
        return await self._result(calls.counts(name, by, options))

    async def labels(self, topic: str | None = None) -> AsyncIterator[Label]:
        """The labels of a topic, or of all, in the order in which they were given."""
        after: int | None = 0
        while after is not None:
            found, after = await self._result(calls.labels(topic, after))
            for label in found:
                yield label

    async def add_labels(self, labels: Iterable[Label]) -> int:
        """Add labels, such as ``Label.of(hit, right=True)``; they are on the disk then."""
        return await self._result(calls.add_labels(labels))

    async def take_back(self, label: Label) -> None:
        """Take back the last answer about the words of a label.

        Raises:
            NotFoundError: if there is none.
        """
        await self._result(calls.take_back(label.key))

    async def close(self) -> None:
        """Close the connections."""
        if self._own is not None:
            await self._own.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _result(self, call: Call[T]) -> T:
        async with self._answered(call) as response:
            await response.aread()
        return result(call, response)

    async def _mined(self, call: Call[None], lines: MinedLines) -> AsyncGenerator[Hit, None]:
        async with self._answered(call) as response:
            if not response.is_success:
                await response.aread()
                result(call, response)
            async for piece in response.aiter_bytes():
                for hit in lines.hits(piece):
                    yield hit

    @asynccontextmanager
    async def _answered(self, call: Call[Any]) -> AsyncIterator[httpx.Response]:
        """The answer to a request, repeated while the service is too busy; not read yet."""
        request = self._http.build_request(**self._service.request(call))
        try:
            response = await self._sent(request)
            try:
                yield response
            finally:
                await response.aclose()
        except self._httpx.TransportError as error:
            raise self._service.unreachable(error) from None

    async def _sent(self, request: httpx.Request) -> httpx.Response:
        for attempt in count():
            try:
                response = await self._http.send(request, stream=True)
                pause = self._service.pause_after(response, attempt)
                if pause is None:
                    return response
                await response.aclose()
            except self._httpx.ConnectError:
                pause = self._service.pause_unconnected(attempt)
                if pause is None:
                    raise
            await asyncio.sleep(pause)
        raise AssertionError
