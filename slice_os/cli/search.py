"""`slice-os search` and `slice-os scan`: a few best passages of a store, and hits in files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slice_os.cli.hit_options import file_option, flags_of, give, phrases_option
from slice_os.cli.options import (
    FORMATS_HELP,
    EncoderChoice,
    encoder_options,
    format_option,
    output_option,
    store_option,
)
from slice_os.cli.reading_options import reading_options
from slice_os.cli.render import complaint, printable
from slice_os.query.options import HitOptions, SearchOptions

if TYPE_CHECKING:
    from slice_os.ingest.readers import ReadOptions
    from slice_os.text.documents import Document


@click.command()
@click.argument("phrase")
@click.option(
    "-p", "--phrase", "more", multiple=True, help="Another wording of PHRASE; repeatable."
)
@store_option
@flags_of(SearchOptions)
@file_option
@output_option
@encoder_options
def search(
    phrase: str,
    more: tuple[str, ...],
    store: str,
    options: SearchOptions,
    output: Path | None,
    as_json: bool | None,
    encoder: EncoderChoice,
) -> None:
    """Rank the passages that say PHRASE, each with its best span.

    The ranking combines the exact cosine of the span with BM25. A terminal shows hits in
    context; a pipe, or --json, gets one line of JSON per hit.
    """
    with encoder.corpus(store) as corpus:
        hits = corpus.search([phrase, *more], options)
    give(hits, output, as_json, first=options.offset + 1)


@click.command(epilog=FORMATS_HELP)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@phrases_option()
@flags_of(HitOptions)
@reading_options
@format_option
@file_option
@output_option
@encoder_options
def scan(
    paths: tuple[str, ...],
    phrases: tuple[str, ...],
    options: HitOptions,
    reading: ReadOptions,
    format_name: str | None,
    output: Path | None,
    as_json: bool | None,
    encoder: EncoderChoice,
) -> int:
    """Find every span in files or standard input (-) that says a phrase, without a store.

    A record that cannot be used is reported on standard error; reading continues, and the exit
    status is 1.
    """
    from slice_os.ingest.readers import BadRecord, SkippedFile
    from slice_os.ingest.reading import read
    from slice_os.ingest.sources import find_sources, skipped_line
    from slice_os.search.scan import scan as scan_documents

    sources = find_sources(paths, format_name)
    bad = 0

    def documents() -> Iterator[Document]:
        nonlocal bad
        for source in sources:
            for record in read(source, reading):
                if isinstance(record, SkippedFile):
                    sources.skipped[record.kind] += 1
                elif isinstance(record, BadRecord):
                    bad += 1
                    click.echo(complaint(record), err=True)
                else:
                    yield record

    hits = scan_documents(documents(), phrases, options, encoder=encoder.load())
    give(hits, output, as_json)
    if sources.skipped:
        click.echo(f"slice-os: {printable(skipped_line(sources.skipped))}", err=True)
    return 1 if bad else 0
