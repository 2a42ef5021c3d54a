"""`slice-os report`."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import click

from slice_os.cli.options import COSINE, REPORT, HitFile


@click.command()
@click.argument("hits", type=click.File("rb"), metavar="HITS")
@click.option(
    "-o",
    "--output",
    type=HitFile(),
    required=True,
    metavar="FILE",
    help="Write the report to this file, which ends in .html.",
)
@click.option("--threshold", type=COSINE, help="Hits of a lower cosine are near misses.")
@click.option(
    "--min-probability",
    type=click.FloatRange(0, 1),
    help="Hits of a lower probability are near misses.",
)
@click.option("--title", default="Hits", show_default=True, help="Title of the page.")
def report(
    hits: BinaryIO,
    output: Path,
    threshold: float | None,
    min_probability: float | None,
    title: str,
) -> None:
    """Show HITS in context, with histograms of their scores, on one HTML page.

    HITS is a file of JSON lines as `slice-os mine --json` prints them, or - for standard input.
    The page loads nothing from elsewhere. Needs pip install 'slice-os[report]'.
    """
    from slice_os.hits.hit import read_hits
    from slice_os.hits.report.html_page import write_report

    if output.suffix.lower() != REPORT:
        raise click.UsageError(f"--output {output}: a report ends in .html")
    count = write_report(
        read_hits(hits),
        output,
        threshold=threshold,
        min_probability=min_probability,
        title=title,
    )
    click.echo(f"{output}: {count:,} {'hit' if count == 1 else 'hits'}", err=True)
