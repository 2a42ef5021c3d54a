from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from haystack import Document, Pipeline
from haystack.components.writers import DocumentWriter
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy, FilterPolicy
from haystack.errors import FilterError
from haystack.testing.document_store import DocumentStoreBaseTests

from slice_os import Corpus, InputError, SpanEncoder
from slice_os.integrations.haystack_components import (
    HaystackDocumentStore,
    HaystackRetriever,
    where_of,
)
from slice_os.query.filters import Condition

from .conftest import PHRASE

pytestmark = pytest.mark.release


@pytest.fixture
def document_store(encoder: SpanEncoder, tmp_path: Path) -> Iterator[HaystackDocumentStore]:
    store = HaystackDocumentStore(str(tmp_path / "store"))
    store.corpus = Corpus(store.location, encoder)  # loaded once for all tests
    store.corpus.add([])
    with store.corpus:
        yield store


class TestDocumentStoreStandard(DocumentStoreBaseTests):
    @pytest.fixture
    def document_store(self, document_store: HaystackDocumentStore) -> HaystackDocumentStore:
        return document_store

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]) -> None:
        """Documents come by id and without embeddings: a corpus makes its own."""
        kept = [replace(document, embedding=None) for document in expected]
        assert received == sorted(kept, key=lambda document: document.id)

    def test_write_documents(self, document_store: HaystackDocumentStore) -> None:
        self.test_write_documents_duplicate_fail(document_store)


class TestDocumentStore:
    def test_nothing_is_written_if_one_is_there(
        self, document_store: HaystackDocumentStore
    ) -> None:
        one, other = Document(content="one thing"), Document(content="another")
        document_store.write_documents([one])
        for given in ([other, one], [other, other]):
            with pytest.raises(DuplicateDocumentError, match="1 of these documents are there"):
                document_store.write_documents(given)
        assert document_store.write_documents([other, one], DuplicatePolicy.SKIP) == 1
        assert document_store.count_documents() == 2

    def test_what_cannot_be_kept_is_refused(self, document_store: HaystackDocumentStore) -> None:
        with pytest.raises(InputError, match="document 'a' has no text to search"):
            document_store.write_documents([Document(id="a")])
        with pytest.raises(InputError, match=r"metadata field 'tags' is \['x'\]; give a string"):
            document_store.write_documents([Document(content="one", meta={"tags": ["x"]})])
        document_store.write_documents([Document(id="b", content="one", meta={"tags": None})])
        assert document_store.filter_documents() == [Document(id="b", content="one")]

    def test_the_first_documents_create_it(self, tmp_path: Path) -> None:
        store = HaystackDocumentStore(str(tmp_path / "new"))
        pipeline = Pipeline()
        pipeline.add_component("writer", DocumentWriter(store, DuplicatePolicy.SKIP))
        documents = [Document(content="Please end my plan today.")]
        for written in (1, 0):
            found = pipeline.run({"writer": {"documents": documents}})
            assert found["writer"]["documents_written"] == written


class TestRetriever:
    def test_a_pipeline_answers_with_evidence(self, contracts: Path) -> None:
        store = HaystackDocumentStore(str(contracts))
        retriever = HaystackRetriever(
            store, top_k=2, content="span", search_kwargs={"verify": True}
        )
        pipeline = Pipeline()
        pipeline.add_component("retriever", retriever)
        module = HaystackRetriever.__module__
        again = Pipeline.loads(pipeline.dumps(), allowed_modules=[module])
        answers = [
            each.run({"retriever": {"query": PHRASE}})["retriever"]["documents"]
            for each in (pipeline, again)
        ]
        assert answers[0] == answers[1]
        hits = store.corpus.search(PHRASE, top_k=2, verify=True)
        for document, hit in zip(answers[0], hits, strict=True):
            found = document.meta
            text = store.corpus.text(found["doc_id"])
            assert document.content == text[found["start"] : found["end"]] == hit.text
            assert document.score == hit.probability
            assert found["probability"] == pytest.approx(hit.probability, abs=1e-6)

    def test_filters_of_a_run_replace_or_add(self, document_store: HaystackDocumentStore) -> None:
        fields = {"a": ("sales", 2019), "b": ("sales", 2020), "c": ("support", 2020)}
        document_store.write_documents(
            [
                Document(id=name, content="End my plan.", meta={"queue": queue, "year": year})
                for name, (queue, year) in fields.items()
            ]
        )
        own = {"field": "meta.queue", "operator": "==", "value": "sales"}
        other = {"field": "meta.year", "operator": ">=", "value": 2020}
        for policy, expected in ((FilterPolicy.REPLACE, {"b", "c"}), (FilterPolicy.MERGE, {"b"})):
            retriever = HaystackRetriever(document_store, filters=own, filter_policy=policy)
            found = retriever.run("end my plan", filters=other, top_k=5)["documents"]
            assert {document.meta["doc_id"] for document in found} == expected
        assert len(HaystackRetriever(document_store).run("end my plan", top_k=1)["documents"]) == 1

    def test_other_content_is_refused(self, document_store: HaystackDocumentStore) -> None:
        with pytest.raises(InputError, match="no content 'page'; there are passage, span"):
            HaystackRetriever(document_store, content="page")


