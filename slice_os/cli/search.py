"""`slice-os search`."""

from __future__ import annotations

from pathlib import Path

import click

from slice_os.cli.hit_options import file_option, flags_of, give
from slice_os.cli.options import EncoderChoice, encoder_options, output_option, store_option
from slice_os.query.options import SearchOptions


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
