"""The contract of a store about its documents, as tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray, unit_rows
from slice_os.encoder.model_folder import ModelCard
from slice_os.errors import EncoderMismatchError, StoreError
from slice_os.query.filters import parse_where
from slice_os.query.query import Phrases, Query
from slice_os.search.run import search
from slice_os.spans.passages import DocumentPart, EncodedPassage
from slice_os.stores.candidates import StoredPassage
from slice_os.stores.protocol import DocumentEntry, NewStore, SourceEntry, Store
from slice_os.stores.registry import create_store, open_store, store_exists
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


def fill(
    store: Store, documents: Iterable[Document], words_each: int = 7
) -> dict[str, DocumentPart]:
    """Write documents with random vectors; returns them by id."""
    parts = {
        document.id: random_part(document, n, words_each) for n, document in enumerate(documents)
    }
    with store.writer() as writer:
        rejections = [rejection for part in parts.values() for rejection in writer.write(part)]
        assert not [*rejections, *writer.flush()]
    return parts


def everything(store: Store) -> list[StoredPassage]:
    """All passages, in stored order."""
    found = store.scan(random_query("number"), -1.0, exhaustive=True)
    return [one for each in found for one in each.load(each.keys).values()]


class DocumentContract(StoreTests):
    """Documents are written whole, replaced, deleted, listed, and read again."""

    def test_an_empty_store_answers(self, location: str) -> None:
        assert not store_exists(location)
        with refused(StoreError):
            open_store(location)
        store = self.made(location)
        assert store_exists(location)
        found = store.rank(random_query("one", "two"), 10)
        assert (list(found.keys), found.cosines.shape) == ([], (2, 0))
        assert list(store.scan(random_query("one"), 0.5, exhaustive=True)) == []
        assert not search(store, random_query("one"))
        info = store.info()
        assert (info.encoder, info.max_pieces) == (CARD, MAX_PIECES)
        assert (info.documents, info.passages, info.words, info.pieces) == (0, 0, 0, 0)
        assert not list(store.list_documents())
        assert not list(store.list_sources())
        assert store.document_text("a") is None
        assert store.document_metadata("a") is None
        assert store.fields() == {}

    def test_documents_come_back_as_given(self, location: str) -> None:
        text = " one two\r\nthree 👩‍👩‍👧‍👦, Straße.\n" + "further words " * 9
        document = Document("ä/a b", text, {"lang": "en", "n": 5, "ok": True})
        store = self.made(location)
        parts = fill(store, [document, Document("dots", " ... ", {"lang": "xx"})])
        assert store.document_text(document.id) == text
        assert store.document_metadata(document.id) == document.metadata
        assert store.document_text("dots") == " ... "
        assert store.document_metadata("dots") == {"lang": "xx"}
        stored = store.find_documents([document.id, "nothing"])
        assert {key: one.fingerprint for key, one in stored.items()} == {
            document.id: document.fingerprint
        }
        passages = parts[document.id].passages
        found = everything(store)
        assert [one.text for one in found] == [text[one.start : one.end] for one in passages]
        for one, passage in zip(found, passages, strict=True):
            assert one.doc_id == document.id
            assert one.encoded.metadata == document.metadata
            assert (one.encoded.words[:, :2] == passage.words[:, :2]).all()
        info = store.info()
        assert (info.documents, info.passages) == (2, len(passages))
        assert info.words == sum(len(passage.words) for passage in passages)

    def test_a_document_replaces_an_earlier_one(self, location: str) -> None:
        store = self.filled(location, numbered(5))
        fill(store, [Document("doc 2", "something else")])
        assert store.info().documents == 5
        assert store.document_text("doc 2") == "something else"
        texts = [one.text for one in everything(store) if one.doc_id == "doc 2"]
        assert texts == ["something else"]

    def test_deleted_documents_are_gone(self, location: str) -> None:
        store = self.filled(location, numbered(5))
        with store.writer() as writer:
            assert writer.delete(["doc 1", "nothing", "doc 3", "doc 1"]) == 2
        assert store.info().documents == 3
        assert store.document_text("doc 1") is None
        assert {one.doc_id for one in everything(store)} == {"doc 0", "doc 2", "doc 4"}

    def test_a_half_written_document_stays_invisible(self, location: str) -> None:
        store = self.made(location)
        begun = random_part(Document("cut", "the missing text " * 9))
        with suppress(_StoppedError), store.writer() as writer:
            writer.write(random_part(Document("whole", "complete")))
            writer.flush()
            writer.write(DocumentPart(begun.document, begun.passages[:1], last=False))
            raise _StoppedError
        assert list(store.find_documents(["cut", "whole"])) == ["whole"]
        assert [entry.id for entry in store.list_documents()] == ["whole"]
        assert store.document_text("cut") is None
        assert store.info().documents == 1
        # A store may keep what is left until the next writer ends.
        fill(store, [Document("next", "and on it goes")])
        assert {one.doc_id for one in everything(store)} == {"whole", "next"}
        assert store.info().passages == 2

    def test_a_document_in_parts_is_one(self, location: str) -> None:
        store = self.made(location)
        whole = random_part(Document("long", "some words of it. " * 12))
        with store.writer() as writer:
            for number, passage in enumerate(whole.passages, start=1):
                last = number == len(whole.passages)
                writer.write(DocumentPart(whole.document, (passage,), last))
        assert store.document_text("long") == whole.document.text
        assert list(store.list_documents()) == [DocumentEntry("long", "", len(whole.passages))]
        starts = [one.encoded.start for one in everything(store)]
        assert starts == [passage.start for passage in whole.passages]

    def test_sources_are_known(self, location: str) -> None:
        store = self.made(location)
        one, two = (Document(name, "x", source=f"source {name}") for name in "ab")
        fill(store, [one, two, Document("c", "x")])
        with store.writer() as writer:
            for source, signature in ((one.source, "1"), (one.source, "2"), (two.source, "3")):
                writer.finish_source(source, signature)
        names = [one.source, two.source, "nothing"]
        assert store.source_signatures(names) == {one.source: "2", two.source: "3"}
        assert store.document_ids(*names) == {"a", "b"}
        with store.writer() as writer:
            writer.assign(["b"], one.source)
            writer.forget_source(two.source)
        assert store.document_ids(one.source) == {"a", "b"}
        assert store.source_signatures(names) == {one.source: "2"}
        assert list(store.list_sources()) == [SourceEntry("", 1), SourceEntry(one.source, 2)]
        assert store.find_documents(["b"])["b"].source == one.source

    def test_documents_are_listed_by_id(self, location: str) -> None:
        store = self.made(location)
        parts = fill(store, reversed(numbered(12)))
        entries = [DocumentEntry(key, "", len(parts[key].passages)) for key in sorted(parts)]
        assert list(store.list_documents()) == entries
        assert list(store.list_documents(after=entries[4].id)) == entries[5:]
        assert list(store.list_documents(after="doc 1~")) == entries[4:]
        assert list(store.list_documents(after="z")) == []

    def test_a_store_is_opened_again(self, location: str) -> None:
        store = self.filled(location, numbered(4))
        before = [(one.doc_id, one.text) for one in everything(store)]
        store.close()
        create_store(location, NewStore(CARD, MAX_PIECES, options=self.options))
        again = open_store(location, CARD)
        assert [(one.doc_id, one.text) for one in everything(again)] == before
        assert again.info().documents == 4

    def test_another_encoder_is_refused(self, location: str) -> None:
        store = self.made(location)
        other = replace(CARD, encoder_id="ffffffffffffffff")
        with refused(EncoderMismatchError):
            open_store(location, other)
        with refused(EncoderMismatchError):
            store.check_encoder(other)
        store.check_encoder(CARD)


class _StoppedError(Exception):
    pass
