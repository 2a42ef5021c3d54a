"""The local store: exact results from one folder, without a server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import RLock

import numpy as np
import orjson
from filelock import FileLock, Timeout

from slice_os.arrays import FloatArray, IntArray
from slice_os.candidates import PassageKey, ScoredCandidates, StoredPassage
from slice_os.errors import StoreError
from slice_os.model import ModelCard
from slice_os.parts import WHOLE, Part
from slice_os.passages import EncodedPassage
from slice_os.quantisation import dequantise
from slice_os.query import Query, Where
from slice_os.stores.base import StoredDocument, StoreInfo
from slice_os.stores.local.files import (
    SCHEMA_VERSION,
    Arrays,
    StoreSettings,
    connect,
    create,
    errors_explained,
    exists,
    folder_size,
    read_settings,
    transaction,
)
from slice_os.stores.local.labels import admitted_rows
from slice_os.stores.local.products import PRODUCT_ERROR
from slice_os.stores.local.scoring import PassageTable, passage_cosines
from slice_os.stores.local.terms import TermCounts, terms
from slice_os.stores.local.writer import LocalWriter

SCAN_PASSAGES = 512


class LocalStore:
    """A folder with documents, passages, token vectors and a BM25 index.

    Many processes can read while one writes. Use `LocalStore.open` or `LocalStore.create`.
    """

    exhaustive = True

    def __init__(self, folder: Path) -> None:
        if not exists(folder):
            raise StoreError(f"{folder}: no store here; make one with `slice-os ingest`")
        self.folder = folder
        with errors_explained(folder):
            self._connection = connect(folder)
            self.settings: StoreSettings = read_settings(self._connection, folder)
        self._arrays = Arrays(folder, self.settings)
        self._lock = RLock()
        self._revision = ""
        self._table: PassageTable | None = None

    @classmethod
    def open(cls, folder: Path, card: ModelCard | None = None) -> LocalStore:
        """Open a store, and check that it belongs to an encoder, if its card is given.

        Raises:
            StoreError: if there is no store, or another version made it.
            EncoderMismatchError: if another encoder made its vectors.
        """
        store = cls(folder)
        if card is not None:
            store.check_encoder(card)
        return store

    @classmethod
    def create(cls, folder: Path, card: ModelCard, max_pieces: int) -> LocalStore:
        """Create an empty store, and open it.

        Raises:
            StoreError: if the folder cannot hold a store.
        """
        create(folder, StoreSettings(card, max_pieces))
        return cls(folder)

    def check_encoder(self, card: ModelCard) -> None:
        """Refuse any encoder but the store's; see `Store.check_encoder`."""
        self.settings.encoder.check_made(self.folder, card)

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
            size_bytes=folder_size(self.folder),
        )

    @contextmanager
    def writer(self, part: Part = WHOLE) -> Iterator[LocalWriter]:
        """The writer; only one process at a time has it, whatever its part.

        Raises:
            StoreError: if another process is writing.
        """
        lock = FileLock(self.folder / "writer.lock", timeout=0)
        with errors_explained(self.folder):
            try:
                held = lock.acquire()
            except Timeout:
                raise StoreError(
                    f"{self.folder}: another process is writing to it; wait until it ends"
                ) from None
        with held, closing(connect(self.folder)) as connection:
            writer = LocalWriter(connection, self.folder, self.settings)
            try:
                yield writer
            finally:
                writer.close()

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
        """The signature under which a source was last read to its end, or None."""
        rows = self._select("SELECT signature FROM sources WHERE source = ?", source)
        return rows[0][0] if rows else None

    def document_text(self, doc_id: str) -> str | None:
        """The text of a document exactly as given, or None if the id is unknown."""
        rows = self._select("SELECT text FROM documents WHERE doc_id = ?", doc_id)
        return rows[0][0] if rows else None

    def rank(self, query: Query, num_candidates: int) -> ScoredCandidates:
        """Score every passage that ``query.where`` admits: this store is exhaustive."""
        del num_candidates
        with self._snapshot():
            return self._candidates(self._admitted(query.where), query)

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

    def load(self, keys: Sequence[PassageKey]) -> dict[PassageKey, StoredPassage]:
        """The passages with these ids; a passage deleted meanwhile is missing."""
        loaded: dict[PassageKey, StoredPassage] = {}
        document: tuple[int, str, str, str] | None = None
        with self._snapshot():
            # In stored order, so that the text of a long document is read only once.
            for key in sorted(key for key in keys if isinstance(key, int)):
                row = self._connection.execute(
                    'SELECT document, start, "end", first_word, n_words, first_piece, n_pieces, '
                    "metadata FROM passages WHERE id = ?",
                    (key,),
                ).fetchone()
                if row is None:
                    continue
                if document is None or document[0] != row[0]:
                    document = self._connection.execute(
                        "SELECT id, doc_id, text, metadata FROM documents WHERE id = ?", row[:1]
                    ).fetchone()
                loaded[key] = self._passage(*document[1:], *row[1:])
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
        end_word = first_word + n_words
        words = self._arrays.words.view(end_word)[first_word:].astype(np.int64)
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
            norms=self._arrays.norms.view(end_word)[first_word:].copy(),
        )

    def _candidates(self, table: PassageTable, query: Query) -> ScoredCandidates:
        bm25 = np.stack([self._bm25(phrase, table.ids) for phrase in query.phrases.texts])
        return ScoredCandidates(
            keys=table.ids.tolist(),
            cosines=passage_cosines(table, self._arrays, query),
            bm25=bm25,
            bm25_best=bm25.max(axis=1, initial=0.0),
            load=self.load,
        )

    def _bm25(self, phrase: str, ids: IntArray) -> FloatArray:
        passages = self._passages()
        counts = TermCounts(passages.n_terms)
        scores = np.zeros(len(passages), dtype=np.float32)
        for term, times in Counter(terms(phrase)).items():
            rows = self._connection.execute(
                "SELECT rowid, -bm25(passage_terms) FROM passage_terms WHERE passage_terms MATCH ?",
                (f'"{term}"',),
            ).fetchall()
            if rows:
                found, weights = np.array(rows).T
                places = np.searchsorted(passages.ids, found.astype(np.int64))
                frequencies = counts.frequencies(weights, places)
                scores[places] += times * counts.bm25(frequencies, places)
        return scores[np.searchsorted(passages.ids, ids)]

    def _admitted(self, where: Where) -> PassageTable:
        """The passages for which every condition holds."""
        table = self._passages()
        for condition in where:
            rows = admitted_rows(self._connection, condition, table.ids, self.folder)
            table = table[rows]
        return table

    def _passages(self) -> PassageTable:
        """Where all passages are, read again only after a commit."""
        (revision,) = self._connection.execute(
            "SELECT value FROM settings WHERE name = 'revision'"
        ).fetchone()
        if self._table is None or revision != self._revision:
            rows = self._connection.execute(
                "SELECT id, first_word, n_words, first_piece, n_pieces, n_terms "
                "FROM passages ORDER BY id"
            ).fetchall()
            columns = np.array(rows, dtype=np.int64).reshape(-1, 6).T
            self._table, self._revision = PassageTable(*columns), revision
        return self._table

    def _select(self, statement: str, value: str) -> list[tuple[str]]:
        with self._snapshot():
            return self._connection.execute(statement, (value,)).fetchall()

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """One consistent state of the database, even if a writer commits meanwhile."""
        with (
            self._lock,
            errors_explained(self.folder),
            transaction(self._connection, "DEFERRED"),
        ):
            yield
