"""`slice-os report` and `slice-os cut`: files of hits, shown and judged."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import click

from slice_os.cli.hit_options import give, output_file
from slice_os.cli.options import (
    COSINE,
    FILE,
    PROBABILITY,
    REPORT,
    optional_store_option,
    output_option,
)
from slice_os.cli.render import show
from slice_os.errors import InputError


@click.command()
@click.argument("hits", type=click.File("rb"), metavar="HITS")
@output_file(
    "Write the report to this file, which ends in .html; or, with --store, mark the hits in a copy "
    "of the file they are in: .pdf or .docx, or a folder (marked/) for several copies.",
    required=True,
)
@optional_store_option
@click.option("--threshold", type=COSINE, help="Hits of a lower cosine are near misses.")
@click.option(
    "--min-probability", type=PROBABILITY, help="Hits of a lower probability are near misses."
)
@click.option("--title", default="Hits", help="Title of the page.")
def report(hits: BinaryIO, output: Path, store: str | None, **settings: Any) -> None:
    """Show HITS in context, with histograms of their scores, on one HTML page.

    HITS is a file of JSON lines as `slice-os mine --json` prints them, or - for standard input.
    The page is self-contained, and shows original pages with --store. Needs pip install
    'slice-os[report]'.
    """
    from slice_os.corpus import Corpus
    from slice_os.hits.hit import read_hits
    from slice_os.originals.copies import is_marked
    from slice_os.originals.finding import find_original

    if output.suffix.lower() != REPORT and not (store and is_marked(output)):
        raise click.UsageError(f"--output {output}: a report ends in .html; marks need --store")
    try:
        if store is None:
            give(read_hits(hits), output, **settings)
            return
        with Corpus(store) as corpus:
            find = partial(find_original, corpus.store)
            give(read_hits(hits), output, find=find, **settings)
    except InputError as error:
        raise InputError(f"{hits.name}, {error}") from None


@click.command()
@click.argument("labelled", type=FILE, metavar="LABELLED")
@click.option(
    "--precision",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.9,
    help="Target precision, the share of right hits.",
)
@click.option(
    "--by",
    type=click.Choice(["probability", "cosine"]),
    default="probability",
    help="Score to cut by, for --min-probability or --threshold.",
)
@output_option
def cut(labelled: Path, precision: float, by: str, as_json: bool | None) -> None:
    """Choose the lowest cut-off that surely reaches a target precision.

    LABELLED has hits as `slice-os mine` writes them: JSON lines with a field "label", true or
    false, or a table (.csv, .xlsx) with a check or cross in the column "label". The lower end of
    the precision's 95 % interval counts, so that no cut-off rests on a few hits. The exit status
    is 1 if none reaches it.
    """
    from slice_os.hits.precision_cut import read_labelled

    found = read_labelled(labelled).cut(precision, by)
    text = (
        f"{by} {found.value:.3f}: {found.right:,} of {found.hits:,} hits from there on are right, "
        f"{found.precision:.2f} (95 % {found.low:.2f} to {found.high:.2f}); "
        f"expected recall {found.found:.2f} ({found.labels:,} labels)"
    )
    show(found.to_json(), text, as_json)
