"""Exact scores of stored passages, computed in chunks over the memory-mapped vectors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from slice_os.arrays import FloatArray, Int8Array, IntArray
from slice_os.query import Query
from slice_os.spans import SpanLayout, span_cosines
from slice_os.stores.local.files import Arrays
from slice_os.threads import one_blas_thread, usable_cores

CHUNK_PIECES = 8_192
BLOCK_PIECES = 512


@dataclass(frozen=True, slots=True)
class PassageTable:
    """Where each passage's words and pieces are in the files; rows in stored order.

    Attributes:
        ids: passage ids.
        first_word: first row in the files by word.
        n_words: number of rows there.
        first_piece: first row in the files by piece.
        n_pieces: number of rows there.
        n_terms: number of terms that BM25 counts.
    """

    ids: IntArray
    first_word: IntArray
    n_words: IntArray
    first_piece: IntArray
    n_pieces: IntArray
    n_terms: IntArray

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, rows: slice | IntArray) -> PassageTable:
        return PassageTable(
            self.ids[rows],
            self.first_word[rows],
            self.n_words[rows],
            self.first_piece[rows],
            self.n_pieces[rows],
            self.n_terms[rows],
        )

    def chunks(self) -> Iterator[slice]:
        """Consecutive rows of about `CHUNK_PIECES` pieces each."""
        number = np.cumsum(self.n_pieces) // CHUNK_PIECES
        edges = np.flatnonzero(np.diff(number)) + 1
        return itertools.starmap(slice, itertools.pairwise([0, *edges.tolist(), len(self)]))


@one_blas_thread()
def passage_cosines(table: PassageTable, arrays: Arrays, query: Query) -> FloatArray:
    """The best cosine of each phrase over all spans of each passage.

    Returns:
        ``(n_phrases, n_passages)``; ``-inf`` if a passage is shorter than any span that counts.
    """
    phrases = query.phrases.vectors
    best = np.empty((len(phrases), len(table)), dtype=np.float32)
    if not len(table):
        return best
    end_piece = int((table.first_piece + table.n_pieces).max())
    end_word = int((table.first_word + table.n_words).max())
    vectors, scales = (file.view(end_piece) for file in arrays.by_piece)
    words, norms = (file.view(end_word) for file in arrays.by_word)

    def score(rows: slice) -> None:
        chunk = table[rows]
        pieces = _rows(chunk.first_piece, chunk.n_pieces)
        word_rows = _rows(chunk.first_word, chunk.n_words)
        products = _products(vectors[pieces], phrases) * scales[pieces]
        layout = _layout(words[word_rows], chunk)
        spans = norms[word_rows, : query.max_words]
        starts = np.cumsum(chunk.n_words) - chunk.n_words
        for index in range(len(phrases)):
            cosines = span_cosines(products[index], layout, spans)[:, query.min_words - 1 :]
            best[index, rows] = np.maximum.reduceat(cosines.ravel(), starts * cosines.shape[1])

    with ThreadPoolExecutor(usable_cores()) as executor:
        for _ in executor.map(score, table.chunks()):
            pass
    return best


def _products(vectors: Int8Array, phrases: FloatArray) -> FloatArray:
    """``(n_phrases, n_pieces)`` inner products, in blocks that fit the cache."""
    products = np.empty((len(phrases), len(vectors)), dtype=np.float32)
    for start in range(0, len(vectors), BLOCK_PIECES):
        block = slice(start, start + BLOCK_PIECES)
        np.matmul(phrases, vectors[block].astype(np.float32).T, out=products[:, block])
    return products


def _layout(words: IntArray, chunk: PassageTable) -> SpanLayout:
    """The layout of several passages whose pieces follow one another."""
    shift = np.repeat(np.cumsum(chunk.n_pieces) - chunk.n_pieces, chunk.n_words)
    return SpanLayout(first=words[:, 2] + shift, last=words[:, 3] + shift)


def _rows(first: IntArray, counts: IntArray) -> slice | IntArray:
    """The rows of several runs: a slice if the runs are adjacent, otherwise an index."""
    if np.array_equal(first[1:], (first + counts)[:-1]):
        return slice(int(first[0]), int(first[-1] + counts[-1]))
    offsets = np.repeat(first - (np.cumsum(counts) - counts), counts)
    return offsets + np.arange(int(counts.sum()))
