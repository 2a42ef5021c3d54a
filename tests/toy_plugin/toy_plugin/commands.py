"""Commands of the toy package."""

from __future__ import annotations

import click

from slice_os import Corpus
from slice_os.cli.options import Store
from slice_os.cli.parameters import command


@command()
def wave(store: Store) -> None:
    """Greet every document in a store."""
    with Corpus(store) as corpus:
        for entry in corpus.documents():
            click.echo(f"Hello, {entry.id}!")