def comparison(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"field": f"meta.{field}", "operator": operator, "value": value}


def joined(operator: str, *conditions: dict[str, Any]) -> dict[str, Any]:
    return {"operator": operator, "conditions": list(conditions)}


A_IS_1, A_IS_2 = comparison("a", "==", 1), comparison("a", "==", 2)
B_IS_1 = comparison("b", "==", 1)


class TestFilters:
    @pytest.mark.parametrize(
        ("filters", "conditions"),
        [
            (None, []),
            ({}, []),
            (A_IS_1, [("a", "eq", ("1",))]),
            (comparison("a", "not in", [1, "x"]), [("a", "ne", ("1", "x"))]),
            (comparison("day", "<", "2026-06-01"), [("day", "lt", ("2026-06-01",))]),
            (
                joined("AND", A_IS_1, comparison("b", ">=", 0.5)),
                [("a", "eq", ("1",)), ("b", "gte", ("0.5",))],
            ),
            (joined("OR", A_IS_1, A_IS_2), [("a", "eq", ("1", "2"))]),
            (joined("OR", A_IS_1, comparison("a", "in", [2, 3])), [("a", "eq", ("1", "2", "3"))]),
            (joined("OR", B_IS_1), [("b", "eq", ("1",))]),
            (joined("NOT", A_IS_1), [("a", "ne", ("1",))]),
            (joined("NOT", comparison("a", "not in", [1, 2])), [("a", "eq", ("1", "2"))]),
        ],
    )
    def test_are_conditions(
        self, filters: dict[str, Any] | None, conditions: list[tuple[Any, ...]]
    ) -> None:
        assert where_of(filters) == tuple(Condition(*each) for each in conditions)

    @pytest.mark.parametrize(
        ("filters", "message"),
        [
            (joined("OR", A_IS_1, B_IS_1), "OR of 2 conditions: a search"),
            (joined("NOT", A_IS_1, B_IS_1), "NOT of 2 conditions"),
            (joined("NOT", comparison("a", ">", 1)), "NOT of 1 conditions"),
            (joined("XOR"), "give a field, or AND, OR or NOT"),
            ({"conditions": [A_IS_1]}, "give a field, or AND, OR or NOT with conditions"),
            ({"operator": "AND"}, "give a field, or AND, OR or NOT with conditions"),
            ({"field": "meta.a", "operator": "=="}, "no 'value'; give field, operator and value"),
            ({"operator": "AND", "conditions": ["a"]}, "give a field, or AND, OR or NOT with"),
            (comparison("a", "~", 1), "no '~'; give field, operator"),
            (comparison("a", ["=="], 1), "give field, operator and value"),
            ({"field": 1, "operator": "==", "value": 1}, "give meta.NAME, not 1"),
            ({"field": "id", "operator": "==", "value": "x"}, "give meta.NAME, not id"),
            (comparison("a", "in", 1), "meta.a: in takes a list, not 1"),
            (comparison("a", ">", "x"), "give a number, or a date"),
            (comparison("a", "==", None), "None is no value of a field"),
        ],
    )
    def test_others_are_refused(self, filters: dict[str, Any], message: str) -> None:
        with pytest.raises(FilterError, match=message) as caught:
            where_of(filters)
        assert "\n" not in str(caught.value)
