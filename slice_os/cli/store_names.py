"""The names by which a server's clients call its stores."""

from __future__ import annotations

import click


def named_stores(stores: tuple[str, ...], named: tuple[str, ...]) -> dict[str, str]:
    """The locations by name.

    Args:
        stores: locations, which are called as their folder or index.
        named: names and locations, as in ``calls=data/calls.slice``.

    Raises:
        click.UsageError: if a name is missing, or given twice.
    """
    pairs = [(store.rstrip("/").rpartition("/")[2], store) for store in stores]
    for text in named:
        name, separator, store = text.partition("=")
        if not (name and separator and store):
            raise click.UsageError(f"--name {text!r}: give NAME=STORE")
        pairs.append((name, store))
    names = [name for name, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise click.UsageError(f"two stores are called {twice!r}; use --name to tell them apart")
    return dict(pairs)


name_option = click.option(
    "--name",
    "named",
    multiple=True,
    metavar="NAME=STORE",
    help="A store, and the name that requests use; repeatable. Without one, a STORE has the "
    "name of its folder or index.",
)
