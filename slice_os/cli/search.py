"""`slice-os search`, `slice-os mine` and `slice-os scan`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from slice_os.cli.options import (
    FORMATS_HELP,
    CosineRange,
    RenamedOption,
    chosen_encoder,
    encoder_options,
    format_option,
    id_field_option,
    output_option,
    parse_filters,
    store_option,
    text_field_option,
    where_option,
)
from slice_os.cli.render import echo_json
from slice_os.cli.topic_options import (
    mined_topics,
    new_hits,
    show_counts,
    topic_run_options,
    topics_option,
)
from slice_os.search_options import (
    DEFAULT_FUSION,
    FUSION_NAMES,
    MAX_CANDIDATES,
    NUM_CANDIDATES,
    SPAN,
    UNITS,
)

if TYPE_CHECKING:
    from slice_os.documents import Document
    from slice_os.results import Hit

Command = TypeVar("Command", bound=Callable[..., Any])

_threshold = click.option(
    "--threshold",
    type=CosineRange(),
    help="Lowest cosine of a hit; by default the model's own (see `slice-os info`).",
)
_unit = click.option(
    "--unit",
    type=click.Choice(UNITS),
    default=SPAN,
    show_default=True,
    help="How wide hits are: the span, or the clause, sentence or turn around it.",
)
_collapse = click.option(
    "--collapse", is_flag=True, help="Show hits in the same words as one, with their count."
)


def _phrases(required: bool) -> Callable[[Command], Command]:
    return click.option(
        "-p",
        "--phrase",
        "phrases",
        multiple=True,
        required=required,
        help="Phrase to find; repeatable.",
    )


@click.command()
@click.argument("phrase")
@click.option(
    "-p", "--phrase", "more", multiple=True, help="Another wording of PHRASE; repeatable."
)
@store_option
@click.option(
    "-k",
    "--top-k",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Most hits to return.",
)
@click.option(
    "--offset", type=click.IntRange(min=0), default=0, help="Hits to skip, for the next page."
)
@click.option("--threshold", type=CosineRange(), help="Lowest cosine of a hit.")
@where_option
@click.option(
    "--fusion",
    type=click.Choice(FUSION_NAMES),
    default=DEFAULT_FUSION,
    show_default=True,
    help="How the ranking combines cosine and BM25; server: OpenSearch's hybrid query.",
)
@click.option(
    "--num-candidates",
    cls=RenamedOption,
    formerly="--depth",
    type=click.IntRange(1, MAX_CANDIDATES),
    default=NUM_CANDIDATES,
    show_default=True,
    help="OpenSearch: passages to score, by vector and by BM25 each. Keep it for every page.",
)
@_unit
@_collapse
@output_option
@encoder_options
def search(
    phrase: str,
    more: tuple[str, ...],
    store: str,
    top_k: int,
    offset: int,
    threshold: float | None,
    filters: tuple[str, ...],
    fusion: str,
    num_candidates: int,
    unit: str,
    collapse: bool,
    as_json: bool | None,
    model: str | None,
    engine: str,
    providers: tuple[str, ...],
    threads: int | None,
) -> None:
    """Find the passages that say PHRASE best, each with its best span.

    The ranking combines the exact cosine of the span with BM25. A terminal shows hits in
    context; a pipe, or --json, gets one line of JSON per hit.
    """
    from slice_os.corpus import Corpus

    where = parse_filters(filters)
    with Corpus(store, chosen_encoder(model, engine, providers, threads)) as corpus:
        hits = corpus.search(
            [phrase, *more],
            top_k=top_k,
            offset=offset,
            threshold=threshold,
            where=where,
            fusion=fusion,
            num_candidates=num_candidates,
            unit=unit,
            collapse=collapse,
        )
    _show(hits, as_json, first=offset + 1)


@click.command()
@_phrases(required=False)
@topics_option()
@store_option
@_threshold
@where_option
@click.option(
    "--candidates",
    is_flag=True,
    help="OpenSearch: score only the passages that the index proposes; faster, may miss some.",
)
@_unit
@_collapse
@topic_run_options
@output_option
@encoder_options
def mine(
    phrases: tuple[str, ...],
    topic_paths: tuple[str, ...],
    store: str,
    threshold: float | None,
    filters: tuple[str, ...],
    candidates: bool,
    unit: str,
    collapse: bool,
    exclusive: bool,
    only_new: bool,
    state: str | None,
    counts: str | None,
    date_field: str,
    as_json: bool | None,
    model: str | None,
    engine: str,
    providers: tuple[str, ...],
    threads: int | None,
) -> None:
    """Find every span in a store that says one of the phrases, document by document.

    Every passage is scored, unless you give --candidates. Hits of one phrase never overlap;
    hits of two phrases may. With --topics, all topics are mined in one pass; each has its own
    threshold, and hits of one topic never overlap.
    """
    from slice_os.collapsing import collapse as collapsed
    from slice_os.corpus import Corpus

    if bool(phrases) == bool(topic_paths):
        raise click.UsageError("give --phrase or --topics")
    if topic_paths and threshold is not None:
        raise click.UsageError("--threshold: with --topics, the files of the topics have it")
    if phrases and (exclusive or only_new or state or counts):
        raise click.UsageError("--exclusive, --new, --state and --counts are for --topics")
    where = parse_filters(filters)
    with Corpus(store, chosen_encoder(model, engine, providers, threads)) as corpus:
        if phrases:
            hits: Iterable[Hit] = corpus.iter_mine(
                phrases, threshold=threshold, where=where, exhaustive=not candidates, unit=unit
            )
        else:
            hits = mined_topics(corpus, topic_paths, where, not candidates, exclusive, unit)
            hits = new_hits(hits, corpus, state) if only_new or state else hits
        hits = collapsed(hits) if collapse else hits
        if counts:
            show_counts(hits, counts, date_field, as_json)
        else:
            _show(hits, as_json)


@click.command(epilog=FORMATS_HELP)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@_phrases(required=True)
@_threshold
@id_field_option
@text_field_option
@format_option
@_unit
@_collapse
@output_option
@encoder_options
def scan(
    paths: tuple[str, ...],
    phrases: tuple[str, ...],
    threshold: float | None,
    id_field: str,
    text_field: str,
    format_name: str | None,
    unit: str,
    collapse: bool,
    as_json: bool | None,
    model: str | None,
    engine: str,
    providers: tuple[str, ...],
    threads: int | None,
) -> int:
    """Find every span in files or standard input (-) that says a phrase, without a store.

    A record that cannot be used is reported on standard error; reading continues, and the exit
    status is 1.
    """
    from slice_os.cli.render import complaint, printable
    from slice_os.collapsing import collapse as collapsed
    from slice_os.encoder import SpanEncoder
    from slice_os.ingest.readers import BadRecord, ReadOptions
    from slice_os.ingest.reading import read
    from slice_os.ingest.sources import find_sources, skipped_line
    from slice_os.scanning import scan as scan_documents

    encoder = chosen_encoder(model, engine, providers, threads)
    if not isinstance(encoder, SpanEncoder):
        encoder = SpanEncoder(encoder)
    options = ReadOptions(id_field, text_field)
    sources = find_sources(paths, format_name)
    bad = 0

    def documents() -> Iterator[Document]:
        nonlocal bad
        for source in sources:
            for record in read(source, options):
                if isinstance(record, BadRecord):
                    bad += 1
                    click.echo(complaint(record), err=True)
                else:
                    yield record

    hits = scan_documents(documents(), phrases, threshold=threshold, encoder=encoder, unit=unit)
    _show(collapsed(hits) if collapse else hits, as_json)
    if sources.skipped:
        click.echo(f"slice-os: {printable(skipped_line(sources.skipped))}", err=True)
    return 1 if bad else 0


def _show(hits: Iterable[Hit], as_json: bool | None, first: int = 1) -> None:
    """Print hits as they are found: as JSON lines to a pipe, in context to a terminal."""
    from slice_os.cli.render import render

    if as_json or (as_json is None and not sys.stdout.isatty()):
        for hit in hits:
            echo_json(hit.to_json())
        return
    number = first - 1
    for number, hit in enumerate(hits, start=first):
        click.echo(render(hit, number))
    if number < first:
        click.echo("no hits", err=True)
