"""`slice-os index`: the versions of an index in OpenSearch."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
import orjson

from slice_os.cli import plan
from slice_os.cli.options import chosen_index, connect, index_options, store_option
from slice_os.cli.render import echo_json, printable, styled

if TYPE_CHECKING:
    from slice_os.arrays import FloatArray
    from slice_os.encoder.model_folder import ModelCard
    from slice_os.stores.opensearch.loading.repair import Fault
    from slice_os.stores.opensearch.versions.manage import IndexVersion


@click.group()
def index() -> None:
    """Manage the versions of an index in OpenSearch; STORE names their alias."""


index.add_command(plan.plan)


@index.command()
@store_option
def info(store: str) -> None:
    """Show every version: its contents, its options and its state."""
    from slice_os.stores.opensearch.versions.manage import versions

    alias = connect(store)
    there = versions(alias)
    if not sys.stdout.isatty():
        echo_json(orjson.dumps({"alias": alias.name, "versions": list(map(as_json, there))}))
        return
    for version in there:
        click.echo(describe(version))


@index.command()
@store_option
@click.option(
    "--repair",
    is_flag=True,
    help="Delete passages without a document, and documents that lack passages.",
)
def verify(store: str, repair: bool) -> int:
    """Check that every document has all its passages; STORE may also name one version.

    Each fault is a line of JSON, or of text on a terminal. The exit status is 1 if there are
    faults, unless --repair fixes them all. An ingest in progress can look like a fault. --repair
    deletes documents that lack passages; the next ingest of their source stores them again.
    """
    from slice_os.stores.opensearch.loading.loading import leased
    from slice_os.stores.opensearch.loading.repair import find_faults
    from slice_os.stores.opensearch.loading.repair import repair as delete_surplus
    from slice_os.stores.opensearch.search.lookup import require_index
    from slice_os.stores.opensearch.versions import manage

    named = connect(store)
    found = named.named(require_index(named).name)
    faults = list(find_faults(found))
    for fault in faults:
        if sys.stdout.isatty():
            click.echo(printable(describe_fault(fault)))
        else:
            echo_json(orjson.dumps(asdict(fault)))
    if not faults:
        click.echo(f"{found.name}: every document has its passages", err=True)
        return 0
    if not repair:
        click.echo(f"{found.name}: {len(faults)} faults; use --repair to fix them", err=True)
        return 1
    with leased(found):
        faults = list(find_faults(found))
        lacking = manage.forget(found, faults)
        surplus = delete_surplus(found)
    click.echo(f"{found.name}: {surplus} passages without a document deleted", err=True)
    if lacking:
        click.echo(f"deleted, ingest them again: {printable(', '.join(lacking))}", err=True)
    return 1 if lacking else 0


@index.command()
@click.argument("version", required=False)
@store_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def delete(version: str | None, store: str, yes: bool) -> None:
    """Delete VERSION, or all versions with the alias and the template."""
    from slice_os.stores.opensearch.versions import manage

    alias = connect(store)
    there = manage.versions(alias)
    doomed = [v for v in there if version in (None, v.index)]
    names = ", ".join(v.index for v in doomed)
    if doomed and not yes:
        documents = sum(v.documents for v in doomed)
        click.confirm(f"Delete {names} with {documents:,} documents?", abort=True, err=True)
    manage.delete(alias, version)
    click.echo(f"deleted {names}", err=True)


@index.command()
@store_option
@index_options
@click.option("--model", help="Model folder, for --truncate-dim if the index has no projection.")
@click.option("--swap", is_flag=True, help="Let the alias stand for the new version.")
def reindex(store: str, model: str | None, swap: bool, **index_choices: Any) -> None:
    """Make the next version from the stored vectors; nothing is encoded again.

    Options that are not given stay unchanged. Searches use the old version until the swap; an
    ingest has to wait. An interrupted run starts again from the beginning.
    """
    from tqdm import tqdm

    from slice_os.stores.opensearch.search.lookup import require_index
    from slice_os.stores.opensearch.versions import manage
    from slice_os.stores.opensearch.versions.reindexing import reindex as make

    changes = chosen_index(**index_choices)
    alias = connect(store)
    source = require_index(alias)
    projection = _projection(source.settings.encoder, model) if "truncate_dim" in changes else None
    on_terminal = sys.stderr.isatty()
    with tqdm(unit=" passages", disable=not on_terminal, dynamic_ncols=True) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        target = make(alias, changes, projection=projection, on_passage=show)
    click.echo(f"made {target.name} from {source.name}", err=True)
    if swap:
        _tell_swap(alias.name, *manage.swap(alias, target.name))
    else:
        click.echo(f"now try it, then: slice-os index swap --store {alias.location}", err=True)


@index.command()
@click.argument("version", required=False)
@store_option
@click.option(
    "--delete-old", is_flag=True, help="Delete the version that the alias stood for before."
)
def swap(version: str | None, store: str, delete_old: bool) -> None:
    """Let the alias stand for VERSION, or for the newest one, in one step."""
    from slice_os.stores.opensearch.versions import manage

    alias = connect(store)
    chosen, before = manage.swap(alias, version)
    _tell_swap(alias.name, chosen, before)
    if delete_old and before:
        manage.drop(alias, before)
        click.echo(f"deleted {', '.join(before)}", err=True)


def as_json(version: IndexVersion) -> dict[str, Any]:
    """A version as plain values."""
    encoder = version.settings.encoder
    counts = {
        name: getattr(version, name)
        for name in (
            "index",
            "current",
            "unfinished",
            "loading",
            "documents",
            "passages",
            "pieces",
            "size_bytes",
            "refresh_interval",
        )
    }
    return {
        **counts,
        **asdict(version.options),
        "max_pieces": version.settings.max_pieces,
        "encoder": {
            "name": encoder.name,
            "precision": encoder.precision,
            "encoder_id": encoder.encoder_id,
        },
    }


def describe(version: IndexVersion) -> str:
    """A version as a few lines of text."""
    options, encoder = version.options, version.settings.encoder
    state = f"  ({version.state})" if version.state else ""
    fields = ", ".join(f"{name} {kind}" for name, kind in options.fields.items())
    lines = [
        f"  {version.documents:,} documents, {version.passages:,} passages, "
        f"{version.pieces:,} token vectors; {version.size_bytes / 1e6:,.1f} MB",
        f"  policy {options.policy}, {options.truncate_dim} dimensions as {options.vectors}, "
        f"analyzer {options.analyzer}" + (f"; {fields}" if fields else ""),
        f"  {encoder.name} {encoder.precision} ({encoder.encoder_id}), passages of "
        f"{version.settings.max_pieces} word pieces",
        f"  {options.shards} shards, {options.replicas} replicas, refreshed every "
        f"{version.refresh_interval or '1s'}",
    ]
    head = styled(version.index, bold=True) + state
    return "\n".join([head, *map(printable, lines)])


def describe_fault(fault: Fault) -> str:
    """A fault as a sentence."""
    return (
        f"{fault.doc_id}: {fault.missing} of {fault.expected} passages missing, "
        f"{len(fault.surplus)} too many"
    )


def _tell_swap(alias: str, chosen: IndexVersion, before: list[str]) -> None:
    former = f", no longer for {', '.join(before)}" if before else ""
    click.echo(f"{alias} stands for {chosen.index}{former}", err=True)


def _projection(card: ModelCard, model: str | None) -> FloatArray | None:
    """The projection of the model that made an index; None if the model is missing or has none."""
    from slice_os.encoder.model_folder import bundled_model
    from slice_os.encoder.span_encoder import SpanEncoder
    from slice_os.errors import StoreError

    try:
        folder = model or bundled_model(card, "index")
    except StoreError:
        return None
    encoder = SpanEncoder(folder)
    return encoder.projection if encoder.card.encoder_id == card.encoder_id else None
