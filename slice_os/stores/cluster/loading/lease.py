"""Leases: records that the processes which hold them rewrite every few seconds.

They are in an index of their own beside the one that is written to. A merge takes over the graph of
span vectors only from a segment in which nothing was ever deleted, and a rewrite is a deletion.
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Lock, Thread
from typing import Any

from opensearchpy import exceptions

from slice_os.errors import StoreError
from slice_os.stores.cluster.loading.bulk import DocumentVersion, version_of
from slice_os.stores.cluster.search.listing import find_entries
from slice_os.stores.cluster.server.answers import retry_limit
from slice_os.stores.cluster.server.connection import IndexHandle
from slice_os.stores.protocol import WorkShare

GATE_KEY = "writer"
BEAT_SECONDS = 2.0
SILENCE_SECONDS = 20.0
REQUEST_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Held:
    """A lease as read from the index; its version changes whenever the holder rewrites it."""

    key: str
    version: DocumentVersion
    holder: str
    signature: str


class Lease:
    """A right that one process at a time has; it is ``lost`` if another process has taken over.

    A process that sees the record unchanged for long enough takes it over. So no clocks are
    compared, and it does not matter on which machine or in which container the holder is.

    Its holder says whether it is ``clean``: failed, but left nothing incomplete.
    """

    def __init__(self, handle: IndexHandle, key: str) -> None:
        self.lost = False
        self.clean = False
        self._handle = handle
        self._key = key
        self._record = {
            "kind": "writer",
            "source": socket.gethostname(),
            "ordinal": os.getpid(),
            "signature": uuid.uuid4().hex,
        }
        self._version: DocumentVersion = {}
        self._written = 0.0
        self._rewriting = Lock()
        self._ended = Event()
        self._thread = Thread(target=self._beat, name="lease", daemon=True)

    def take(self, expired: Held | None = None) -> bool:
        """Take the lease, or take over an expired one; False if another process was faster."""
        _make_index(self._handle)
        if not self._write(expired.version if expired else {"op_type": "create"}):
            return False
        self._thread.start()
        return True

    def check(self) -> None:
        """Make sure that no other process has taken over.

        Raises a `StoreError` if one has.
        """
        if self.lost:
            raise StoreError(
                f"{self._handle.location}: another process has taken over writing to it, or "
                "deleted it; wait until it ends, then run the same command again to resume"
            )

    def confirm(self) -> None:
        """As `check`, and ask the index if it has not taken the record for a while.

        Whoever was cut off or suspended could otherwise write after another took over.

        Raises an `UnavailableError` if the index does not answer.
        """
        if time.monotonic() - self._written > SILENCE_SECONDS / 2:
            self._rewrite()
        self.check()

    def stop(self) -> None:
        """Let the lease expire."""
        self._ended.set()
        self._thread.join()

    def release(self) -> None:
        """Let others have it; if the server cannot be told, the lease expires."""
        self.stop()
        if not self.lost:
            self._give_back()

    def _give_back(self) -> None:
        with suppress(exceptions.OpenSearchException):
            _delete(self._handle, self._key, self._version)

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            # While the server is down, the writer itself reports it.
            with suppress(StoreError):
                self._rewrite()
            if self.lost:
                return

    def _rewrite(self) -> None:
        with self._rewriting:
            there = self.lost or self._handle.exists(request_timeout=REQUEST_SECONDS)
            if not there:
                self._give_back()
            self.lost = self.lost or not there or not self._write(self._version)

    def _write(self, condition: dict[str, Any]) -> bool:
        began = time.monotonic()
        with self._handle.errors_explained():
            version = self._put(condition)
        if version is None:
            return False
        self._version, self._written = version, began
        return True

    def _put(self, condition: dict[str, Any]) -> DocumentVersion | None:
        """Write the record; None if another process did so first."""
        handle, params = self._handle, {**condition, "request_timeout": REQUEST_SECONDS}
        try:
            return version_of(
                handle.client.index(
                    index=index_of_leases(handle.name),
                    id=self._key,
                    body=self._record,
                    params=params,
                )
            )
        except exceptions.ConflictError:
            # It may be ours: written, with only the answer lost.
            for held in read_leases(handle, [self._key]):
                if held.signature == self._record["signature"]:
                    return held.version
            return None


def index_of_leases(index: str) -> str:
    """The name of the index that has the leases of another one."""
    return f"{index}-leases"


def _make_index(handle: IndexHandle) -> None:
    leases = handle.named(index_of_leases(handle.name))
    if not leases.exists():
        settings = {"number_of_shards": 1, "auto_expand_replicas": "0-1"}
        # 400: another process has made it meanwhile.
        leases.ask(leases.client.indices.create, body={"settings": settings}, ignore=[400])


def lease_key(part: WorkShare) -> str:
    """Id of the record of a part's lease."""
    return f"{GATE_KEY}-{part.number}-of-{part.total}"


