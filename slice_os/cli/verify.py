"""`slice-os verify`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click
import orjson

from slice_os.cli.options import store_option

if TYPE_CHECKING:
    from slice_os.stores.local.faults import Fault


@click.command()
@store_option
@click.option(
    "--repair",
    is_flag=True,
    help="Delete damaged documents, and rebuild from the others what can be rebuilt.",
)
@click.pass_context
def verify(context: click.Context, store: str, repair: bool) -> int:
    """Check that a store is as it was written.

    In a folder, everything is compared with its checksums and counts. In OpenSearch, every
    document must have its passages, as by `slice-os index verify`.

    Each fault is a line of JSON, or of text on a terminal. The exit status is 1 if there are
    faults, unless --repair fixes them all without losing a document. The next ingest of their
    sources stores the documents that --repair deletes again.
    """
    from slice_os.cli.index import index
    from slice_os.stores.local import LocalStore
    from slice_os.stores.registry import find_backend

    folder = find_backend(store).folder(store)
    if folder is None:
        status: int = context.invoke(index.commands["verify"], store=store, repair=repair)
        return status
    opened = LocalStore.open(folder)
    try:
        faults = opened.verify(repair=repair)
    finally:
        opened.close()
    for fault in faults:
        click.echo(_sentence(fault) if sys.stdout.isatty() else orjson.dumps(asdict(fault)))
    if not faults:
        click.echo(f"{store}: everything is as it was written", err=True)
        return 0
    if not repair:
        click.echo(f"{store}: {len(faults)} faults; use --repair to fix them", err=True)
        return 1
    lost = sorted({fault.document for fault in faults if fault.document is not None})
    click.echo(f"{store}: {len(faults)} faults repaired", err=True)
    if lost:
        click.echo(f"deleted, ingest them again: {', '.join(lost)}", err=True)
    return 1 if lost else 0


def _sentence(fault: Fault) -> str:
    from slice_os.cli.render import printable

    document = f" (document {fault.document})" if fault.document is not None else ""
    return printable(f"{fault.where}: {fault.problem}{document}")
