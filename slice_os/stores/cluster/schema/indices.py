"""Versioned indices behind an alias: making them, and choosing the current one."""

from __future__ import annotations

import re
import uuid
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from opensearchpy import exceptions

from slice_os.arrays import FloatArray
from slice_os.stores.cluster.engines.engine import Engine
from slice_os.stores.cluster.schema.settings import (
    META,
    IndexOptions,
    IndexSettings,
    noted,
    template,
)
from slice_os.stores.cluster.server.answers import retrying
from slice_os.stores.cluster.server.connection import IndexHandle

MERGE_TIMEOUT_SECONDS = 3600
PROJECTION_KEY = "axes"
UNFINISHED = "unfinished"
# Of which version another one was made, and the writes to it until then.
MADE_FROM = "made_from"


@dataclass(frozen=True, slots=True)
class Index:
    """A concrete index, and what it was made with."""

    name: str
    settings: IndexSettings

    @property
    def engine(self) -> Engine:
        """The engine that holds it."""
        return self.settings.engine

    def with_projection(self, record: Mapping[str, Any]) -> Index:
        """With its projection, which has a record of its own, with the id `PROJECTION_KEY`."""
        full = self.settings.encoder.dimension
        packed = np.frombuffer(b64decode(record["_source"]["axes"]), "<f2")
        projection = packed.reshape(full, full).astype(np.float32)
        return replace(self, settings=replace(self.settings, projection=projection))


def make_version(
    handle: IndexHandle, there: Iterable[str], options: IndexOptions, settings: IndexSettings
) -> Index:
    """Make the next version of an alias, such as ``calls-000002``, unfinished until `finish`."""
    last = max((int(name.removeprefix(f"{handle.name}-")) for name in there), default=0)
    name = f"{handle.name}-{last + 1:06d}"
    made, mark = handle.named(name), uuid.uuid4().hex
    with handle.errors_explained():
        body = template(f"{handle.name}-0*", options, settings)
        indices = handle.client.indices
        indices.put_index_template(name=template_name(handle.name), body=body)
        # Also in whole: another template may have a higher priority.
        index = body["template"]
        index["mappings"]["_meta"][META][UNFINISHED] = mark
        try:
            indices.create(index=name, body=index)
        except exceptions.RequestError:
            # It may be ours: made, with only the answer lost.
            if not made.exists() or noted(made.mapping()).get(UNFINISHED) != mark:
                raise
        if tuning := settings.engine.tuning:
            indices.put_settings(index=name, body=tuning, ignore=[400])
    write_projection(made, settings.projection)
    return Index(name, settings)


@retrying
def write_projection(handle: IndexHandle, projection: FloatArray | None) -> None:
    """Store the projection of an index, if it has one."""
    if projection is not None:
        packed = b64encode(projection.astype("<f2").tobytes()).decode()
        record = {"kind": "axes", "axes": packed}
        handle.ask(handle.client.index, id=PROJECTION_KEY, body=record)


def finish(handle: IndexHandle, notes: Mapping[str, Any] | None = None) -> None:
    """Mark an index as complete, so that an alias may stand for it; with further notes."""
    change_notes(handle, {UNFINISHED: None, **(notes or {})})


def change_notes(handle: IndexHandle, changes: Mapping[str, Any]) -> None:
    """Change what slice-os has noted in the mapping of an index; None removes a note."""
    mapping = handle.mapping()
    ours = {**noted(mapping), **changes}
    kept = {name: value for name, value in ours.items() if value is not None}
    body = {"_meta": {**mapping.get("_meta", {}), META: kept}}
    handle.ask(handle.client.indices.put_mapping, body=body)


def template_name(alias: str) -> str:
    """The name of an alias's index template."""
    return f"slice-os-{alias}"


def find_versions(handle: IndexHandle) -> dict[str, dict[str, Any]]:
    """The versions of an alias by name, with their mappings and aliases, in one state."""
    like = handle.named(f"{handle.name}-0*")
    found = like.ask(like.client.indices.get, ignore_unavailable=True, expand_wildcards="all")
    form = re.compile(re.escape(handle.name) + "-0[0-9]{5}")
    return {name: found[name] for name in found if form.fullmatch(name)}


def move_alias(handle: IndexHandle, index: str) -> list[str]:
    """Let the alias stand for one index, in one step; returns those it stood for before."""
    alias, indices = handle.name, handle.client.indices
    there = sorted(handle.ask(indices.get_alias)) if handle.exists() else []
    before = [name for name in there if name != index]
    actions = [{"remove": {"index": name, "alias": alias}} for name in before]
    actions.append({"add": {"index": index, "alias": alias}})
    with handle.errors_explained():
        indices.update_aliases(body={"actions": actions})
    return before


def force_merge(handle: IndexHandle, segments: int = 1) -> None:
    """Merge an index to segments per shard: searches get faster, deletions free space."""
    merge, limit = handle.client.indices.forcemerge, MERGE_TIMEOUT_SECONDS
    handle.ask(merge, "_shards", max_num_segments=segments, request_timeout=limit)
