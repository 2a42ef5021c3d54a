"""Requests as values, and the flows that yield them; nothing here talks to a server.

A flow is a generator: it yields a request, receives the server's answer, and goes on. What it
streams to its consumer it yields as `Emit`. So the same flow runs over a blocking client and over
an asyncio client; see `slice_os.stores.opensearch.search.drivers`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from slice_os.stores.opensearch.search.search_bodies import Body

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MultiSearch:
    """Several searches at once; ``lines`` has a header before every body."""

    lines: Sequence[Body]


@dataclass(frozen=True, slots=True)
class Search:
    """One search; ``index`` is None if the body names a point in time."""

    body: Body
    params: Mapping[str, str] = field(default_factory=dict)
    index: str | None = None


@dataclass(frozen=True, slots=True)
class OpenPoint:
    """Open a point in time: one state of an index that pages of a search share."""

    index: str
    params: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ClosePoint:
    """Close a point in time by its id."""

    point: str


@dataclass(frozen=True, slots=True)
class ListPlugins:
    """List the plugins of all nodes."""


@dataclass(frozen=True, slots=True)
class ReadMapping:
    """Read the mapping of every index that a name stands for."""

    name: str


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """Read a document of an index by its id."""

    index: str
    key: str


@dataclass(frozen=True, slots=True)
class Compute:
    """Not a request to the server but work that takes a while; its result is the answer."""

    work: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Emit(Generic[T]):
    """Not a request but a result for the consumer of the flow."""

    value: T


Request: TypeAlias = (
    MultiSearch | Search | OpenPoint | ClosePoint | ListPlugins | ReadMapping | ReadRecord | Compute
)
Flow: TypeAlias = Generator[Request, Any, T]
"""Yields requests and returns one result."""
Stream: TypeAlias = Generator[Request | Emit[T], Any, None]
"""Yields requests, and results as `Emit`."""


def emitting(flow: Flow[T]) -> Stream[T]:
    """The flow as a stream of its one result."""
    yield Emit((yield from flow))
