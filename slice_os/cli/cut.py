"""`slice-os cut`."""

from __future__ import annotations

from pathlib import Path

import click

from slice_os.cli.options import output_option


@click.command()
@click.argument("labelled", type=click.Path(dir_okay=False, path_type=Path), metavar="LABELLED")
@click.option(
    "--precision",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.9,
    show_default=True,
    help="Wished share of right hits.",
)
@click.option(
    "--by",
    type=click.Choice(["probability", "cosine"]),
    default="probability",
    show_default=True,
    help="What to cut by, for --min-probability or --threshold.",
)
@output_option
def cut(labelled: Path, precision: float, by: str, as_json: bool | None) -> None:
    """Find the lowest cut from which on hits are as precise as wished.

    LABELLED is a file of JSON lines: hits as `slice-os mine --json` prints them, with a field
    "label", true or false. The exit status is 1 if no cut is as precise.
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
