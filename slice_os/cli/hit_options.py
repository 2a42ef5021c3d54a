"""Options of the commands that find hits, and how these commands show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from slice_os.cli.options import COSINE, PROBABILITY, REPORT, HitFile
from slice_os.cli.render import echo_json, wants_json
from slice_os.query.options import SPAN, UNITS

if TYPE_CHECKING:
    from slice_os.hits.hit import Hit

Command = TypeVar("Command", bound=Callable[..., Any])

threshold_option = click.option(
    "--threshold",
    type=COSINE,
    help="Lowest cosine of a hit; by default the model's own (see `slice-os store info`).",
)
verify_option = click.option(
    "--verify/--no-verify",
    default=None,
    help="Let the verifier read each hit for its probability; by default if it knows the model.",
)
min_probability_option = click.option(
    "--min-probability",
    type=PROBABILITY,
    help="Lowest probability of a hit; the threshold is then low unless you give one.",
)
unit_option = click.option(
    "--unit",
    type=click.Choice(UNITS),
    default=SPAN,
    show_default=True,
    help="How wide hits are: the span, or the clause, sentence or turn around it.",
)
collapse_option = click.option(
    "--collapse", is_flag=True, help="Show hits in the same words as one, with their count."
)
file_option = click.option(
    "-o",
    "--output",
    type=HitFile(),
    metavar="FILE",
    help="Write the hits to this file instead, as .jsonl, .csv, .xlsx, .parquet, or as "
    "a report in .html.",
)


counter_phrases_option = click.option(
    "--not",
    "counter_phrases",
    multiple=True,
    metavar="PHRASE",
    help="Leave out hits that are nearer to this phrase; repeatable.",
)


def phrases_option(required: bool = True) -> Callable[[Command], Command]:
    """``--phrase``, repeatable."""
    return click.option(
        "-p",
        "--phrase",
        "phrases",
        multiple=True,
        required=required,
        help="Phrase to find; repeatable.",
    )


def give(
    hits: Iterable[Hit],
    output: Path | None,
    as_json: bool | None,
    first: int = 1,
    threshold: float | None = None,
) -> None:
    """Write hits to a file, or print them; a report shows those below the threshold apart."""
    if output is None:
        _show(hits, as_json, first)
        return
    if as_json is not None:
        raise click.UsageError("give --output or --json/--text, not both")
    if output.suffix.lower() == REPORT:
        from slice_os.hits.report.html_page import write_report

        count = write_report(hits, output, threshold=threshold)
    else:
        from slice_os.hits.files import write_hits

        count = write_hits(hits, output)
    click.echo(f"{output}: {count:,} {'hit' if count == 1 else 'hits'}", err=True)


def _show(hits: Iterable[Hit], as_json: bool | None, first: int) -> None:
    """Print hits as they are found: as JSON lines to a pipe, in context to a terminal."""
    from slice_os.cli.render import render

    if wants_json(as_json):
        for hit in hits:
            echo_json(hit.to_json())
        return
    number = first - 1
    for number, hit in enumerate(hits, start=first):
        click.echo(render(hit, number))
    if number < first:
        click.echo("no hits", err=True)
