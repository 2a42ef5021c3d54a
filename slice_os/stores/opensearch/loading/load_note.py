"""The note in an index's mapping that a load is in progress, or was interrupted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from slice_os.stores.opensearch.schema.settings import META
from slice_os.stores.opensearch.server.handle import IndexHandle

RESTORE = "restore"
LOAD = "load"

SavedSettings: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LoadNote:
    """What the next process needs to know about a load.

    Attributes:
        restore: settings of the index before the load; empty if they are restored already.
        parts: number of parts that the sources are divided into.
        interrupted: whether passages of incomplete documents may have been left behind.
    """

    restore: SavedSettings
    parts: int
    interrupted: bool


def read_note(handle: IndexHandle) -> LoadNote | None:
    """The note; None if no load is in progress or was interrupted."""
    ours = _meta(handle).get(META, {})
    if RESTORE not in ours:
        return None
    return LoadNote(ours[RESTORE], **ours[LOAD])


def write_note(handle: IndexHandle, note: LoadNote | None) -> None:
    """Replace the note, or remove it. Only a process that holds the gate may do that."""
    meta = _meta(handle)
    ours = {
        name: value for name, value in meta.get(META, {}).items() if name not in (RESTORE, LOAD)
    }
    if note is not None:
        ours[RESTORE] = note.restore
        ours[LOAD] = {"parts": note.parts, "interrupted": note.interrupted}
    with handle.errors_explained():
        body = {"_meta": {**meta, META: ours}}
        handle.client.indices.put_mapping(index=handle.name, body=body)


def _meta(handle: IndexHandle) -> dict[str, Any]:
    with handle.errors_explained():
        found = handle.client.indices.get_mapping(index=handle.name)
    meta: dict[str, Any] = found[handle.name]["mappings"].get("_meta", {})
    return meta
