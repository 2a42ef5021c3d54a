"""The versions of an index: making, describing, swapping, deleting and repairing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from itertools import compress
from typing import Any

import orjson

from slice_os.arrays import FloatArray
from slice_os.encoder.model_folder import ModelCard
from slice_os.errors import InputError, StoreError
from slice_os.stores.cluster.loading.bulk import delete_action, version_of
from slice_os.stores.cluster.loading.copies import Footprint
from slice_os.stores.cluster.loading.lease import gate, index_of_leases
from slice_os.stores.cluster.loading.loading import RESTORE, Fault, deletions, deliver, leased
from slice_os.stores.cluster.schema import indices
from slice_os.stores.cluster.schema.indices import MADE_FROM, UNFINISHED, Index
from slice_os.stores.cluster.schema.records import document_key, source_key
from slice_os.stores.cluster.schema.settings import (
    FIELD_TYPES,
    IndexOptions,
    IndexSettings,
    choose,
    noted,
    settings_of,
)
from slice_os.stores.cluster.schema.span_policy import SpanPolicy
from slice_os.stores.cluster.search.listing import count, find_entries, find_index
from slice_os.stores.cluster.server.answers import NotFoundError, no_index, retrying
from slice_os.stores.cluster.server.connection import IndexHandle, check_name


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """One index of an alias: what it holds, and what it was made with.

    It is current if the alias stands for it, and unfinished if the reindex that makes it has not
    finished. A load may be in progress, or was interrupted; the next load repairs that. The size is
    disk space of its primary shards. The options would make an index like it. Changes become
    searchable at the refresh interval; None for the default.
    """

    index: str
    current: bool
    unfinished: bool
    loading: bool
    documents: int
    passages: int
    pieces: int
    size_bytes: int
    settings: IndexSettings
    options: IndexOptions
    refresh_interval: str | None

    @property
    def state(self) -> str:
        """The state in a few words, such as ``current``."""
        words = ("current", "unfinished", "load in progress or interrupted")
        return ", ".join(compress(words, (self.current, self.unfinished, self.loading)))


def versions(handle: IndexHandle) -> list[IndexVersion]:
    """The versions of an alias, oldest first.

    Raises a `StoreError` if there is none, or if the name is that of one version.
    """
    alias, client = handle.name, handle.client
    found = indices.find_versions(handle)
    with handle.errors_explained():
        if not found:
            if client.indices.exists(index=alias) and not client.indices.exists_alias(name=alias):
                base = alias.rpartition("-")[0]
                hint = f"; name its alias, such as {base}" if base else ""
                raise StoreError(f"{handle.location}: is one index and has no versions{hint}")
            raise no_index(handle.location)
    return [describe(handle.named(one), alias in found[one]["aliases"]) for one in sorted(found)]


def describe(handle: IndexHandle, current: bool = True) -> IndexVersion:
    """The contents and state of one index.

    Raises a `StoreError` if slice-os did not make it.
    """
    found = handle.ask(handle.client.indices.get)[handle.name]
    counts = count(handle)
    mappings, live = found["mappings"], found["settings"]["index"]
    meta = noted(mappings)
    restore = meta.get(RESTORE)
    lasting = live | (restore or {})
    settings = settings_of(mappings, handle.location, handle.engine)
    return IndexVersion(
        index=handle.name,
        current=current,
        unfinished=UNFINISHED in meta,
        loading=restore is not None,
        **{name: counts[name] for name in ("documents", "passages", "pieces", "size_bytes")},
        settings=settings,
        options=IndexOptions(
            policy=settings.policy,
            vectors=settings.vectors,
            truncate_dim=settings.dimensions,
            analyzer=mappings["properties"]["reading"].get("analyzer", "standard"),
            fields=_declared(mappings["properties"]["metadata"].get("properties", {})),
            shards=int(live["number_of_shards"]),
            replicas=int(lasting["number_of_replicas"]),
        ),
        refresh_interval=lasting.get("refresh_interval"),
    )


def swap(handle: IndexHandle, index: str | None = None) -> tuple[IndexVersion, list[str]]:
    """Let the alias stand for another version, or the newest finished one, in one step.

    Returns the version, and the names of those the alias stood for before.

    Raises an `InputError` if there is no such version, or it is unfinished, and a `StoreError` if
    there is no version at all, if another process is writing to the old one, or if it was written
    to after the new one was made from it.
    """
    there = versions(handle)
    finished = [version for version in there if not version.unfinished]
    if index is not None:
        _known(index, there, handle.location)
        finished = [version for version in finished if version.index == index]
    if not finished:
        raise InputError(
            f"{handle.location}: {index or there[-1].index} is unfinished; run "
            "`slice-os index reindex` again"
        )
    chosen = finished[-1].index
    with ExitStack() as held:
        for old in there:
            if old.current and old.index != chosen:
                held.enter_context(leased(handle.named(old.index)))
                _check_unwritten(handle, chosen, old.index)
        return finished[-1], indices.move_alias(handle, chosen)


def _check_unwritten(handle: IndexHandle, chosen: str, old: str) -> None:
    """Refuse to leave behind what was written to a version after the chosen one was made of it."""
    source = noted(handle.named(chosen).mapping()).get(MADE_FROM)
    if not source or source["index"] != old:
        return
    if source["writes"] != Footprint.of(handle.named(old)).writes:
        raise StoreError(
            f"{handle.location}: {old} was written to after {chosen} was made from it; run "
            "`slice-os index reindex` again"
        )


def delete(handle: IndexHandle, index: str | None = None) -> None:
    """Delete a version, or all of them with the alias and the template.

    Raises an `InputError` if there is no such version, or the alias stands for it, and a
    `StoreError` if there is no version at all.
    """
    there = versions(handle)
    if index is not None:
        if _known(index, there, handle.location).current:
            raise InputError(
                f"{handle.location}: stands for {index}; swap to another version first, or delete "
                "all"
            )
        drop(handle, [index])
        return
    drop(handle, [version.index for version in there])
    with handle.errors_explained():
        name = indices.template_name(handle.name)
        handle.client.indices.delete_index_template(name=name, ignore=[404])


def drop(handle: IndexHandle, names: Sequence[str]) -> None:
    """Delete indices by name, and their leases."""
    for name in (each for one in names for each in (one, index_of_leases(one))):
        # Gone already, if only the answer to a first request was lost.
        with suppress(NotFoundError):
            handle.named(name).ask(handle.client.indices.delete)


def forget(handle: IndexHandle, faults: Sequence[Fault]) -> list[str]:
    """Delete the documents that lack passages, so that the next ingest stores them; returns ids."""
    lacking = [fault for fault in faults if fault.missing]
    if not lacking:
        return []
    records = find_entries(handle, [document_key(fault.doc_id) for fault in lacking])
    sources = {record["_source"]["source"] for record in records}
    records += find_entries(handle, list(map(source_key, sources)))
    passages = [one for fault in lacking for one in deletions(fault.doc_id, fault.passages)]
    deliver(
        handle, [*(delete_action(0, one["_id"], version_of(one)) for one in records), *passages]
    )
    handle.refresh()
    return [fault.doc_id for fault in lacking]


def check_options(handle: IndexHandle, wanted: Mapping[str, Any]) -> None:
    """Refuse options that an existing index was not made with.

    ``wanted`` are `IndexOptions` by name; ``fields`` may be a part of the index's.

    Raises a `StoreError`, naming the first that differs.
    """
    index = find_index(handle)
    if index is None or not wanted:
        return
    made = asdict(describe(handle.named(index.name)).options)
    for option, value in _flat(wanted).items():
        has = _flat(made).get(option)
        if has != value:
            raise StoreError(
                f"{handle.location}: {index.name} has {option} {has or 'undeclared'}, not {value}; "
                "omit that option, or change it with `slice-os index reindex`"
            )


def _flat(options: Mapping[str, Any]) -> dict[str, str]:
    """Options as text, with each field under its own name, and policies normalised."""
    fields = {f"field {name}": kind for name, kind in options.get("fields", {}).items()}
    flat = {name: str(value) for name, value in options.items() if name != "fields"} | fields
    if "policy" in flat:
        flat["policy"] = str(SpanPolicy.parse(flat["policy"]))
    return flat


def _known(index: str, there: Sequence[IndexVersion], location: str) -> IndexVersion:
    for version in there:
        if version.index == index:
            return version
    names = ", ".join(version.index for version in there)
    raise InputError(f"{location}: has no version {index!r}; there are {names}")


def _declared(properties: dict[str, Any]) -> dict[str, str]:
    """The declared types of metadata fields, without most of those that were derived."""
    return {
        name: str(field["type"])
        for name, field in properties.items()
        if field.get("type") in FIELD_TYPES and not field.keys() & {"ignore_above", "fields"}
    }


@retrying
def create_first(
    handle: IndexHandle,
    options: IndexOptions,
    card: ModelCard,
    max_pieces: int,
    projection: FloatArray | None = None,
) -> Index:
    """Make an index and let the alias stand for it; if another process does, wait for that.

    What a process that was killed has left unfinished is completed.

    Raises an `InputError` on options that do not fit the encoder, and a `StoreError` if the alias
    stands for an index with other settings.
    """
    check_name(handle.name)
    settings = choose(options, card, max_pieces, projection, handle.engine)
    there = indices.find_versions(handle)
    if not there:
        try:
            indices.make_version(handle, (), options, settings)
        except StoreError:
            # Of several processes, the server lets one make it.
            if not indices.find_versions(handle):
                raise
        there = indices.find_versions(handle)
    newest = max(there)
    # Only one process at a time goes on, and the others find its index.
    with gate(handle.named(newest)):
        there = indices.find_versions(handle)
        for name, version in there.items():
            if handle.name in version["aliases"]:
                if _has(version, settings):
                    return Index(name, settings)
                raise StoreError(
                    f"{handle.location}: {name} is there already, made with another encoder or "
                    "other options; use the same ones, or choose another name"
                )
        unfinished = UNFINISHED in noted(there[max(there)]["mappings"])
        if newest == max(there) and unfinished and _has(there[newest], settings):
            indices.write_projection(handle.named(newest), settings.projection)
        else:
            newest = indices.make_version(handle, there, options, settings).name
        # An alias never stands for an index without its projection.
        indices.finish(handle.named(newest))
        handle.named(newest).ask(handle.client.indices.put_alias, name=handle.name)
    return Index(newest, settings)


def _has(version: dict[str, Any], settings: IndexSettings) -> bool:
    meta = noted(version["mappings"])
    return bool(meta | orjson.loads(orjson.dumps(settings.to_meta())) == meta)
