"""Bulk requests from a few threads, with retries, back-pressure and an answer for every item."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import orjson
from opensearchpy import OpenSearch, exceptions

from slice_os.errors import StoreError
from slice_os.stores.opensearch.connection import explain, is_blocked

CHUNK_BYTES = 4 << 20
CHUNK_ACTIONS = 500
WORKERS = 2
WAITING_CHUNKS = 2
PATIENCE_SECONDS = 300.0
LONGEST_PAUSE_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Action:
    """One item of a bulk request.

    Attributes:
        owner: number of the document it belongs to.
        lines: the item as newline-delimited JSON.
    """

    owner: int
    lines: bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an action; ``reason`` is empty where it was done."""

    owner: int
    reason: str


def index_action(owner: int, key: str, source: dict[str, Any]) -> Action:
    """Store a document under an id, replacing a former one."""
    meta = orjson.dumps({"index": {"_id": key}})
    body = orjson.dumps(source, option=orjson.OPT_SERIALIZE_NUMPY)
    return Action(owner, meta + b"\n" + body + b"\n")


def delete_action(owner: int, key: str) -> Action:
    """Delete a document, if it is there."""
    return Action(owner, orjson.dumps({"delete": {"_id": key}}) + b"\n")


class BulkSender:
    """Sends actions to one index; encoding goes on while chunks are under way.

    An item refused with 429 or 5xx is sent again, by itself, after a pause that doubles and
    varies; so is a request that nobody answered. Other refusals are outcomes.

    Attributes:
        retries: chunks sent again, whole or in part.
    """

    def __init__(
        self,
        client: OpenSearch,
        index: str,
        location: str,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self.retries = 0
        self._client = client
        self._index = index
        self._location = location
        self._patience = patience
        self._chunk: list[Action] = []
        self._bytes = 0
        self._under_way: list[Future[list[Outcome]]] = []
        self._executor = ThreadPoolExecutor(WORKERS, thread_name_prefix="bulk")

    def add(self, action: Action) -> None:
        """Queue an action; waits while too much is under way.

        Raises:
            StoreError: where an earlier chunk could not be sent at all.
        """
        self._chunk.append(action)
        self._bytes += len(action.lines)
        if self._bytes >= CHUNK_BYTES or len(self._chunk) >= CHUNK_ACTIONS:
            self._send()

    def outcomes(self, wait: bool = False) -> Iterator[Outcome]:
        """What became of actions since the last call.

        Args:
            wait: send what is queued, and wait until everything is answered.

        Raises:
            StoreError: where a chunk could not be sent at all.
        """
        if wait:
            self._send()
        kept = WAITING_CHUNKS + WORKERS
        while self._under_way and (
            wait or self._under_way[0].done() or len(self._under_way) > kept
        ):
            yield from self._under_way.pop(0).result()

    def close(self) -> None:
        """Give up what is still queued."""
        self._executor.shutdown(cancel_futures=True)

    def _send(self) -> None:
        if self._chunk:
            self._under_way.append(self._executor.submit(self._deliver, self._chunk))
            self._chunk, self._bytes = [], 0

    def _deliver(self, chunk: list[Action]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        began = time.monotonic()
        attempt = 0
        while True:
            chunk, trouble = self._attempt(chunk, outcomes)
            if not chunk:
                return outcomes
            if time.monotonic() - began > self._patience:
                raise StoreError(
                    f"{self._location}: {len(chunk)} items not taken for {self._patience:.0f} s "
                    f"({trouble}); run the same command again to go on"
                )
            self.retries += 1
            pause = min(LONGEST_PAUSE_SECONDS, 0.1 * 2**attempt)
            time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311  jitter, no secret
            attempt += 1

    def _attempt(self, chunk: list[Action], outcomes: list[Outcome]) -> tuple[list[Action], str]:
        """Send a chunk once; returns what has to be sent again, and why."""
        body = b"".join(action.lines for action in chunk)
        try:
            items = self._client.bulk(body=body, index=self._index)["items"]
        except exceptions.TransportError as error:
            if is_blocked(error) or not _passing(error.status_code):
                raise explain(error, self._location) from None
            return chunk, str(explain(error, self._location))
        again, trouble = [], ""
        for action, item in zip(chunk, items, strict=True):
            ((kind, answer),) = item.items()
            status = answer["status"]
            cause = answer.get("error", {})
            reason = f"{cause.get('type', '')}: {_reason(cause)}"
            if status < 300 or (kind == "delete" and status == 404):
                outcomes.append(Outcome(action.owner, ""))
            elif cause.get("type") == "cluster_block_exception":
                raise explain(
                    exceptions.TransportError(status, cause["type"], {"error": cause}),
                    self._location,
                )
            elif _passing(status):
                again.append(action)
                trouble = reason
            else:
                outcomes.append(Outcome(action.owner, reason))
        return again, trouble


def _passing(status: int | str) -> bool:
    """Whether trouble may pass: too many requests, a server's fault, or no answer at all."""
    return not isinstance(status, int) or status == 429 or status >= 500


def _reason(cause: dict[str, Any]) -> str:
    inner = cause.get("caused_by")
    reason = str(cause.get("reason", ""))
    return f"{reason} ({inner.get('reason', '')})" if isinstance(inner, dict) else reason
