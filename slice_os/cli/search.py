"""`slice-os search`."""

from __future__ import annotations

from pathlib import Path

import click

from slice_os.cli.hit_options import (
    collapse_option,
    counter_phrases_option,
    file_option,
    give,
    unit_option,
    verify_option,
)
from slice_os.cli.options import (
    COSINE,
    PROBABILITY,
    chosen_encoder,
    encoder_options,
    output_option,
    parse_filters,
    store_option,
    where_option,
)
from slice_os.query.options import (
    BY_SCORE,
    DEFAULT_FUSION,
    FUSION_NAMES,
    MAX_CANDIDATES,
    NUM_CANDIDATES,
    ORDERS,
    REFINED,
)


@click.command()
@click.argument("phrase")
@click.option(
    "-p", "--phrase", "more", multiple=True, help="Another wording of PHRASE; repeatable."
)
@counter_phrases_option
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
@click.option("--threshold", type=COSINE, help="Lowest cosine of a hit.")
@verify_option
@click.option(
    "--min-probability",
    type=PROBABILITY,
    help=f"Lowest probability of a hit, among the best {REFINED} by score, or --top-k if more.",
)
@click.option(
    "--order",
    type=click.Choice(ORDERS),
    default=BY_SCORE,
    show_default=True,
    help=f"What orders the best {REFINED} hits by score.",
)
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
    type=click.IntRange(1, MAX_CANDIDATES),
    default=NUM_CANDIDATES,
    show_default=True,
    help="OpenSearch: passages to score, by vector and by BM25 each. Keep it for every page.",
)
@click.option(
    "--per-passage",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Most hits of a passage; more than one with --fusion convex or cosine.",
)
@unit_option
@collapse_option
@file_option
@output_option
@encoder_options
def search(
    phrase: str,
    more: tuple[str, ...],
    counter_phrases: tuple[str, ...],
    store: str,
    top_k: int,
    offset: int,
    threshold: float | None,
    verify: bool | None,
    min_probability: float | None,
    order: str,
    filters: tuple[str, ...],
    fusion: str,
    num_candidates: int,
    per_passage: int,
    unit: str,
    collapse: bool,
    output: Path | None,
    as_json: bool | None,
    model: str | None,
    providers: tuple[str, ...],
    threads: int | None,
) -> None:
    """Find the passages that say PHRASE best, each with its best span.

    The ranking combines the exact cosine of the span with BM25. A terminal shows hits in
    context; a pipe, or --json, gets one line of JSON per hit.
    """
    from slice_os.corpus import Corpus

    where = parse_filters(filters)
    with Corpus(store, chosen_encoder(model, providers, threads)) as corpus:
        hits = corpus.search(
            [phrase, *more],
            counter_phrases=counter_phrases,
            top_k=top_k,
            offset=offset,
            threshold=threshold,
            where=where,
            fusion=fusion,
            num_candidates=num_candidates,
            per_passage=per_passage,
            verify=verify,
            min_probability=min_probability,
            order=order,
            unit=unit,
            collapse=collapse,
        )
    give(hits, output, as_json, first=offset + 1)
