"""The local store: exact answers from one folder, without any server."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

import numpy as np
import orjson
from filelock import FileLock, Timeout

from slice_os.errors import StoreError
from slice_os.model import ModelCard
from slice_os.passages import EncodedPassage
from slice_os.quantisation import dequantise
from slice_os.spans import FloatArray
from slice_os.stores.base import (
    Evidence,
    PassageKey,
    Query,
    StoredDocument,
    StoredPassage,
    StoreInfo,
    Where,
)
from slice_os.stores.local.files import (
    SCHEMA_VERSION,
    Arrays,
    Settings,
    check_encoder,
    connect,
    create,
    exists,
    read_settings,
    transaction,
)
from slice_os.stores.local.scoring import PassageTable, passage_cosines
from slice_os.stores.local.writer import LocalWriter
from slice_os.words import find_words

SWEEP_PASSAGES = 8_192


class LocalStore:
    """A folder with documents, passages, token vectors and a BM25 index.

    Many processes may read while one writes. Use `LocalStore.open` or `LocalStore.create`.
    """

    def __init__(self, folder: Path) -> None:
        if not exists(folder):
            raise StoreError(f"{folder}: no store here; make one with `slice-os ingest`")
        self.folder = folder
        self._connection = connect(folder)
        self.settings: Settings = read_settings(self._connection, folder)
        self._arrays = Arrays(folder, self.settings)
        self._lock = RLock()
        self._revision = ""
        self._table: PassageTable | None = None

    @classmethod
    def open(cls, folder: Path, card: ModelCard | None = None) -> LocalStore:
        """Open a store, checking that it belongs to the encoder of the card, if one is given.

        Raises:
            StoreError: where there is no store, or a newer version made it.
            EncoderMismatchError: where another encoder made its vectors.
        """
        store = cls(folder)
        if card is not None:
            check_encoder(folder, store.settings, card)
        return store

    @classmethod
    def create(cls, folder: Path, card: ModelCard, max_pieces: int) -> LocalStore:
        """Make an empty store and open it.

        Raises:
            StoreError: where the folder cannot be one.
        """
        create(folder, Settings(card, max_pieces))
        return cls(folder)

    def info(self) -> StoreInfo:
        """Counts and encoder; see `Store.info`."""
        with self._snapshot():
            documents, passages, words, pieces = self._connection.execute(
                "SELECT (SELECT count(*) FROM documents), count(*), "
                "ifnull(sum(n_words), 0), ifnull(sum(n_pieces), 0) FROM passages"
            ).fetchone()
        return StoreInfo(
            location=str(self.folder),
            schema_version=SCHEMA_VERSION,
            encoder=self.settings.encoder,
            max_pieces=self.settings.max_pieces,
            documents=documents,
            passages=passages,
            words=words,
            pieces=pieces,
            size_bytes=sum(path.stat().st_size for path in self.folder.iterdir()),
        )

    @contextmanager
    def writer(self) -> Iterator[LocalWriter]:
        """The writer, while no other process has it.

        Raises:
            StoreError: where another process is writing.
        """
        lock = FileLock(self.folder / "writer.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise StoreError(
                f"{self.folder}: another process is writing to it; wait for it to end"
            ) from None
        connection = connect(self.folder)
        try:
            writer = LocalWriter(connection, Arrays(self.folder, self.settings), self.settings)
            try:
                yield writer
            finally:
                writer.close()
        finally:
            connection.close()
            lock.release()

    def documents(self, doc_ids: Iterable[str]) -> dict[str, StoredDocument]:
        """Those of the documents that are stored; see `Store.documents`."""
        found = {}
        with self._snapshot():
            for doc_id in doc_ids:
                row = self._connection.execute(
                    "SELECT source, fingerprint FROM documents WHERE doc_id = ?", (doc_id,)
                ).fetchone()
                if row is not None:
                    found[doc_id] = StoredDocument(*row)
        return found

    def documents_of(self, source: str) -> set[str]:
        """Ids of the documents that came from a source."""
        return {
            doc_id
            for (doc_id,) in self._select("SELECT doc_id FROM documents WHERE source = ?", source)
        }

    def source_signature(self, source: str) -> str | None:
        """The signature under which a source was last read to its end, if it was."""
        rows = self._select("SELECT signature FROM sources WHERE source = ?", source)
        return rows[0][0] if rows else None

    def document_text(self, doc_id: str) -> str | None:
        """The text of a document exactly as given, or None where there is none of that id."""
        rows = self._select("SELECT text FROM documents WHERE doc_id = ?", doc_id)
        return rows[0][0] if rows else None

    def rank(self, query: Query, depth: int) -> Evidence:
        """Evidence of every passage that ``query.where`` admits: this store is exhaustive."""
        del depth
        with self._snapshot():
            table = self._admitted(query.where)
            return self._evidence(table, query)

    def sweep(self, query: Query, threshold: float, exhaustive: bool) -> Iterator[Evidence]:
        """Evidence of every passage with a span at or above the threshold, in stored order."""
        del exhaustive
        with self._snapshot():
            table = self._admitted(query.where)
            evidence = self._evidence(table, query)
        keys = np.asarray(evidence.keys)
        hits = np.flatnonzero((evidence.cosines >= threshold).any(axis=0))
        for start in range(0, len(hits), SWEEP_PASSAGES):
            rows = hits[start : start + SWEEP_PASSAGES]
            yield Evidence(
                keys=keys[rows].tolist(),
                cosines=evidence.cosines[:, rows],
                bm25=evidence.bm25[:, rows],
                bm25_best=evidence.bm25_best,
            )

    def load(self, keys: Sequence[PassageKey]) -> dict[PassageKey, StoredPassage]:
        """The passages of these keys; one deleted meanwhile is left out."""
        loaded: dict[PassageKey, StoredPassage] = {}
        with self._snapshot():
            for key in keys:
                row = self._connection.execute(
                    'SELECT d.doc_id, d.text, d.metadata, p.start, p."end", p.first_word, '
                    "p.n_words, p.first_piece, p.n_pieces, p.metadata FROM passages p "
                    "JOIN documents d ON d.id = p.document WHERE p.id = ?",
                    (key,),
                ).fetchone()
                if row is not None:
                    loaded[key] = self._passage(*row)
        return loaded

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def _passage(
        self,
        doc_id: str,
        text: str,
        document_metadata: str,
        start: int,
        end: int,
        first_word: int,
        n_words: int,
        first_piece: int,
        n_pieces: int,
        metadata: str,
    ) -> StoredPassage:
        end_piece = first_piece + n_pieces
        vectors = self._arrays.vectors.view(end_piece)[first_piece:]
        scales = self._arrays.scales.view(end_piece)[first_piece:]
        words = self._arrays.words.view(first_word + n_words)[first_word:].astype(np.int64)
        return StoredPassage(
            doc_id=doc_id,
            text=text[start:end],
            encoded=EncodedPassage(
                start=start,
                end=end,
                words=words,
                vectors=dequantise(vectors, scales),
                metadata=orjson.loads(document_metadata) | orjson.loads(metadata),
            ),
        )

    def _evidence(self, table: PassageTable, query: Query) -> Evidence:
        bm25 = np.stack([self._bm25(phrase, table.ids) for phrase in query.phrases.texts])
        return Evidence(
            keys=table.ids.tolist(),
            cosines=passage_cosines(table, self._arrays, query),
            bm25=bm25,
            bm25_best=bm25.max(axis=1, initial=0.0),
        )

    def _bm25(self, phrase: str, ids: np.ndarray) -> FloatArray:
        terms = [phrase[start:end] for start, end in find_words(phrase)]
        match = " OR ".join(f'"{term}"' for term in dict.fromkeys(terms))
        rows = self._connection.execute(
            "SELECT rowid, -bm25(passage_terms) FROM passage_terms WHERE passage_terms MATCH ?",
            (match,),
        ).fetchall()
        scores = np.zeros(len(ids), dtype=np.float32)
        if rows and len(ids):
            found = np.array(rows)
            places = np.minimum(np.searchsorted(ids, found[:, 0]), len(ids) - 1)
            known = ids[places] == found[:, 0]
            scores[places[known]] = found[known, 1]
        return scores

    def _admitted(self, where: Where) -> PassageTable:
        """The passages that have one of the wanted values in every field."""
        table = self._passages()
        if not where:
            return table
        conditions, values = [], []
        for field, wanted in where.items():
            path = '$."' + field.replace('"', '\\"') + '"'
            marks = ", ".join("?" * len(wanted))
            conditions.append(f"(coalesce({_as_text('p')}, {_as_text('d')}) IN ({marks}))")
            values += [path] * 4 + list(wanted)
        rows = self._connection.execute(
            "SELECT p.id FROM passages p JOIN documents d ON d.id = p.document WHERE "  # noqa: S608
            + " AND ".join(conditions)
            + " ORDER BY p.id",
            values,
        ).fetchall()
        wanted_ids = np.array([row[0] for row in rows], dtype=np.int64)
        return table[np.flatnonzero(np.isin(table.ids, wanted_ids))]

    def _passages(self) -> PassageTable:
        """Where all passages lie, read again only after a commit."""
        (revision,) = self._connection.execute(
            "SELECT value FROM settings WHERE name = 'revision'"
        ).fetchone()
        if self._table is None or revision != self._revision:
            rows = self._connection.execute(
                "SELECT id, first_word, n_words, first_piece, n_pieces FROM passages ORDER BY id"
            ).fetchall()
            columns = np.array(rows, dtype=np.int64).reshape(-1, 5).T
            self._table, self._revision = PassageTable(*columns), revision
        return self._table

    def _select(self, statement: str, *values: str) -> list[tuple[str]]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """One consistent state of the database, whatever a writer commits meanwhile."""
        try:
            with self._lock, transaction(self._connection, "DEFERRED"):
                yield
        except sqlite3.Error as error:
            raise StoreError(f"{self.folder}: SQLite says {error}") from None


def _as_text(table: str) -> str:
    """SQL for a metadata field as text, booleans as they stand in JSON."""
    return (
        f"CASE json_type({table}.metadata, ?) WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' "
        f"ELSE CAST(json_extract({table}.metadata, ?) AS TEXT) END"
    )
