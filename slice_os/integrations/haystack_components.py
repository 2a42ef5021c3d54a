"""Haystack: a document store and a retriever.

Examples:
    >>> store = HaystackDocumentStore("demo.slice")
    >>> pipeline = Pipeline()
    >>> pipeline.add_component("retriever", HaystackRetriever(store, top_k=3))
    >>> found = pipeline.run({"retriever": {"query": "either party may end this agreement"}})
    >>> for document in found["retriever"]["documents"]:
    ...     document.meta["doc_id"], document.meta["start"], document.content
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from slice_os.corpus import Corpus
from slice_os.errors import InputError, MissingExtraError
from slice_os.hits.hit import Hit
from slice_os.integrations import evidence
from slice_os.query.filters import Condition, parse_where
from slice_os.stores.registry import store_exists
from slice_os.text.documents import Document as OurDocument

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy, FilterPolicy, apply_filter_policy
    from haystack.errors import FilterError
    from haystack.utils.filters import document_matches_filter
except ImportError:
    raise MissingExtraError("Haystack", "haystack") from None

_OPERATORS = {
    "==": "eq",
    "!=": "ne",
    ">": "gt",
    ">=": "gte",
    "<": "lt",
    "<=": "lte",
    "in": "in",
    "not in": "ne",
}
_OPPOSITES = {"==": "!=", "!=": "==", "in": "not in", "not in": "in"}
_META = "meta."


class HaystackDocumentStore:
    """A corpus as a document store of Haystack.

    Args:
        location: of the store: a folder, or ``http(s)://[user@]host[:port]/index``. The first
            documents that are written create it.
        encoder: the model to load; None for that of the store, or the bundled one.
    """

    def __init__(self, location: str, encoder: str | None = None) -> None:
        self.location = location
        self.encoder = encoder

    @cached_property
    def corpus(self) -> Corpus:
        """The corpus of the store."""
        return Corpus(self.location, self.encoder)

    def to_dict(self) -> dict[str, Any]:
        """The arguments, for `from_dict`."""
        return default_to_dict(self, location=self.location, encoder=self.encoder)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> HaystackDocumentStore:
        """The document store with these arguments."""
        return default_from_dict(cls, data)

    def count_documents(self) -> int:
        """Number of documents."""
        return len(self.corpus)

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """The documents that match a filter, by id; reads each document of the corpus.

        Raises a `FilterError` if the filter is malformed.
        """
        corpus = self.corpus
        documents = (
            Document(id=one, content=corpus.text(one), meta=dict(corpus.metadata(one)))
            for one in corpus
        )
        return [each for each in documents if not filters or document_matches_filter(filters, each)]

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Store documents; returns their number.

        The corpus stores text and metadata, without fields that are None. It makes the vectors
        itself, and does not keep embeddings. The policy ``NONE`` is ``FAIL``.

        Raises:
            ValueError: on anything but documents.
            DuplicateDocumentError: if an id is there already and the policy is ``FAIL``; nothing
                is stored then.
            InputError: if a document has no text, or a field that is a list or an object.
        """
        if not isinstance(documents, list) or not all(
            isinstance(document, Document) for document in documents
        ):
            raise ValueError("write_documents takes a list of haystack.Document")
        ours = {document.id: _as_ours(document) for document in documents}
        there = self.corpus.store.find_documents(ours) if store_exists(self.location) else {}
        if policy in (DuplicatePolicy.NONE, DuplicatePolicy.FAIL) and (
            there or len(ours) < len(documents)
        ):
            raise DuplicateDocumentError(
                f"{self.location}: {len(there) or len(documents) - len(ours)} of these documents "
                "are there already; nothing was written"
            )
        if policy == DuplicatePolicy.SKIP:
            ours = {doc_id: document for doc_id, document in ours.items() if doc_id not in there}
        return self.corpus.add(ours.values())

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents; unknown ids are ignored."""
        self.corpus.delete(document_ids)


@component
class HaystackRetriever:
    """Passages that say a phrase, or their spans, as documents of Haystack.

    The metadata of a document are those of the hit, and ``doc_id``, ``start``, ``end``, ``span``,
    ``cosine``, ``bm25``, ``score``, ``probability`` and ``reasons``, among others. Its id is made
    of ``doc_id``, ``start`` and ``end``.

    Args:
        document_store: the store to search.
        top_k: number of documents.
        content: the text of a document: the ``passage`` around a hit, or its ``span``.
        filters: on metadata; those that `where_of` takes.
        filter_policy: whether the filters of a run replace these, or are merged with them.
        search_kwargs: further arguments of `Corpus.search`, such as ``threshold``.

    Raises an `InputError` on other content.
    """

    def __init__(
        self,
        document_store: HaystackDocumentStore,
        top_k: int = 10,
        content: str = evidence.PASSAGE,
        filters: dict[str, Any] | None = None,
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
        search_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self.document_store = document_store
        self.top_k = top_k
        self.content = evidence.check_content(content)
        self.filters = filters
        self.filter_policy = filter_policy
        self.search_kwargs = search_kwargs or {}

    def to_dict(self) -> dict[str, Any]:
        """The arguments, for `from_dict`."""
        return default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            top_k=self.top_k,
            content=self.content,
            filters=self.filters,
            filter_policy=self.filter_policy.value,
            search_kwargs=self.search_kwargs,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> HaystackRetriever:
        """The retriever with these arguments."""
        given = dict(data["init_parameters"])
        given["document_store"] = HaystackDocumentStore.from_dict(given["document_store"])
        given["filter_policy"] = FilterPolicy.from_str(given["filter_policy"])
        return default_from_dict(cls, {**data, "init_parameters": given})

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Search for a phrase, with filters and a number of documents for this run.

        Raises a `FilterError` if a filter is malformed, or not one that a search takes.
        """
        where = where_of(apply_filter_policy(self.filter_policy, self.filters, filters))
        most = self.top_k if top_k is None else top_k
        corpus = self.document_store.corpus
        hits = corpus.search(query, top_k=most, where=where, **self.search_kwargs)
        return {"documents": [_found(hit, self.content) for hit in hits]}


