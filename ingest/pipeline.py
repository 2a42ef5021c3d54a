"""Ingest: sources → documents → passages → vectors → store, resumable at every point.

The store knows each document by its fingerprint and each source that was read to its end by its
signature. A second run therefore does nothing, an interrupted run resumes, and a changed document
replaces the former one.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TypeAlias, TypeVar

from slice_os.documents import Document
from slice_os.encoder import SpanEncoder
from slice_os.ingest.deadletters import DeadLetters
from slice_os.ingest.passages import encode_documents
from slice_os.ingest.readers import BadRecord, ReadOptions
from slice_os.ingest.reading import read
from slice_os.ingest.sources import Source
from slice_os.parts import WHOLE, Part
from slice_os.stores.base import Rejection, Store, StoredDocument, Writer
from slice_os.threads import one_blas_thread

LOOKUP_DOCUMENTS = 64

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """What an ingest run has done so far.

    Attributes:
        sources: sources read to their end.
        sources_unchanged: sources skipped because they have not changed since they were read.
        documents: documents stored, new or changed.
        documents_unchanged: documents read but already stored.
        documents_deleted: documents deleted because their source no longer has them.
        pieces: token vectors stored.
        bad_records: records that could not be used; all are in the dead letters.
        retries: requests sent again because the server was busy.
        bytes: size of the finished sources, skipped ones included, and of what has been read
            of the others.
        seconds: time taken.
    """

    sources: int = 0
    sources_unchanged: int = 0
    documents: int = 0
    documents_unchanged: int = 0
    documents_deleted: int = 0
    pieces: int = 0
    bad_records: int = 0
    retries: int = 0
    bytes: int = 0
    seconds: float = 0.0


SummaryCallback: TypeAlias = Callable[[IngestSummary], None]
BadRecordCallback: TypeAlias = Callable[[BadRecord], None]


@one_blas_thread()
def ingest_sources(
    store: Store,
    encoder: SpanEncoder,
    sources: Iterable[Source],
    *,
    options: ReadOptions,
    dead_letters: Path,
    part: Part = WHOLE,
    progress: SummaryCallback | None = None,
    complain: BadRecordCallback | None = None,
) -> IngestSummary:
    """Read sources into a store.

    A record that cannot be used goes to the dead letters and the run continues; the next run
    reads its source again. If the run is interrupted, complete documents stay.

    Args:
        store: receives the documents.
        encoder: the encoder that the store was made with.
        sources: what to read.
        options: which fields of a record are its id, text and metadata.
        dead_letters: file for records that cannot be used; created for the first one.
        part: which part of all sources these are. Other processes may write other parts of the
            same division into an index in OpenSearch at the same time.
        progress: called with the state after every part of a document and every source.
        complain: called with every record that goes to the dead letters.

    Returns:
        What the run did.

    Raises:
        InputError: if the dead letters cannot be written.
        StoreError: if the store cannot be read or written.
    """
    with store.writer(part) as writer, DeadLetters(dead_letters) as letters:
        run = _Run(store, writer, letters, options, progress, complain)
        max_pieces = store.info().max_pieces
        for written in encode_documents(run.documents(sources), encoder, max_pieces):
            run.rejected(writer.write(written))
            pieces = sum(len(passage.vectors) for passage in written.passages)
            run.wrote(pieces, written.last, written.document)
        run.end()
        run.rejected(writer.flush())
    return run.summary()


@dataclass(slots=True)
class _Open:
    """A source that has been read but whose documents are not all written yet."""

    source: Source
    signature: str
    size: int
    stale: set[str]
    waiting: int = 0
    read: bool = False
    bad: bool = False
    bytes: int = 0


class _Run:
    """The bookkeeping of one run: counts, and which sources are finished."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        letters: DeadLetters,
        options: ReadOptions,
        progress: SummaryCallback | None,
        complain: BadRecordCallback | None,
    ) -> None:
        self._store = store
        self._writer = writer
        self._letters = letters
        self._dead_letters = os.path.realpath(letters.path)
        self._options = options
        self._progress = progress
        self._complain = complain
        self._counts = asdict(IngestSummary())
        self._began = time.monotonic()
        self._open: deque[_Open] = deque()
        self._owner: dict[str, str] = {}
        self._read: set[str] = set()

    def summary(self) -> IngestSummary:
        """The state so far."""
        counts = dict(self._counts)
        counts["bytes"] += sum(min(state.bytes, state.size) for state in self._open)
        counts["bad_records"] = self._letters.count
        counts["retries"] = self._writer.retries
        counts["seconds"] = time.monotonic() - self._began
        return IngestSummary(**counts)

    def documents(self, sources: Iterable[Source]) -> Iterator[Document]:
        """The documents to store; what is unchanged or unusable is counted here."""
        for source in sources:
            if source.path and os.path.realpath(source.path) == self._dead_letters:
                continue  # our own output: reading it would never end
            signature, size = _signature(source, self._options)
            known = self._store.source_signature(source.name)
            if signature and known == signature:
                self._counts["sources_unchanged"] += 1
                self._counts["bytes"] += size
                self._tell()
                continue
            state = _Open(source, signature, size, self._store.documents_of(source.name))
            self._open.append(state)
            yield from self._wanted(state)
            state.read = True
            if not state.bad:
                self._read.add(source.name)
            self._close_sources()

    def wrote(self, pieces: int, last: bool, document: Document) -> None:
        """A part of a document has been written."""
        self._counts["pieces"] += pieces
        state = next(state for state in self._open if state.source.name == document.source)
        if last:
            self._counts["documents"] += 1
            state.waiting -= 1
            state.bytes += len(document.text.encode())
            self._close_sources()
        self._tell()

    def rejected(self, rejections: Iterable[Rejection]) -> None:
        """The store rejected some documents."""
        for rejection in rejections:
            document = rejection.document
            self._counts["documents"] -= 1
            self._bury(BadRecord(document.source, None, rejection.reason, document.text))

    def end(self) -> None:
        """Everything has been read and written."""
        self._close_sources()

    def _wanted(self, state: _Open) -> Iterator[Document]:
        for records in _batches(read(state.source, self._options), LOOKUP_DOCUMENTS):
            fresh = list(self._usable(records, state))
            stored = self._store.documents(document.id for document in fresh)
            for document in fresh:
                former = stored.get(document.id)
                known = StoredDocument(document.source, document.fingerprint)
                if former and self._claims(former.source, document):
                    self._refuse(state, document, f"id {document.id!r} is taken by {former.source}")
                elif former == known:
                    self._counts["documents_unchanged"] += 1
                    state.bytes += len(document.text.encode())
                else:
                    state.waiting += 1
                    yield document

    def _claims(self, source: str, document: Document) -> bool:
        """Whether another source may still have the id: its file exists and was not read yet."""
        if not source or source == document.source or source in self._read:
            return False
        return os.path.exists(source)  # noqa: PTH110  Path.exists raises on odd names

    def _usable(self, records: Iterable[Document | BadRecord], state: _Open) -> Iterator[Document]:
        for record in records:
            if isinstance(record, BadRecord):
                state.bad = True
                self._bury(record)
            elif record.id in self._owner:
                owner = self._owner[record.id]
                self._refuse(state, record, f"id {record.id!r} came before, in {owner}")
            else:
                self._owner[record.id] = record.source
                state.stale.discard(record.id)
                yield record

    def _refuse(self, state: _Open, document: Document, reason: str) -> None:
        state.bad = True
        self._bury(BadRecord(document.source, None, reason, document.text))

    def _bury(self, record: BadRecord) -> None:
        self._letters.write(record)
        if self._complain is not None:
            self._complain(record)

    def _close_sources(self) -> None:
        """Finish the sources whose documents are all written, in order."""
        while self._open and self._open[0].read and not self._open[0].waiting:
            state = self._open.popleft()
            if not state.bad:
                self._counts["documents_deleted"] += self._writer.delete(sorted(state.stale))
                if state.signature:
                    self._writer.finish_source(state.source.name, state.signature)
            self._counts["sources"] += 1
            self._counts["bytes"] += state.size
            self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self.summary())


def _signature(source: Source, options: ReadOptions) -> tuple[str, int]:
    """What changes if the file or how it is read does, empty if unknown; and its size."""
    if source.path is None:
        return "", 0
    try:
        stat = source.path.stat()
    except OSError:
        return "", 0
    read_as = f"{source.format} {options}"
    return f"{stat.st_size} {stat.st_mtime_ns} {read_as}", stat.st_size


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
