"""Bulk requests from a few threads, with retries, back-pressure and an outcome per item."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from threading import BoundedSemaphore, Event, Lock
from typing import Any, TypeAlias

import orjson

from slice_os.errors import StoreError, UnavailableError
from slice_os.stores.cluster.search.searches import pieces
from slice_os.stores.cluster.server.answers import (
    given_up,
    pauses,
    reason_of,
    refusal,
    retry_limit,
)
from slice_os.stores.cluster.server.connection import IndexHandle

CHUNK_BYTES = 4 << 20
CHUNK_ACTIONS = 500
WORKERS = 2
CHUNKS_UNDER_WAY = 4
DocumentVersion: TypeAlias = dict[str, int]
"""The parameters ``if_seq_no`` and ``if_primary_term`` of a request about a document."""

_NO_DOCUMENT = "document_missing_exception"
# Refusals that every other document would meet as well.
_NOT_ABOUT_THE_ITEM = ("index_closed_exception",)


@dataclass(frozen=True, slots=True)
class Action:
    """One item of a bulk request as newline-delimited JSON; the owner is a document's number."""

    owner: int
    lines: bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an action; ``reason`` is empty if it succeeded."""

    owner: int
    reason: str


def index_action(owner: int, key: str, source: dict[str, Any]) -> Action:
    """Store a document under an id, replacing any earlier one."""
    return _action(owner, {"index": {"_id": key}}, source)


def update_action(owner: int, key: str, fields: dict[str, Any]) -> Action:
    """Change some fields of a document, if it exists."""
    return _action(owner, {"update": {"_id": key, "retry_on_conflict": 3}}, {"doc": fields})


def delete_action(owner: int, key: str, version: DocumentVersion | None = None) -> Action:
    """Delete a document, if it exists, and is still of that version if one is given."""
    return _action(owner, {"delete": {"_id": key, **(version or {})}})


def version_of(answer: dict[str, Any]) -> DocumentVersion:
    """The version of a document in an answer that has it."""
    return {"if_seq_no": answer["_seq_no"], "if_primary_term": answer["_primary_term"]}


def _action(owner: int, *lines: dict[str, Any]) -> Action:
    options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
    return Action(owner, b"".join(orjson.dumps(line, option=options) for line in lines))


class BulkSender:
    """Sends actions to one concrete index, while the caller goes on encoding.

    An item refused with 429 or 5xx is sent again after a pause that doubles and varies, for as many
    seconds as the limit says; so is a request without an answer. What the index refuses for good is
    an outcome. Retries count chunks sent again, whole or in part. ``confirm`` is called before
    every request, and raises an error if it must not be sent.
    """

    def __init__(
        self,
        handle: IndexHandle,
        limit: float | None = None,
        confirm: Callable[[], None] = lambda: None,
    ) -> None:
        self.retries = 0
        self._confirm = confirm
        self._handle = handle
        self._limit = retry_limit() if limit is None else limit
        self._chunk: list[Action] = []
        self._bytes = 0
        self._parted = False
        self._under_way: deque[Future[list[Outcome]]] = deque()
        self._room = BoundedSemaphore(CHUNKS_UNDER_WAY)
        self._counting = Lock()
        self._closed = Event()
        self._executor = ThreadPoolExecutor(WORKERS, thread_name_prefix="bulk")

    def add(self, action: Action) -> None:
        """Queue an action; waits while too many chunks are in flight."""
        self._chunk.append(action)
        self._bytes += len(action.lines)
        if self._bytes >= CHUNK_BYTES or len(self._chunk) >= CHUNK_ACTIONS:
            self._send(self._deliver if self._parted else self._deliver_first)
            self._parted = True

    def outcomes(self, wait: bool = False) -> Iterator[Outcome]:
        """The outcomes of actions since the last call.

        To wait is to send all that is queued, also meanwhile, and to wait until it is answered.

        Raises a `StoreError` if a chunk could not be sent at all.
        """
        while True:
            if wait:
                self._send()
            if not self._under_way or not (wait or self._under_way[0].done()):
                return
            yield from self._under_way.popleft().result()

    def deliver(self, actions: Sequence[Action]) -> list[Outcome]:
        """Send actions at once, bypassing the queue, and wait until they are answered.

        Raises a `StoreError` if they could not be sent at all.
        """
        chunks = pieces(actions, CHUNK_ACTIONS)
        return [outcome for chunk in chunks for outcome in self._deliver(chunk)]

    def close(self) -> None:
        """Discard what is not sent yet."""
        self._closed.set()
        self._executor.shutdown(cancel_futures=True)

    @property
    def is_settled(self) -> bool:
        """Whether all that was sent was answered, once it is closed."""
        return all(one.cancelled() or one.exception() is None for one in self._under_way)

    def _send(self, deliver: Callable[[Sequence[Action]], list[Outcome]] | None = None) -> None:
        if not self._chunk:
            return
        self._room.acquire()
        future = self._executor.submit(deliver or self._deliver, self._chunk)
        future.add_done_callback(lambda _: self._room.release())
        self._under_way.append(future)
        self._chunk, self._bytes = [], 0

    def _deliver_first(self, chunk: Sequence[Action]) -> list[Outcome]:
        """Send a chunk, and keep it in segments of its own.

        A merge of one segment would do nothing, and the second copies in it would stay.
        """
        outcomes = self._deliver(chunk)
        with suppress(StoreError):
            self._handle.refresh()
        return outcomes

    def _deliver(self, chunk: Sequence[Action]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        waits = pauses(self._limit)
        while True:
            left, trouble = self._attempt(chunk, outcomes)
            if not left:
                return outcomes
            if len(left) < len(chunk):
                waits = pauses(self._limit)
            pause = next(waits, None)
            if pause is None or self._closed.wait(pause):
                raise given_up(trouble, self._limit)
            with self._counting:
                self.retries += 1
            chunk = left

    def _attempt(
        self, chunk: Sequence[Action], outcomes: list[Outcome]
    ) -> tuple[Sequence[Action], UnavailableError]:
        """Send a chunk once; returns what to send again, and why."""
        body = b"".join(action.lines for action in chunk)
        try:
            self._confirm()
            items = self._handle.ask(self._handle.client.bulk, "items", body=body)["items"]
        except UnavailableError as error:
            return chunk, error
        again: list[Action] = []
        trouble = UnavailableError(self._handle.location)
        for action, item in zip(chunk, items, strict=True):
            ((kind, answer),) = item.items()
            status, cause = answer["status"], answer.get("error", {})
            absent = status == 404 and cause.get("type") == _NO_DOCUMENT
            # A repeated deletion, or a document that was written again meanwhile.
            settled = kind == "delete" and status in (404, 409)
            if status < 300 or absent or settled:
                outcomes.append(Outcome(action.owner, ""))
                continue
            explained = refusal(answer, self._handle.location)
            if isinstance(explained, UnavailableError):
                again.append(action)
                trouble = explained
            elif kind == "index" and status == 400 and cause["type"] not in _NOT_ABOUT_THE_ITEM:
                outcomes.append(Outcome(action.owner, f"{cause['type']}: {reason_of(cause)}"))
            else:
                raise explained
        return again, trouble
