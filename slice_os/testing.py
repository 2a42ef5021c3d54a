"""Tests that every kind of store passes; those of a store of your own inherit them.

Use pytest, and define a fixture with an address where there is no store yet:

    class TestMyStore(StoreConformance):
        @pytest.fixture
        def location(self) -> str:
            return f"mine://localhost/{uuid4().hex}"
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.encoder.model_folder import ModelCard
from slice_os.errors import EncoderMismatchError, InputError, StoreError
from slice_os.query.filters import parse_where
from slice_os.query.options import SearchOptions
from slice_os.query.query import Phrases, Query
from slice_os.search.run import mine, search
from slice_os.spans.passages import DocumentPart, EncodedPassage
from slice_os.stores.backend import NewStore
from slice_os.stores.candidates import StoredPassage
from slice_os.stores.protocol import DocumentEntry, FieldValue, SourceEntry, Store
from slice_os.stores.registry import create_store, open_store, store_exists
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
MAX_PIECES = 128
# Of a cosine: quantisation may change it by so much, and the arithmetic by so much.
QUANTISED = 0.02
COMPUTED = 1e-4

FILTERED = (
    Document("a", "one", {"lang": "en", "n": 5, "ok": True, "day": "2026-05-01"}),
    Document("b", "one", {"lang": "de", "n": 50, "ok": False, "day": "2026-06-15"}),
    Document("c", "one", {"lang": "fr", "n": -3}),
    Document("d", "one"),
)
# A filter, and the ids of the documents that it admits.
FILTERS: tuple[tuple[Mapping[str, Any], str], ...] = (
    ({}, "abcd"),
    ({"lang": "EN"}, "a"),
    ({"lang": ["en", "fr", "xx"]}, "ac"),
    ({"lang": []}, ""),
    ({"lang": "xx"}, ""),
    ({"lang": {"ne": "en"}}, "bcd"),
    ({"n": 5}, "a"),
    ({"n": {"ne": [5, 50]}}, "cd"),
    ({"n": {"gt": 5}}, "b"),
    ({"n": {"gte": 5}}, "ab"),
    ({"n": {"lt": 5}}, "c"),
    ({"n": {"lte": 5.0}}, "ac"),
    ({"ok": True}, "a"),
    ({"day": "2026-06"}, "b"),
    ({"day": {"gte": "2026-05-02"}}, "b"),
    ({"day": {"lt": "2026-06"}}, "a"),
    ({"lang": ["en", "de"], "n": {"gt": 5}}, "b"),
    ({"_id": ["b", "nothing"]}, "b"),
    ({"_id": {"ne": "b"}}, "acd"),
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


class StoreConformance:
    """The contract of `slice_os.stores.protocol.Store`, as tests.

    Attributes:
        options: for new stores; see `NewStore`.
    """

    options: object | None = None

    def test_an_empty_store_answers(self, location: str) -> None:
        assert not store_exists(location)
        with _refused(StoreError):
            open_store(location)
        store = self._made(location)
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
        store = self._made(location)
        parts = _fill(store, [document, Document("dots", " ... ")])
        assert store.document_text(document.id) == text
        assert store.document_metadata(document.id) == document.metadata
        assert store.document_text("dots") == " ... "
        stored = store.find_documents([document.id, "nothing"])
        assert {key: one.fingerprint for key, one in stored.items()} == {
            document.id: document.fingerprint
        }
        passages = parts[document.id].passages
        found = _everything(store)
        assert [one.text for one in found] == [text[one.start : one.end] for one in passages]
        for one, passage in zip(found, passages, strict=True):
            assert one.doc_id == document.id
            assert one.encoded.metadata == document.metadata
            assert (one.encoded.words[:, :2] == passage.words[:, :2]).all()
        info = store.info()
        assert (info.documents, info.passages) == (2, len(passages))
        assert info.words == sum(len(passage.words) for passage in passages)

    def test_a_document_replaces_an_earlier_one(self, location: str) -> None:
        store = self._made(location)
        _fill(store, _documents(5))
        _fill(store, [Document("doc 2", "something else")])
        assert store.info().documents == 5
        assert store.document_text("doc 2") == "something else"
        texts = [one.text for one in _everything(store) if one.doc_id == "doc 2"]
        assert texts == ["something else"]

    def test_deleted_documents_are_gone(self, location: str) -> None:
        store = self._made(location)
        _fill(store, _documents(5))
        with store.writer() as writer:
            assert writer.delete(["doc 1", "nothing", "doc 3", "doc 1"]) == 2
        assert store.info().documents == 3
        assert store.document_text("doc 1") is None
        assert {one.doc_id for one in _everything(store)} == {"doc 0", "doc 2", "doc 4"}

    def test_a_half_written_document_stays_invisible(self, location: str) -> None:
        store = self._made(location)
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
        _fill(store, [Document("next", "and on it goes")])
        assert {one.doc_id for one in _everything(store)} == {"whole", "next"}
        assert store.info().passages == 2

    def test_a_document_in_parts_is_one(self, location: str) -> None:
        store = self._made(location)
        whole = random_part(Document("long", "some words of it. " * 12))
        with store.writer() as writer:
            for number, passage in enumerate(whole.passages, start=1):
                last = number == len(whole.passages)
                writer.write(DocumentPart(whole.document, (passage,), last))
        assert store.document_text("long") == whole.document.text
        assert list(store.list_documents()) == [DocumentEntry("long", "", len(whole.passages))]
        starts = [one.encoded.start for one in _everything(store)]
        assert starts == [passage.start for passage in whole.passages]

    def test_sources_are_known(self, location: str) -> None:
        store = self._made(location)
        one, two = (Document(name, "x", source=f"source {name}") for name in "ab")
        _fill(store, [one, two, Document("c", "x")])
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
        store = self._made(location)
        parts = _fill(store, reversed(_documents(12)))
        entries = [DocumentEntry(key, "", len(parts[key].passages)) for key in sorted(parts)]
        assert list(store.list_documents()) == entries
        assert list(store.list_documents(after=entries[4].id)) == entries[5:]
        assert list(store.list_documents(after="doc 1~")) == entries[4:]
        assert list(store.list_documents(after="z")) == []

    def test_cosines_are_exact(self, location: str) -> None:
        store = self._made(location)
        parts = _fill(store, _documents(20))
        with store.writer() as writer:
            writer.delete(["doc 0", "doc 7"])
        asked = random_query("number", "here", "zero")
        ranked = store.rank(asked, 1_000)
        found = ranked.load(ranked.keys)
        assert len(ranked.keys) == len(found) == store.info().passages
        for column, key in enumerate(ranked.keys):
            stored = found[key]
            of_stored = best_cosines(stored.encoded, asked.phrases.vectors)
            assert np.allclose(ranked.cosines[:, column], of_stored, atol=COMPUTED)
            (given,) = (
                passage
                for passage in parts[stored.doc_id].passages
                if passage.start == stored.encoded.start
            )
            of_given = best_cosines(given, asked.phrases.vectors)
            assert np.allclose(ranked.cosines[:, column], of_given, atol=QUANTISED)

    def test_spans_have_the_words_of_the_query(self, location: str) -> None:
        store = self._made(location)
        _fill(store, [Document("a", "one"), Document("b", "one two three")])
        asked = replace(random_query("one"), min_words=2)
        ranked = store.rank(asked, 10)
        found = ranked.load(ranked.keys)
        finite = {
            found[key].doc_id: bool(np.isfinite(cosine))
            for key, cosine in zip(ranked.keys, ranked.cosines[0], strict=True)
        }
        assert finite == {"a": False, "b": True}

    def test_a_scan_finds_everything_above_a_threshold(self, location: str) -> None:
        store = self._made(location)
        _fill(store, _documents(20))
        asked = random_query("number", "zero")
        ranked = store.rank(asked, 1_000)
        best = dict(zip(ranked.keys, ranked.cosines.max(axis=0).tolist(), strict=True))
        order = sorted(best.values())
        middle = len(order) // 2
        threshold = (order[middle] + order[middle + 1]) / 2
        for least, expected in ((-1.0, set(best)), (threshold, _above(best, threshold))):
            keys = [key for each in store.scan(asked, least, exhaustive=True) for key in each.keys]
            assert len(keys) == len(set(keys))
            assert set(keys) == expected
        some = [key for each in store.scan(asked, threshold, exhaustive=False) for key in each.keys]
        assert set(some) <= _above(best, threshold)
        hits = list(mine(store, asked, threshold=threshold))
        assert {hit.doc_id for hit in hits} == {
            one.doc_id for one in ranked.load(sorted(_above(best, threshold), key=str)).values()
        }
        for hit in hits:
            assert hit.cosine >= threshold
            assert (store.document_text(hit.doc_id) or "")[hit.start : hit.end] == hit.text

    def test_bm25_ranks_by_terms(self, location: str) -> None:
        store = self._made(location)
        texts = {
            "none": "nothing of that kind",
            "once": "the zebra walks slowly home",
            "twice": "the zebra and that zebra",
            "other": "another plan comes along today",
            "plan": "this plan comes along today",
        }
        _fill(store, [Document(name, text) for name, text in texts.items()])
        asked = random_query("zebra", "plan zebra", "xylophone")
        ranked = store.rank(asked, 100)
        names = [ranked.load([key])[key].doc_id for key in ranked.keys]
        first, both, absent = (dict(zip(names, row, strict=True)) for row in ranked.bm25.tolist())
        assert first["twice"] > first["once"] > 0
        assert {name for name, score in first.items() if score > 0} == {"once", "twice"}
        assert {name for name, score in both.items() if score > 0} == texts.keys() - {"none"}
        assert not any(absent.values())
        assert np.allclose(ranked.bm25_best, ranked.bm25.max(axis=1))

    def test_filters_admit(self, location: str) -> None:
        store = self._made(location)
        _fill(store, FILTERED)
        for where, ids in FILTERS:
            ranked = store.rank(random_query("one", where=where), 100)
            found = {one.doc_id for one in ranked.load(ranked.keys).values()}
            assert found == set(ids), where
            swept = store.scan(random_query("one", where=where), -1.0, exhaustive=True)
            loaded = [one for each in swept for one in each.load(each.keys).values()]
            assert {one.doc_id for one in loaded} == set(ids), where
        with _refused(InputError):
            store.rank(random_query("one", where={"unknown": "x"}), 100)

    def test_filters_see_the_fields_of_a_passage_first(self, location: str) -> None:
        store = self._made(location)
        document = Document("a", "one two", {"speaker": "nobody", "lang": "en"})
        part = random_part(document, words_each=1)
        said = zip(part.passages, ("Ann", "Bob"), strict=True)
        passages = tuple(replace(one, metadata={"speaker": name}) for one, name in said)
        with store.writer() as writer:
            writer.write(DocumentPart(document, passages, last=True))
        cases: tuple[tuple[Mapping[str, Any], list[str]], ...] = (
            ({"speaker": "Ann"}, ["one"]),
            ({"speaker": "nobody"}, []),
            ({"lang": "en", "speaker": ["Bob", "Cy"]}, ["two"]),
        )
        for where, texts in cases:
            ranked = store.rank(random_query("one", where=where), 100)
            assert [one.text for one in ranked.load(ranked.keys).values()] == texts

    def test_fields_and_their_values_are_listed(self, location: str) -> None:
        store = self._made(location)
        _fill(store, [*FILTERED, Document("e", "one", {"lang": "de"})])
        kinds = store.fields()
        assert (kinds["lang"], kinds["n"]) == ("text", "number")
        assert kinds.keys() == {"lang", "n", "ok", "day"}
        values = [FieldValue("de", 2), FieldValue("en", 1), FieldValue("fr", 1)]
        assert store.field_values("lang", 10) == values
        assert store.field_values("lang", 1) == values[:1]
        with _refused(InputError):
            store.field_values("unknown", 10)

    def test_pages_make_the_whole(self, location: str) -> None:
        store = self._made(location)
        _fill(store, _documents(15))
        asked = random_query("number", "here zero")
        whole = list(search(store, asked, SearchOptions(top_k=12)))
        assert len(whole) == 12
        pages = [search(store, asked, SearchOptions(top_k=4, offset=start)) for start in (0, 4, 8)]
        places = [(hit.doc_id, hit.start, hit.end) for page in pages for hit in page]
        assert places == [(hit.doc_id, hit.start, hit.end) for hit in whole]
        assert len(set(places)) == 12
        scores = [hit.score for hit in whole]
        assert scores == sorted(scores, reverse=True)

    def test_a_store_is_opened_again(self, location: str) -> None:
        store = self._made(location)
        _fill(store, _documents(4))
        before = [(one.doc_id, one.text) for one in _everything(store)]
        store.close()
        create_store(location, NewStore(CARD, MAX_PIECES, options=self.options))
        again = open_store(location, CARD)
        assert [(one.doc_id, one.text) for one in _everything(again)] == before
        assert again.info().documents == 4

    def test_another_encoder_is_refused(self, location: str) -> None:
        store = self._made(location)
        other = replace(CARD, encoder_id="ffffffffffffffff")
        with _refused(EncoderMismatchError):
            open_store(location, other)
        with _refused(EncoderMismatchError):
            store.check_encoder(other)
        store.check_encoder(CARD)

    def _made(self, location: str) -> Store:
        create_store(location, NewStore(CARD, MAX_PIECES, options=self.options))
        return open_store(location, CARD)


class _StoppedError(Exception):
    pass


@contextmanager
def _refused(kind: type[Exception]) -> Iterator[None]:
    """Expect an error of one line."""
    told = None
    try:
        yield
    except kind as error:
        told = str(error)
    assert told, f"no {kind.__name__}"
    assert "\n" not in told


def _documents(count: int) -> list[Document]:
    return [Document(f"doc {n}", f"number {n} is here. " * (1 + n % 4)) for n in range(count)]


def _fill(store: Store, documents: Iterable[Document]) -> dict[str, DocumentPart]:
    parts = {document.id: random_part(document, n) for n, document in enumerate(documents)}
    with store.writer() as writer:
        rejections = [rejection for part in parts.values() for rejection in writer.write(part)]
        assert not [*rejections, *writer.flush()]
    return parts


def _everything(store: Store) -> list[StoredPassage]:
    """All passages, in stored order."""
    found = store.scan(random_query("number"), -1.0, exhaustive=True)
    return [one for each in found for one in each.load(each.keys).values()]


def _above(best: Mapping[Any, float], threshold: float) -> set[Any]:
    return {key for key, cosine in best.items() if cosine >= threshold}
