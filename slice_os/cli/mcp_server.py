"""`slice-os mcp`."""

from __future__ import annotations

from contextlib import ExitStack

import click

from slice_os.cli.store_names import name_option, named_stores


@click.command()
@click.option(
    "--store",
    "stores",
    multiple=True,
    envvar="SLICE_OS_STORE",
    metavar="STORE",
    help="Folder, or http(s)://[user@]host[:port]/index in OpenSearch; repeatable (or set "
    "SLICE_OS_STORE).",
)
@name_option
def mcp(stores: tuple[str, ...], named: tuple[str, ...]) -> None:
    """Let a language model search stores: an MCP server on standard input and output.

    Its tools are search, mine, scan, document and stores. None of them changes anything.
    """
    locations = named_stores(stores, named)
    if not locations:
        raise click.UsageError("give a --store")
    from slice_os.corpus import Corpus
    from slice_os.integrations.mcp_tools import Tools, mcp_server

    with ExitStack() as stack:
        corpora = {
            name: stack.enter_context(Corpus(location)) for name, location in locations.items()
        }
        tools = Tools(corpora)
        tools.stores()  # what is wrong with a store is said before anything is asked
        mcp_server(tools).run("stdio")
