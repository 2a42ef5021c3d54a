"""Documents, queries and stores with random vectors, and the cosines of spans one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray, unit_rows
from slice_os.encoder.model_folder import ModelCard
from slice_os.query.filters import parse_where
from slice_os.query.query import Phrases, Query
from slice_os.spans.passages import DocumentPart, EncodedPassage
from slice_os.stores.candidates import StoredPassage
from slice_os.stores.protocol import NewStore, Store
from slice_os.stores.registry import create_store, open_store
from slice_os.text.documents import Document
from slice_os.text.words import find_words

MAX_PIECES = 128
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
    """A document with random vectors: one piece for each word, and one between two words."""
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


def random_query(*texts: str, where: Mapping[str, Any] | None = None) -> Query:
    """A query for phrases with random vectors."""
    units = unit_rows(np.random.default_rng(9).standard_normal((len(texts), CARD.dimension)))
    return Query(Phrases(texts, units), parse_where(where), CARD.min_words, CARD.max_words)


def best_cosines(passage: EncodedPassage, phrases: FloatArray) -> FloatArray:
    """``(n_phrases,)`` best cosines of unit rows over all spans, which are computed one by one."""
    n_words = len(passage.words)
    spans = [
        passage.vectors[passage.words[i, 2] : passage.words[j, 3]].mean(axis=0, dtype=float)
        for i in range(n_words)
        for j in range(i, min(i + CARD.max_words, n_words))
    ]
    units = np.array(spans) / np.linalg.norm(spans, axis=1, keepdims=True)
    best: FloatArray = (units @ phrases.T).max(axis=0)
    return best


class StoreTests:
    """Tests of a store at the fixture ``location``, where there is none yet."""

    options: object | None = None

    def made(self, location: str) -> Store:
        """A new store."""
        create_store(location, NewStore(CARD, MAX_PIECES, options=self.options))
        return open_store(location, CARD)

    def filled(self, location: str, documents: Iterable[Document]) -> Store:
        """A new store with documents that have random vectors."""
        store = self.made(location)
        fill(store, documents)
        return store


@contextmanager
def refused(kind: type[Exception]) -> Iterator[None]:
    """Expect an error of one line."""
    told = None
    try:
        yield
    except kind as error:
        told = str(error)
    assert told, f"no {kind.__name__}"
    assert "\n" not in told


def numbered(count: int) -> list[Document]:
    """Documents of one to four sentences."""
    return [Document(f"doc {n}", f"number {n} is here. " * (1 + n % 4)) for n in range(count)]


def fill(store: Store, documents: Iterable[Document]) -> dict[str, DocumentPart]:
    """Write documents with random vectors; returns them by id."""
    parts = {document.id: random_part(document, n) for n, document in enumerate(documents)}
    with store.writer() as writer:
        rejections = [rejection for part in parts.values() for rejection in writer.write(part)]
        assert not [*rejections, *writer.flush()]
    return parts


def everything(store: Store) -> list[StoredPassage]:
    """All passages, in stored order."""
    found = store.scan(random_query("number"), -1.0, exhaustive=True)
    return [one for each in found for one in each.load(each.keys).values()]
