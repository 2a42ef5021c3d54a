"""`slice-os key`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["read", "write", "curate", "metrics"]),
    help="What the key allows: read (search, mine, show), write (documents), curate (topics and "
    "labels), metrics; repeatable.  [default: read]",
)
@click.option(
    "--keys",
    default="keys.jsonl",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File that the key's hash is added to; `slice-os serve --keys` reads it.",
)
def key(name: str, scopes: tuple[str, ...], keys: Path) -> None:
    """Make an API key for NAME, and print it; only its hash is kept.

    To take a key back, delete its line from the file and restart the service.
    """
    from slice_os.service.asgi.keys import new_key

    click.echo(new_key(keys, name, scopes or ("read",)))
