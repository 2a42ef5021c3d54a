"""Exact scores of stored passages, chunk by chunk over the memory-mapped vectors."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from slice_os.engines import usable_cores
from slice_os.spans import FloatArray, SpanLayout, span_cosines
from slice_os.stores.base import Query
from slice_os.stores.local.files import Arrays
from slice_os.words import IntArray

CHUNK_PIECES = 16_384


@dataclass(frozen=True, slots=True)
class PassageTable:
    """Where each passage's words and pieces lie in the files; rows in stored order.

    Attributes:
        ids: passage ids.
        first_word: first row in the word files.
        n_words: rows there.
        first_piece: first row in the piece files.
        n_pieces: rows there.
    """

    ids: IntArray
    first_word: IntArray
    n_words: IntArray
    first_piece: IntArray
    n_pieces: IntArray

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, rows: slice | IntArray) -> PassageTable:
        return PassageTable(
            self.ids[rows],
            self.first_word[rows],
            self.n_words[rows],
            self.first_piece[rows],
            self.n_pieces[rows],
        )

    def chunks(self) -> Iterator[PassageTable]:
        """Consecutive passages of about `CHUNK_PIECES` pieces each."""
        if not len(self):
            return
        number = np.cumsum(self.n_pieces) // CHUNK_PIECES
        edges = np.flatnonzero(np.diff(number)) + 1
        for start, end in zip([0, *edges], [*edges, len(self)], strict=True):
            yield self[start:end]


def passage_cosines(table: PassageTable, arrays: Arrays, query: Query) -> FloatArray:
    """The best cosine of each phrase over all spans of each passage.

    Returns:
        ``(n_phrases, n_passages)``.
    """
    phrases = query.phrases.vectors
    if not len(table):
        return np.empty((len(phrases), 0), dtype=np.float32)
    end_piece = int((table.first_piece + table.n_pieces).max())
    end_word = int((table.first_word + table.n_words).max())
    vectors, scales = (file.view(end_piece) for file in arrays.by_piece)
    words, norms = (file.view(end_word) for file in arrays.by_word)

    def score(chunk: PassageTable) -> FloatArray:
        pieces = _rows(chunk.first_piece, chunk.n_pieces)
        word_rows = _rows(chunk.first_word, chunk.n_words)
        products = vectors[pieces].astype(np.float32) @ phrases.T * scales[pieces][:, None]
        layout = _layout(words[word_rows], chunk)
        spans = norms[word_rows, : query.max_words]
        starts = np.cumsum(chunk.n_words) - chunk.n_words
        best = np.empty((len(phrases), len(chunk)), dtype=np.float32)
        for index in range(len(phrases)):
            cosines = span_cosines(products[:, index], layout, spans)[:, query.min_words - 1 :]
            best[index] = np.maximum.reduceat(cosines.max(axis=1), starts)
        return best

    with ThreadPoolExecutor(usable_cores()) as executor:
        return np.concatenate(list(executor.map(score, table.chunks())), axis=1)


def _layout(words: IntArray, chunk: PassageTable) -> SpanLayout:
    """Words of several passages over their pieces laid end to end."""
    shift = np.repeat(np.cumsum(chunk.n_pieces) - chunk.n_pieces, chunk.n_words)
    ends = np.repeat(np.cumsum(chunk.n_words), chunk.n_words)
    pieces = words[:, 2:].astype(np.int64)
    return SpanLayout(
        first=pieces[:, 0] + shift, last=pieces[:, 1] + shift, room=ends - np.arange(len(words))
    )


def _rows(first: IntArray, counts: IntArray) -> slice | IntArray:
    """The rows of several runs: a slice where they follow one another, else an index."""
    if np.array_equal(first[1:], (first + counts)[:-1]):
        return slice(int(first[0]), int(first[-1] + counts[-1]))
    offsets = np.repeat(first - (np.cumsum(counts) - counts), counts)
    return offsets + np.arange(int(counts.sum()))
