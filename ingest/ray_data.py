"""Ray Data: a batch encoder, and a sink that writes into an index of a server.

Examples:
    >>> sink = IndexSink("http://localhost:9200/calls")
    >>> calls = ray.data.read_parquet("calls/").map_batches(
    ...     EncodeDocuments,
    ...     fn_constructor_args=[sink.location],
    ...     batch_format="pyarrow",
    ...     batch_size=256,
    ...     concurrency=4,
    ... )
    >>> calls.write_datasink(sink, concurrency=2)
    >>> sink.summary
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from slice_os.encoder.model_folder import made_by
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError, MissingExtraError, StoreError
from slice_os.ingest.deadletters import DeadLetters
from slice_os.ingest.passages import encode_documents
from slice_os.ingest.pipeline import IngestSummary
from slice_os.ingest.readers import BadRecord, ReadOptions
from slice_os.ingest.readers.date_columns import DateFormats
from slice_os.ingest.readers.reader import bad_record
from slice_os.ingest.readers.records import document_of
from slice_os.spans.passages import DEFAULT_MAX_PIECES, DocumentPart, EncodedPassage
from slice_os.stores.cluster.loading.loading import loading
from slice_os.stores.cluster.loading.writer import writing_in_load
from slice_os.stores.cluster.schema.settings import IndexOptions
from slice_os.stores.cluster.server.answers import retrying
from slice_os.stores.cluster.server.connection import IndexHandle
from slice_os.stores.cluster.store import OpenSearchBackend, OpenSearchStore
from slice_os.stores.protocol import NewStore, Rejection, Store, StoredDocument
from slice_os.stores.registry import create_store, find_backend, open_store, store_exists
from slice_os.text.documents import Document, Segment
from slice_os.threads import one_blas_thread

try:
    import pyarrow as pa
    from ray.data import Datasink
    from ray.data.block import BlockAccessor
except ImportError:
    raise MissingExtraError("Ray Data", "ray") from None

READ_ROWS = 32

_PASSAGE = pa.struct(
    [
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("words", pa.large_binary()),
        ("vectors", pa.large_binary()),
        ("metadata", pa.large_binary()),
    ]
)
# A row has an id alone if its document is stored already, and only `bad` if it cannot be used.
_ENCODED = pa.schema(
    [
        ("id", pa.large_string()),
        ("document", pa.large_binary()),
        ("passages", pa.large_list(_PASSAGE)),
        ("bad", pa.large_binary()),
    ]
)


class EncodeDocuments:
    """Turns rows into documents with token vectors; for `Dataset.map_batches`.

    A row is read like a line of JSON: its text is a string or a list of turns. It must have an
    id, and no two rows may have the same one. A document that is stored already is not encoded
    again; a row that cannot be used goes on to the sink's dead letters.

    Args:
        location: of the index, which must exist; an `IndexSink` makes it.
        options: which columns are the id, the text and the metadata.
        model: a model folder, or the name of a bundled model; None for the one that the index
            was made with, if it is bundled.
        providers: onnxruntime execution providers, first choice first; CPU if None.
        threads: CPU threads of each actor; None for all usable cores.

    Raises an `InputError` on options for turns in several rows, as a batch need not have all of
    a document, a `StoreError` if there is no index, and an `EncoderMismatchError` if the index was
    made with another encoder.
    """

    def __init__(
        self,
        location: str,
        options: ReadOptions | None = None,
        *,
        model: str | Path | None = None,
        providers: Sequence[str] | None = None,
        threads: int | None = None,
    ) -> None:
        self._options = options or ReadOptions()
        if self._options.group_by is not None:
            raise InputError("group_by: a row is a whole document here; group the dataset before")
        self._store = retrying(open_store)(location)
        made_with = self._store.info()
        self._max_pieces = made_with.max_pieces
        self._encoder = SpanEncoder(
            model or made_by(made_with.encoder, made_with.location),
            providers=providers,
            threads=threads,
        )
        self._store.check_encoder(self._encoder.card)

    @one_blas_thread()
    def __call__(self, batch: pa.Table) -> pa.Table:
        """Encode a batch; each row becomes one."""
        seen: set[str] = set()
        rows = [self._read(fields, seen) for fields in batch.to_pylist()]
        fresh = _fresh([row for row in rows if isinstance(row, Document)], self._store)
        encoded: dict[str, list[dict[str, Any]]] = {document.id: [] for document in fresh}
        for part in encode_documents(fresh, self._encoder, self._max_pieces):
            encoded[part.document.id] += map(_packed, part.passages)
        return pa.Table.from_pylist([_row(row, encoded) for row in rows], schema=_ENCODED)

    def _read(self, fields: Mapping[str, Any], seen: set[str]) -> Document | BadRecord:
        try:
            if fields.get(self._options.id_field) is None:
                raise InputError(f"field {self._options.id_field!r} is missing")
            formats = DateFormats(self._options.date_format)
            document = document_of(fields, "", "", self._options, formats, Counter())
            if document.id in seen:
                raise InputError(f"id {document.id!r} came before")
        except InputError as error:
            return bad_record("", None, str(error), repr(fields))
        seen.add(document.id)
        return replace(document, language=self._options.language)


class IndexSink(Datasink):  # type: ignore[misc]
    """Writes the output of `EncodeDocuments` into an index; for `Dataset.write_datasink`.

    The driver holds the index's lease meanwhile. If a worker is killed, Ray runs its task again,
    and nothing is stored twice.

    Args:
        location: ``http(s)://[user@]host[:port]/index``; an index that does not exist is made.
        model: of a new index: a model folder, or the name of a bundled model.
        max_pieces: of a new index: word pieces that a passage holds at most.
        index: options for a new index.
        dead_letters: file on the driver's machine for rows that cannot be used.

    Attributes:
        location: as given.
        summary: what was done; None before the end.

    Raises a `StoreError` if the location is not that of an index on a server.
    """

    def __init__(
        self,
        location: str,
        *,
        model: str | Path | None = None,
        max_pieces: int = DEFAULT_MAX_PIECES,
        index: IndexOptions | None = None,
        dead_letters: str | Path = "dead-letters.jsonl",
    ) -> None:
        if not isinstance(find_backend(location), OpenSearchBackend):
            raise StoreError(
                f"{location}: Ray writes into OpenSearch or Elasticsearch; use http://HOST/INDEX"
            )
        if not store_exists(location):
            encoder = SpanEncoder(model)
            create_store(location, NewStore(encoder.card, max_pieces, encoder.projection, index))
        self.location = location
        self.summary: IngestSummary | None = None
        self._dead_letters = Path(dead_letters)
        self._load = ExitStack()
        self._began = time.monotonic()

    def on_write_start(self, schema: pa.Schema | None = None) -> None:
        """Begin the load."""
        self._began = time.monotonic()
        store = self._load.enter_context(closing(_open(self.location)))
        self._load.enter_context(loading(store.handle))

    def write(self, blocks: Iterable[Any], ctx: Any) -> tuple[IngestSummary, list[BadRecord]]:
        """Write blocks in a Ray task; returns counts, and rows that cannot be used."""
        unchanged = pieces = 0
        stored: set[str] = set()
        bad: list[BadRecord] = []

        def refuse(rejections: Iterable[Rejection]) -> None:
            for one in rejections:
                stored.discard(one.document.id)
                bad.append(bad_record("", None, one.reason, one.document.text))

        with (
            closing(_open(self.location)) as store,
            # Ray ends the tasks of a driver that has ended.
            writing_in_load(store.handle, store.settings) as writer,
        ):
            for rows in _batches(blocks):
                bad += (BadRecord(**orjson.loads(row["bad"])) for row in rows if row["bad"])
                passages = {row["id"]: row["passages"] for row in rows if row["document"]}
                fresh = _fresh([_document(row) for row in rows if row["document"]], store)
                unchanged += sum(not row["bad"] for row in rows) - len(fresh)
                for document in fresh:
                    encoded = tuple(map(_unpacked, passages[document.id]))
                    pieces += sum(len(passage.vectors) for passage in encoded)
                    stored.add(document.id)
                    refuse(writer.write(DocumentPart(document, encoded, last=True)))
            refuse(writer.flush())
        done = IngestSummary(documents=len(stored), documents_unchanged=unchanged, pieces=pieces)
        return done, bad

    def on_write_complete(self, write_result: Any) -> None:
        """End the load, and write rows that cannot be used to the dead letters."""
        counts: dict[str, Any] = dict.fromkeys(("documents", "documents_unchanged", "pieces"), 0)
        with DeadLetters(self._dead_letters) as letters:
            for done, bad in write_result.write_returns:
                for name in counts:
                    counts[name] += getattr(done, name)
                for record in bad:
                    letters.write(record)
        self._load.close()
        seconds = time.monotonic() - self._began
        self.summary = IngestSummary(**counts, bad_records=letters.count, seconds=seconds)

    def on_write_failed(self, error: Exception) -> None:
        """End the load; the next one deletes incomplete documents."""
        self._load.__exit__(type(error), error, error.__traceback__)

    def __getstate__(self) -> dict[str, Any]:
        """Without the load, which stays in the driver."""
        return {name: value for name, value in vars(self).items() if name != "_load"}


@retrying
def _open(location: str) -> OpenSearchStore:
    handle = IndexHandle.at(location)
    return OpenSearchStore(handle.client, handle.name, handle.location)


def _fresh(documents: Sequence[Document], store: Store) -> list[Document]:
    known = store.find_documents(document.id for document in documents)
    return [
        document
        for document in documents
        if known.get(document.id) != StoredDocument(document.source, document.fingerprint)
    ]


def _batches(blocks: Iterable[Any]) -> Iterator[list[dict[str, Any]]]:
    for block in blocks:
        for batch in BlockAccessor.for_block(block).to_arrow().to_batches(READ_ROWS):
            yield batch.to_pylist()


def _row(given: Document | BadRecord, encoded: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(given, BadRecord):
        return {"bad": orjson.dumps(given)}
    if given.id not in encoded:
        return {"id": given.id}
    return {"id": given.id, "document": orjson.dumps(given), "passages": encoded[given.id]}


def _document(row: Mapping[str, Any]) -> Document:
    fields = orjson.loads(row["document"])
    segments = tuple(Segment(**segment) for segment in fields.pop("segments"))
    return Document(**fields, segments=segments)


def _packed(passage: EncodedPassage) -> dict[str, Any]:
    return {
        "start": passage.start,
        "end": passage.end,
        "words": passage.words.astype(np.int64).tobytes(),
        "vectors": passage.vectors.astype(np.float32).tobytes(),
        "metadata": orjson.dumps(passage.metadata),
    }


def _unpacked(row: Mapping[str, Any]) -> EncodedPassage:
    words = np.frombuffer(row["words"], np.int64).reshape(-1, 4)
    vectors = np.frombuffer(row["vectors"], np.float32).reshape(words[-1, 3], -1)
    metadata = orjson.loads(row["metadata"])
    return EncodedPassage(row["start"], row["end"], words, vectors, metadata)
