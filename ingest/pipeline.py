"""Ingest: sources → documents → passages → vectors → store, resumable at every point.

The store knows each document by its fingerprint, and each source that was read to its end by the
state that it was in. A second run therefore does nothing, an interrupted run resumes, and a changed
document replaces the former one.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.ingest.deadletters import DeadLetters
from slice_os.ingest.decisions import (
    BeginSource,
    Decider,
    Decision,
    FinishSource,
    KeepDocument,
    PruneSource,
    SkipSource,
    check_prunable,
    refused,
)
from slice_os.ingest.passages import encode_documents
from slice_os.ingest.readers import BadRecord, ReadNote, ReadOptions, SkippedFile
from slice_os.ingest.sources import Sources
from slice_os.spans.passages import DocumentPart
from slice_os.stores.protocol import WHOLE, Rejection, Store, WorkShare, Writer
from slice_os.text.documents import Document
from slice_os.threads import one_blas_thread

BadRecordCallback: TypeAlias = Callable[[BadRecord], None]
"""Takes what could not be used, and each `ReadNote`."""

MOST_WAITING = 4_096
"""Decisions that wait for a document before them to be encoded."""

Enrich: TypeAlias = Callable[[DocumentPart], DocumentPart]


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """Counts of an ingest run so far.

    Attributes:
        sources: read to their end.
        sources_unchanged: skipped, because they have not changed since they were read.
        sources_pruned: deleted, because their files are gone.
        documents: stored, new or changed.
        documents_unchanged: read, but already stored.
        documents_deleted: deleted, because their source no longer has them, or is gone.
        pieces: word pieces of what was stored; a store joins those of a word into one vector.
        bad_records: records that could not be used; all are in the dead letters.
        skipped: files that no reader knows, by extension.
        notes: what is special in the files that were read, such as ``insertions``, with its count.
        retries: requests sent again because the server was busy.
        bytes: size of the finished sources, skipped ones included, and of the parts of others that
            were read.
        bytes_unchanged: those of them that were already stored.
        seconds: time taken.
    """

    sources: int = 0
    sources_unchanged: int = 0
    sources_pruned: int = 0
    documents: int = 0
    documents_unchanged: int = 0
    documents_deleted: int = 0
    pieces: int = 0
    bad_records: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    retries: int = 0
    bytes: int = 0
    bytes_unchanged: int = 0
    seconds: float = 0.0


SummaryCallback: TypeAlias = Callable[[IngestSummary], None]


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
    """Read sources into a store that the encoder made; see `Corpus.ingest`.

    A record that cannot be used goes to the dead letters and the run continues; the next run
    reads its source again. If the run is interrupted, complete documents stay.

    Raises an `InputError` if the dead letters cannot be written, or a part is to be pruned, and a
    `StoreError` if the store cannot be read or written.
    """
    if prune:
        check_prunable(sources, part)
    with store.writer(part) as writer, DeadLetters(dead_letters) as letters:
        decider = Decider(store, sources, options, checksum, dead_letters)
        sink = _Sink(writer, letters, sources, progress, complain)
        max_pieces = store.info().max_pieces
        for step in _encoded(decider.decisions(), encoder, max_pieces):
            sink.carry_out(enrich(step) if enrich and isinstance(step, DocumentPart) else step)
        sink.flush()
        for step in decider.pruned() if prune else ():
            sink.carry_out(step)
    return sink.summary()


def _encoded(
    decisions: Iterator[Decision], encoder: SpanEncoder, max_pieces: int
) -> Iterator[Decision | DocumentPart]:
    """The decisions in order, with the encoded parts of each document in its place."""
    waiting: deque[Decision] = deque()

    def documents() -> Iterator[Document]:
        for decision in decisions:
            waiting.append(decision)
            if isinstance(decision, Document):
                yield decision
            elif len(waiting) >= MOST_WAITING:
                return  # the encoder would wait for more text, and all of these with it

    while True:
        for part in encode_documents(documents(), encoder, max_pieces):
            while not isinstance(waiting[0], Document):
                yield waiting.popleft()
            yield part
            if part.last:
                waiting.popleft()
        if not waiting:
            return
        yield from waiting
        waiting.clear()


@dataclass
class _Sink:
    """Carries out decisions, and counts what was done."""

    _writer: Writer
    _letters: DeadLetters
    _sources: Sources
    _progress: SummaryCallback | None
    _complain: BadRecordCallback | None
    _began: float = field(default_factory=time.monotonic)
    _counts: Counter[str] = field(default_factory=Counter)
    _skipped: Counter[str] = field(default_factory=Counter)
    _notes: Counter[str] = field(default_factory=Counter)
    # Of the source that was begun: its size, and how much of it was read and was unchanged.
    _size: int = 0
    _bytes: int = 0
    _bytes_unchanged: int = 0
    # Characters of the document that is being written.
    _written: int = 0

    def summary(self) -> IngestSummary:
        counts = Counter(self._counts)
        counts["bytes"] += min(self._bytes, self._size)
        counts["bytes_unchanged"] += min(self._bytes_unchanged, self._size)
        return IngestSummary(
            **counts,
            bad_records=self._letters.count,
            skipped=dict(sorted((self._sources.skipped + self._skipped).items())),
            notes=dict(sorted(self._notes.items())),
            retries=self._writer.retries,
            seconds=round(time.monotonic() - self._began, 3),
        )

    def flush(self) -> None:
        """Wait until everything written is stored."""
        self._reject(self._writer.flush())

    def carry_out(self, decision: Decision | DocumentPart) -> None:
        """Carry out a decision; a document comes in encoded parts."""
        match decision:
            case DocumentPart():
                self._write(decision)
            case BeginSource(size, source, former, documents):
                self._size, self._bytes, self._bytes_unchanged = size, 0, 0
                if former is not None:
                    self._writer.assign(documents, source)
                    self._writer.forget_source(former)
            case KeepDocument(size, doc_id, moved_to):
                if moved_to is not None:
                    self._writer.assign([doc_id], moved_to)
                self._counts["documents_unchanged"] += 1
                self._bytes += size
                self._bytes_unchanged += size
            case SkippedFile():
                self._skipped[decision.kind] += 1
            case BadRecord():
                if isinstance(decision, ReadNote):
                    self._notes.update(decision.counts)
                else:
                    self._letters.write(decision)
                if self._complain is not None:
                    self._complain(decision)
            case FinishSource(source, signature, stale):
                self._delete(stale)
                if signature is not None:
                    self._writer.finish_source(source, signature)
                self._counts["sources"] += 1
                self._counts["bytes"] += self._size
                self._counts["bytes_unchanged"] += min(self._bytes_unchanged, self._size)
                self._size = 0
                self._tell()
            case SkipSource(size):
                self._counts["sources_unchanged"] += 1
                self._counts["bytes"] += size
                self._counts["bytes_unchanged"] += size
                self._tell()
            case PruneSource(source, stale):
                self._delete(stale)
                self._writer.forget_source(source)
                self._counts["sources_pruned"] += 1
                self._tell()

    def _write(self, part: DocumentPart) -> None:
        self._reject(self._writer.write(part))
        text = part.document.text
        end = part.passages[-1].end if part.passages and not part.last else len(text)
        self._counts["pieces"] += sum(len(passage.vectors) for passage in part.passages)
        self._counts["documents"] += part.last
        self._bytes += len(text[self._written : end].encode())
        self._written = 0 if part.last else end
        self._tell()

    def _delete(self, doc_ids: Iterable[str]) -> None:
        self._counts["documents_deleted"] += self._writer.delete(doc_ids)

    def _reject(self, rejections: Iterable[Rejection]) -> None:
        for one in rejections:
            self._counts["documents"] -= 1
            self.carry_out(refused(one.document, one.reason))

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self.summary())
