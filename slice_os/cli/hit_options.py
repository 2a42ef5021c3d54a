"""Options of the commands that find hits, and how these commands show them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import click

from slice_os.cli.options import (
    COSINE,
    COUNT,
    PROBABILITY,
    REPORT,
    HitFile,
    verifier_option,
    where_option,
)
from slice_os.cli.parameters import Group, Option, group, option
from slice_os.cli.render import echo_json, printable, render, wants_json
from slice_os.query.options import (
    DEFAULT_FUSION,
    FUSION_NAMES,
    MAX_CANDIDATES,
    NUM_CANDIDATES,
    ORDERS,
    REFINED,
    SPAN,
    UNITS,
    HitOptions,
    SearchOptions,
)

if TYPE_CHECKING:
    from slice_os.hits.exchange.documents import TextOf
    from slice_os.hits.hit import Hit
    from slice_os.hits.run_record import RunRecord
    from slice_os.originals.finding import FindOriginal

_FLAGS: dict[str, Option] = {
    "counter_phrases": option(
        "--not",
        "PHRASE",
        "Leave out hits that are closer to this phrase; repeatable.",
        multiple=True,
    ),
    "threshold": option(COSINE, "Lowest cosine of a hit, instead of a lowest probability."),
    "verify": option(
        "--verify/--no-verify",
        "Have a verifier read each hit for its probability; by default if it knows the model.",
        default=None,
    ),
    "verifier": verifier_option,
    "min_probability": option(
        PROBABILITY,
        "Lowest probability of a hit.  [default: 0.15, which leaves out the unlikely ones; "
        "none with --threshold]",
    ),
    "order": option(
        click.Choice(ORDERS),
        "Show all hits at the end in this order, instead of each one when it is found.",
    ),
    "where": where_option,
    "exhaustive": option(
        "--candidates",
        "Index: score only passages that the index proposes; faster, but may miss some.",
        is_flag=True,
        callback=lambda _context, _option, candidates: not candidates,
    ),
    "unit": option(
        click.Choice(UNITS),
        "Extent of a hit: the words that say the phrase, or their clause, sentence or turn.",
        default=SPAN,
    ),
    "collapse": option("Merge hits with the same words, and count them.", is_flag=True),
}
_SEARCH_FLAGS: dict[str, Option] = {
    "top_k": option("-k", "--top-k", COUNT, "Maximum number of hits.", default=10),
    "offset": option(click.IntRange(min=0), "Hits to skip, for the next page.", default=0),
    "threshold": option(COSINE, "Lowest cosine of a hit."),
    "min_probability": option(
        PROBABILITY,
        f"Lowest probability of a hit, among the best {REFINED} by score, or --top-k if more.",
    ),
    "order": option(
        click.Choice(ORDERS),
        f"Order of the best {REFINED} hits by score.",
        show_default="the likeliest first, or by score with --no-verify",
    ),
    "fusion": option(
        click.Choice(FUSION_NAMES),
        "How the ranking combines cosine and BM25; server: OpenSearch's hybrid query.",
        default=DEFAULT_FUSION,
    ),
    "num_candidates": option(
        click.IntRange(1, MAX_CANDIDATES),
        "Index: passages to score, by vector and by BM25 each. Keep it for all pages.",
        default=NUM_CANDIDATES,
    ),
    "per_passage": option(
        COUNT,
        "Maximum hits in a passage; more than one needs --fusion convex or cosine.",
        default=1,
    ),
}


output_file = partial(option, "-o", "--output", type=HitFile(), metavar="FILE")
_file = output_file(
    "Write the hits to this file: .jsonl, .csv, .xlsx, .parquet, or a report in .html; for "
    "other tools: .labelstudio.json, .jsonld, .qdpx, .prodigy.jsonl; or mark them in a copy of the "
    "file they are in: .pdf, .docx, or a folder (marked/) for several copies."
)
OutputFile: TypeAlias = Annotated[Path | None, _file]
phrases_option = partial(option, "-p", "--phrase", help="Phrase to find; repeatable.")
Phrases: TypeAlias = Annotated[tuple[str, ...], phrases_option(required=True)]


def flags_of(kind: type[HitOptions]) -> Group:
    """A flag for every field of some options."""
    flags = {**_SEARCH_FLAGS, **_FLAGS, **_SEARCH_FLAGS} if kind is SearchOptions else _FLAGS
    names = {field.name for field in fields(kind)}
    return group(kind, **{name: flag for name, flag in flags.items() if name in names})


def give(
    hits: Iterable[Hit],
    output: Path | None,
    as_json: bool | None = None,
    first: int = 1,
    several: bool = False,
    find: FindOriginal | None = None,
    whole: bool = False,
    text_of: TextOf | None = None,
    run: RunRecord | None = None,
    **settings: Any,
) -> None:
    """Write hits, of several phrases or not, to a file, or print them; settings as of a report.

    Originals of documents, which ``find`` finds, are marked, or shown in a report. Text has the
    ``whole`` context of each hit, or what is near in it. ``text_of`` and ``run`` are as for
    `write_hits`.
    """
    if output is None:
        _show(hits, as_json, first, several, whole)
        return
    if as_json is not None:
        raise click.UsageError("give --output or --json/--text, not both")
    from slice_os.originals.copies import is_marked

    if find is not None and is_marked(output):
        _mark(hits, output, find, run)
        return
    if output.suffix.lower() == REPORT:
        from slice_os.hits.report.html_page import write_report
        from slice_os.originals.pdf_pages import page_drawer

        draw = page_drawer(find) if find else None
        count = write_report(hits, output, draw=draw, run=run, **settings)
    else:
        from slice_os.hits.files import write_hits

        count = write_hits(hits, output, text_of=text_of, run=run)
    click.echo(f"{output}: {count:,} {'hit' if count == 1 else 'hits'}", err=True)


def _mark(hits: Iterable[Hit], output: Path, find: FindOriginal, run: RunRecord | None) -> None:
    """Write marked copies, with a line for each document."""
    from slice_os.hits.run_record import write_record
    from slice_os.originals.copies import write_marked

    copies = write_marked(hits, output, find)
    for copy in copies:
        if copy.path is not None and run is not None:
            write_record(run, copy.path, copy.marked)
        place = printable(str(copy.path or copy.doc_id))
        why = f"; {printable(copy.why)}" if copy.why else ""
        click.echo(f"{place}: {copy.marked:,} of {copy.hits:,} hits marked{why}", err=True)
    if not copies:
        click.echo(f"no hits; {output} is not written", err=True)


def _show(
    hits: Iterable[Hit], as_json: bool | None, first: int, several: bool, whole: bool
) -> None:
    """Print hits as they are found: as JSON lines to a pipe, in context to a terminal."""
    if wants_json(as_json):
        for hit in hits:
            echo_json(hit.to_json())
        return
    number = first - 1
    for number, hit in enumerate(hits, start=first):
        click.echo(render(hit, number, with_phrase=several, whole=whole))
    if number < first:
        click.echo("no hits", err=True)
