"""`slice-os index plan`: how large an index gets, before it is made."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click
import orjson

from slice_os.cli.options import report_option
from slice_os.cli.render import echo_json, wants_json

if TYPE_CHECKING:
    from slice_os.stores.opensearch.versions.planning import IndexPlan

GIB = 2**30


def _count(_context: click.Context, _option: click.Parameter, number: float) -> int:
    if not 1 <= number < float("inf"):
        raise click.BadParameter("a number from 1, such as 1e9")
    return int(number)


@click.command()
@click.option(
    "--tokens",
    type=float,
    required=True,
    callback=_count,
    help="Token vectors (word pieces), such as 1e9; English text has about one per 4.4 bytes.",
)
@click.option("--replicas", type=click.IntRange(min=0), default=1, help="Copies of each shard.")
@click.option(
    "--node-memory",
    type=click.FloatRange(min=1),
    default=64,
    metavar="GIB",
    help="Memory of a node, in GiB.",
)
@click.option(
    "--cores",
    type=click.IntRange(min=1),
    default=16,
    help="Cores that ingest, those of OpenSearch included.",
)
@report_option
def plan(tokens: int, replicas: int, node_memory: float, cores: int, as_json: bool | None) -> None:
    """Plan an index: shards, nodes, memory, disk and time.

    This needs no server. The figures hold for the bundled model and the default index options;
    docs/sizing.md says how they were measured, and how accurate they are.
    """
    from slice_os.stores.opensearch.versions.planning import plan_index

    found = plan_index(tokens, replicas=replicas, node_memory=round(node_memory * GIB), cores=cores)
    if wants_json(as_json):
        echo_json(orjson.dumps(asdict(found)))
    else:
        click.echo(describe(found))


def describe(found: IndexPlan) -> str:
    """A plan as a few lines of text."""
    return "\n".join(
        f"{name:<12} {value}"
        for name, value in {
            "shards": f"{found.shards:,} of {size(found.shard_bytes)}",
            "nodes": f"{found.nodes:,} of {found.node_memory / GIB:,.0f} GiB, each with "
            f"{found.heap_bytes / GIB:,.0f} GiB of heap",
            "page cache": f"{size(found.page_cache_bytes)} in all nodes together",
            "index": f"{size(found.index_bytes)} in {found.replicas + 1:,} copies",
            "disk": f"{size(found.disk_bytes)} to provide",
            "ingest": f"{hours(found.ingest_hours)} on {found.cores:,} cores",
            "merging": f"{hours(found.merge_hours)} at the end, with --force-merge",
        }.items()
    )


def size(count: float) -> str:
    """Bytes as people write them."""
    for unit in ("MB", "GB", "TB"):
        count /= 1_000 if unit != "MB" else 1_000_000
        if count < 1_000:
            break
    return f"{count:,.1f} {unit}" if count < 10 else f"{count:,.0f} {unit}"


def hours(count: float) -> str:
    """Hours, or minutes if that is less than one."""
    if count < 1:
        return f"{60 * count:,.0f} min"
    return f"{count:,.1f} h" if count < 10 else f"{count:,.0f} h"
