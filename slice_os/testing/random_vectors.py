"""Documents and queries with random vectors, and the cosines of their spans one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.encoder.model_folder import ModelCard
from slice_os.query.filters import parse_where
from slice_os.query.query import Phrases, Query
from slice_os.spans.passages import DocumentPart, EncodedPassage
from slice_os.text.documents import Document
from slice_os.text.words import find_words

CARD = ModelCard(
    encoder_id="0123456789abcdef",
    name="random",
    dimension=8,
    max_length=64,
    pooling="mean",
    min_words=1,
    max_words=4,
    precision="fp32",
    license="unknown",
    provenance="random vectors",
    threshold=0.5,
)


def random_part(document: Document, seed: int = 0, words_each: int = 7) -> DocumentPart:
    """A document with random vectors: one piece for each word, and one between two words.

    Args:
        document: to cut into words.
        seed: of the vectors.
        words_each: words of a passage.
    """
    rng = np.random.default_rng(seed)
    words = find_words(document.text)
    passages = []
    for start in range(0, len(words), words_each):
        rows = words[start : start + words_each]
        first = np.arange(len(rows)) * 2
        table = np.column_stack([rows, first, first + 1])
        vectors = rng.normal(0.2, 1, (2 * len(rows) - 1, CARD.dimension)).astype(np.float32)
        passages.append(EncodedPassage(int(table[0, 0]), int(table[-1, 1]), table, vectors))
    return DocumentPart(document, tuple(passages), last=True)


def random_query(*texts: str, where: Mapping[str, Any] | None = None, seed: int = 9) -> Query:
    """A query for phrases with random vectors."""
    vectors = np.random.default_rng(seed).standard_normal((len(texts), CARD.dimension))
    units = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return Query(Phrases(texts, units), parse_where(where), CARD.min_words, CARD.max_words)


def best_cosines(passage: EncodedPassage, phrases: FloatArray) -> FloatArray:
    """The best cosine of each phrase over all spans, which are computed one by one.

    Args:
        passage: the passage.
        phrases: ``(n_phrases, dimension)`` unit rows.

    Returns:
        ``(n_phrases,)``.
    """
    n_words = len(passage.words)
    spans = [
        passage.vectors[passage.words[i, 2] : passage.words[j, 3]].mean(axis=0, dtype=float)
        for i in range(n_words)
        for j in range(i, min(i + CARD.max_words, n_words))
    ]
    units = np.array(spans) / np.linalg.norm(spans, axis=1, keepdims=True)
    best: FloatArray = (units @ phrases.T).max(axis=0)
    return best
