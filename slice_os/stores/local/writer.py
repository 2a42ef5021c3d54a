"""Writing to a local store: append vectors, then commit the rows that refer to them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import orjson

from slice_os.documents import Document, Scalar, field_text
from slice_os.passages import DocumentPart, EncodedPassage, joined
from slice_os.places import PLACES
from slice_os.quantisation import dequantise, quantise
from slice_os.spans import span_norms
from slice_os.stores.base import Rejection
from slice_os.stores.local.files import Arrays, StoreSettings, errors_explained
from slice_os.stores.local.terms import terms

COMMIT_SECONDS = 2.0


class LocalWriter:
    """The one writer of a local store; made by `LocalStore.writer`."""

    def __init__(
        self, connection: sqlite3.Connection, folder: Path, settings: StoreSettings
    ) -> None:
        self._connection = connection
        self._folder = folder
        self._arrays = Arrays(folder, settings)
        self._settings = settings
        self._document: int | None = None
        self._committed = time.monotonic()
        with errors_explained(folder):
            connection.execute("BEGIN IMMEDIATE")
            counts = dict(
                connection.execute(
                    "SELECT name, value FROM settings WHERE name IN ('words', 'pieces')"
                )
            )
            self._words, self._pieces = int(counts["words"]), int(counts["pieces"])
            self._arrays.truncate(self._words, self._pieces)

    @property
    def retries(self) -> int:
        """Always 0: nothing is sent."""
        return 0

    def write(self, part: DocumentPart) -> Sequence[Rejection]:
        """Store the next part of a document; see `Writer.write`. Nothing is ever rejected.

        Raises:
            StoreError: if the disk fails, for instance because it is full; complete documents
                stay.
        """
        with errors_explained(self._folder):
            if self._document is None:
                self._open_document(part.document)
            for passage in part.passages:
                self._add(part.document, passage)
            if part.last:
                self._document = None
                self._connection.execute("RELEASE document")
                if time.monotonic() - self._committed > COMMIT_SECONDS:
                    self._commit()
                    self._connection.execute("BEGIN IMMEDIATE")
        return ()

    def flush(self) -> Sequence[Rejection]:
        """Does nothing: the next commit stores what is complete."""
        return ()

    def delete(self, doc_ids: Iterable[str]) -> int:
        """Delete documents with all their passages; returns how many were found."""
        with errors_explained(self._folder):
            return sum(self._delete(doc_id) for doc_id in doc_ids)

    def finish_source(self, source: str, signature: str) -> None:
        """Note that a source has been read to its end; see `Writer.finish_source`."""
        with errors_explained(self._folder):
            self._connection.execute(
                "INSERT INTO sources VALUES (?, ?) "
                "ON CONFLICT (source) DO UPDATE SET signature = excluded.signature",
                (source, signature),
            )

    def close(self) -> None:
        """Commit the complete documents, and drop an incomplete one."""
        with errors_explained(self._folder):
            try:
                if self._connection.in_transaction:
                    if self._document is not None:
                        self._connection.execute("ROLLBACK TO document")
                    self._commit()
            finally:
                self._arrays.close()

    def _open_document(self, document: Document) -> None:
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

    def _delete(self, doc_id: str) -> bool:
        row = self._connection.execute(
            "SELECT id FROM documents WHERE doc_id = ?", (doc_id,)
        ).fetchone()
        if row is None:
            return False
        for table, column in (("passage_terms", "rowid"), ("passage_labels", "passage")):
            self._connection.execute(
                f"DELETE FROM {table} WHERE {column} IN "  # noqa: S608
                "(SELECT id FROM passages WHERE document = ?)",
                row,
            )
        self._connection.execute("DELETE FROM passages WHERE document = ?", row)
        self._connection.execute("DELETE FROM documents WHERE id = ?", row)
        return True

    def _add(self, document: Document, passage: EncodedPassage) -> None:
        passage = joined(passage)
        vectors, scales = quantise(passage.vectors)
        norms = span_norms(
            dequantise(vectors, scales), passage.layout, self._settings.encoder.max_words
        )
        self._arrays.vectors.append(vectors)
        self._arrays.scales.append(scales)
        self._arrays.words.append(passage.words)
        self._arrays.norms.append(norms)
        found = terms(document.text[passage.start : passage.end])
        key = self._insert(
            'passages (document, start, "end", first_word, n_words, first_piece, n_pieces, '
            "n_terms, metadata)",
            self._document,
            passage.start,
            passage.end,
            self._words,
            len(passage.words),
            self._pieces,
            len(vectors),
            len(found),
            orjson.dumps(dict(passage.metadata)).decode(),
        )
        self._insert("passage_terms (rowid, text)", key, " ".join(found))
        for field, value in {**document.metadata, **passage.metadata}.items():
            if field == PLACES:
                continue
            self._insert("passage_labels (label, passage)", self._label(field, value), key)
        self._words += len(passage.words)
        self._pieces += len(vectors)

    def _label(self, field: str, value: Scalar) -> int:
        named = (field, field_text(value))
        row = self._connection.execute(
            "SELECT id FROM labels WHERE field = ? AND value = ?", named
        ).fetchone()
        return int(row[0]) if row else self._insert("labels (field, value)", *named)

    def _insert(self, columns: str, *values: str | int | None) -> int:
        marks = ", ".join("?" * len(values))
        statement = f"INSERT INTO {columns} VALUES ({marks})"  # noqa: S608
        return int(self._connection.execute(statement, values).lastrowid or 0)

    def _commit(self) -> None:
        self._arrays.sync()
        for name, value in (("words", self._words), ("pieces", self._pieces)):
            self._connection.execute(
                "UPDATE settings SET value = ? WHERE name = ?", (str(value), name)
            )
        self._connection.execute("UPDATE settings SET value = value + 1 WHERE name = 'revision'")
        self._connection.execute("COMMIT")
        self._committed = time.monotonic()
