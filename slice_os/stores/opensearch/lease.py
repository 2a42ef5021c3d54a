"""The exclusive right to write to an index."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any, TypeAlias

from opensearchpy import exceptions

from slice_os.errors import StoreError
from slice_os.stores.opensearch.handle import IndexHandle
from slice_os.stores.opensearch.retry import retrying

LEASE_KEY = "writer"
BEAT_SECONDS = 2.0
SILENCE_SECONDS = 10.0
REQUEST_SECONDS = 5.0

DocumentVersion: TypeAlias = dict[str, int]


class Lease:
    """A record in the index, rewritten every few seconds by the process that holds it.

    A process that sees the record unchanged for long enough takes it over, so no clocks are
    compared. On the same machine it is enough that the holder has ended. Made by `leased`.

    Attributes:
        lost: whether another process has taken over.
    """

    def __init__(self, handle: IndexHandle) -> None:
        self.lost = False
        self._handle = handle
        self._record = {
            "kind": "writer",
            "source": socket.gethostname(),
            "ordinal": os.getpid(),
            "signature": uuid.uuid4().hex,
        }
        self._version = self._take()
        self._ended = Event()
        self._thread = Thread(target=self._beat, name="lease", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Make sure that no other process writes.

        Raises:
            StoreError: if another process has taken over.
        """
        if self.lost:
            raise StoreError(
                f"{self._handle.location}: another process has taken over writing to it; wait "
                "until it ends, then run the same command again to resume"
            )

    def release(self) -> None:
        """Let others write; if the server cannot be told, the lease runs out by itself."""
        self._ended.set()
        self._thread.join()
        if not self.lost:
            with suppress(exceptions.OpenSearchException):
                self._handle.client.delete(
                    index=self._handle.name,
                    id=LEASE_KEY,
                    params={**self._version, "request_timeout": REQUEST_SECONDS},
                )

    @retrying
    def _take(self) -> DocumentVersion:
        deadline = time.monotonic() + SILENCE_SECONDS
        with self._handle.errors_explained():
            first = held = self._read()
            while held and held["_seq_no"] == first["_seq_no"] and not _has_ended(held["_source"]):
                if time.monotonic() > deadline:
                    break
                time.sleep(BEAT_SECONDS / 4)
                held = self._read()
            taken = None
            if not held:
                taken = self._put({"op_type": "create"})
            elif held["_seq_no"] == first["_seq_no"]:
                taken = self._put(_version(held))
        if taken is None:
            by = "process {ordinal} on {source}".format(**held["_source"]) if held else "just begun"
            raise StoreError(
                f"{self._handle.location}: another process is writing to it ({by}); wait until it "
                "ends"
            )
        return taken

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            # While the server is down, the writer itself reports it.
            with suppress(exceptions.OpenSearchException):
                version = self._put(self._version)
                if version is None:
                    self.lost = True
                    return
                self._version = version

    def _put(self, condition: dict[str, Any]) -> DocumentVersion | None:
        """Write the record; None if another process did so first."""
        try:
            return _version(
                self._handle.client.index(
                    index=self._handle.name,
                    id=LEASE_KEY,
                    body=self._record,
                    params={**condition, "request_timeout": REQUEST_SECONDS},
                )
            )
        except exceptions.ConflictError:
            # It may be ours: written, with only the answer lost.
            held = self._read()
            ours = held and held["_source"]["signature"] == self._record["signature"]
            return _version(held) if ours else None

    def _read(self) -> dict[str, Any]:
        """The record; empty if there is none."""
        found: dict[str, Any] = self._handle.client.get(
            index=self._handle.name,
            id=LEASE_KEY,
            params={"ignore": [404], "request_timeout": REQUEST_SECONDS},
        )
        return found if found.get("found") else {}


@contextmanager
def leased(handle: IndexHandle) -> Iterator[Lease]:
    """Hold the exclusive right to write to an index.

    Raises:
        StoreError: if another process has it.
    """
    lease = Lease(handle)
    try:
        yield lease
    finally:
        lease.release()


def _version(answer: dict[str, Any]) -> DocumentVersion:
    return {"if_seq_no": answer["_seq_no"], "if_primary_term": answer["_primary_term"]}


def _has_ended(record: dict[str, Any]) -> bool:
    """Whether the holder is known to have ended."""
    if os.name != "posix" or record["source"] != socket.gethostname():
        return False
    try:
        os.kill(record["ordinal"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False
