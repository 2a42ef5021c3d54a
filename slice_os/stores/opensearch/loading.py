"""The settings of an index during a bulk load, and restoring them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from slice_os.errors import StoreError
from slice_os.stores.opensearch.handle import IndexHandle
from slice_os.stores.opensearch.lease import Lease, leased
from slice_os.stores.opensearch.retry import retrying
from slice_os.stores.opensearch.settings import META

RESTORE = "restore"
PASSAGES = {"query": {"term": {"kind": "passage"}}}

SavedSettings = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Load:
    """A load in progress.

    Attributes:
        interrupted: whether an earlier load did not finish, and may have left passages of
            incomplete documents.
        lease: the exclusive right to write.
    """

    interrupted: bool
    lease: Lease

    def check(self) -> None:
        """Make sure that no other process writes.

        Raises:
            StoreError: if another process has taken over.
        """
        self.lease.check()


@contextmanager
def loading(handle: IndexHandle) -> Iterator[Load]:
    """A bulk load: no refresh, no replicas while the index is empty, and no other writer.

    The original settings are noted in the mapping first, and the note is removed last. So the
    next load restores them if this one is interrupted, even by SIGKILL.

    Raises:
        StoreError: if another process is writing.
    """
    with leased(handle) as lease:
        interrupted, restore = _begin(handle)
        load = Load(interrupted, lease)
        try:
            yield load
        except BaseException:
            # The caller has to see the first error. If this fails, too, the note keeps the
            # settings; otherwise it is left empty, since documents may be incomplete.
            if not lease.lost:
                with suppress(StoreError), handle.errors_explained():
                    handle.client.indices.put_settings(index=handle.name, body={"index": restore})
                    _note(handle, {})
                    handle.client.indices.refresh(index=handle.name)
            raise
        load.check()
        _finish(handle, restore)


def _read_note(handle: IndexHandle) -> SavedSettings | None:
    """The settings to restore if a load is in progress or was interrupted; otherwise None."""
    meta = _meta(handle)[META]
    noted: SavedSettings | None = meta.get(RESTORE)
    return noted


@retrying
def _begin(handle: IndexHandle) -> tuple[bool, SavedSettings]:
    """Whether an earlier load was interrupted, and the settings to restore."""
    with handle.errors_explained():
        noted = _read_note(handle)
        restore = noted or _current(handle)
        _note(handle, restore)
        handle.client.indices.refresh(index=handle.name)
        handle.client.indices.put_settings(index=handle.name, body={"index": _fast(handle)})
    return noted is not None, restore


@retrying
def _finish(handle: IndexHandle, restore: SavedSettings) -> None:
    with handle.errors_explained():
        handle.client.indices.put_settings(index=handle.name, body={"index": restore})
        handle.client.indices.refresh(index=handle.name)
        _note(handle, None)


def _fast(handle: IndexHandle) -> SavedSettings:
    found = handle.client.count(index=handle.name, body=PASSAGES)
    empty = found["count"] == 0 and not found["_shards"]["failed"]
    return {"refresh_interval": "-1"} | ({"number_of_replicas": 0} if empty else {})


def _current(handle: IndexHandle) -> SavedSettings:
    found = handle.client.indices.get_settings(index=handle.name)
    settings = found[handle.name]["settings"]["index"]
    return {
        "refresh_interval": settings.get("refresh_interval"),
        "number_of_replicas": settings["number_of_replicas"],
    }


def _note(handle: IndexHandle, restore: SavedSettings | None) -> None:
    """Write the settings to restore to the mapping's ``_meta``, or remove them."""
    meta = _meta(handle)
    ours = {name: value for name, value in meta[META].items() if name != RESTORE}
    if restore is not None:
        ours[RESTORE] = restore
    handle.client.indices.put_mapping(index=handle.name, body={"_meta": {**meta, META: ours}})


def _meta(handle: IndexHandle) -> dict[str, Any]:
    found = handle.client.indices.get_mapping(index=handle.name)
    meta: dict[str, Any] = found[handle.name]["mappings"]["_meta"]
    return meta