def read_leases(handle: IndexHandle, keys: Sequence[str]) -> list[Held]:
    """Those of the leases that a process has, or had when it was killed."""
    leases = handle.named(index_of_leases(handle.name))
    if not leases.exists():
        return []
    return [
        Held(
            key=entry["_id"],
            version=version_of(entry),
            holder="process {ordinal} on {source}".format(**entry["_source"]),
            signature=entry["_source"]["signature"],
        )
        for entry in find_entries(leases, keys)
    ]


def watch(handle: IndexHandle, keys: Sequence[str]) -> tuple[list[Held], list[Held]]:
    """Tell the leases of running processes from those of processes that were killed.

    Returns the live ones: those that were taken, or rewritten twice, meanwhile; watching ends with
    the first, as a process that was killed may have sent one last rewrite before. If there are
    none, also the expired ones, which stayed as they were for long enough.
    """
    held = read_leases(handle, keys)
    holders = {lease.signature for lease in held}
    rewritten: set[str] = set()
    deadline = time.monotonic() + SILENCE_SECONDS
    while held and time.monotonic() <= deadline:
        time.sleep(BEAT_SECONDS / 8)
        before, held = held, read_leases(handle, keys)
        changed = [lease for lease in held if lease not in before]
        # Those of new holders, and those rewritten before.
        unknown = holders - rewritten
        if live := [lease for lease in changed if lease.signature not in unknown]:
            return live, []
        if changed:
            rewritten.update(lease.signature for lease in changed)
            deadline = time.monotonic() + SILENCE_SECONDS
    return [], held


def remove(handle: IndexHandle, expired: Iterable[Held]) -> None:
    """Remove leases of processes that were killed; one that has changed since stays."""
    for lease in expired:
        gone = suppress(exceptions.ConflictError, exceptions.NotFoundError)
        with handle.errors_explained(), gone:
            _delete(handle, lease.key, lease.version)


@contextmanager
def gate(handle: IndexHandle) -> Iterator[Lease]:
    """Be the only process that begins or ends to write to an index; waits for others.

    Raises a `StoreError` if another process stays there for longer than `retry_limit`.
    """
    lease = Lease(handle, GATE_KEY)
    deadline = time.monotonic() + retry_limit()
    taken = lease.take()
    while not taken:
        live, expired = watch(handle, [GATE_KEY])
        if live and time.monotonic() > deadline:
            raise StoreError(
                f"{handle.location}: another process is beginning or ending to write to it "
                f"({live[0].holder}); wait until it ends"
            )
        taken = not live and lease.take(*expired)
    try:
        yield lease
    finally:
        lease.release()


def _delete(handle: IndexHandle, key: str, version: DocumentVersion) -> None:
    params = {**version, "request_timeout": REQUEST_SECONDS}
    handle.client.delete(index=index_of_leases(handle.name), id=key, params=params)
