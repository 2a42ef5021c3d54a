"""The store on a server: exact scores from there, or from here if it may not run scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import numpy as np
from opensearchpy import OpenSearch

from slice_os.arrays import FloatArray
from slice_os.encoder.model_folder import ModelCard
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import StoreError
from slice_os.query.options import SearchOptions
from slice_os.query.query import Phrases, Query
from slice_os.spans.passages import DEFAULT_MAX_PIECES, DocumentPart
from slice_os.stores.candidates import BestPassages, ScoredCandidates
from slice_os.stores.cluster.loading.writer import OpenSearchWriter, writing
from slice_os.stores.cluster.schema.records import document_key, source_key
from slice_os.stores.cluster.schema.settings import SCHEMA_VERSION, IndexOptions
from slice_os.stores.cluster.search import hybrid, listing
from slice_os.stores.cluster.search.exchange import Driver
from slice_os.stores.cluster.search.listing import find_index, find_records, require_index
from slice_os.stores.cluster.search.scripted import ScriptEngine
from slice_os.stores.cluster.search.searches import Answer
from slice_os.stores.cluster.search.server_flows import ServerFlows
from slice_os.stores.cluster.server.answers import NotFoundError, retrying
from slice_os.stores.cluster.server.connection import IndexHandle, parse_location
from slice_os.stores.cluster.server.detection import as_client
from slice_os.stores.cluster.versions.manage import create_first
from slice_os.stores.protocol import (
    WHOLE,
    Backend,
    DocumentEntry,
    FieldValue,
    NewStore,
    SourceEntry,
    Store,
    StoredDocument,
    StoreInfo,
    WorkShare,
)
from slice_os.text.documents import Metadata

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch


class OpenSearchStore:
    """An index of passages, their span vectors and their terms.

    The index proposes passages by span vectors and by BM25; every proposed passage is then
    scored exactly over all its spans from its stored token vectors, where they are: by a script on
    the server. In an index small enough, every passage is scored. If the server may not run
    scripts, the token vectors are fetched and scored here. Methods are those of `Store`.

    Args:
        client: your own, of opensearch-py or Elasticsearch, or one that `parse_location` makes.
        name: index or alias.
        location: how messages call this store; the name by default.

    Raises a `StoreError` if there is no such index, or not one of ours.
    """

    exhaustive = False
    asks_server = True
    folder = None

    def __init__(
        self, client: OpenSearch | Elasticsearch, name: str, location: str | None = None
    ) -> None:
        ours = as_client(client)
        self._alias = alias = IndexHandle(ours, name, location or name)
        self.index = index = require_index(alias)
        self.settings = index.settings
        self.engine = index.settings.engine.name
        self.handle = alias.named(index.name)
        self._server = ServerFlows(index, alias.location)
        self._driver = Driver(ours, alias.location)

    def replaced(self) -> bool:
        """Whether the alias stands for another index than when this store was opened."""
        try:
            return self.handle.name not in self._alias.ask(self._alias.client.indices.get_mapping)
        except NotFoundError:
            return True

    def check_encoder(self, card: ModelCard) -> None:
        self.settings.encoder.check_made(self.handle.location, card)

    @classmethod
    def create(
        cls,
        client: OpenSearch | Elasticsearch,
        name: str,
        encoder: SpanEncoder,
        *,
        max_pieces: int = DEFAULT_MAX_PIECES,
        options: IndexOptions | None = None,
    ) -> OpenSearchStore:
        """Make an empty index behind an alias, and open it.

        If another process makes it at the same time, both open the same index.

        Raises an `InputError` on options that do not fit the encoder, and a `StoreError` if there
        is an index with other settings, or the server refuses.
        """
        handle = IndexHandle(as_client(client), name, name)
        chosen = options or IndexOptions()
        create_first(handle, chosen, encoder.card, max_pieces, encoder.projection)
        return cls(client, name)

    def info(self) -> StoreInfo:
        return StoreInfo(
            location=self.handle.location,
            schema_version=SCHEMA_VERSION,
            encoder=self.settings.encoder,
            max_pieces=self.settings.max_pieces,
            **listing.count(self.handle),
        )

    @contextmanager
    def writer(self, part: WorkShare = WHOLE) -> Iterator[OpenSearchWriter]:
        """A writer; refresh is off while it is open, and what changed is searchable after.

        Writers with different parts of the same division can be open at the same time.

        Raises a `StoreError` if the alias stands for another index since this store was opened.
        """
        self._check_current()
        with writing(self.handle, self.settings, part) as writer:
            self._check_current()  # a swap may have come first
            yield writer

    def _check_current(self) -> None:
        if self.replaced():
            raise StoreError(
                f"{self.handle.location}: does not stand for {self.handle.name} any more; open it "
                "again, or run the same command again"
            )

    def find_documents(self, doc_ids: Iterable[str]) -> dict[str, StoredDocument]:
        records = find_records(self.handle, list(map(document_key, doc_ids)))
        return {one["doc_id"]: StoredDocument(one["source"], one["fingerprint"]) for one in records}

    @retrying
    def document_ids(self, *sources: str) -> set[str]:
        return {entry.id for entry in listing.list_documents(self.handle, sources)}

    def source_signatures(self, sources: Iterable[str]) -> dict[str, str]:
        records = find_records(self.handle, list(map(source_key, sources)))
        return {record["source"]: record["signature"] for record in records}

    def list_documents(self, after: str = "") -> Iterator[DocumentEntry]:
        return listing.list_documents(self.handle, after=after)

    def list_sources(self) -> Iterator[SourceEntry]:
        return listing.list_sources(self.handle)

    def document_text(self, doc_id: str) -> str | None:
        """The text of a document exactly as given, joined from its passages."""
        if (stored := self._stored(doc_id, "text")) is None:
            return None
        record, passages = stored
        return "".join(one["gap"] + one["text"] for one in passages) + str(record["gap"])

    def document_metadata(self, doc_id: str) -> Metadata | None:
        """A document's own fields, and those of its passages that are the same in all of them."""
        stored = self._stored(doc_id, "metadata")
        return None if stored is None else listing.common_fields(*stored)

    def stored_documents(self) -> Iterator[DocumentPart]:
        return listing.stored_documents(self.handle)

    def fields(self) -> dict[str, str]:
        return listing.field_kinds(self.handle)

    def field_values(self, field: str, limit: int | None) -> list[FieldValue]:
        return listing.values_of(self.handle, field, limit)

    def best_passages(self, query: Query, wanted: SearchOptions) -> BestPassages | None:
        return self._driver.run(self._server.best_passages(query, wanted))

    def rank(self, query: Query, num_candidates: int) -> ScoredCandidates:
        return self._driver.run(self._server.rank(query, num_candidates))

    def rank_fused(self, query: Query, num_candidates: int) -> tuple[ScoredCandidates, FloatArray]:
        return self._driver.run(self._server.rank_fused(query, num_candidates))

    def scan(self, query: Query, threshold: float, exhaustive: bool) -> Iterator[ScoredCandidates]:
        return self._driver.stream(self._server.scan(query, threshold, exhaustive))

    def can_fuse(self) -> bool:
        """Whether the server has the plugin that `rank_fused` needs."""
        with self.handle.errors_explained():
            return hybrid.installed(self.handle.client.cat.plugins(format="json"))

    def filtered(self, query: Query) -> Query:
        """The query with its filter as the index compares its fields."""
        return self._driver.run(self._server.filtered(query))

    def script_engine(self, query: Query) -> ScriptEngine | None:
        """The engine by which the server scores; None if it does not."""
        return self._driver.run(self._server.find_engine(query))

    def scored_by(self) -> str:
        card = self.settings.encoder
        phrase = Phrases(("any",), np.eye(1, card.dimension, dtype=np.float32))
        query = Query(phrase, (), card.min_words, card.max_words)
        return self._driver.run(self._server.scored_by(query))

    def close(self) -> None:
        self.handle.client.close()

    def _stored(self, doc_id: str, field: str) -> tuple[Answer, list[Answer]] | None:
        """The record of a document, and its passages with one more field; None without a record."""
        shown = ["doc_id", "kind", "ordinal", "passages", "gap", field]
        for record, passages in listing.recorded(self.handle, [doc_id], _source=shown):
            return record, [hit["_source"] for hit in passages]
        return None


class OpenSearchBackend(Backend):
    """Stores at ``http(s)://[user@]host[:port]/index``, and where `parse_location` says."""

    def exists(self, location: str) -> bool:
        handle = IndexHandle.at(location)
        with closing(handle.client):
            return find_index(handle) is not None

    def open(self, location: str) -> Store:
        handle = IndexHandle.at(location)
        try:
            return OpenSearchStore(handle.client, handle.name, handle.location)
        except BaseException:
            handle.client.close()
            raise

    def create(self, location: str, new: NewStore) -> None:
        options = new.options if isinstance(new.options, IndexOptions) else IndexOptions()
        handle = IndexHandle.at(location)
        with closing(handle.client):
            create_first(handle, options, new.card, new.max_pieces, new.projection)

    def login(self, location: str) -> str | None:
        connection = parse_location(location)
        return f"{connection.user} at {connection.url}" if connection.user else None


BACKEND = OpenSearchBackend()
