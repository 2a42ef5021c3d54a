"""The local store: exact results from one folder, without a server."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import orjson
from filelock import FileLock, Timeout

from slice_os.encoder.model_folder import ModelCard
from slice_os.errors import StoreError
from slice_os.query.query import Query
from slice_os.spans.passages import DocumentPart
from slice_os.stores.candidates import ScoredCandidates
from slice_os.stores.local import fields
from slice_os.stores.local.arrays import Arrays, PassageTable, read_table
from slice_os.stores.local.checksums import CheckedPassages, sound_document
from slice_os.stores.local.compaction import DEAD_SHARE, compact
from slice_os.stores.local.faults import Fault, find_faults
from slice_os.stores.local.faults import repair as repair_store
from slice_os.stores.local.files import (
    DATABASE,
    SCHEMA_VERSION,
    Database,
    StoreSettings,
    StoreState,
    connect,
    copied,
    create,
    errors_explained,
    exists,
    folder_size,
    read_settings,
    read_state,
    refuse_links,
)
from slice_os.stores.local.snapshot import PRODUCT_ERROR, ReadConnections, Snapshot
from slice_os.stores.local.writer import LocalWriter
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

SCAN_PASSAGES = 512
LISTED_DOCUMENTS = 10_000


class LocalStore:
    """A folder with documents, passages, token vectors and a BM25 index.

    Many processes can read while one writes. Use `LocalStore.open` or `LocalStore.create`; the
    other methods are those of `Store`.
    """

    exhaustive = True
    asks_server = False

    def __init__(self, folder: Path) -> None:
        if not exists(folder):
            raise StoreError(f"{folder}: no store here; make one with `slice-os ingest`")
        self.folder = folder
        self._identity = _identity(folder)
        self._connections = ReadConnections(folder)
        with self._reading() as connection:
            self.settings: StoreSettings = read_settings(connection)
        self._lock = Lock()
        self._table: tuple[StoreState, PassageTable] | None = None
        self._arrays = Arrays(folder, self.settings.encoder, 0)
        self._checked = CheckedPassages(self._arrays)

    @classmethod
    def open(cls, folder: Path, card: ModelCard | None = None) -> LocalStore:
        """Open a store, and check that it belongs to an encoder, if its card is given.

        Raises a `StoreError` if there is no store, or another version made it, and an
        `EncoderMismatchError` if another encoder made its vectors.
        """
        store = cls(folder)
        if card is not None:
            store.check_encoder(card)
        return store

    @classmethod
    def create(cls, folder: Path, card: ModelCard, max_pieces: int) -> LocalStore:
        """Create an empty store, and open it; or one that another process has just made.

        Raises a `StoreError` if the folder cannot hold a store, and an `EncoderMismatchError` if
        another encoder made the vectors of the one that is there.
        """
        create(folder, StoreSettings(card, max_pieces))
        return cls.open(folder, card)

    def replaced(self) -> bool:
        """Whether another store is in the folder, or none, since this one was opened."""
        return _identity(self.folder) != self._identity

    def check_encoder(self, card: ModelCard) -> None:
        self.settings.encoder.check_made(self.folder, card)

    def info(self) -> StoreInfo:
        with self._reading() as connection:
            documents, passages, words, pieces = connection.row(
                # Unlike count(*), count(id) has checkpoints.
                "SELECT (SELECT count(id) FROM documents), count(*), "
                "ifnull(sum(n_words), 0), ifnull(sum(n_pieces), 0) FROM passages"
            )
        made = str(self.folder), SCHEMA_VERSION, self.settings.encoder, self.settings.max_pieces
        return StoreInfo(*made, documents, passages, words, pieces, folder_size(self.folder))

    @contextmanager
    def writer(self, part: WorkShare = WHOLE) -> Iterator[LocalWriter]:
        """The writer; only one process at a time has it, whatever its part.

        When it ends, a store is compacted of whose token vectors a quarter are deleted.

        Raises a `StoreError` if another process is writing.
        """
        with self._writing() as connection:
            writer = LocalWriter(connection, self.settings)
            try:
                yield writer
            finally:
                writer.close()
            if writer.dead_share > DEAD_SHARE:
                # All is stored: if the disk is too full, the next writer tries again.
                with suppress(StoreError):
                    compact(connection, self.settings)

    def compact(self) -> None:
        """Remove what deleted documents left in the files, and give their space back.

        Readers may go on meanwhile.

        Raises a `StoreError` if another process is writing, or the disk is too full for a second
        copy of what stays.
        """
        with self._writing() as connection:
            compact(connection, self.settings)

    def verify(self, *, repair: bool = False) -> list[Fault]:
        """Compare everything that is stored with its checksums; returns the faults.

        To repair is to delete the damaged documents, and rebuild the rest from the others. Where
        nothing may be written, a temporary copy of the database is compared.

        Raises a `StoreError` if another process is writing, or the store cannot be repaired.
        """
        if not (repair or os.access(self.folder, os.W_OK)):
            with self._reading() as connection, copied(connection) as copy:
                return list(find_faults(copy, self.settings))
        with self._writing() as connection:
            with errors_explained(self.folder):
                connection.execute("BEGIN IMMEDIATE")
                faults = list(find_faults(connection, self.settings))
                connection.rollback()
            if repair and faults:
                repair_store(connection, self.settings, faults)
        return faults

    def find_documents(self, doc_ids: Iterable[str]) -> dict[str, StoredDocument]:
        statement = "SELECT doc_id, source, fingerprint FROM documents WHERE doc_id = ?"
        return {
            doc_id: StoredDocument(*rest) for doc_id, *rest in self._select_each(statement, doc_ids)
        }

    def document_ids(self, *sources: str) -> set[str]:
        statement = "SELECT doc_id FROM documents WHERE source = ?"
        return {doc_id for (doc_id,) in self._select_each(statement, sources)}

    def source_signatures(self, sources: Iterable[str]) -> dict[str, str]:
        statement = "SELECT source, signature FROM sources WHERE source = ?"
        return dict(self._select_each(statement, sources))

    def list_documents(self, after: str = "") -> Iterator[DocumentEntry]:
        statement = (
            "SELECT doc_id, source, (SELECT count(*) FROM passages WHERE document = documents.id) "
            "FROM documents WHERE doc_id > ? ORDER BY doc_id LIMIT ?"
        )
        while rows := self._select_each(statement, [after], LISTED_DOCUMENTS):
            yield from (DocumentEntry(*row) for row in rows)
            after = rows[-1][0]

    def list_sources(self) -> Iterator[SourceEntry]:
        statement = "SELECT source, count(*) FROM documents GROUP BY source ORDER BY source"
        with self._reading() as connection:
            rows = connection.execute(statement).fetchall()
        yield from (SourceEntry(*row) for row in rows)

    def document_text(self, doc_id: str) -> str | None:
        found = self._document(doc_id)
        return None if found is None else found[4]

    def document_metadata(self, doc_id: str) -> Metadata | None:
        found = self._document(doc_id)
        return None if found is None else orjson.loads(found[5])

    def stored_documents(self) -> Iterator[DocumentPart]:
        for entry in self.list_documents():
            # One that was deleted meanwhile is left out.
            if (part := self._snapshot().document(entry.id)) is not None:
                yield part

    def fields(self) -> dict[str, str]:
        with self._reading() as connection:
            return fields.field_kinds(connection)

    def field_values(self, field: str, limit: int | None) -> list[FieldValue]:
        with self._reading() as connection:
            return fields.values_of(connection, field, limit)

    def rank(self, query: Query, num_candidates: int) -> ScoredCandidates:
        """Score every passage that ``query.where`` admits: this store is exhaustive.

        The candidates, and the passages that they load, are of one state of the store, which is
        kept for them until they are dropped.
        """
        del num_candidates
        return self._snapshot().rank(query)

    def scan(self, query: Query, threshold: float, exhaustive: bool) -> Iterator[ScoredCandidates]:
        """Every passage with a span at or above the threshold, in stored order.

        A passage below it by no more than the error of integer products counts as at the
        threshold, since its exact spans may be above.
        """
        del exhaustive
        ranked = self.rank(query, 0)
        raised = np.maximum(ranked.cosines, np.float32(threshold))
        near = ranked.cosines >= threshold - PRODUCT_ERROR
        cosines = np.where(near, raised, ranked.cosines)
        found = replace(ranked, cosines=cosines).at_least(threshold)
        for start in range(0, len(found.keys), SCAN_PASSAGES):
            yield found.select(np.arange(start, min(start + SCAN_PASSAGES, len(found.keys))))

    def close(self) -> None:
        """Close the database, as soon as no candidates need it any more."""
        self._connections.close()

    def _document(self, doc_id: str) -> tuple[Any, ...] | None:
        with self._reading() as connection:
            return sound_document(connection, doc_id)

    def _select_each(
        self, statement: str, names: Iterable[str], *others: int
    ) -> list[tuple[Any, ...]]:
        with self._reading() as connection:
            selected = (connection.execute(statement, (name, *others)) for name in names)
            return [row for rows in selected for row in rows]

    @contextmanager
    def _writing(self) -> Iterator[Database]:
        if not os.access(self.folder, os.W_OK):
            raise StoreError(f"{self.folder}: cannot be written; its user and disk allow reading")
        refuse_links(self.folder)
        mode = (self.folder / DATABASE).stat().st_mode & 0o666
        lock = FileLock(self.folder / "writer.lock", timeout=0, mode=mode)
        with errors_explained(self.folder):
            try:
                held = lock.acquire()
            except Timeout:
                busy = f"{self.folder}: another process is writing to it; wait until it ends"
                raise StoreError(busy) from None
        with held, closing(connect(self.folder)) as connection:
            self._check_current()
            yield connection

    def _check_current(self) -> None:
        if self.replaced():
            raise StoreError(
                f"{self.folder}: has been replaced since this process opened it; open it again, or "
                "run the same command again"
            )

    @contextmanager
    def _reading(self) -> Iterator[Database]:
        """A connection that sees one state of the database, even if a writer commits meanwhile."""
        self._check_current()
        with errors_explained(self.folder):
            connection = self._connections.take()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                self._connections.give_back(connection)

    def _snapshot(self) -> Snapshot:
        """The present state of the store, kept until the snapshot is dropped."""
        self._check_current()
        with errors_explained(self.folder):
            connection = self._connections.take()
            try:
                snapshot = Snapshot(connection, *self._read(connection))
            except BaseException:
                self._connections.give_back(connection)
                raise
        weakref.finalize(snapshot, self._connections.give_back, connection)
        return snapshot

    def _read(self, connection: Database) -> tuple[PassageTable, Arrays, CheckedPassages]:
        """Begin a transaction, and find what belongs to the state that it sees."""
        connection.execute("BEGIN")
        state = read_state(connection)
        while True:
            try:
                arrays, checked = self._files(state)
                break
            except StoreError:
                # A compaction may have replaced the files since the transaction began.
                connection.rollback()
                connection.execute("BEGIN")
                former, state = state, read_state(connection)
                if state.generation == former.generation:
                    raise
        with self._lock:
            if self._table is None or self._table[0] != state:
                self._table = state, read_table(connection, state)
            return self._table[1], arrays, checked

    def _files(self, state: StoreState) -> tuple[Arrays, CheckedPassages]:
        """The array files of a state, mapped; kept for the questions that follow."""
        with self._lock:
            if self._arrays.generation != state.generation:
                self._arrays = Arrays(self.folder, self.settings.encoder, state.generation)
                self._checked = CheckedPassages(self._arrays)
            self._arrays.open(state.words, state.pieces)
            return self._arrays, self._checked


def _identity(folder: Path) -> tuple[int, int] | None:
    """What differs if a store is put in the place of another one; None without a store."""
    try:
        stat = (folder / DATABASE).stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


class LocalBackend(Backend):
    """Stores in folders."""

    def exists(self, location: str) -> bool:
        return exists(Path(location))

    def open(self, location: str) -> Store:
        return LocalStore.open(Path(location))

    def create(self, location: str, new: NewStore) -> None:
        LocalStore.create(Path(location), new.card, new.max_pieces).close()

    def folder(self, location: str) -> Path:
        return Path(location)


BACKEND = LocalBackend()
