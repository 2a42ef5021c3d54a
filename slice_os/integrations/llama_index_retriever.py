"""LlamaIndex: a retriever.

Examples:
    >>> retriever = LlamaIndexRetriever("demo.slice", similarity_top_k=3)
    >>> for found in retriever.retrieve("either party may end this agreement at any time"):
    ...     found.score, found.node.ref_doc_id, found.node.get_content()
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from slice_os.corpus import Corpus
from slice_os.errors import MissingExtraError
from slice_os.hits.hit import Hit
from slice_os.integrations import evidence

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import (
        NodeRelationship,
        NodeWithScore,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )
except ImportError:
    raise MissingExtraError("LlamaIndex", "llama-index") from None


class LlamaIndexRetriever(BaseRetriever):
    """Passages that say a phrase, or their spans, as nodes of LlamaIndex.

    The metadata of a node are those of the hit, and ``doc_id``, ``start``, ``end``, ``span``,
    ``cosine``, ``bm25``, ``score``, ``probability`` and ``reasons``, among others; a language
    model does not read these. The source of a node is the document.

    Args:
        corpus: a corpus, or the location of its store.
        similarity_top_k: number of nodes.
        content: the text of a node: the ``passage`` around a hit, or its ``span``.
        search_kwargs: further arguments of `Corpus.search`, such as ``threshold`` and ``where``.
        options: of `BaseRetriever`.

    Raises an `InputError` on other content.
    """

    def __init__(
        self,
        corpus: Corpus | str | Path,
        similarity_top_k: int = 10,
        content: str = evidence.PASSAGE,
        search_kwargs: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.corpus = evidence.opened(corpus)
        self.similarity_top_k = similarity_top_k
        self.content = evidence.check_content(content)
        self.search_kwargs = search_kwargs or {}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self.corpus.search(
            query_bundle.query_str, top_k=self.similarity_top_k, **self.search_kwargs
        )
        return [_node(hit, self.content) for hit in hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(hit: Hit, content: str) -> NodeWithScore:
    # LlamaIndex drops nodes with an id that it has seen, and a document may have several hits.
    shown = evidence.shown_of(hit, content)
    unread = list(evidence.evidence_of(hit))
    node = TextNode(
        id_=f"{hit.doc_id}:{hit.start}-{hit.end}",
        text=shown.text,
        metadata=evidence.metadata_of(hit),
        start_char_idx=shown.start,
        end_char_idx=shown.end,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=hit.doc_id)},
        excluded_llm_metadata_keys=unread,
        excluded_embed_metadata_keys=unread,
    )
    return NodeWithScore(node=node, score=evidence.relevance_of(hit))
