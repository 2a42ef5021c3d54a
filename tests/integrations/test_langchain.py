from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import (
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)

from slice_os import Corpus, InputError, SpanEncoder
from slice_os.integrations.evidence import evidence_of
from slice_os.integrations.langchain_search import LangChainRetriever, LangChainVectorStore

from .conftest import PHRASE

pytestmark = [pytest.mark.anyio, pytest.mark.release]


class TestRetrieverStandard(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _over(self, contracts: Path) -> None:
        self.contracts = contracts

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return LangChainRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"corpus": str(self.contracts)}

    @property
    def retriever_query_example(self) -> str:
        return PHRASE


class WithoutEvidence(LangChainVectorStore):
    """As the suite expects: what a search returns has the metadata that were added, and no more."""

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        (hit,) = self.corpus.search("foo", top_k=1) or [None]
        evidence = evidence_of(hit) if hit else {}
        return [
            document.model_copy(
                update={
                    "metadata": {
                        name: value
                        for name, value in document.metadata.items()
                        if name not in evidence
                    }
                }
            )
            for document in super().similarity_search(query, k, **kwargs)
        ]


class TestVectorStoreStandard(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, encoder: SpanEncoder, tmp_path: Path) -> Iterator[VectorStore]:
        with Corpus(tmp_path / "store", encoder) as corpus:
            corpus.add([])
            yield WithoutEvidence(corpus)


class TestRetriever:
    def test_documents_are_hits_with_their_evidence(
        self, contracts: Path, encoder: SpanEncoder
    ) -> None:
        with Corpus(contracts, encoder) as corpus:
            retriever = LangChainRetriever(
                corpus=corpus, k=3, content="span", search_kwargs={"threshold": 0.3, "verify": True}
            )
            documents = retriever.invoke(PHRASE)
            hits = corpus.search(PHRASE, top_k=3, threshold=0.3, verify=True)
            assert len(hits) == 3
            for document, hit in zip(documents, hits, strict=True):
                found = document.metadata
                text = corpus.text(found["doc_id"])
                assert document.page_content == text[found["start"] : found["end"]] == hit.text
                assert text[found["passage_start"] : found["passage_end"]] == hit.passage.text
                assert found["cosine"] == pytest.approx(hit.cosine, abs=1e-6)
                assert found["probability"] == pytest.approx(hit.probability, abs=1e-6)
                assert found["reasons"] == list(hit.reasons)
            (whole,) = LangChainRetriever(corpus=corpus, k=1).invoke(PHRASE)
            assert whole.page_content == hits[0].passage.text

    async def test_a_call_can_choose(self, contracts: Path) -> None:
        retriever = LangChainRetriever(corpus=contracts)
        assert not await retriever.ainvoke(PHRASE, threshold=0.99)
        with pytest.raises(InputError, match="no content 'page'; there are passage, span"):
            LangChainRetriever(corpus=contracts, content="page")


class TestVectorStore:
    @pytest.fixture
    def store(self, encoder: SpanEncoder, tmp_path: Path) -> Iterator[LangChainVectorStore]:
        with Corpus(tmp_path / "store", encoder) as corpus:
            store = LangChainVectorStore(corpus)
            store.add_documents(
                [
                    Document(
                        id="call",
                        page_content="Hello. I would like to close my account, please.",
                        metadata={"queue": "retention", "note": None},
                    ),
                    Document(id="other", page_content="The weather is nice in May."),
                ]
            )
            yield store

    def test_scores_are_relevances(self, store: LangChainVectorStore) -> None:
        phrase = "I want to cancel my subscription"
        (best, score), (_, worse) = store.similarity_search_with_score(phrase)
        (hit, _) = store.corpus.search(phrase)
        assert (best.metadata["doc_id"], score) == ("call", hit.probability)
        assert score > worse
        (only,) = store.similarity_search_with_relevance_scores(phrase, score_threshold=0.15)
        assert only[0].metadata["queue"] == "retention"
        assert store.similarity_search_with_relevance_scores("Yes")[-1][1] >= 0
        retriever = store.as_retriever(
            search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.15}
        )
        assert [document.id for document in retriever.invoke(phrase)] == ["call"]

    def test_arguments_of_a_search_are_passed_on(self, store: LangChainVectorStore) -> None:
        found = store.similarity_search("nice", where={"queue": "retention"})
        assert [document.id for document in found] == ["call"]

    def test_documents_come_back_whole(self, store: LangChainVectorStore) -> None:
        (whole,) = store.get_by_ids(["call", "none", "call"])
        assert whole.page_content == store.corpus.text("call")
        assert whole.metadata == {"queue": "retention"}

    def test_all_documents_can_be_deleted(self, store: LangChainVectorStore) -> None:
        assert store.delete()
        assert len(store.corpus) == 0
        assert not store.delete(["call"])

    def test_it_is_made_from_texts(self, tmp_path: Path) -> None:
        store = LangChainVectorStore.from_texts(
            ["End my plan."], metadatas=[{"n": 1}], corpus=tmp_path / "new", content="span"
        )
        (found,) = store.similarity_search("end my plan")
        assert (found.page_content, found.metadata["n"]) == ("End my plan", 1)
        with pytest.raises(InputError, match="has an encoder of its own; give None"):
            LangChainVectorStore.from_texts(
                ["x"], DeterministicFakeEmbedding(size=3), corpus=tmp_path / "other"
            )

    def test_wrong_arguments_are_refused(self, store: LangChainVectorStore) -> None:
        with pytest.raises(InputError, match="1 texts with 2 ids and 1 metadatas: give one of"):
            store.add_texts(["x"], ids=["a", "b"])
        with pytest.raises(InputError, match="add_texts has no argument batch"):
            store.add_texts(["x"], batch=3)
        with pytest.raises(InputError, match=r"metadata field 'tags' is \['a'\]; give a string"):
            store.add_texts(["x"], [{"tags": ["a"]}])
