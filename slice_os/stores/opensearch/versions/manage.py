"""The versions of an index: describing, swapping, deleting and repairing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import compress
from typing import Any

from slice_os.errors import InputError, StoreError
from slice_os.stores.opensearch.loading.loading import RESTORE
from slice_os.stores.opensearch.loading.repair import Fault, delete_keys
from slice_os.stores.opensearch.schema import indices
from slice_os.stores.opensearch.schema.indices import UNFINISHED
from slice_os.stores.opensearch.schema.records import document_key, passage_key, source_key
from slice_os.stores.opensearch.schema.settings import (
    FIELD_TYPES,
    IndexOptions,
    IndexSettings,
    noted,
    settings_of,
)
from slice_os.stores.opensearch.schema.span_policy import SpanPolicy
from slice_os.stores.opensearch.search.listing import count, find_index, find_records
from slice_os.stores.opensearch.server.answers import no_index
from slice_os.stores.opensearch.server.connection import IndexHandle


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """One index of an alias.

    Attributes:
        index: its name.
        current: whether the alias stands for it.
        unfinished: whether the reindex that makes it has not finished.
        loading: whether a load is in progress, or was interrupted; the next load repairs that.
        documents: number of documents.
        passages: number of passages.
        pieces: number of token vectors.
        size_bytes: disk space of its primary shards.
        settings: what it was made with.
        options: those that would make an index like it.
        refresh_interval: how often changes become searchable; None for the default.
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
    names = sorted(indices.find_versions(handle))
    with handle.errors_explained():
        if not names:
            if client.indices.exists(index=alias) and not client.indices.exists_alias(name=alias):
                base = alias.rpartition("-")[0]
                hint = f"; name its alias, such as {base}" if base else ""
                raise StoreError(f"{handle.location}: is one index and has no versions{hint}")
            raise no_index(handle.location)
        current = client.indices.get_alias(name=alias, ignore=[404])
    return [describe(handle.named(name), current=name in current) for name in names]


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
    settings = settings_of(mappings, handle.location)
    return IndexVersion(
        index=handle.name,
        current=current,
        unfinished=UNFINISHED in meta,
        loading=restore is not None,
        documents=counts["documents"],
        passages=counts["passages"],
        pieces=counts["pieces"],
        size_bytes=counts["size_bytes"],
        settings=settings,
        options=IndexOptions(
            policy=settings.policy,
            vectors=settings.vectors,
            truncate_dim=settings.dimensions,
            analyzer=mappings["properties"]["text"].get("analyzer", "standard"),
            fields=_declared(mappings["properties"]["metadata"].get("properties", {})),
            shards=int(live["number_of_shards"]),
            replicas=int(lasting["number_of_replicas"]),
        ),
        refresh_interval=lasting.get("refresh_interval"),
    )


def swap(handle: IndexHandle, index: str | None = None) -> tuple[IndexVersion, list[str]]:
    """Let the alias stand for another version, or the newest finished one, in one step.

    Returns:
        The version, and the names of those the alias stood for before.

    Raises:
        InputError: if there is no such version, or it is unfinished.
        StoreError: if there is no version at all.
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
    return finished[-1], indices.move_alias(handle, finished[-1].index)


def delete(handle: IndexHandle, index: str | None = None) -> None:
    """Delete a version, or all of them with the alias and the template.

    Raises:
        InputError: if there is no such version, or the alias stands for it.
        StoreError: if there is no version at all.
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
    """Delete indices by name."""
    for name in names:
        handle.named(name).ask(handle.client.indices.delete)


def forget(handle: IndexHandle, faults: Sequence[Fault]) -> list[str]:
    """Delete the documents that lack passages, so that the next ingest stores them; returns ids."""
    lacking = [fault for fault in faults if fault.missing]
    if not lacking:
        return []
    keys = [document_key(fault.doc_id) for fault in lacking]
    sources = {record["source"] for record in find_records(handle, keys)}
    keys += [passage_key(f.doc_id, ordinal) for f in lacking for ordinal in f.ordinals]
    delete_keys(handle, [*keys, *map(source_key, sources)])
    handle.refresh()
    return [fault.doc_id for fault in lacking]


def check_options(handle: IndexHandle, wanted: Mapping[str, Any]) -> None:
    """Refuse options that an existing index was not made with.

    ``wanted`` are `IndexOptions` by name; ``fields`` may be a part of the index's.

    Raises:
        StoreError: naming the first that differs.
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
