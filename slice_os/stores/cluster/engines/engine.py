"""What a store has to know of an engine; `opensearch_engine` and `elasticsearch_engine` say it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from opensearchpy import OpenSearch

if TYPE_CHECKING:
    from opensearchpy import AsyncOpenSearch

Clause: TypeAlias = dict[str, Any]
Knn: TypeAlias = Callable[[list[float], float, Clause], Clause]
"""A clause from a vector, a limit, and the parameter ``filter``, or no parameter."""

VECTORS = "spans.vec"


@dataclass(frozen=True, slots=True)
class PointInTime:
    """Requests for a point in time: path, the name of its id, and how to refuse a partial one."""

    path: str
    key: str
    whole: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine.

    Attributes:
        name: of the product.
        oldest: version that can hold a store.
        supported: in words, for messages.
        answers: whether headers and body of the answer to ``GET /`` are its own.
        connect: makes a client from the options of opensearch-py.
        connect_async: makes an asyncio client.
        index_settings: those of every index, besides what all engines have in common.
        tuning: settings of an index that some versions do not know, and do without.
        vector_type: type of the field of span vectors.
        vector_field: what the mapping says of that field, by dimensions and ``byte`` or ``float``.
        nearest: the clause for so many nearest spans.
        radial: the clause for all spans from a score on; None if the engine has no such search.
        boost: of terms, for scores of BM25 as Lucene has them.
        point: requests for a point in time.
        proves_scripts: whether the scores of a script are compared with ours before it is used.
    """

    name: str
    oldest: tuple[int, int]
    supported: str
    answers: Callable[[Mapping[str, str], Mapping[str, Any]], bool]
    connect: Callable[[Mapping[str, Any]], OpenSearch]
    connect_async: Callable[[Mapping[str, Any]], AsyncOpenSearch]
    index_settings: Mapping[str, Any]
    tuning: Mapping[str, Any]
    vector_type: str
    vector_field: Callable[[int, str], dict[str, Any]]
    nearest: Knn
    radial: Knn | None
    boost: float
    point: PointInTime
    proves_scripts: bool
