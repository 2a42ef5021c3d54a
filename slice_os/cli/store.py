"""`slice-os info` and `slice-os delete`."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict

import click
import orjson

from slice_os.cli.options import store_option
from slice_os.cli.render import echo_json, printable


@click.command()
@store_option
def info(store: str) -> None:
    """Show the contents of a store, and the encoder it was made with."""
    from slice_os.corpus import Corpus

    with Corpus(store) as corpus:
        found = asdict(corpus.info())
    # Names of folders may be any bytes.
    found["location"] = os.fsencode(found["location"]).decode(errors="replace")
    if not sys.stdout.isatty():
        echo_json(orjson.dumps(found))
        return
    encoder = found.pop("encoder")
    for name, value in {**found, **{f"encoder {key}": encoder[key] for key in encoder}}.items():
        shown = f"{value:,}" if isinstance(value, int) else printable(str(value))
        click.echo(f"{name.replace('_', ' '):<22} {shown}")


@click.command()
@click.argument("doc_ids", nargs=-1, required=True, metavar="DOC_ID...")
@store_option
def delete(doc_ids: tuple[str, ...], store: str) -> int:
    """Delete documents from a store by id.

    The exit status is 1 if one of them was not found.
    """
    from slice_os.corpus import Corpus

    with Corpus(store) as corpus:
        deleted = corpus.delete(doc_ids)
    click.echo(f"{deleted} of {len(doc_ids)} documents deleted", err=True)
    return 0 if deleted == len(doc_ids) else 1
