"""`slice-os serve`."""

from __future__ import annotations

from pathlib import Path

import click

from slice_os.cli.store_names import name_option, named_stores
from slice_os.errors import MissingExtraError


@click.command()
@click.argument("stores", nargs=-1, metavar="[STORE]...")
@name_option
@click.option("--demo", is_flag=True, help="Serve a store of demo documents, made on first use.")
@click.option(
    "--topics",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of topic files.  [default: topics]",
)
@click.option(
    "--labels",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File that answers are added to.  [default: labels.jsonl]",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8000,
    show_default=True,
    help="Port to listen on; 0 for any that is free.",
)
@click.option(
    "--keys",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File of API keys, made with `slice-os key`. Without it, only this machine may ask.",
)
@click.option(
    "--reached-at",
    metavar="URL",
    help="The address that people use, if it is another one: of a reverse proxy, or of the port "
    "that a container publishes.",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
def serve(
    stores: tuple[str, ...],
    named: tuple[str, ...],
    demo: bool,
    topics: Path | None,
    labels: Path | None,
    host: str,
    port: int,
    keys: Path | None,
    reached_at: str | None,
    opens: bool,
) -> None:
    """Serve stores over HTTP, with a page to search them and to curate topics.

    STORE is a folder, or http(s)://[user@]host[:port]/index in OpenSearch.
    """
    from slice_os.service.demo import NAME, demo_folder
    from slice_os.service.settings import ServiceSettings

    try:
        from slice_os.service.running import run_service
    except ModuleNotFoundError as error:
        if error.name not in ("fastapi", "uvicorn", "prometheus_client"):
            raise
        raise MissingExtraError("The service", "serve") from None
    served = named_stores(stores, named)
    if demo:
        served = {NAME: str(_demo_store()), **served}
        home = demo_folder()
        topics, labels = topics or home / "topics", labels or home / "labels.jsonl"
    if not served:
        raise click.UsageError("give a STORE, or --demo")
    settings = ServiceSettings(
        served,
        topics or Path("topics"),
        labels or Path("labels.jsonl"),
        host,
        port,
        keys,
        reached_at,
    )

    def started(address: str) -> None:
        click.echo(f"serving {', '.join(served)} at {address}", err=True)
        if opens:
            click.launch(address)

    run_service(settings, started)


def _demo_store() -> Path:
    """The store of the demo documents, with a bar while it is made."""
    from slice_os.cli.progress import ProgressBar
    from slice_os.service.demo import DEMO_PATHS, demo_store

    with ProgressBar([str(path) for path in DEMO_PATHS], None, "1/1") as bar:
        return demo_store(bar.update)
