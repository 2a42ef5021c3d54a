from __future__ import annotations

from pathlib import Path

import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode

from slice_os import Corpus, Document, InputError, SpanEncoder
from slice_os.integrations.llama_index_retriever import LlamaIndexRetriever

from .conftest import PHRASE

pytestmark = [pytest.mark.anyio, pytest.mark.release]


@pytest.mark.parametrize("content", ["passage", "span"])
def test_nodes_are_hits_with_their_evidence(
    contracts: Path, encoder: SpanEncoder, content: str
) -> None:
    with Corpus(contracts, encoder) as corpus:
        options = {"threshold": 0.3, "verify": True}
        retriever = LlamaIndexRetriever(corpus, 3, content, search_kwargs=options)
        hits = corpus.search(PHRASE, top_k=3, threshold=0.3, verify=True)
        assert len(hits) == 3
        for found, hit in zip(retriever.retrieve(PHRASE), hits, strict=True):
            node = found.node
            text = corpus.text(hit.doc_id)
            assert node.get_content() == text[node.start_char_idx : node.end_char_idx]
            assert text[node.metadata["start"] : node.metadata["end"]] == hit.text
            assert (found.score, node.ref_doc_id) == (hit.probability, hit.doc_id)
            assert node.metadata["reasons"] == list(hit.reasons)
            assert node.metadata["probability"] == pytest.approx(hit.probability, abs=1e-6)


async def test_all_hits_of_a_document_come_back(encoder: SpanEncoder, tmp_path: Path) -> None:
    text = "Please end my plan. " * 40
    with Corpus(tmp_path / "store", encoder) as corpus:
        corpus.add([Document("call", text, {"queue": "retention"})])
        passages = corpus.info().passages
        assert passages > 1
        found = await LlamaIndexRetriever(corpus).aretrieve("end my plan")
    assert len({one.node.node_id for one in found}) == passages
    # A language model reads what a person noted, not where the hit is.
    assert found[0].node.get_content(MetadataMode.LLM).startswith("queue: retention\n")
    assert "cosine" not in found[0].node.get_content(MetadataMode.LLM)


def test_a_query_engine_answers_from_it(contracts: Path) -> None:
    retriever = LlamaIndexRetriever(str(contracts), similarity_top_k=2)
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    answer = engine.query(PHRASE)
    assert len(answer.source_nodes) == 2
    assert answer.source_nodes[0].node.get_content() in str(answer)


def test_other_content_is_refused(contracts: Path) -> None:
    with pytest.raises(InputError, match="no content 'page'; there are passage, span"):
        LlamaIndexRetriever(contracts, content="page")
