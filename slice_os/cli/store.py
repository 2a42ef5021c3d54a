"""`slice-os store`: what a store holds, and its care."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import click

from slice_os.cli.groups import CommandGroup
from slice_os.cli.options import ReportAsJson, RowsAsJson, Store, connect
from slice_os.cli.parameters import argument
from slice_os.cli.progress import StepBar
from slice_os.cli.render import echo_json, printable, show, styled, wants_json

if TYPE_CHECKING:
    from pathlib import Path

    from slice_os.corpus import Corpus
    from slice_os.stores.protocol import DocumentEntry, SourceEntry

WIDTH_ROWS = 1_000
LONGEST_CELL = 60
NO_DATES = "none; documents get them by --date-field or --time-field of ingest"


@click.group(cls=CommandGroup)
def store() -> None:
    """Describe, list, delete, compact, copy or check what is stored."""


@store.command()
def info(store: Store, as_json: ReportAsJson) -> None:
    """Describe a store: its contents, size and encoder."""
    from slice_os.corpus import Corpus
    from slice_os.stores.protocol import RemoteStore

    with Corpus(store) as corpus:
        found = {**asdict(corpus.info()), "dates": _dates(corpus)}
        if isinstance(corpus.store, RemoteStore):
            found["scored_by"] = corpus.store.scored_by()
    # Names of folders may be any bytes.
    found["location"] = os.fsencode(found["location"]).decode(errors="replace")
    if wants_json(as_json):
        echo_json(found)
        return
    encoder = found.pop("encoder")
    named = {f"encoder_{name.removeprefix('encoder_')}": encoder[name] for name in encoder}
    dates = found["dates"]
    found["dates"] = f"{dates['first']} to {dates['last']}" if dates else NO_DATES
    for name, value in {**found, **named}.items():
        shown = f"{value:,}" if isinstance(value, int) else printable(str(value))
        click.echo(f"{name.replace('_', ' '):<22} {shown}")


def _dates(corpus: Corpus) -> dict[str, str] | None:
    """The first day and the last, in UTC; None without dates."""
    from slice_os.errors import InputError

    try:
        days = list(corpus.days())
    except InputError:
        return None
    return {"first": days[0], "last": days[-1]}


@store.command("list")
def list_entries(
    *,
    store: Store,
    wants_documents: Annotated[
        bool, "--documents/--sources", "List the documents, or the sources they came from."
    ] = True,
    as_json: RowsAsJson,
) -> None:
    """List the documents in a store, or their sources.

    A terminal shows a table; a pipe, or --json, gets one line of JSON each. Documents without a
    source were added by a program.
    """
    from slice_os.corpus import Corpus

    with Corpus(store) as corpus:
        entries = corpus.documents() if wants_documents else corpus.sources()
        if wants_json(as_json):
            for entry in entries:
                echo_json(entry)
        else:
            _show_table(entries)


@store.command()
def delete(
    doc_ids: Annotated[tuple[str, ...], argument(required=True, metavar="DOC_ID...")],
    store: Store,
) -> int:
    """Delete documents by id.

    The exit status is 1 if one of them was not found.
    """
    from slice_os.corpus import Corpus

    with Corpus(store) as corpus:
        wanted = list(dict.fromkeys(doc_ids))
        found = corpus.store.find_documents(wanted)
        missing = [doc_id for doc_id in wanted if doc_id not in found]
        deleted = corpus.delete(wanted)
    told = f"; not found: {printable(', '.join(missing))}" if missing else ""
    click.echo(f"{deleted} of {len(wanted)} documents deleted{told}", err=True)
    return 1 if missing else 0


@store.command()
def compact(store: Store) -> None:
    """Free the space of deleted and replaced documents.

    Their texts are overwritten as soon as they are deleted. Their vectors, and their terms in the
    BM25 index, stay until the store is compacted; an ingest does so when a quarter of the
    vectors are dead. Searches can go on. The disk needs room for a second copy of what stays.

    Only for a store in a folder: a server removes deleted documents when it merges segments.
    """
    from slice_os.stores.local import LocalStore
    from slice_os.stores.local.files import folder_size

    folder = _folder(store)
    if folder is None:
        raise click.UsageError(
            "compact is for a store in a folder; a server removes deleted documents when it "
            "merges segments (POST /INDEX/_forcemerge?only_expunge_deletes=true)"
        )
    with closing(LocalStore.open(folder)) as opened:
        before = opened.info().size_bytes
        opened.compact()
    after = folder_size(folder)
    click.echo(f"{store}: {before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB after", err=True)


@store.command("copy")
def copy_to(
    source: Annotated[str, argument(metavar="FROM")],
    target: Annotated[str, argument(metavar="TO")],
) -> int:
    """Copy a store into another one, which may be of another kind, without encoding.

    FROM and TO are folders or addresses, as of --store. TO is made if it is not there. Run the
    same command again after an interruption: what is there already is passed over. At the end,
    both stores are compared: their documents, and the hits of 50 phrases. The exit status is 1 if
    they differ. Labels and topics are not copied.
    """
    from slice_os.encoder.model_folder import made_by
    from slice_os.encoder.span_encoder import SpanEncoder
    from slice_os.stores.copying import copy_store, differences
    from slice_os.stores.protocol import NewStore
    from slice_os.stores.registry import create_store, find_backend, open_store, store_exists

    with closing(open_store(source)) as old, closing(StepBar()) as bar:
        info = old.info()
        if not store_exists(target):
            projection = None
            if find_backend(target).folder(target) is None:
                projection = SpanEncoder(made_by(info.encoder, source)).projection
            create_store(target, NewStore(info.encoder, info.max_pieces, projection))
        with closing(open_store(target, info.encoder)) as new:
            copied = copy_store(old, new, lambda n: bar.update("copied", n, info.documents))
            found = differences(old, new)
    for difference in found:
        show({"difference": difference}, printable(difference))
    told = f"{len(found)} differences" if found else "both are the same"
    click.echo(f"{copied:,} of {info.documents:,} documents copied; {told}", err=True)
    return 1 if found else 0


@store.command()
def check(
    store: Store,
    repair: Annotated[bool, "Delete damaged documents, and rebuild everything else."],
    as_json: RowsAsJson,
) -> int:
    """Check that a store is as it was written.

    In a folder, every file is compared with its checksums and counts. On a server, every
    document must have all its passages; STORE may also name one version of an index, and an
    ingest in progress can look like a fault.

    Each fault is a line. The exit status is 1 if there are faults, unless --repair fixes them all
    without losing a document. The next ingest of their sources stores again the documents that
    --repair deleted.
    """
    folder = _folder(store)
    if folder is None:
        return _check_index(store, repair, as_json)
    return _check_folder(store, folder, repair, as_json)


def _folder(store: str) -> Path | None:
    """The folder of a local store; None for other stores."""
    from slice_os.stores.registry import find_backend

    return find_backend(store).folder(store)


def _check_folder(store: str, folder: Path, repair: bool, as_json: bool | None) -> int:
    from slice_os.stores.local import LocalStore

    with closing(LocalStore.open(folder)) as opened:
        faults = opened.verify(repair=repair)
    for fault in faults:
        document = f" (document {fault.document})" if fault.document is not None else ""
        show(fault, printable(f"{fault.where}: {fault.problem}{document}"), as_json)
    if not (faults and repair):
        return _tell_found(store, len(faults), "everything is as it was written")
    click.echo(f"{store}: {len(faults)} faults repaired", err=True)
    return _tell_deleted(sorted({fault.document for fault in faults if fault.document is not None}))


def _check_index(store: str, repair: bool, as_json: bool | None) -> int:
    from slice_os.stores.cluster.loading.loading import find_faults, leased
    from slice_os.stores.cluster.loading.loading import repair as delete_surplus
    from slice_os.stores.cluster.search.listing import require_index
    from slice_os.stores.cluster.versions import manage

    named = connect(store)
    found = named.named(require_index(named).name)
    faults = list(find_faults(found))
    for fault in faults:
        lacks = f"{fault.missing} of {fault.expected} passages missing"
        text = printable(f"{fault.doc_id}: {lacks}, {len(fault.surplus)} too many")
        show(fault.to_dict(), text, as_json)
    if not (faults and repair):
        return _tell_found(found.name, len(faults), "every document has its passages")
    with leased(found):
        lacking = manage.forget(found, list(find_faults(found)))
        surplus = delete_surplus(found)
    click.echo(f"{found.name}: {surplus} passages without a document deleted", err=True)
    return _tell_deleted(lacking)


def _tell_found(store: str, faults: int, none: str) -> int:
    """Say how many faults there are, or what their absence means; the exit status."""
    told = f"{faults} faults; use --repair to fix them" if faults else none
    click.echo(f"{store}: {told}", err=True)
    return 1 if faults else 0


def _tell_deleted(documents: Sequence[str]) -> int:
    """Name the documents that a repair deleted; the exit status."""
    if documents:
        click.echo(f"deleted, ingest them again: {printable(', '.join(documents))}", err=True)
    return 1 if documents else 0


def _show_table(entries: Iterable[DocumentEntry | SourceEntry]) -> None:
    """Columns as wide as the first rows need."""
    remaining = (asdict(entry) for entry in entries)
    first = list(islice(remaining, WIDTH_ROWS))
    if not first:
        click.echo("nothing is stored", err=True)
        return
    names = list(first[0])
    rows = [[_cell(row[name]) for name in names] for row in first]
    widths = [min(LONGEST_CELL, max(map(len, column))) for column in zip(names, *rows, strict=True)]
    click.echo(styled(_line(names, widths), bold=True))
    for row in rows:
        click.echo(_line(row, widths))
    for entry in remaining:
        click.echo(_line([_cell(entry[name]) for name in names], widths))


def _cell(value: str | int) -> str:
    return printable(value) if isinstance(value, str) else f"{value:,}"


def _line(cells: Iterable[str], widths: Iterable[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()
