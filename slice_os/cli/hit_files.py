"""`slice-os report` and `slice-os cut`: files of hits, shown and judged."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import click

from slice_os.cli.options import COSINE, REPORT, HitFile, output_option


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
@click.option("--title", default="Hits", help="Title of the page.")
def report(
    hits: BinaryIO, output: Path, threshold: float | None, min_probability: float | None, title: str
) -> None:
    """Show HITS in context, with histograms of their scores, on one HTML page.

    HITS is a file of JSON lines as `slice-os mine --json` prints them, or - for standard input.
    The page is self-contained. Needs pip install 'slice-os[report]'.
    """
    from slice_os.hits.hit import read_hits
    from slice_os.hits.report.html_page import write_report

    if output.suffix.lower() != REPORT:
        raise click.UsageError(f"--output {output}: a report ends in .html")
    count = write_report(
        read_hits(hits), output, threshold=threshold, min_probability=min_probability, title=title
    )
    click.echo(f"{output}: {count:,} {'hit' if count == 1 else 'hits'}", err=True)


@click.command()
@click.argument("labelled", type=click.Path(dir_okay=False, path_type=Path), metavar="LABELLED")
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
    """Choose the lowest cut-off that reaches a target precision.

    LABELLED is a file of JSON lines: hits as `slice-os mine --json` prints them, with a field
    "label", true or false. The exit status is 1 if no cut-off reaches it.
    """
    from slice_os.cli.render import echo_json, wants_json
    from slice_os.hits.precision_cut import read_labelled

    found = read_labelled(labelled).cut(precision, by)
    if wants_json(as_json):
        echo_json(found.to_json())
        return
    click.echo(
        f"{by} {found.value:.3f}: {found.right:,} of {found.hits:,} hits from there on are right, "
        f"{found.precision:.2f} (95 % {found.low:.2f} to {found.high:.2f}); "
        f"{found.found:.2f} of all right ones are among them ({found.labels:,} labels)"
    )
