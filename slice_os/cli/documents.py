"""`slice-os show`: the text of a document."""

from __future__ import annotations

import sys
from typing import Annotated

import click

from slice_os.cli.options import Store
from slice_os.cli.parameters import argument, command
from slice_os.cli.render import printable

AROUND = 1_000


@command()
def show(
    doc_id: Annotated[str, argument(metavar="DOC")],
    store: Store,
    at: Annotated[
        int | None,
        click.IntRange(min=0),
        "START",
        f"Print only the lines within {AROUND:,} characters of this offset of a hit.",
    ],
) -> None:
    """Print the text of a document, as it was extracted from its file.

    DOC is its id, as hits and `slice-os store list` have it. Offsets of hits count the code points
    of this text.
    """
    from slice_os.corpus import Corpus

    with Corpus(store) as corpus:
        text = corpus.text(doc_id)
    start, end = 0, len(text)
    if at is not None:
        if at >= len(text):
            raise click.UsageError(f"--at {at}: the text of {doc_id} has {len(text)} characters")
        start, end = max(0, at - AROUND), min(len(text), at + AROUND)
        if start:
            start = text.find("\n", start, at) + 1 or start
        if end < len(text):
            end = max(text.rfind("\n", at + 1, end), 0) or end
        told = f"{printable(doc_id)}: characters {start:,} to {end:,} of {len(text):,}"
        click.echo(told, err=True)
    shown = text[start:end]
    if sys.stdout.isatty():
        shown = "\n".join(map(printable, shown.split("\n")))
    click.echo(shown)
