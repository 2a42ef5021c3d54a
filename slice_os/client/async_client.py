"""The client of the service, for asyncio; the blocking one has its methods."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from slice_os.client import answers, records
from slice_os.client.answers import MinedLines, Phrases, Progress, Service
from slice_os.errors import imported
from slice_os.estimates.tallies import Tally
from slice_os.hits.document_hits import DocumentHits
from slice_os.hits.hit import Hit, Hits
from slice_os.labels.label import Label
from slice_os.query.options import (
    DEFAULT_MINING,
    DEFAULT_SCAN,
    DEFAULT_SEARCH,
    HitKeywords,
    HitOptions,
    MineKeywords,
    MineOptions,
    SearchKeywords,
    SearchOptions,
)
from slice_os.text.documents import Document
from slice_os.topics.match import Case, Match, Suggestion

if TYPE_CHECKING:
    import httpx
    from typing_extensions import Unpack

    from slice_os.arrays import FloatArray

T = TypeVar("T")


class AsyncClient:
    """Asks a service; its methods are those of a `Corpus`, and return the same types.

    Await each method, or iterate over it with ``async for``.

    All methods raise a `ServiceError`, or a subclass, if the service refuses the request or cannot
    answer it. If the service is too busy, the client repeats the request after the time that the
    service asks for.

    The arguments are those of `Client`; ``http`` is an asynchronous client of httpx.
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
        self._httpx = imported("httpx", "The client", "client")
        self._owned = http is None
        self._http: httpx.AsyncClient = http or self._httpx.AsyncClient(timeout=timeout)

    async def search(
        self,
        phrases: Phrases,
        options: SearchOptions = DEFAULT_SEARCH,
        *,
        store: str | None = None,
        **changes: Unpack[SearchKeywords],
    ) -> Hits:
        """The best passages for any of the phrases; see `Corpus.search`."""
        body = answers.wanted(replace(options, **changes), phrases, store=store)
        return await self._ask("POST", "search", read=answers.hits, body=body)

    async def mine(
        self,
        phrases: Phrases = (),
        options: MineOptions = DEFAULT_MINING,
        *,
        topics: Sequence[str] = (),
        store: str | None = None,
        limit: int | None = None,
        max_count: int | None = None,
        before: int | None = None,
        after: int | None = None,
        progress: Progress | None = None,
        **changes: Unpack[MineKeywords],
    ) -> Hits:
        """Every hit of phrases, or of topics; see `Corpus.mine`.

        Args:
            phrases: origin phrases; each is mined on its own.
            options: of the hits; topics take ``where``, ``verify`` and ``unit``.
            topics: names of topics, instead of phrases.
            store: its name; None for the usual one.
            limit: most hits; None for all of them.
            max_count: most hits of each document.
            before: turns, or sentences, before a hit that its passage has; see `Corpus.around`.
            after: turns, or sentences, after it.
            progress: called with the number of hits so far.
            changes: fields of `MineOptions`, for this call only.
        """
        lines, options = MinedLines("hit", Hit.from_dict, progress), replace(options, **changes)
        grep = {"max_count": max_count, "before": before, "after": after}
        body = answers.wanted(options, phrases, topics, store=store, limit=limit, **grep)
        hits = [hit async for hit in self._mined(lines, body)]
        return Hits(tuple(hits), **lines.summary())

    def iter_mine(
        self,
        phrases: Phrases = (),
        options: MineOptions = DEFAULT_MINING,
        *,
        topics: Sequence[str] = (),
        store: str | None = None,
        limit: int | None = None,
        max_count: int | None = None,
        before: int | None = None,
        after: int | None = None,
        progress: Progress | None = None,
        **changes: Unpack[MineKeywords],
    ) -> AsyncGenerator[Hit, None]:
        """The hits of `mine` as they arrive; the service stops if you close the generator."""
        lines, options = MinedLines("hit", Hit.from_dict, progress), replace(options, **changes)
        grep = {"max_count": max_count, "before": before, "after": after}
        body = answers.wanted(options, phrases, topics, store=store, limit=limit, **grep)
        return self._mined(lines, body)

    def list_documents(
        self,
        phrases: Phrases = (),
        listing: str = "with",
        options: MineOptions = DEFAULT_MINING,
        *,
        topics: Sequence[str] = (),
        store: str | None = None,
        max_count: int | None = None,
        **changes: Unpack[MineKeywords],
    ) -> AsyncGenerator[DocumentHits, None]:
        """Documents in place of the hits of phrases, or of topics; see `Corpus.list_documents`."""
        asked = {"store": store, "listing": listing, "max_count": max_count}
        body = answers.wanted(replace(options, **changes), phrases, topics, **asked)
        return self._mined(MinedLines("document", DocumentHits.from_dict), body)

    async def scan(
        self,
        documents: Iterable[Document],
        phrases: Phrases,
        options: HitOptions = DEFAULT_SCAN,
        **changes: Unpack[HitKeywords],
    ) -> Hits:
        """Every hit in documents that are not stored; see `slice_os.scan`."""
        given, rows = replace(options, **changes), answers.rows(documents)
        body = answers.wanted(given, phrases, documents=rows)
        return await self._ask("POST", "scan", read=answers.hits, body=body)

    async def tag(
        self, documents: Iterable[Document], topics: Sequence[str] | None = None
    ) -> list[records.Tagged]:
        """The topics of documents that are not stored; None for all topics of the service."""
        body = {"documents": answers.rows(documents), "topics": topics}
        return await self._ask("POST", "tag", read=answers.tagged, body=body)

    async def encode_phrases(self, phrases: Sequence[str]) -> FloatArray:
        """``(n_phrases, dimension)`` unit vectors of phrases."""
        body = {"phrases": phrases}
        return await self._ask("POST", "encode", read=answers.phrase_vectors, body=body)

    async def encode_spans(self, text: str, spans: Sequence[tuple[int, int]]) -> FloatArray:
        """``(n_spans, dimension)`` unit vectors of code points ``start:end`` of a text."""
        body = {"texts": [{"text": text, "spans": spans}]}
        return await self._ask("POST", "encode", read=answers.span_vectors, body=body)

    async def stores(self) -> list[records.StoreRecord]:
        """The stores of the service."""
        return await self._ask("GET", "stores", read=itemgetter("stores"))

    async def field_values(
        self, store: str, field: str, limit: int = 100
    ) -> list[records.FieldValue]:
        """The most frequent values of a metadata field."""
        path, params = ("stores", store, "fields", field), {"limit": limit}
        return await self._ask("GET", *path, read=itemgetter("values"), params=params)

    async def add(self, documents: Iterable[Document], store: str | None = None) -> int:
        """Store documents, replacing those with the same id; returns how many were given."""
        body = {"store": store, "documents": answers.rows(documents)}
        return await self._ask("POST", "documents", read=answers.added, body=body)

    def document_ids(self, store: str | None = None) -> AsyncGenerator[str, None]:
        """The ids of the documents in a store, in order."""
        return self._listed("documents", itemgetter("id"), store=store, after="")

    async def document(self, doc_id: str, store: str | None = None) -> Document:
        """A document; the offsets of hits count the code points of its text."""
        path, params = ("documents", doc_id), {"store": store}
        return await self._ask("GET", *path, read=answers.document, params=params)

    async def delete(self, doc_id: str, store: str | None = None) -> None:
        """Delete a document."""
        await self._ask("DELETE", "documents", doc_id, params={"store": store})

    async def highlights(
        self,
        doc_id: str,
        phrases: Phrases = (),
        options: HitOptions = DEFAULT_SCAN,
        *,
        topics: Sequence[str] = (),
        store: str | None = None,
        **changes: Unpack[HitKeywords],
    ) -> records.Highlights:
        """A document with all hits of phrases, or of topics, in it."""
        path = ("documents", doc_id, "highlights")
        body = answers.wanted(replace(options, **changes), phrases, topics, store=store)
        return await self._ask("POST", *path, read=answers.highlights, body=body)

    async def topics(self) -> list[records.TopicTable]:
        """The topics, by name."""
        return await self._ask("GET", "topics", read=itemgetter("topics"))

    async def topic(self, name: str) -> records.TopicTable:
        """A topic."""
        return await self._ask("GET", "topics", name)

    async def save_topic(self, topic: records.TopicTable) -> records.TopicTable:
        """Store a topic, and return it with its new etag.

        A topic that has an ``etag``, because it was read, replaces that version only.

        Raises a `ConflictError` if somebody else has changed it since, or a topic without an etag
        has the name of an existing one.
        """
        body = {key: value for key, value in topic.items() if key not in ("etag", "changes")}
        if "etag" not in topic:
            return await self._ask("POST", "topics", body=body)
        headers = {"If-Match": f'"{topic["etag"]}"'}
        return await self._ask("PUT", "topics", topic["name"], body=body, headers=headers)

    async def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        await self._ask("DELETE", "topics", name)

    async def try_topic(self, name: str) -> list[Case]:
        """Try the examples of a topic."""
        return await self._ask("POST", "topics", name, "test", read=answers.cases)

    async def suggest(
        self, name: str, *, store: str | None = None, limit: int = 10
    ) -> list[Suggestion]:
        """Near misses of a topic in a store, clustered."""
        path, body = ("topics", name, "suggest"), {"store": store, "limit": limit}
        return await self._ask("POST", *path, read=answers.near_misses, body=body)

    async def learn(
        self, name: str, *, store: str | None = None, exclusive: bool = False
    ) -> records.TopicTable:
        """Learn from the labels of a topic; returns the topic with what it learned."""
        body = {"store": store, "exclusive": exclusive}
        return await self._ask("POST", "topics", name, "learn", body=body)

    async def counts(
        self,
        name: str | None = None,
        *,
        store: str | None = None,
        by: str = "day",
        date_field: str = "date",
        within: str | None = None,
    ) -> list[Tally]:
        """Number of hits of a topic, by period, ``document`` or a metadata field; see `tally`.

        None for all topics, which are counted in one pass over the store.
        """
        path = ("counts",) if name is None else ("topics", name, "counts")
        params = {"store": store, "by": by, "date_field": date_field, "within": within}
        return await self._ask("GET", *path, read=answers.tallies, params=params)

    async def matches(
        self,
        topics: Sequence[str] | None = None,
        *,
        rule: records.TopicTable | None = None,
        store: str | None = None,
        limit: int | None = None,
    ) -> list[Match]:
        """The matches of combined topics of the service; see `slice_os.combinations.match_topics`.

        Without names, of all combined topics; those that cannot be looked for are warnings. Or of
        a rule that the service does not keep. None as a limit is for all matches.
        """
        body = {"topics": topics, "rule": rule, "store": store, "limit": limit}
        return await self._ask("POST", "match", read=answers.matches, body=body)

    async def matrix(
        self,
        topics: Sequence[str],
        *,
        store: str | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> list[DocumentHits]:
        """The findings of every document for some topics, one topic after the other.

        None as a limit is for all documents.
        """
        body = {"topics": topics, "store": store, "where": where, "limit": limit}
        return await self._ask("POST", "matrix", read=answers.matrix, body=body)

    async def estimate(
        self, name: str, *, store: str | None = None, size: int = 140, seed: int = 0
    ) -> records.Estimating:
        """Estimate what a topic finds and misses, from a sample of all passages.

        Label what waits, with ``add_labels``, and ask again: once nothing waits, there are
        figures. The same store, topic, size and seed have the same sample.
        """
        path, body = ("topics", name, "estimate"), {"store": store, "size": size, "seed": seed}
        return await self._ask("POST", *path, read=answers.estimating, body=body)

    def labels(
        self, topic: str | None = None, reader: str | None = None
    ) -> AsyncGenerator[Label, None]:
        """The labels that hold, of a topic or of all, in the order in which they were given.

        For a reader, these are the reader's own ones.
        """
        return self._listed("labels", answers.label, topic=topic, reader=reader, after=0)

    async def agreement(self, topic: str | None = None) -> list[Mapping[str, Any]]:
        """The agreement of readers on the hits of a topic, or of each.

        These are the fields of a `slice_os.estimates.agreement.Agreement`.
        """
        read, params = itemgetter("topics"), {"topic": topic}
        return await self._ask("GET", "agreement", read=read, params=params)

    async def add_labels(self, labels: Iterable[Label]) -> int:
        """Add labels, such as ``Label.of(hit, right=True)``; returns when they are on the disk."""
        body = {"labels": [label.to_row() for label in labels]}
        return await self._ask("POST", "labels", read=answers.added, body=body)

    async def take_back(self, label: Label) -> None:
        """Take back the last label that the reader of a label gave to its words.

        Raises a `NotFoundError` if there is none.
        """
        names = ("topic", "doc_id", "start", "end", "text")
        body = dict(zip(names, label.key, strict=True))
        body |= {"reader": label.reader, "settled": label.settled}
        await self._ask("DELETE", "labels", body=body)

    async def close(self) -> None:
        """Close the connections."""
        if self._owned:
            await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _ask(
        self, method: str, *path: str, read: Callable[[Any], T] = answers.plain, **content: Any
    ) -> T:
        """Send a request, and read its answer; see `Service.request`."""
        async with self._answered(method, *path, **content) as response:
            await response.aread()
        return answers.result(response, read)

    async def _listed(
        self, kind: str, read: Callable[[Any], T], **params: Any
    ) -> AsyncGenerator[T, None]:
        def page(found: Any) -> tuple[list[T], Any]:
            rows, after = list(map(read, found[kind])), found["next"]
            if not rows and after is not None:
                raise ValueError("pages without rows would have no end")
            return rows, after

        params["limit"] = answers.MOST_AT_ONCE
        while params["after"] is not None:
            rows, params["after"] = await self._ask("GET", kind, read=page, params=params)
            for row in rows:
                yield row

    async def _mined(self, lines: MinedLines[T], body: Any) -> AsyncGenerator[T, None]:
        async with self._answered("POST", "mine", body=body) as response:
            if not response.is_success:
                await response.aread()
                answers.result(response, answers.plain)
            async for piece in response.aiter_bytes():
                for row in lines.rows(piece):
                    yield row
        lines.summary()

    @asynccontextmanager
    async def _answered(self, *path: str, **content: Any) -> AsyncIterator[httpx.Response]:
        """The answer to a request, not read yet; the request is repeated if need be."""
        try:
            request = self._http.build_request(**self._service.request(*path, **content))
            async with aclosing(await self._sent(request)) as response:
                yield response
        except (self._httpx.RequestError, self._httpx.InvalidURL) as error:
            raise self._service.unreachable(error) from None

    async def _sent(self, request: httpx.Request) -> httpx.Response:
        for attempt in range(self._service.retries):
            wished = ""
            with suppress(self._httpx.ConnectError):
                response = await self._http.send(request, stream=True)
                if response.status_code not in answers.AGAIN:
                    return response
                wished = response.headers.get("Retry-After", "")
                await response.aclose()
            await self._sleep(answers.pause_after(attempt, wished))
        return await self._http.send(request, stream=True)

    async def _sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
