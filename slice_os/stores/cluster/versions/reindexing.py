"""Reindexing: making the next version of an index from what is stored, without encoding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

from slice_os.arrays import FloatArray
from slice_os.errors import StoreError
from slice_os.spans.passages import stored_form
from slice_os.stores.cluster.loading.bulk import Action, BulkSender, index_action
from slice_os.stores.cluster.loading.copies import Footprint
from slice_os.stores.cluster.loading.loading import leased, loading
from slice_os.stores.cluster.schema import indices
from slice_os.stores.cluster.schema.indices import MADE_FROM, Index
from slice_os.stores.cluster.schema.records import pack, span_entries, stored_passage
from slice_os.stores.cluster.schema.settings import IndexSettings, choose
from slice_os.stores.cluster.search.listing import PAGE, find_index, hits
from slice_os.stores.cluster.search.searches import STORED_ORDER, WALK_PASSAGES, Answer, Body
from slice_os.stores.cluster.server.connection import IndexHandle
from slice_os.stores.cluster.versions.manage import drop, versions


def reindex(
    handle: IndexHandle,
    changes: Mapping[str, Any],
    *,
    projection: FloatArray | None = None,
    on_passage: Callable[[int, int], None] | None = None,
) -> Index:
    """Make the next version of an index; the alias stands for the old one until a swap.

    Span vectors are regenerated from the stored token vectors. A version that an earlier run
    left unfinished is deleted first. No other process can write to the old version meanwhile.

    Args:
        handle: of the alias.
        changes: `IndexOptions` by name; ``fields`` are added to the existing ones.
        projection: of the encoder, if the old version has none.
        on_passage: called with how many passages are done, and how many there are.

    Raises an `InputError` on options that do not fit the encoder, and a `StoreError` if there is no
    such index, if another process is writing to it, or if the server rejects what is sent.
    """
    source = find_index(handle)
    if source is None:
        versions(handle)  # tells it if there is none at all
        raise StoreError(f"{handle.location}: stands for no index; run `slice-os index swap` first")
    made_with = source.settings
    if made_with.projection is not None:
        projection = made_with.projection
    with leased(handle.named(source.name)) as lease:
        # Another reindex may have finished a version, and moved the alias, until now.
        there = versions(handle)
        version = next((old for old in there if old.current), None)
        if version is None or version.index != source.name:
            raise StoreError(
                f"{handle.location}: was swapped meanwhile; run the same command again"
            )
        drop(handle, [old.index for old in there if old.unfinished])
        fields = {**version.options.fields, **changes.get("fields", {})}
        options = replace(version.options, **{**changes, "fields": fields})
        settings = choose(
            options, made_with.encoder, made_with.max_pieces, projection, handle.engine
        )
        target = indices.make_version(handle, indices.find_versions(handle), options, settings)
        _fill(handle.named(source.name), target, version.passages, on_passage)
        lease.check()
        writes = Footprint.of(handle.named(source.name)).writes
        made_from = {"index": source.name, "writes": writes}
        indices.finish(handle.named(target.name), {MADE_FROM: made_from})
    return target


def _fill(
    source: IndexHandle,
    target: Index,
    passages: int,
    on_passage: Callable[[int, int], None] | None,
) -> None:
    handle = source.named(target.name)
    with (
        loading(handle) as lease,
        closing(BulkSender(handle, confirm=lease.confirm)) as sender,
    ):
        for done, hit in enumerate(_stored(source), start=1):
            sender.add(_copy(hit, target.settings))
            _check(sender, handle, wait=False)
            if on_passage is not None and done <= passages:
                on_passage(done, passages)
        _check(sender, handle, wait=True)


def _stored(handle: IndexHandle) -> Iterator[Answer]:
    """Everything in an index but the projection: passages, then the records that refer to them."""
    handle.refresh()
    kinds: list[tuple[str, Body]] = [
        ("passage", {"sort": STORED_ORDER, "size": WALK_PASSAGES, "docvalue_fields": ["tokens"]}),
        ("document", {"sort": [{"doc_id": "asc"}], "size": PAGE}),
        ("source", {"sort": [{"source": "asc"}], "size": PAGE}),
    ]
    for kind, body in kinds:
        yield from hits(handle, body | {"query": {"term": {"kind": kind}}})


def _copy(hit: Answer, settings: IndexSettings) -> Action:
    entry = hit["_source"]
    if entry["kind"] != "passage":
        return index_action(0, hit["_id"], entry)
    stored = stored_form(stored_passage(hit).encoded)
    vectors = {
        "n_pieces": len(stored.vectors),
        "tokens": pack(stored, settings.encoder.max_words),
        "spans": span_entries(stored, settings),
    }
    return index_action(0, hit["_id"], {**entry, **vectors})


def _check(sender: BulkSender, handle: IndexHandle, wait: bool) -> None:
    for outcome in sender.outcomes(wait):
        if outcome.reason:
            raise StoreError(f"{handle.location}: {handle.name} rejects it: {outcome.reason}")
