"""One state of a local store, and the connections through which questions see it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import orjson

from slice_os.arrays import FloatArray, IntArray
from slice_os.query.query import Query
from slice_os.spans.passages import EncodedPassage, dequantise
from slice_os.stores.candidates import PassageKey, ScoredCandidates, StoredPassage
from slice_os.stores.local.arrays import DATABASE, Arrays
from slice_os.stores.local.checksums import CheckedPassages, checked_row, damaged_rows, stored_rows
from slice_os.stores.local.fields import admitted_rows
from slice_os.stores.local.files import (
    Database,
    connect,
    damage,
    errors_explained,
    has_log,
    reading_mode,
)
from slice_os.stores.local.scoring import passage_cosines
from slice_os.stores.local.table import PassageTable
from slice_os.stores.local.terms import bm25, occurrences, prepare


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
        while self._idle:
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
        )

    def load(self, keys: Sequence[PassageKey]) -> dict[PassageKey, StoredPassage]:
        """The passages with these ids; one that the snapshot lacks is missing.

        Raises a `StoreError` if a passage or its document is not as it was written.
        """
        wanted = np.array(sorted(key for key in keys if isinstance(key, int)), dtype=np.int64)
        # In stored order, so that the text of a long document is read only once.
        table = self.table[np.flatnonzero(np.isin(self.table.ids, wanted))]
        self._check(table)
        loaded: dict[PassageKey, StoredPassage] = {}
        document: tuple[Any, ...] | None = None
        with self._lock, errors_explained(self._connection.folder):
            for row, key in enumerate(table.ids.tolist()):
                _, number, start, end, _, own, *_ = self._row("passages", key)
                if document is None or document[0] != number:
                    document = self._row("documents", number)
                _, doc_id, _, _, text, fields = document
                vectors, scales, words, norms = stored_rows(table[row : row + 1], self.arrays)
                encoded = EncodedPassage(
                    start=start,
                    end=end,
                    words=words.astype(np.int64),
                    vectors=dequantise(vectors, scales),
                    metadata=orjson.loads(fields) | orjson.loads(own),
                )
                loaded[key] = StoredPassage(doc_id, text[start:end], encoded, norms.copy())
        return loaded

    def _row(self, table: str, key: int) -> tuple[Any, ...]:
        row = checked_row(self._connection, table, key)
        if row is None:
            what = f"row {key} of the {table} is not as it was written"
            raise damage(self._connection.folder, what)
        return row

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
