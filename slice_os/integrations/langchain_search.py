"""LangChain: a retriever, and a vector store.

Examples:
    >>> retriever = LangChainRetriever(corpus="demo.slice", k=3)
    >>> for document in retriever.invoke("either party may end this agreement at any time"):
    ...     document.metadata["doc_id"], document.metadata["start"], document.page_content
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from slice_os.corpus import Corpus
from slice_os.errors import InputError, MissingExtraError
from slice_os.hits.hit import Hit
from slice_os.integrations import evidence

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from pydantic import Field, field_validator
except ImportError:
    raise MissingExtraError("LangChain", "langchain") from None


class LangChainRetriever(BaseRetriever):
    """Passages that say a phrase, or their spans, as documents of LangChain.

    The metadata of a document are those of the hit, and ``doc_id``, ``start``, ``end``, ``span``,
    ``cosine``, ``bm25``, ``score``, ``probability`` and ``reasons``, among others.

    Attributes:
        corpus: a corpus, or the location of its store.
        k: number of documents; ``invoke(query, k=3)`` gives another one for a call.
        content: the text of a document: the ``passage`` around a hit, or its ``span``.
        search_kwargs: further arguments of `Corpus.search`, such as ``threshold`` and ``where``.
    """

    corpus: Corpus
    k: int = Field(default=4, ge=1)
    content: str = evidence.PASSAGE
    search_kwargs: dict[str, Any] = Field(default_factory=dict)

    _open = field_validator("corpus", mode="before")(evidence.opened)
    _check = field_validator("content")(evidence.check_content)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return self._search(query, {**self.search_kwargs, **kwargs})

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return await asyncio.to_thread(self._search, query, {**self.search_kwargs, **kwargs})

    def _search(self, query: str, options: dict[str, Any]) -> list[Document]:
        hits = self.corpus.search(query, top_k=options.pop("k", self.k), **options)
        return [_found(hit, self.content) for hit in hits]


class LangChainVectorStore(VectorStore):
    """A corpus, with its own encoder, as a vector store of LangChain.

    Searches return documents as `LangChainRetriever` does; their ids are those of the documents in
    the corpus. They also take the arguments of `Corpus.search`, such as ``threshold``.

    Args:
        corpus: a corpus, or the location of its store, which the first documents create.
        content: the text of a document: the ``passage`` around a hit, or its ``span``.

    Raises an `InputError` on other content.
    """

    def __init__(self, corpus: Corpus | str | Path, content: str = evidence.PASSAGE) -> None:
        self.corpus = evidence.opened(corpus)
        self.content = evidence.check_content(content)

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The best passages for a phrase."""
        return [document for document, _ in self.similarity_search_with_score(query, k, **kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The best passages for a phrase, each with its probability; see `relevance_of`."""
        hits = self.corpus.search(query, top_k=k, **kwargs)
        return [(_found(hit, self.content), evidence.relevance_of(hit)) for hit in hits]

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Store texts as documents, replacing those of the same id; returns their ids.

        Fields that are None are left out. An id that is not given is random.

        Raises an `InputError` if the lists have different lengths, on an unknown argument, or if a
        field is a list or an object.
        """
        if kwargs:
            raise InputError(f"add_texts has no argument {', '.join(kwargs)}")
        given = list(texts)
        names = [one or str(uuid.uuid4()) for one in ids or [""] * len(given)]
        fields = metadatas or [{}] * len(given)
        if not len(given) == len(names) == len(fields):
            raise InputError(
                f"{len(given)} texts with {len(names)} ids and {len(fields)} metadatas: give one "
                "of each for each text"
            )
        self.corpus.add(map(evidence.document_of, names, given, fields))
        return names

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Delete documents by id, or all of them; True if any was found."""
        return self.corpus.delete(list(self.corpus) if ids is None else ids) > 0

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents with these ids, whole; unknown ids are ignored."""
        corpus, found = self.corpus, self.corpus.store.find_documents(ids)
        return [
            Document(id=one, page_content=corpus.text(one), metadata=dict(corpus.metadata(one)))
            for one in dict.fromkeys(ids)
            if one in found
        ]

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> LangChainVectorStore:
        """A vector store with these texts; ``kwargs`` are ``corpus`` and ``content``.

        Raises an `InputError` on an embedding, as the corpus has its own encoder, and as
        `add_texts`.
        """
        if embedding is not None:
            raise InputError("a corpus has an encoder of its own; give None as the embedding")
        store = cls(**kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        """The probability, which is a relevance already; a score is cut to 0 to 1."""
        return lambda score: min(1.0, max(0.0, score))


def _found(hit: Hit, content: str) -> Document:
    return Document(
        id=hit.doc_id,
        page_content=evidence.shown_of(hit, content).text,
        metadata=evidence.metadata_of(hit),
    )
