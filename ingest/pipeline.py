"""Ingest: sources → documents → passages → vectors → store, resumable at every point.

The store knows each document by its fingerprint and each source that was read to its end by the
state that it was in. A second run therefore does nothing, an interrupted run resumes, and a changed
document replaces the former one.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.ingest.deadletters import DeadLetters
from slice_os.ingest.history import Known, SourceState, digest, recall, state_of
from slice_os.ingest.passages import encode_documents
from slice_os.ingest.pruning import check_prunable, gone_sources
from slice_os.ingest.readers import BadRecord, ReadOptions, SkippedFile
from slice_os.ingest.readers.reader import bad_record
from slice_os.ingest.reading import read, read_additions
from slice_os.ingest.sources import PIPED, Source, Sources
from slice_os.ingest.summary import BadRecordCallback, IngestSummary, SummaryCallback
from slice_os.spans.passages import DocumentPart
from slice_os.stores.protocol import Rejection, Store, Writer
from slice_os.stores.work_share import WHOLE, WorkShare
from slice_os.text.documents import Document
from slice_os.threads import one_blas_thread

LOOKUP_DOCUMENTS = 64

Enrich: TypeAlias = Callable[[DocumentPart], DocumentPart]

T = TypeVar("T")


@one_blas_thread()
def ingest_sources(
    store: Store,
    encoder: SpanEncoder,
    sources: Sources,
    *,
    options: ReadOptions,
    dead_letters: Path,
    part: WorkShare = WHOLE,
    prune: bool = False,
    checksum: bool = False,
    progress: SummaryCallback | None = None,
    complain: BadRecordCallback | None = None,
    enrich: Enrich | None = None,
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
        prune: delete the documents of files that are gone from the folders among the sources.
        checksum: tell by its content whether a file has changed, not by its size and time.
        progress: called with the state after every part of a document and every source.
        complain: called with every record that goes to the dead letters.
        enrich: called with every part of a document; returns it with more metadata.

    Returns:
        What the run did.

    Raises:
        InputError: if the dead letters cannot be written, or a part is to be pruned.
        StoreError: if the store cannot be read or written.
    """
    if prune:
        check_prunable(sources, part)
    with store.writer(part) as writer, DeadLetters(dead_letters) as letters:
        run = _Run(store, writer, letters, sources, options, checksum, progress, complain)
        max_pieces = store.info().max_pieces
        for written in encode_documents(run.documents(), encoder, max_pieces):
            run.rejected(writer.write(enrich(written) if enrich else written))
            run.wrote(written)
        run.end()
        run.rejected(writer.flush())
        if prune:
            run.prune()
    return run.summary()


@dataclass(slots=True)
class _Open:
    """A source that has been read but whose documents are not all written yet.

    Attributes:
        source: with the ids that its documents keep.
        state: when it was opened; None if it is no file.
        names: of the source, its own and former ones.
        stale: its stored documents that have not been read again.
        waiting: number of its documents that are read but not written.
        read: whether all of it has been read.
        bad: whether a record could not be used.
        bytes: read and written, or unchanged.
        bytes_unchanged: those of unchanged documents.
    """

    source: Source
    state: SourceState | None
    names: tuple[str, ...]
    stale: set[str]
    waiting: int = 0
    read: bool = False
    bad: bool = False
    bytes: int = 0
    bytes_unchanged: int = 0

    @property
    def size(self) -> int:
        return self.state.size if self.state else 0


