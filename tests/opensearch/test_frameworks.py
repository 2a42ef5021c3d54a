"""The parts for frameworks over an index give what they give over a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slice_os import Corpus, SpanEncoder

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # before it is imported
pytest.importorskip("haystack", reason="haystack is not installed; `make test` installs it")
pytest.importorskip("langchain_core", reason="langchain is not installed; `make test` installs it")

from haystack import Document

from slice_os.integrations.haystack_components import HaystackDocumentStore, HaystackRetriever
from slice_os.integrations.langchain_search import LangChainVectorStore

pytestmark = pytest.mark.release

DOCUMENTS = [
    Document(id="a", content="Please end my plan today.", meta={"queue": "sales", "year": 2019}),
    Document(id="b", content="I want to close my account.", meta={"queue": "sales", "year": 2020}),
    Document(id="c", content="The weather is nice in May.", meta={"queue": "other"}),
]
RECENT = {"field": "meta.year", "operator": ">=", "value": 2020}


def test_an_index_answers_as_a_folder(address: str, encoder: SpanEncoder, tmp_path: Path) -> None:
    answers = []
    for location in (str(tmp_path / "store"), address):
        store = HaystackDocumentStore(location)
        with Corpus(location, encoder) as corpus:
            store.corpus = corpus
            assert store.write_documents(DOCUMENTS) == 3
            retriever = HaystackRetriever(store, top_k=2)
            texts = LangChainVectorStore(corpus)
            answers.append(
                (
                    store.count_documents(),
                    store.filter_documents(),
                    store.filter_documents(RECENT),
                    [one.id for one in retriever.run("cancel my subscription")["documents"]],
                    [one.id for one in retriever.run("cancel", filters=RECENT)["documents"]],
                    texts.get_by_ids(["a", "none"]),
                    [one.id for one in texts.similarity_search("it is sunny", k=1)],
                )
            )
            store.delete_documents(["a", "none"])
            assert store.count_documents() == 2
    folder, index = answers
    assert index == folder
    assert folder[1] == DOCUMENTS
