"""Writing to a local store: vectors are appended, then rows that refer to them committed."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence

import orjson

from slice_os.passages import DocumentPart, EncodedPassage
from slice_os.quantisation import dequantise, quantise
from slice_os.spans import span_norms
from slice_os.stores.base import Rejection
from slice_os.stores.local.files import Arrays, Settings

COMMIT_SECONDS = 2.0


class LocalWriter:
    """The one writer of a local store; made by `LocalStore.writer`."""

    def __init__(self, connection: sqlite3.Connection, arrays: Arrays, settings: Settings) -> None:
        self._connection = connection
        self._arrays = arrays
        self._settings = settings
        counts = dict(
            connection.execute("SELECT name, value FROM settings WHERE name IN ('words', 'pieces')")
        )
        self._words, self._pieces = int(counts["words"]), int(counts["pieces"])
        arrays.truncate(self._words, self._pieces)
        self._document: int | None = None
        self._committed = time.monotonic()
        connection.execute("BEGIN IMMEDIATE")

    @property
    def retries(self) -> int:
        """None: nothing is ever sent."""
        return 0

    def write(self, part: DocumentPart) -> Sequence[Rejection]:
        """Store the next part of a document; see `Writer.write`. Nothing is ever rejected."""
        if self._document is None:
            self._connection.execute("SAVEPOINT document")
            self._document = self._replace(part)
        for passage in part.passages:
            self._add(self._document, part.document.text, passage)
        if part.last:
            self._connection.execute("RELEASE document")
            self._document = None
            if time.monotonic() - self._committed > COMMIT_SECONDS:
                self._commit()
                self._connection.execute("BEGIN IMMEDIATE")
        return ()

    def flush(self) -> Sequence[Rejection]:
        """Nothing waits: what is complete is stored by the next commit."""
        return ()

    def delete(self, doc_ids: Iterable[str]) -> int:
        """Delete documents with all their passages; returns how many there were."""
        deleted = 0
        for doc_id in doc_ids:
            row = self._connection.execute(
                "SELECT id FROM documents WHERE doc_id = ?", (doc_id,)
            ).fetchone()
            if row is None:
                continue
            self._connection.execute(
                "DELETE FROM passage_terms WHERE rowid IN "
                "(SELECT id FROM passages WHERE document = ?)",
                row,
            )
            self._connection.execute("DELETE FROM passages WHERE document = ?", row)
            self._connection.execute("DELETE FROM documents WHERE id = ?", row)
            deleted += 1
        return deleted

    def finish_source(self, source: str, signature: str) -> None:
        """Note that a source has been read to its end in the state that the signature names."""
        self._connection.execute(
            "INSERT INTO sources VALUES (?, ?) "
            "ON CONFLICT (source) DO UPDATE SET signature = excluded.signature",
            (source, signature),
        )

    def close(self) -> None:
        """Keep the complete documents, drop an incomplete one."""
        if self._document is not None:
            self._connection.execute("ROLLBACK TO document")
            self._connection.execute("RELEASE document")
        self._commit()
        self._arrays.close()

    def _replace(self, part: DocumentPart) -> int:
        document = part.document
        self.delete([document.id])
        cursor = self._connection.execute(
            "INSERT INTO documents (doc_id, source, fingerprint, text, metadata) "
            "VALUES (?, ?, ?, ?, ?)",
            (
                document.id,
                document.source,
                document.fingerprint,
                document.text,
                orjson.dumps(dict(document.metadata)).decode(),
            ),
        )
        return int(cursor.lastrowid or 0)

    def _add(self, document: int, text: str, passage: EncodedPassage) -> None:
        vectors, scales = quantise(passage.vectors)
        norms = span_norms(
            dequantise(vectors, scales), passage.layout, self._settings.encoder.max_words
        )
        self._arrays.vectors.append(vectors)
        self._arrays.scales.append(scales)
        self._arrays.words.append(passage.words)
        self._arrays.norms.append(norms)
        cursor = self._connection.execute(
            "INSERT INTO passages "
            '(document, start, "end", first_word, n_words, first_piece, n_pieces, metadata) '
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                document,
                passage.start,
                passage.end,
                self._words,
                len(passage.words),
                self._pieces,
                len(vectors),
                orjson.dumps(dict(passage.metadata)).decode(),
            ),
        )
        self._connection.execute(
            "INSERT INTO passage_terms (rowid, text) VALUES (?, ?)",
            (cursor.lastrowid, text[passage.start : passage.end]),
        )
        self._words += len(passage.words)
        self._pieces += len(vectors)

    def _commit(self) -> None:
        self._arrays.sync()
        for name, value in (("words", self._words), ("pieces", self._pieces)):
            self._connection.execute(
                "UPDATE settings SET value = ? WHERE name = ?", (str(value), name)
            )
        self._connection.execute("UPDATE settings SET value = value + 1 WHERE name = 'revision'")
        self._connection.execute("COMMIT")
        self._committed = time.monotonic()
