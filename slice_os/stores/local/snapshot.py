"""One state of a local store: scoring its passages and loading them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
import orjson

from slice_os.arrays import FloatArray, IntArray
from slice_os.query.query import Query, Where
from slice_os.spans.passages import EncodedPassage
from slice_os.spans.quantisation import dequantise
from slice_os.stores.candidates import PassageKey, ScoredCandidates, StoredPassage
from slice_os.stores.local.arrays import Arrays
from slice_os.stores.local.checksums import (
    CheckedPassages,
    checked_row,
    damaged_rows,
    stored_rows,
)
from slice_os.stores.local.field_values import admitted_rows
from slice_os.stores.local.files import StoreState, damage, errors_explained
from slice_os.stores.local.scoring import passage_cosines
from slice_os.stores.local.table import PassageTable
from slice_os.stores.local.terms import TermCounts, terms


class Snapshot:
    """What a question sees of a store, whatever writers commit or delete meanwhile.

    Args:
        connection: in a transaction, which ends with the snapshot.
        state: what the transaction sees.
        table: all passages.
        arrays: their rows, mapped.
        checked: compares the rows with their checksums.

    Attributes:
        table: as given.
        arrays: as given.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        state: StoreState,
        table: PassageTable,
        arrays: Arrays,
        checked: CheckedPassages,
    ) -> None:
        self._connection = connection
        self._state = state
        self.table = table
        self.arrays = arrays
        self._checked = checked
        self._lock = Lock()

    def rank(self, query: Query) -> ScoredCandidates:
        """Score every passage that the query admits.

        The candidates keep the snapshot until they are dropped.
        """
        with self._lock, errors_explained(self._state.folder):
            table = self._admitted(query.where)
            bm25 = np.stack([self._bm25(phrase, table.ids) for phrase in query.phrases.texts])
        self._check(table)
        return ScoredCandidates(
            keys=table.ids.tolist(),
            cosines=passage_cosines(table, self.arrays, query),
            bm25=bm25,
            bm25_best=bm25.max(axis=1, initial=0.0),
            load=self.load,
        )

    def load(self, keys: Sequence[PassageKey]) -> dict[PassageKey, StoredPassage]:
        """The passages with these ids; one that the snapshot lacks is missing.

        Raises:
            StoreError: if a passage or its document is not as it was written.
        """
        wanted = np.array(sorted(key for key in keys if isinstance(key, int)), dtype=np.int64)
        # In stored order, so that the text of a long document is read only once.
        table = self.table[np.flatnonzero(np.isin(self.table.ids, wanted))]
        self._check(table)
        loaded: dict[PassageKey, StoredPassage] = {}
        document: tuple[Any, ...] | None = None
        with self._lock, errors_explained(self._state.folder):
            for row in range(len(table)):
                one = table[row : row + 1]
                passage = self._row("passages", int(one.ids[0]))
                if document is None or document[0] != passage[1]:
                    document = self._row("documents", passage[1])
                loaded[passage[0]] = self._passage(document, passage, one)
        return loaded

    def _passage(
        self, document: tuple[Any, ...], passage: tuple[Any, ...], table: PassageTable
    ) -> StoredPassage:
        """A passage, from its row in the database and its row of the table."""
        _, doc_id, _, _, text, document_metadata = document
        _, _, start, end, _, metadata, *_ = passage
        vectors, scales, words, norms = stored_rows(table, self.arrays, 0)
        return StoredPassage(
            doc_id=doc_id,
            text=text[start:end],
            encoded=EncodedPassage(
                start=start,
                end=end,
                words=words.astype(np.int64),
                vectors=dequantise(vectors, scales),
                metadata=orjson.loads(document_metadata) | orjson.loads(metadata),
            ),
            norms=norms.copy(),
        )

    def _row(self, table: str, key: int) -> tuple[Any, ...]:
        row = checked_row(self._connection, table, key)
        if row is None:
            raise damage(self._state.folder, f"row {key} of the {table} is not as it was written")
        return row

    def _check(self, table: PassageTable) -> None:
        """Refuse passages whose vectors or words are not as they were written."""
        key = self._checked.damaged(table)
        if key is not None:
            where = damaged_rows(self.table, self.arrays, key)
            raise damage(self._state.folder, f"{where} are not as they were written")

    def _bm25(self, phrase: str, ids: IntArray) -> FloatArray:
        passages = self.table
        counts = TermCounts(passages.n_terms)
        scores = np.zeros(len(passages), dtype=np.float32)
        for term, times in Counter(terms(phrase)).items():
            rows = self._connection.execute(
                "SELECT rowid, -bm25(passage_terms) FROM passage_terms WHERE passage_terms MATCH ?",
                (f'"{term}"',),
            ).fetchall()
            if rows:
                found, weights = np.array(rows).T
                if not np.isin(found, passages.ids).all():
                    raise damage(self._state.folder, f"{term!r} is a term of unknown passages")
                places = np.searchsorted(passages.ids, found.astype(np.int64))
                frequencies = counts.frequencies(weights, places)
                scores[places] += times * counts.bm25(frequencies, places)
        return scores[np.searchsorted(passages.ids, ids)]

    def _admitted(self, where: Where) -> PassageTable:
        """The passages for which every condition holds."""
        table = self.table
        for condition in where:
            rows = admitted_rows(self._connection, condition, table.ids, self._state.folder)
            table = table[rows]
        return table
