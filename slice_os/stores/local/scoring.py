"""Exact scores of stored passages, computed in chunks over the memory-mapped vectors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numkong
import numpy as np
import numpy.typing as npt

from slice_os.arrays import FloatArray, Int8Array
from slice_os.query.query import Query
from slice_os.spans.cosines import SpanLayout, best_by_word, inverse_norms, word_sums
from slice_os.stores.local.arrays import Arrays
from slice_os.stores.local.table import PassageTable, file_rows, rows_of
from slice_os.threads import usable_cores

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

    Returns:
        ``(n_phrases, n_passages)``; ``-inf`` if a passage is shorter than any span that counts.
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
    with ThreadPoolExecutor(usable_cores()) as executor:
        for _ in executor.map(score, table.chunks(size)):
            pass
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
