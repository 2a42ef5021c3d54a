"""Writing to a local store: append vectors, then commit the rows that refer to them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from slice_os.errors import StoreError
from slice_os.spans.cosines import span_norms
from slice_os.spans.passages import DocumentPart, EncodedPassage, dequantise, joined, quantise
from slice_os.stores.local.arrays import Arrays
from slice_os.stores.local.checksums import checked_row, data_checksum, note_source, seal
from slice_os.stores.local.fields import add_labels
from slice_os.stores.local.files import (
    COUNTS,
    Database,
    StoreSettings,
    StoreState,
    damage,
    errors_explained,
    read_state,
    seal_state,
    used_counts,
)
from slice_os.stores.local.terms import add_terms, passage_terms
from slice_os.stores.protocol import Rejection
from slice_os.text.documents import Document

COMMIT_SECONDS = 2.0
LOOK_SECONDS = 0.25


class LocalWriter:
    """The one writer of a local store; made by `LocalStore.writer`.

    What is complete is committed every two seconds, also while nothing is written. The
    methods are those of `Writer`.
    """

    retries = 0
    """Nothing is sent."""

    def __init__(self, connection: Database, settings: StoreSettings) -> None:
        self._connection = connection
        self._settings = settings
        self._document: int | None = None
        self._changed = False
        self._failure: StoreError | None = None
        self._committed = time.monotonic()
        with errors_explained(connection.folder):
            connection.execute("BEGIN IMMEDIATE")
            state = read_state(connection)
            self._live_pieces = _count_live(connection, state)
            self._counts: dict[str, int] = {name: getattr(state, name) for name in COUNTS}
            self._arrays = Arrays(connection.folder, settings.encoder, state.generation)
            self._arrays.truncate(state.words, state.pieces)
            self._arrays.delete_others()
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self._clock = threading.Thread(target=self._commit_by_the_clock, daemon=True)
        self._clock.start()

    @property
    def dead_share(self) -> float:
        """Share of the token vectors whose documents have been deleted or replaced."""
        return (self._counts["pieces"] - self._live_pieces) / max(self._counts["pieces"], 1)

    def write(self, part: DocumentPart) -> Sequence[Rejection]:
        """Store the next part of a document; see `Writer.write`. Nothing is ever rejected.

        Raises a `StoreError` if the disk fails, for instance because it is full; complete documents
        stay.
        """
        with self._acting():
            if self._document is None:
                if not part.last:
                    self._commit()  # nothing can be committed until the document is complete
                self._open_document(part.document)
            for passage in part.passages:
                self._add(part.document, passage)
            if part.last:
                self._document = None
                self._connection.execute("RELEASE document")
                self._changed = True
                self._commit_if_due()
        return ()

    def flush(self) -> Sequence[Rejection]:
        return ()  # the next commit stores what is complete

    def delete(self, doc_ids: Iterable[str]) -> int:
        with self._changing():
            return sum(self._delete(doc_id) for doc_id in doc_ids)

    def assign(self, doc_ids: Iterable[str], source: str) -> None:
        with self._changing():
            for doc_id in doc_ids:
                statement = "SELECT id FROM documents WHERE doc_id = ?"
                for key in self._connection.column(statement, doc_id):
                    sound = checked_row(self._connection, "documents", key)
                    change = "UPDATE documents SET source = ? WHERE id = ?"
                    self._connection.execute(change, (source, key))
                    if sound:  # otherwise the damage stays visible
                        seal(self._connection, "documents", key)

    def finish_source(self, source: str, signature: str) -> None:
        with self._changing():
            note_source(self._connection, source, signature)

    def forget_source(self, source: str) -> None:
        with self._changing():
            note_source(self._connection, source, None)

    def close(self) -> None:
        """Commit the complete documents, and drop an incomplete one."""
        self._closing.set()
        self._clock.join()
        with errors_explained(self._connection.folder):
            try:
                if self._connection.in_transaction:
                    if self._document is not None:
                        self._connection.execute("ROLLBACK TO document")
                        self._counts, self._live_pieces = self._before
                    self._commit(last=True)
            finally:
                self._arrays.close()
        if self._failure is not None:
            raise self._failure

    def _commit_by_the_clock(self) -> None:
        while not self._closing.wait(LOOK_SECONDS):
            try:
                with self._acting():
                    self._commit_if_due()
            except StoreError:
                return

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Change everything in the block, or nothing if it is interrupted, as by Ctrl-C."""
        with self._acting():
            before = dict(self._counts), self._live_pieces
            self._connection.execute("SAVEPOINT change")
            try:
                yield
            except BaseException:
                if self._connection.in_transaction:  # SQLite may have rolled everything back
                    self._connection.execute("ROLLBACK TO change")
                    self._counts, self._live_pieces = before
                raise
            self._connection.execute("RELEASE change")
            self._changed = True

    @contextmanager
    def _acting(self) -> Iterator[None]:
        """Act alone, and only if nothing has failed: SQLite may have rolled everything back.

        Raises:
            StoreError: what has failed, here or before.
        """
        with self._lock:
            if self._failure is not None:
                raise self._failure
            try:
                with errors_explained(self._connection.folder):
                    yield
            except StoreError as error:
                self._failure = error
                raise

    def _commit_if_due(self) -> None:
        if self._document is None and time.monotonic() - self._committed > COMMIT_SECONDS:
            self._commit()

    def _open_document(self, document: Document) -> None:
        self._before = dict(self._counts), self._live_pieces
        self._connection.execute("SAVEPOINT document")
        # Set before any change, so that a Ctrl-C anywhere below rolls everything back.
        self._document = 0
        self._delete(document.id)
        self._document = self._insert(
            "documents (doc_id, source, fingerprint, text, metadata)",
            document.id,
            document.source,
            document.fingerprint,
            document.text,
            orjson.dumps(dict(document.metadata)).decode(),
        )
        seal(self._connection, "documents", self._document)
        self._counts["documents"] += 1

    def _delete(self, doc_id: str) -> bool:
        row = self._connection.row("SELECT id FROM documents WHERE doc_id = ?", doc_id)
        if row is None:
            return False
        live = "SELECT ifnull(sum(n_pieces), 0) FROM passages WHERE document = ?"
        (pieces,) = self._connection.row(live, *row)
        own = "(SELECT id FROM passages WHERE document = ?)"
        for column in ("passage_terms WHERE rowid", "passage_labels WHERE passage"):
            self._connection.execute(f"DELETE FROM {column} IN {own}", row)  # noqa: S608
        passages = self._connection.execute("DELETE FROM passages WHERE document = ?", row)
        self._connection.execute("DELETE FROM documents WHERE id = ?", row)
        self._counts["passages"] -= passages.rowcount
        self._counts["documents"] -= 1
        self._live_pieces -= pieces
        return True

    def _add(self, document: Document, passage: EncodedPassage) -> None:
        passage = joined(passage)
        vectors, scales = quantise(passage.vectors)
        max_words = self._settings.encoder.max_words
        norms = span_norms(dequantise(vectors, scales), passage.layout, max_words)
        rows: list[npt.NDArray[Any]] = [vectors, scales, passage.words.astype(np.uint32), norms]
        for file, added in zip(self._arrays.files, rows, strict=True):
            file.append(added)
        text = document.text[passage.start : passage.end]
        found = passage_terms(text, passage.metadata, passage.start)
        key = self._insert(
            'passages (document, start, "end", first_word, n_words, first_piece, n_pieces, '
            "n_terms, metadata)",
            self._document,
            passage.start,
            passage.end,
            self._counts["words"],
            len(passage.words),
            self._counts["pieces"],
            len(vectors),
            len(found),
            orjson.dumps(dict(passage.metadata)).decode(),
        )
        checksum = data_checksum(key, len(found), (part.data for part in rows))
        statement = "UPDATE passages SET data_checksum = ? WHERE id = ?"
        self._connection.execute(statement, (checksum, key))
        seal(self._connection, "passages", key)
        add_terms(self._connection, key, found)
        add_labels(self._connection, key, {**document.metadata, **passage.metadata})
        for name, more in (
            ("words", len(passage.words)),
            ("pieces", len(vectors)),
            ("passages", 1),
        ):
            self._counts[name] += more
        self._live_pieces += len(vectors)

    def _insert(self, columns: str, *values: str | int | None) -> int:
        marks = ", ".join("?" * len(values))
        statement = f"INSERT INTO {columns} VALUES ({marks})"  # noqa: S608
        return int(self._connection.execute(statement, values).lastrowid or 0)

    def _commit(self, last: bool = False) -> None:
        if not (self._changed or last):
            return
        self._arrays.sync()
        counts = [(str(value), name) for name, value in self._counts.items()]
        self._connection.executemany("UPDATE settings SET value = ? WHERE name = ?", counts)
        self._connection.execute("UPDATE settings SET value = value + 1 WHERE name = 'revision'")
        seal_state(self._connection)
        self._connection.execute("COMMIT")
        self._changed = False
        self._committed = time.monotonic()
        if not last:
            self._connection.execute("BEGIN IMMEDIATE")


def _count_live(connection: Database, state: StoreState) -> int:
    """Number of token vectors that passages refer to.

    Raises a `StoreError` if the rows do not fit the stored counts, by which the files will be cut.
    """
    for name, found in used_counts(connection).items():
        stored = getattr(state, name)
        if name in ("documents", "passages") and found != stored:
            raise damage(connection.folder, f"has {found} of {stored} {name}")
        if not found <= stored:
            raise damage(connection.folder, f"passages use {found} of {stored} {name}")
    return int(connection.row("SELECT ifnull(sum(n_pieces), 0) FROM passages")[0])