def _as_ours(document: Document) -> OurDocument:
    if document.content is None:
        raise InputError(f"document {document.id!r} has no text to search; write those that have")
    return evidence.document_of(document.id, document.content, document.meta)


def _found(hit: Hit, content: str) -> Document:
    return Document(
        id=f"{hit.doc_id}:{hit.start}-{hit.end}",
        content=evidence.shown_of(hit, content).text,
        meta=evidence.metadata_of(hit),
        score=evidence.relevance_of(hit),
    )


def where_of(filters: dict[str, Any] | None) -> tuple[Condition, ...]:
    """The conditions of a filter of Haystack, all of which must hold.

    A corpus cannot combine conditions in other ways. ``OR`` of values of one field is one
    condition, and so is ``NOT`` of one comparison with ``==``, ``!=``, ``in`` or ``not in``.

    Raises a `FilterError` if the filter is malformed, or cannot be written so.
    """
    return tuple(_conditions(filters)) if filters else ()


def _conditions(filters: dict[str, Any]) -> Iterator[Condition]:
    if "field" in filters:
        yield _comparison(filters)
        return
    operator, inner = filters.get("operator"), filters.get("conditions")
    if operator not in ("AND", "OR", "NOT") or not (
        isinstance(inner, list) and all(isinstance(each, dict) for each in inner)
    ):
        raise FilterError(f"{filters!r:.80}: give a field, or AND, OR or NOT with conditions")
    if operator == "AND" or (operator == "OR" and len(inner) == 1):
        for each in inner:
            yield from _conditions(each)
    elif operator == "NOT" and len(inner) == 1 and str(inner[0].get("operator")) in _OPPOSITES:
        yield _comparison({**inner[0], "operator": _OPPOSITES[inner[0]["operator"]]})
    elif operator == "OR" and (union := _union(inner)):
        yield _comparison(union)
    else:
        raise FilterError(
            f"{operator} of {len(inner)} conditions: a search takes AND, OR of values of one "
            "field, and NOT of one comparison; filter_documents takes any filter"
        )


def _union(inner: list[dict[str, Any]]) -> dict[str, Any] | None:
    """One comparison with all values of one field; None if there is no such comparison."""
    if len({each.get("field") for each in inner}) != 1 or not all(
        each.get("operator") in ("==", "in") for each in inner
    ):
        return None
    values: list[Any] = []
    for each in inner:
        value = each.get("value")
        values += value if isinstance(value, list) else [value]
    return {"field": inner[0]["field"], "operator": "in", "value": values}


def _comparison(filters: dict[str, Any]) -> Condition:
    try:
        field, operator, value = filters["field"], filters["operator"], filters["value"]
        name = _OPERATORS[str(operator)]
    except KeyError as error:
        raise FilterError(
            f"{filters!r:.80}: no {error}; give field, operator and value, and one of the "
            f"operators {', '.join(_OPERATORS)}"
        ) from None
    if not str(field).startswith(_META):
        raise FilterError(f"a search filters by metadata; give meta.NAME, not {field}")
    if operator in ("in", "not in") and not isinstance(value, list):
        raise FilterError(f"{field}: {operator} takes a list, not {value!r:.50}")
    try:
        (condition,) = parse_where({field.removeprefix(_META): {name: value}})
    except InputError as error:
        raise FilterError(str(error)) from None
    return condition
