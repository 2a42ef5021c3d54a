"""Exact scores of stored passages, computed in chunks over the memory-mapped vectors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from slice_os.arrays import FloatArray, IntArray
from slice_os.query import Query
from slice_os.spans import SpanLayout, best_by_word, inverse_norms, word_sums
from slice_os.stores.local.files import Arrays
from slice_os.stores.local.products import PhraseProducts
from slice_os.threads import usable_cores

# Large enough that NumPy's calls take longer than handing over the interpreter between threads,
# small enough for the cache.
CHUNK_PIECES = 65_536
PHRASES_AT_ONCE = 32


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

    def chunks(self, pieces: int) -> Iterator[slice]:
        """Consecutive rows of about that many pieces each."""
        number = np.cumsum(self.n_pieces) // pieces
        edges = np.flatnonzero(np.diff(number)) + 1
        return itertools.starmap(slice, itertools.pairwise([0, *edges.tolist(), len(self)]))


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
    starts_at = range(0, len(phrases), PHRASES_AT_ONCE)
    batches = [slice(start, start + PHRASES_AT_ONCE) for start in starts_at]
    multiply = [PhraseProducts(phrases[batch]) for batch in batches]

    def score(rows: slice) -> None:
        chunk = table[rows]
        pieces = _rows(chunk.first_piece, chunk.n_pieces)
        word_rows = _rows(chunk.first_word, chunk.n_words)
        layout = _layout(words[word_rows], chunk)
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
    with ThreadPoolExecutor(usable_cores()) as executor:
        for _ in executor.map(score, table.chunks(size)):
            pass
    return np.clip(best, -1, 1, out=best, where=best != -np.inf)


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