class _Run:
    """The bookkeeping of one run: counts, and which sources are finished."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        letters: DeadLetters,
        sources: Sources,
        options: ReadOptions,
        checksum: bool,
        progress: SummaryCallback | None,
        complain: BadRecordCallback | None,
    ) -> None:
        self._store = store
        self._writer = writer
        self._letters = letters
        self._dead_letters = os.path.realpath(letters.path)
        self._sources = sources
        self._options = options
        self._checksum = checksum
        self._progress = progress
        self._complain = complain
        self._counts: dict[str, Any] = asdict(IngestSummary())
        self._began = time.monotonic()
        self._open: deque[_Open] = deque()
        self._written = 0
        self._owner: dict[str, str] = {}
        self._read: set[str] = set()
        self._deleted: set[str] = set()

    def summary(self) -> IngestSummary:
        """The state so far."""
        counts = dict(self._counts)
        counts["bytes"] += sum(min(state.bytes, state.size) for state in self._open)
        counts["bytes_unchanged"] += sum(
            min(state.bytes_unchanged, state.size) for state in self._open
        )
        counts["bad_records"] = self._letters.count
        counts["skipped"] = dict(sorted(self._sources.skipped.items()))
        counts["retries"] = self._writer.retries
        counts["seconds"] = time.monotonic() - self._began
        return IngestSummary(**counts)

    def documents(self) -> Iterator[Document]:
        """The documents to store; what is unchanged or unusable is counted here."""
        for source in self._sources:
            if source.path and os.path.realpath(source.path) == self._dead_letters:
                continue  # our own output: reading it would never end
            now = state_of(source, self._options)
            known = recall(self._store, source, now)
            if now and known.unchanged(source, now, self._checksum):
                self._counts["sources_unchanged"] += 1
                self._counts["bytes"] += now.size
                self._counts["bytes_unchanged"] += now.size
                self._tell()
                continue
            state = self._opened(source, known, now)
            self._open.append(state)
            yield from self._wanted(state)
            state.read = True
            if not state.bad:
                self._read.update(state.names)
            self._close_sources()

    def wrote(self, part: DocumentPart) -> None:
        """A part of a document has been written."""
        document = part.document
        self._counts["pieces"] += sum(len(passage.vectors) for passage in part.passages)
        state = next(state for state in self._open if state.source.name == document.source)
        end = part.passages[-1].end if part.passages and not part.last else len(document.text)
        state.bytes += len(document.text[self._written : end].encode())
        self._written = 0 if part.last else end
        if part.last:
            self._counts["documents"] += 1
            state.waiting -= 1
            self._close_sources()
        self._tell()

    def rejected(self, rejections: Iterable[Rejection]) -> None:
        """The store rejected some documents."""
        for rejection in rejections:
            self._counts["documents"] -= 1
            self._bury(rejection.document, rejection.reason)

    def end(self) -> None:
        """Everything has been read and written."""
        self._close_sources()

    def prune(self) -> None:
        """Delete the documents of files that are gone."""
        for name in gone_sources(self._store, self._sources):
            mine = self._store.documents(self._store.documents_of(name))
            stale = [doc_id for doc_id, stored in mine.items() if stored.source == name]
            self._delete(doc_id for doc_id in stale if doc_id not in self._owner)
            self._writer.forget_source(name)
            self._counts["sources_pruned"] += 1
            self._tell()

    def _opened(self, source: Source, known: Known, now: SourceState | None) -> _Open:
        """Begin a source; its documents that are known under former names follow it."""
        stale = set() if source.adds else self._store.documents_of(*known.names)
        source = replace(source, ids=known.ids_of(source, stale))
        if now is not None:
            now = replace(now, ids=source.ids, sha256=digest(source))
        if len(known.names) > 1:
            self._writer.assign(stale, source.name)
            for name in known.names[1:]:
                self._writer.forget_source(name)
        return _Open(source, now, known.names, stale)

    def _wanted(self, state: _Open) -> Iterator[Document]:
        reader = read_additions if state.source.adds else read
        for records in _batches(reader(state.source, self._options), LOOKUP_DOCUMENTS):
            fresh = list(self._usable(records, state))
            stored = self._store.documents(document.id for document in fresh)
            for document in fresh:
                former = None if document.id in self._deleted else stored.get(document.id)
                moved = former is not None and former.source not in state.names
                if former and moved and self._claims(former.source):
                    self._refuse(
                        state,
                        document,
                        f"id {document.id!r} is taken by {former.source}; give the ids of one of "
                        "them a prefix (--id-prefix), or delete that document",
                    )
                elif former and former.fingerprint == document.fingerprint:
                    if moved:
                        self._move(document)
                    size = len(document.text.encode())
                    self._counts["documents_unchanged"] += 1
                    state.bytes += size
                    state.bytes_unchanged += size
                else:
                    state.waiting += 1
                    yield document

    def _claims(self, name: str) -> bool:
        """Whether another source may still have the id: it was not read yet, and exists."""
        if name in ("", PIPED) or name in self._read:
            return False
        if os.path.exists(name):  # noqa: PTH110  Path.exists raises on odd names
            return True
        signature = self._store.source_signatures([name]).get(name, "")
        return not name.startswith("/") and bool(SourceState.parse(signature).ids)

    def _move(self, document: Document) -> None:
        """A stored document comes from another source now."""
        for state in self._open:
            state.stale.discard(document.id)
        self._writer.assign([document.id], document.source)

    def _usable(self, records: Iterable[Document | BadRecord], state: _Open) -> Iterator[Document]:
        for record in records:
            if isinstance(record, SkippedFile):
                self._sources.skipped[record.kind] += 1
            elif isinstance(record, BadRecord):
                state.bad = True
                self._complain_of(record)
            elif record.id in self._owner:
                owner = self._owner[record.id]
                reason = f"id {record.id!r} came before, in {owner}"
                if owner != record.source:
                    reason += "; ingest one of them with --id-prefix"
                self._refuse(state, record, reason)
            else:
                self._owner[record.id] = record.source
                state.stale.discard(record.id)
                yield record

    def _refuse(self, state: _Open, document: Document, reason: str) -> None:
        state.bad = True
        self._bury(document, reason)

    def _bury(self, document: Document, reason: str) -> None:
        self._complain_of(bad_record(document.source, None, reason, document.text))

    def _complain_of(self, record: BadRecord) -> None:
        self._letters.write(record)
        if self._complain is not None:
            self._complain(record)

    def _close_sources(self) -> None:
        """Finish the sources whose documents are all written, in order."""
        while self._open and self._open[0].read and not self._open[0].waiting:
            state = self._open.popleft()
            if not state.bad:
                self._delete(state.stale)
            if state.state:
                seen = replace(state.state, complete=not state.bad)
                self._writer.finish_source(state.source.name, seen.signature())
            self._counts["sources"] += 1
            self._counts["bytes"] += state.size
            self._counts["bytes_unchanged"] += min(state.bytes_unchanged, state.size)
            self._tell()

    def _delete(self, doc_ids: Iterable[str]) -> None:
        stale = sorted(doc_ids)
        self._deleted.update(stale)
        self._counts["documents_deleted"] += self._writer.delete(stale)

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self.summary())


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
