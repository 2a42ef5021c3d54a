"""`slice-os serve`, `slice-os key` and `slice-os mcp`: stores for others to search."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import click

from slice_os.cli.options import ModelName, WorkFolder
from slice_os.cli.parameters import argument, command, option
from slice_os.errors import MissingExtraError, UnavailableError

if TYPE_CHECKING:
    from slice_os.corpus import Corpus

NamedStores: TypeAlias = Annotated[
    tuple[str, ...],
    "--name",
    "NAME=STORE",
    "A store, and the name that requests use; repeatable. Without one, a STORE has the "
    "name of its folder or index.",
]


@command()
def serve(
    *,
    stores: Annotated[tuple[str, ...], argument(metavar="[STORE]...")],
    named: NamedStores,
    demo: Annotated[bool, "Serve 600 documents of the demo; made at first use, in ten seconds."],
    work: WorkFolder,
    host: Annotated[str, "Address to listen on."] = "127.0.0.1",
    port: Annotated[
        int, click.IntRange(0, 65_535), "Port to listen on; 0 for any free one."
    ] = 8000,
    keys: Annotated[
        Path | None,
        click.Path(exists=True, dir_okay=False, path_type=Path),
        "File of API keys, made with `slice-os key`. Without it, only this machine has access.",
    ],
    reached_at: Annotated[
        str | None,
        "URL",
        "The address that people use, if it is another one: of a reverse proxy, or of "
        "the port that a container publishes.",
    ],
    verifier: Annotated[
        str | None, "NAME", "Verifier for requests and topics that name none, such as slice-verify."
    ],
    model: ModelName,
    opens: Annotated[bool, "--open", "Open the page in a browser."],
) -> None:
    """Serve stores over HTTP, with a page to search them and to curate topics.

    STORE is a folder, or http(s)://[user@]host[:port]/index in OpenSearch or Elasticsearch. It must
    be there.
    Topics and labels are kept in the folder of the first store, with --demo in your cache folder,
    unless you give another one.
    """
    from slice_os.service.demo import NAME, demo_folder, sample_store
    from slice_os.service.settings import ServiceSettings
    from slice_os.stores.registry import find_backend
    from slice_os.topics.work import Work

    try:
        from slice_os.service.app import run_service
        from slice_os.service.asgi.access import opened_to
    except ModuleNotFoundError as error:
        if error.name not in ("fastapi", "uvicorn", "prometheus_client"):
            raise
        raise MissingExtraError("The service", "serve") from None
    served = _named_stores(stores, named)
    if demo:
        served = {NAME: str(sample_store()), **served}
        work = work or demo_folder()
    if not served:
        raise click.UsageError("give a STORE, or --demo")
    if odd := next((name for name in served if "/" in name or not name.strip(".")), None):
        raise click.UsageError(f"--name {odd!r}: no address of a request can have it")
    for location in served.values():
        with suppress(UnavailableError):  # a server may start later
            _opened(location, model)
    first = next(iter(served.values()))
    kept = Work.of(find_backend(first).folder(first), work).folder
    service = ServiceSettings(
        served, kept, host, port, keys, reached_at, verifier=verifier, model=model
    )

    def started(address: str) -> None:
        told = f"serving {', '.join(served)} at {address}; topics and labels are in {kept}"
        click.echo(told, err=True)
        if warning := opened_to(service):
            click.echo(warning, err=True)
        if opens:
            click.launch(address)

    run_service(service, started)


@command()
def key(
    *,
    name: Annotated[str, argument()],
    scopes: Annotated[
        tuple[str, ...],
        "--scope",
        click.Choice(["read", "write", "curate", "metrics"]),
        "Permission of the key: read (search, mine, show), write (documents), curate "
        "(topics and labels), metrics; repeatable.  [default: read]",
    ],
    keys: Annotated[
        Path, "File that the key's hash is added to; `slice-os serve --keys` reads it."
    ] = Path("keys.jsonl"),
) -> None:
    """Make an API key for NAME, and print it; only its hash is kept.

    To revoke a key, delete its line from the file and restart the service.
    """
    from slice_os.service.asgi.keys import new_key

    click.echo(new_key(keys, name, scopes or ("read",)))


@command()
def mcp(
    stores: Annotated[
        tuple[str, ...],
        option(
            "--store",
            "STORE",
            "Folder, or http(s)://[user@]host[:port]/index; repeatable (or set SLICE_OS_STORE).",
            envvar="SLICE_OS_STORE",
        ),
    ],
    named: NamedStores,
    work: WorkFolder,
    model: ModelName,
) -> None:
    """Let a language model search stores: an MCP server on standard input and output.

    Its tools are search, mine, scan, document and stores. They change nothing.
    """
    locations = _named_stores(stores, named)
    if not locations:
        raise click.UsageError("give a --store")
    from slice_os.integrations.mcp_tools import Tools, mcp_server

    with ExitStack() as stack:
        corpora = {
            name: stack.enter_context(_opened(location, model))
            for name, location in locations.items()
        }
        mcp_server(Tools(corpora, work)).run("stdio")


def _opened(location: str, model: str | None) -> Corpus:
    """A store that is there, with the encoder that made it, so that faults are told at once."""
    from slice_os.corpus import Corpus
    from slice_os.encoder.model_folder import made_by

    with Corpus(location) as corpus:
        info = corpus.info()
    return Corpus(location, made_by(info.encoder, info.location, model))


def _named_stores(stores: tuple[str, ...], named: tuple[str, ...]) -> dict[str, str]:
    """The locations by name; a location without one is called as its folder or index."""
    last = ((store.rstrip("/").rpartition("/")[2], store) for store in stores)
    # A browser would take "." and ".." out of the paths of requests.
    pairs = [(name if name.strip(".") else Path(at).resolve().name, at) for name, at in last]
    for text in named:
        name, separator, store = text.partition("=")
        if not (name and separator and store):
            raise click.UsageError(f"--name {text!r}: give NAME=STORE")
        pairs.append((name, store))
    names = [name for name, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise click.UsageError(f"two stores are called {twice!r}; use --name to tell them apart")
    return dict(pairs)
