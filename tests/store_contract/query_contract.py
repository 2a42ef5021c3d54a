"""The contract of a store about scores, filters and pages, as tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from slice_os.errors import InputError
from slice_os.query.options import SearchOptions
from slice_os.search.run import mine, search
from slice_os.spans.passages import DocumentPart
from slice_os.stores.protocol import FieldValue
from slice_os.text.documents import Document

from .document_contract import (
    StoreTests,
    best_cosines,
    fill,
    numbered,
    random_part,
    random_query,
    refused,
)

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
    ({"lang": "en", "n": 50}, ""),
    ({"ok": True}, "a"),
    ({"day": "2026-06"}, "b"),
    ({"day": {"gte": "2026-05-02"}}, "b"),
    ({"day": {"lt": "2026-06"}}, "a"),
    ({"lang": ["en", "de"], "n": {"gt": 5}}, "b"),
    ({"_id": ["b", "nothing"]}, "b"),
    ({"_id": {"ne": "b"}}, "acd"),
)


class QueryContract(StoreTests):
    """Scores are exact, filters admit what they say, and nothing above a threshold is missed."""

    def test_cosines_are_exact(self, location: str) -> None:
        store = self.made(location)
        parts = fill(store, numbered(20))
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
        store = self.filled(location, [Document("a", "one"), Document("b", "one two three")])
        asked = replace(random_query("one"), min_words=2)
        ranked = store.rank(asked, 10)
        found = ranked.load(ranked.keys)
        finite = {
            found[key].doc_id: bool(np.isfinite(cosine))
            for key, cosine in zip(ranked.keys, ranked.cosines[0], strict=True)
        }
        assert finite == {"a": False, "b": True}

    def test_a_scan_finds_everything_above_a_threshold(self, location: str) -> None:
        store = self.filled(location, numbered(20))
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
        store = self.made(location)
        texts = {
            "none": "nothing of that kind",
            "once": "the zebra walks slowly home",
            "twice": "the zebra and that zebra",
            "other": "another plan comes along today",
            "plan": "this plan comes along today",
        }
        fill(store, [Document(name, text) for name, text in texts.items()])
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
        store = self.filled(location, FILTERED)
        for where, ids in FILTERS:
            ranked = store.rank(random_query("one", where=where), 100)
            found = {one.doc_id for one in ranked.load(ranked.keys).values()}
            assert found == set(ids), where
            swept = store.scan(random_query("one", where=where), -1.0, exhaustive=True)
            loaded = [one for each in swept for one in each.load(each.keys).values()]
            assert {one.doc_id for one in loaded} == set(ids), where
        with refused(InputError):
            store.rank(random_query("one", where={"unknown": "x"}), 100)

    def test_filters_see_the_fields_of_a_passage_first(self, location: str) -> None:
        store = self.made(location)
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
        store = self.filled(location, [*FILTERED, Document("e", "one", {"lang": "de"})])
        kinds = store.fields()
        assert (kinds["lang"], kinds["n"]) == ("text", "number")
        assert kinds.keys() == {"lang", "n", "ok", "day"}
        values = [FieldValue("de", 2), FieldValue("en", 1), FieldValue("fr", 1)]
        assert store.field_values("lang", 10) == values
        assert store.field_values("lang", 1) == values[:1]
        assert store.field_values("lang", None) == values
        with refused(InputError):
            store.field_values("unknown", 10)

    def test_pages_make_the_whole(self, location: str) -> None:
        store = self.filled(location, numbered(15))
        asked = random_query("number", "here zero")
        whole = list(search(store, asked, SearchOptions(top_k=12)))
        assert len(whole) == 12
        pages = [search(store, asked, SearchOptions(top_k=4, offset=start)) for start in (0, 4, 8)]
        places = [(hit.doc_id, hit.start, hit.end) for page in pages for hit in page]
        assert places == [(hit.doc_id, hit.start, hit.end) for hit in whole]
        assert len(set(places)) == 12
        scores = [hit.score for hit in whole]
        assert scores == sorted(scores, reverse=True)


def _above(best: Mapping[Any, float], threshold: float) -> set[Any]:
    return {key for key, cosine in best.items() if cosine >= threshold}
