"""Commands of the toy package."""

from __future__ import annotations

import click

from slice_os import Corpus
from slice_os.cli.options import store_option


@click.command()
@store_option
def wave(store: str) -> None:
    """Greet every document in a store."""
    with Corpus(store) as corpus:
        for entry in corpus.documents():
            click.echo(f"Hello, {entry.id}!")
