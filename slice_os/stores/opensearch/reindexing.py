"""Making the next version of an index from what is stored, without encoding anything again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

from opensearchpy import OpenSearch

from slice_os.arrays import FloatArray
from slice_os.errors import StoreError
from slice_os.stores.opensearch.bulk import Action, BulkSender, index_action
from slice_os.stores.opensearch.codec import unpack
from slice_os.stores.opensearch.indices import (
    Index,
    create,
    errors_explained,
    finish,
    resolve,
)
from slice_os.stores.opensearch.lease import leased
from slice_os.stores.opensearch.loading import loading
from slice_os.stores.opensearch.manage import drop, versions
from slice_os.stores.opensearch.paging import pages
from slice_os.stores.opensearch.records import span_entries
from slice_os.stores.opensearch.search_bodies import STORED_ORDER, WALK_PASSAGES, Answer, Body
from slice_os.stores.opensearch.settings import IndexSettings

RECORDS = 1_000

Progress = Callable[[int, int], None]


def reindex(
    client: OpenSearch,
    alias: str,
    location: str,
    changes: Mapping[str, Any],
    *,
    projection: FloatArray | None = None,
    progress: Progress | None = None,
) -> Index:
    """Make the next version of an index; the alias stands for the old one until a swap.

    Span vectors are made anew from the stored token vectors. A version that an earlier run
    left unfinished is deleted first. Nobody else can write to the old version meanwhile.

    Args:
        client: where to.
        alias: name that applications use.
        location: for messages.
        changes: `IndexOptions` by name; what is not named stays as it is. ``fields`` are added
            to those there are.
        projection: the encoder's, where the old version has none.
        progress: told how many passages are done, and how many there are.

    Raises:
        InputError: on options that do not fit the encoder.
        StoreError: if there is no such index, another process is writing to it, or
            OpenSearch does not take what is sent.
    """
    there = versions(client, alias, location)
    source = resolve(client, alias, location)
    if source is None:
        raise StoreError(f"{location}: stands for no index; run `slice-os index swap` first")
    (version,) = (old for old in there if old.index == source.name)
    fields = {**version.options.fields, **changes.get("fields", {})}
    options = replace(version.options, **{**changes, "fields": fields})
    made_with = source.settings
    with leased(client, source.name, location) as lease:
        drop(client, [old.index for old in there if old.unfinished], location)
        target = create(
            client,
            alias,
            options,
            made_with.encoder,
            made_with.max_pieces,
            location,
            projection if made_with.projection is None else made_with.projection,
            point_alias=False,
        )
        _fill(client, target, source, version.passages, location, progress)
        lease.check()
        finish(client, target.name, location)
    return target


def _fill(
    client: OpenSearch,
    target: Index,
    source: Index,
    passages: int,
    location: str,
    progress: Progress | None,
) -> None:
    with (
        loading(client, target.name, location),
        closing(BulkSender(client, target.name, location)) as sender,
    ):
        for done, hit in enumerate(_stored(client, source.name, location), start=1):
            sender.add(_copy(hit, target.settings))
            _check(sender, target, location, wait=False)
            if progress is not None and done <= passages:
                progress(done, passages)
        _check(sender, target, location, wait=True)


def _stored(client: OpenSearch, index: str, location: str) -> Iterator[Answer]:
    """Everything in an index but the axes: passages, then the records that make them count."""
    with errors_explained(location):
        client.indices.refresh(index=index)
    kinds: list[tuple[str, Body]] = [
        ("passage", {"sort": STORED_ORDER, "size": WALK_PASSAGES, "docvalue_fields": ["tokens"]}),
        ("document", {"sort": [{"doc_id": "asc"}], "size": RECORDS}),
        ("source", {"sort": [{"source": "asc"}], "size": RECORDS}),
    ]
    for kind, body in kinds:
        query = {"query": {"term": {"kind": kind}}}
        for page in pages(client, index, body | query, location):
            yield from page


def _copy(hit: Answer, settings: IndexSettings) -> Action:
    entry = hit["_source"]
    if entry["kind"] != "passage":
        return index_action(0, hit["_id"], entry)
    tokens = hit["fields"]["tokens"][0]
    passage = unpack(tokens, entry["start"], entry["end"], {})
    # Doc values come back as URL-safe base64 without padding, and go in as the plain one.
    plain = tokens.translate(str.maketrans("-_", "+/")) + "=" * (-len(tokens) % 4)
    return index_action(
        0, hit["_id"], {**entry, "tokens": plain, "spans": span_entries(passage, settings)}
    )


def _check(sender: BulkSender, target: Index, location: str, wait: bool) -> None:
    for outcome in sender.outcomes(wait):
        if outcome.reason:
            raise StoreError(f"{location}: {target.name} does not take it: {outcome.reason}")
