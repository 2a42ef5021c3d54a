"""Exact scores of stored passages, computed in chunks over the memory-mapped vectors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from slice_os.arrays import FloatArray, IntArray
from slice_os.query.query import Query
from slice_os.spans.cosines import SpanLayout, best_by_word, inverse_norms, word_sums
from slice_os.stores.local.arrays import Arrays
from slice_os.stores.local.products import PhraseProducts
from slice_os.stores.local.table import PassageTable, rows_of
from slice_os.threads import usable_cores

# Large enough that NumPy's calls take longer than handing over the interpreter between threads,
# small enough for the cache.
CHUNK_PIECES = 65_536
PHRASES_AT_ONCE = 32


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
        pieces = rows_of(chunk.first_piece, chunk.n_pieces)
        word_rows = rows_of(chunk.first_word, chunk.n_words)
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
