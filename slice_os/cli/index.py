"""`slice-os index`: an index on a server, its versions and its requests."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import click

from slice_os.cli.groups import CommandGroup
from slice_os.cli.options import (
    Conditions,
    EncoderChoice,
    IndexChoices,
    ReportAsJson,
    Store,
    connect,
)
from slice_os.cli.parameters import argument
from slice_os.cli.progress import StepBar
from slice_os.cli.render import echo_json, printable, show, styled
from slice_os.query.options import MAX_EXPORTED_CANDIDATES, NUM_CANDIDATES

if TYPE_CHECKING:
    from slice_os.arrays import FloatArray
    from slice_os.encoder.model_folder import ModelCard
    from slice_os.stores.cluster.versions.manage import IndexVersion


@click.group(cls=CommandGroup)
def index() -> None:
    """Migrate and query an index on a server; STORE names the alias of its versions."""


@index.command()
def info(store: Store, as_json: ReportAsJson) -> None:
    """Describe every version: contents, options and state."""
    from slice_os.stores.cluster.versions.manage import versions

    alias = connect(store)
    there = versions(alias)
    plain = {"alias": alias.name, "versions": list(map(plain_version, there))}
    show(plain, "\n".join(map(describe, there)), as_json)


@index.command()
def delete(
    version: Annotated[str | None, argument(required=False)],
    store: Store,
    yes: Annotated[bool, "Do not ask for confirmation."],
) -> None:
    """Delete VERSION, or all versions with the alias and the template."""
    from slice_os.stores.cluster.versions import manage

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
def reindex(
    store: Store,
    index_choices: IndexChoices,
    model: Annotated[
        str | None, "Model folder, for --truncate-dim if the index has no projection."
    ],
    swap: Annotated[bool, "Point the alias at the new version."],
) -> None:
    """Make a new version from the stored vectors, without encoding.

    Options that are not given keep their values. Searches use the old version until the swap, and
    nobody else can write while this runs. An interrupted run starts over.
    """
    from slice_os.stores.cluster.search.listing import require_index
    from slice_os.stores.cluster.versions import manage
    from slice_os.stores.cluster.versions.reindexing import reindex as make

    alias = connect(store)
    source = require_index(alias)
    projection = (
        _projection(source.settings.encoder, model) if "truncate_dim" in index_choices else None
    )
    with closing(StepBar(unit=" passages")) as bar:
        target = make(
            alias, index_choices, projection=projection, on_passage=partial(bar.update, "")
        )
    click.echo(f"made {target.name} from {source.name}", err=True)
    if swap:
        _tell_swap(alias.name, *manage.swap(alias, target.name))
    else:
        click.echo(f"now try it, then: slice-os index swap --store {alias.location}", err=True)


@index.command()
def swap(
    version: Annotated[str | None, argument(required=False)],
    store: Store,
    delete_old: Annotated[bool, "Delete the version that the alias pointed at before."],
) -> None:
    """Point the alias at VERSION, or at the newest one, in one step.

    Refused if the old version was written to after the new one was made from it.
    """
    from slice_os.stores.cluster.versions import manage

    alias = connect(store)
    chosen, before = manage.swap(alias, version)
    _tell_swap(alias.name, chosen, before)
    if delete_old and before:
        manage.drop(alias, before)
        click.echo(f"deleted {', '.join(before)}", err=True)


@index.command()
def query(
    *,
    phrases: Annotated[tuple[str, ...], argument(required=True, metavar="PHRASE...")],
    store: Store,
    num_candidates: Annotated[
        int,
        click.IntRange(1, MAX_EXPORTED_CANDIDATES),
        "Passages that each search returns, by vector and by BM25.",
    ] = NUM_CANDIDATES,
    where: Conditions,
    lines_only: Annotated[
        bool,
        "--msearch",
        "Print lines for _msearch that return text and nearest indexed spans, as for curl.",
    ],
    encoder: EncoderChoice,
) -> None:
    """Print the requests to OpenSearch or Elasticsearch that find PHRASE.

    They are for applications in any language: one JSON object with the vectors, a multi-search
    for candidates, a search that scores them and returns spans, and the hybrid query if
    OpenSearch has the neural-search plugin. docs/another-language.md explains how to send them.
    """
    from slice_os.corpus import Corpus
    from slice_os.search.run import make_query
    from slice_os.stores.cluster.search.query_export import export_query, search_lines
    from slice_os.stores.cluster.store import OpenSearchStore

    alias = connect(store)
    remote = OpenSearchStore(alias.client, alias.name, alias.location)
    loaded = Corpus(remote, encoder.for_store()).encoder
    remote.check_encoder(loaded.card)
    wanted = remote.filtered(make_query(loaded, phrases, where))
    if lines_only:
        for line in search_lines(wanted, alias.name, remote.settings, num_candidates):
            echo_json(line)
        return
    settings, engine = remote.settings, remote.script_engine(wanted)
    echo_json(export_query(wanted, alias.name, settings, num_candidates, engine, remote.can_fuse()))


def plain_version(version: IndexVersion) -> dict[str, Any]:
    """A version as plain values."""
    found = asdict(version)
    settings, options = found.pop("settings"), found.pop("options")
    encoder = {name: settings["encoder"][name] for name in ("name", "precision", "encoder_id")}
    return {**found, **options, "max_pieces": settings["max_pieces"], "encoder": encoder}


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


def _tell_swap(alias: str, chosen: IndexVersion, before: list[str]) -> None:
    former = f", no longer for {', '.join(before)}" if before else ""
    click.echo(f"{alias} stands for {chosen.index}{former}", err=True)


def _projection(card: ModelCard, model: str | None) -> FloatArray | None:
    """The projection of the model that made an index; None if the model is missing or has none."""
    from slice_os.encoder.model_folder import made_by
    from slice_os.encoder.span_encoder import SpanEncoder
    from slice_os.errors import StoreError

    try:
        folder = model or made_by(card, "index")
    except StoreError:
        return None
    encoder = SpanEncoder(folder)
    return encoder.projection if encoder.card.encoder_id == card.encoder_id else None
