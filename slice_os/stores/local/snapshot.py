"""One state of a local store: the connections through which questions see it, and its scores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numkong
import numpy as np
import numpy.typing as npt
import orjson

from slice_os.arrays import FloatArray, Int8Array, IntArray
from slice_os.query.query import Query
from slice_os.spans.cosines import SpanLayout, best_by_word, inverse_norms, word_sums
from slice_os.spans.passages import DocumentPart, EncodedPassage, dequantise, own_fields
from slice_os.stores.candidates import PassageKey, ScoredCandidates, StoredPassage
from slice_os.stores.local.arrays import Arrays, PassageTable, file_rows, rows_of, rows_with
from slice_os.stores.local.checksums import (
    CheckedPassages,
    damaged_rows,
    sound_document,
    sound_row,
    stored_rows,
)
from slice_os.stores.local.fields import admitted_rows
from slice_os.stores.local.files import (
    DATABASE,
    Database,
    connect,
    damage,
    errors_explained,
    has_log,
    reading_mode,
)
from slice_os.stores.local.terms import bm25, occurrences, prepare
from slice_os.stores.protocol import KeptDocument
from slice_os.threads import on_all_cores

# Large enough that NumPy's calls take longer than handing over the interpreter between threads,
# small enough for the cache.
CHUNK_PIECES = 65_536
PHRASES_AT_ONCE = 32
# Of a cosine; the largest seen on a million token vectors is 0.000009.
PRODUCT_ERROR = 5e-5

_STEPS = 127
_LARGEST = np.iinfo(np.int32).max


def passage_cosines(table: PassageTable, arrays: Arrays, query: Query) -> FloatArray:
    """The best cosine of each phrase over all spans of each passage.

    Returns ``(n_phrases, n_passages)``; ``-inf`` if a passage is shorter than any span that counts.
    """
    phrases = query.phrases.vectors
    best = np.empty((len(phrases), len(table)), dtype=np.float32)
    if not len(table):
        return best
    rows_in_files = file_rows(table, arrays)
    vectors, scales, words, norms = (file.view(int(ends.max())) for file, _, ends in rows_in_files)
    starts_at = range(0, len(phrases), PHRASES_AT_ONCE)
    batches = [slice(start, start + PHRASES_AT_ONCE) for start in starts_at]
    multiply = [PhraseProducts(phrases[batch]) for batch in batches]

    def score(rows: slice) -> None:
        chunk = table[rows]
        pieces = rows_of(chunk.first_piece, chunk.n_pieces)
        word_rows = rows_of(chunk.first_word, chunk.n_words)
        # The pieces of the passages follow one another.
        shift = np.repeat(np.cumsum(chunk.n_pieces) - chunk.n_pieces, chunk.n_words)
        layout = SpanLayout(words[word_rows, 2] + shift, words[word_rows, 3] + shift)
        inverse = inverse_norms(norms[word_rows, : query.max_words])
        starts = np.cumsum(chunk.n_words) - chunk.n_words
        tokens, steps = vectors[pieces], scales[pieces][:, None]
        for batch, product in zip(batches, multiply, strict=True):
            products = np.multiply(product(tokens), steps, dtype=np.float32, casting="unsafe")
            sums, growth = word_sums(products, layout, starts)
            for row in range(len(sums)):
                cosines = best_by_word(sums[row], growth[row], inverse, query.min_words)
                best[batch.start + row, rows] = np.maximum.reduceat(cosines, starts)
            best[batch, rows] *= product.units[:, None]

    size = max(CHUNK_PIECES // len(phrases), CHUNK_PIECES // 2)
    on_all_cores(score, table.chunks(size))
    return np.clip(best, -1, 1, out=best, where=best != -np.inf)


class PhraseProducts:
    """Inner products of int8 vectors with several phrases, by the CPU's integer instructions.

    A phrase is cut into int8 twice: its values in steps of a 127th of the largest, and what
    rounding left of them in steps finer by ``ratio``. Two integer products, added, then differ
    from the product of floats by about a millionth of the vector's length.

    Attributes:
        units: ``(n_phrases,)`` value of one unit of each phrase's integer products.
    """

    def __init__(self, phrases: FloatArray) -> None:
        dimension = phrases.shape[1]
        # Sums of coarse and fine products must fit into 32 bits, whatever the vectors.
        self._ratio = min(2 * _STEPS, _LARGEST // (_STEPS * _STEPS * dimension) - 1)
        steps = np.maximum(np.abs(phrases).max(axis=1, keepdims=True), 1e-12) / _STEPS
        scaled = phrases.astype(np.float64) / steps
        coarse = np.rint(scaled)
        fine = np.rint((scaled - coarse) * self._ratio)
        self._packed = numkong.dots_pack(np.concatenate([coarse, fine]).astype(np.int8))
        self.units: FloatArray = (steps.ravel() / self._ratio).astype(np.float32)

    def __call__(self, vectors: Int8Array) -> npt.NDArray[np.int32]:
        """``(n, n_phrases)`` products of ``(n, dimension)`` vectors, in `units`."""
        both = np.asarray(numkong.dots_packed(vectors, self._packed))
        products: npt.NDArray[np.int32] = both[:, : len(self.units)] * np.int32(self._ratio)
        products += both[:, len(self.units) :]
        return products


class ReadConnections:
    """Connections, each lent for one question at a time and kept for the next one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._idle: list[Database] = []
        self._stamp: tuple[int, ...] | None = None
        self._closed = False

    def take(self) -> Database:
        """A connection, until `give_back`."""
        stamp = _stamp(self._folder)
        if stamp != self._stamp:
            self._close_idle()
            self._stamp = stamp
        try:
            return self._idle.pop()
        except IndexError:
            connection = connect(self._folder, reading_mode(self._folder))
            connection.stamp = stamp
            prepare(connection)
            return connection

    def give_back(self, connection: Database) -> None:
        """Take back a connection after a question, and end its transaction."""
        if self._closed or connection.stamp != self._stamp:
            connection.close()
            return
        connection.rollback()
        self._idle.append(connection)

    def close(self) -> None:
        """Close the connections; those that are lent are closed when they come back."""
        self._closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        with suppress(IndexError):  # another thread may take the last one
            while True:
                self._idle.pop().close()


