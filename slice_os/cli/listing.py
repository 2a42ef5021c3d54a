"""`slice-os list`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING

import click
import orjson

from slice_os.cli.options import output_option, store_option
from slice_os.cli.render import echo_json, printable, styled, wants_json

if TYPE_CHECKING:
    from slice_os.stores.protocol import DocumentEntry, SourceEntry

WIDTH_ROWS = 1_000
LONGEST_CELL = 60


@click.command("list")
@store_option
@click.option(
    "--documents/--sources",
    "wants_documents",
    default=True,
    help="List the documents, or the sources that they came from.  [default: documents]",
)
@output_option
def list_entries(store: str, wants_documents: bool, as_json: bool | None) -> None:
    """List the documents in a store, or their sources.

    A terminal shows a table; a pipe, or --json, gets one line of JSON each. Documents without a
    source were added by a program.
    """
    from slice_os.corpus import Corpus

    with Corpus(store) as corpus:
        entries = corpus.documents() if wants_documents else corpus.sources()
        if wants_json(as_json):
            for entry in entries:
                echo_json(orjson.dumps(asdict(entry)))
        else:
            _show_table(entries)


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
