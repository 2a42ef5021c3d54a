"""Passages: the parts of a document that are stored and searched; their vectors, also as int8."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from slice_os.arrays import FloatArray, Int8Array, IntArray, unit_rows
from slice_os.spans.cosines import SpanLayout
from slice_os.text.documents import Document, Metadata
from slice_os.text.passage_layout import layout_of

DEFAULT_MAX_PIECES = 128
_STEPS = np.float32(127)


@dataclass(frozen=True, slots=True)
class EncodedPassage:
    """A passage of a document, with the vectors of its word pieces.

    Attributes:
        start: first code point in the document's text.
        end: one past the last.
        words: ``(n_words, 4)`` rows of start and end code point in the document's text, first
            row of ``vectors`` and one past the last.
        vectors: ``(n_pieces, dimension)`` token vectors from the first word to the last: one for
            each word piece or, as `joined` returns them, for each stretch between words.
        metadata: fields of this passage alone, such as the speaker.
    """

    start: int
    end: int
    words: IntArray
    vectors: FloatArray
    metadata: Metadata = field(default_factory=dict)

    @property
    def layout(self) -> SpanLayout:
        """The vectors of each word, and the turn that it is in."""
        turn = layout_of(self.metadata, self.start).turn_numbers(self.words)
        return SpanLayout(self.words[:, 2], self.words[:, 3], turn)


def joined(passage: EncodedPassage) -> EncodedPassage:
    """The passage with one vector for each stretch between the edges of words.

    Spans begin and end with words, so the sum of a word's pieces gives the same scores as the
    pieces. Punctuation between two words is a stretch of its own. Stores keep this form.
    """
    edges = np.unique(passage.words[:, 2:])
    sums = np.add.reduceat(passage.vectors[: edges[-1]], edges[:-1], axis=0)
    words = passage.words.copy()
    words[:, 2:] = np.searchsorted(edges, passage.words[:, 2:])
    return replace(passage, words=words, vectors=sums)


def word_vectors(vectors: FloatArray, words: IntArray) -> FloatArray:
    """``(n_words, dimension)`` unit vectors of words, from those of pieces or of `joined`.

    Words are ``(n_words, 2)`` rows: the first of their vectors, and one past the last.
    """
    if np.all(words[:, 1] - words[:, 0] == 1):
        return unit_rows(vectors[words[:, 0]])
    sums = np.array([vectors[first:last].sum(axis=0) for first, last in words.tolist()])
    return unit_rows(sums.reshape(len(words), vectors.shape[1]))


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """Consecutive passages of a document, in order; a long document comes in several parts.

    There are none for a text without words.
    """

    document: Document
    passages: tuple[EncodedPassage, ...]
    last: bool


def own_fields(common: Metadata, passages: Iterable[EncodedPassage]) -> Iterator[EncodedPassage]:
    """The passages with the fields that their document does not have, or has otherwise."""
    for passage in passages:
        rest = {name: it for name, it in passage.metadata.items() if common.get(name) != it}
        yield replace(passage, metadata=rest)


def quantise(vectors: FloatArray) -> tuple[Int8Array, FloatArray]:
    """``(n, dimension)`` vectors as symmetric int8, and their ``(n,)`` scales.

    Their product differs from the vector by at most half a step, of which its largest component
    has 127.
    """
    scales = np.maximum(np.abs(vectors).max(axis=1, initial=0.0), 1e-12) / _STEPS
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def dequantise(vectors: Int8Array, scales: FloatArray) -> FloatArray:
    """The vectors again, to the precision that `quantise` kept."""
    return vectors.astype(np.float32) * scales[:, None]


def stored_form(passage: EncodedPassage) -> EncodedPassage:
    """The passage as a store returns it: joined and quantised; idempotent."""
    one = joined(passage)
    return replace(one, vectors=dequantise(*quantise(one.vectors)))