@dataclass(eq=False, repr=False)
class Snapshot:
    """The state of a store that a question sees, whatever writers commit or delete meanwhile."""

    _connection: Database
    table: PassageTable
    arrays: Arrays
    _checked: CheckedPassages
    _lock: Lock = field(default_factory=Lock, init=False)

    def rank(self, query: Query) -> ScoredCandidates:
        """Score every passage that the query admits; the candidates keep the snapshot."""
        table = self.table
        with self._lock, errors_explained(self._connection.folder):
            for condition in query.where:
                table = table[admitted_rows(self._connection, condition, table.ids)]
            scores = np.stack([self._bm25(phrase, table.ids) for phrase in query.phrases.texts])
        self._check(table)
        return ScoredCandidates(
            keys=table.ids.tolist(),
            cosines=passage_cosines(table, self.arrays, query),
            bm25=scores,
            bm25_best=scores.max(axis=1, initial=0.0),
            load=self.load,
            error=PRODUCT_ERROR,
        )

    def load(self, keys: Sequence[PassageKey]) -> dict[PassageKey, StoredPassage]:
        """The passages with these ids, in stored order; one that the snapshot lacks is missing.

        Raises a `StoreError` if a passage or its document is not as it was written.
        """
        wanted = np.array(sorted(key for key in keys if isinstance(key, int)), dtype=np.int64)
        # In stored order, so that the text of a long document is read only once.
        table = self.table[rows_with(self.table.ids, wanted)]
        self._check(table)
        loaded: dict[PassageKey, StoredPassage] = {}
        document: tuple[Any, ...] | None = None
        with self._lock, errors_explained(self._connection.folder):
            for row, key in enumerate(table.ids.tolist()):
                _, number, start, end, _, own, *_ = sound_row(self._connection, "passages", key)
                if document is None or document[0] != number:
                    document = sound_row(self._connection, "documents", number)
                    fields = orjson.loads(document[5])
                _, doc_id, _, _, text, _ = document
                vectors, scales, words, norms = stored_rows(table[row : row + 1], self.arrays)
                encoded = EncodedPassage(
                    start=start,
                    end=end,
                    words=words.astype(np.int64),
                    vectors=dequantise(vectors, scales),
                    metadata=fields | orjson.loads(own),
                )
                loaded[key] = StoredPassage(doc_id, text[start:end], encoded, norms.copy())
        return loaded

    def document(self, doc_id: str) -> DocumentPart | None:
        """A document as it was written, with all its passages; None if it is not there."""
        connection = self._connection
        with self._lock, errors_explained(connection.folder):
            row = sound_document(connection, doc_id)
            if row is None:
                return None
            number, _, source, fingerprint, text, fields = row
            keys = connection.column("SELECT id FROM passages WHERE document = ?", number)
        passages = (one.encoded for one in self.load(keys).values())
        metadata = orjson.loads(fields)
        document = KeptDocument(doc_id, text, metadata, source=source, kept=fingerprint)
        return DocumentPart(document, tuple(own_fields(metadata, passages)), last=True)

    def _check(self, table: PassageTable) -> None:
        """Refuse passages whose vectors or words are not as they were written."""
        key = self._checked.damaged(table)
        if key is not None:
            where = damaged_rows(self.table, self.arrays, key)
            raise damage(self._connection.folder, f"{where} are not as they were written")

    def _bm25(self, phrase: str, ids: IntArray) -> FloatArray:
        passages = self.table
        scores = np.zeros(len(passages), dtype=np.float32)
        for term, times, found, frequencies in occurrences(self._connection, phrase):
            if not np.isin(found, passages.ids).all():
                what = f"{term!r} is a term of unknown passages"
                raise damage(self._connection.folder, what)
            rows = np.searchsorted(passages.ids, found)
            scores[rows] += times * bm25(frequencies, rows, passages.n_terms)
        return scores[np.searchsorted(passages.ids, ids)]


def _stamp(folder: Path) -> tuple[int, ...] | None:
    """Changes with the store where SQLite has no lock that would tell: if it cannot be written."""
    if os.access(folder, os.W_OK):
        return None
    stat = (folder / DATABASE).stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns, has_log(folder)
