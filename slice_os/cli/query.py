"""`slice-os query`."""

from __future__ import annotations

import click
import orjson

from slice_os.cli.options import (
    chosen_encoder,
    connect,
    encoder_options,
    parse_filters,
    store_option,
    where_option,
)
from slice_os.cli.render import echo_json
from slice_os.query.options import MAX_EXPORTED_CANDIDATES, NUM_CANDIDATES


@click.command()
@click.argument("phrases", nargs=-1, required=True, metavar="PHRASE...")
@store_option
@click.option(
    "-k",
    "--num-candidates",
    type=click.IntRange(1, MAX_EXPORTED_CANDIDATES),
    default=NUM_CANDIDATES,
    show_default=True,
    help="Passages that each search returns, by vector and by BM25.",
)
@where_option
@click.option(
    "--msearch",
    "lines_only",
    is_flag=True,
    help="Print lines for _msearch that return text and nearest indexed spans, as for curl.",
)
@encoder_options
def query(
    phrases: tuple[str, ...],
    store: str,
    num_candidates: int,
    filters: tuple[str, ...],
    lines_only: bool,
    model: str | None,
    providers: tuple[str, ...],
    threads: int | None,
) -> None:
    """Print the requests that find PHRASE in OpenSearch, for applications in any language.

    Prints a JSON object with the vectors and the request bodies: a multi-search for candidates, a
    search that scores them and returns spans, and the hybrid query if OpenSearch has the
    neural-search plugin. docs/another-language.md explains how to send them.
    """
    from slice_os.corpus import Corpus
    from slice_os.search.run import make_query
    from slice_os.stores.opensearch.search.query_export import export_query, search_lines
    from slice_os.stores.opensearch.store import OpenSearchStore

    where = parse_filters(filters)
    alias = connect(store)
    remote = OpenSearchStore(alias.client, alias.name, alias.location)
    encoder = Corpus(remote, chosen_encoder(model, providers, threads)).encoder
    remote.check_encoder(encoder.card)
    wanted = remote.filtered(make_query(encoder, phrases, where))
    if lines_only:
        for line in search_lines(wanted, alias.name, remote.settings, num_candidates):
            echo_json(orjson.dumps(line))
        return
    exported = export_query(
        wanted,
        alias.name,
        remote.settings,
        num_candidates,
        remote.script_engine(wanted),
        remote.can_fuse(),
    )
    echo_json(orjson.dumps(exported, option=orjson.OPT_SERIALIZE_NUMPY))
