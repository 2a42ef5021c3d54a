"""`slice-os mine`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slice_os.cli.hit_options import (
    collapse_option,
    counter_phrases_option,
    file_option,
    give,
    min_probability_option,
    phrases_option,
    threshold_option,
    unit_option,
    verify_option,
)
from slice_os.cli.options import (
    REPORT,
    chosen_encoder,
    encoder_options,
    output_option,
    parse_filters,
    store_option,
    where_option,
)
from slice_os.cli.topic_options import (
    mined_topics,
    new_hits,
    show_counts,
    topic_run_options,
    topics_option,
)
from slice_os.query.options import ORDERS

if TYPE_CHECKING:
    from slice_os.hits.hit import Hit


@click.command()
@phrases_option(required=False)
@topics_option()
@store_option
@counter_phrases_option
@threshold_option
@verify_option
@min_probability_option
@click.option(
    "--order",
    type=click.Choice(ORDERS),
    help="Show all hits at the end in this order, not one by one as their documents come.",
)
@where_option
@click.option(
    "--candidates",
    is_flag=True,
    help="OpenSearch: score only the passages that the index proposes; faster, may miss some.",
)
@topic_run_options
@unit_option
@collapse_option
@file_option
@output_option
@encoder_options
def mine(
    phrases: tuple[str, ...],
    topic_paths: tuple[str, ...],
    store: str,
    counter_phrases: tuple[str, ...],
    threshold: float | None,
    verify: bool | None,
    min_probability: float | None,
    order: str | None,
    filters: tuple[str, ...],
    candidates: bool,
    exclusive: bool,
    only_new: bool,
    state: str | None,
    counts: str | None,
    date_field: str,
    unit: str,
    collapse: bool,
    output: Path | None,
    as_json: bool | None,
    model: str | None,
    providers: tuple[str, ...],
    threads: int | None,
) -> None:
    """Find every span in a store that says one of the phrases, document by document.

    Every passage is scored, unless you give --candidates. Hits of one phrase never overlap;
    hits of two phrases may. With --topics, all topics are mined in one pass; each has its own
    threshold, and hits of one topic never overlap.
    """
    from slice_os.corpus import Corpus
    from slice_os.hits.collapse import collapse as collapsed
    from slice_os.hits.report.near_misses import with_near_misses
    from slice_os.search.refinement import ordered

    if bool(phrases) == bool(topic_paths):
        raise click.UsageError("give --phrase or --topics")
    if topic_paths and (threshold is not None or min_probability is not None):
        given = "--threshold" if min_probability is None else "--min-probability"
        raise click.UsageError(f"{given}: with --topics, the files of the topics have it")
    if topic_paths and counter_phrases:
        raise click.UsageError("--not: with --topics, the files of the topics have it")
    if phrases and (exclusive or only_new or state or counts):
        raise click.UsageError("--exclusive, --new, --state and --counts are for --topics")
    where = parse_filters(filters)
    with Corpus(store, chosen_encoder(model, providers, threads)) as corpus:
        if topic_paths:
            hits: Iterable[Hit] = mined_topics(
                corpus, topic_paths, where, not candidates, exclusive, unit, verify
            )
            hits = new_hits(hits, corpus, state) if only_new or state else hits
        else:
            mined = partial(
                corpus.iter_mine,
                phrases,
                counter_phrases=counter_phrases,
                where=where,
                exhaustive=not candidates,
                verify=verify,
                min_probability=min_probability,
                unit=unit,
            )
            if _has_near_misses(output, min_probability):
                threshold = corpus.encoder.card.threshold if threshold is None else threshold
                hits = with_near_misses(lambda least: mined(threshold=least), threshold)
            else:
                hits = mined(threshold=threshold)
        if counts:
            show_counts(hits, counts, date_field, as_json)
        else:
            hits = collapsed(hits) if collapse else hits
            hits = ordered(hits, order) if order else hits
            give(hits, output, as_json, threshold=threshold)


def _has_near_misses(output: Path | None, min_probability: float | None) -> bool:
    """Whether hits a little below the threshold are to be shown, too."""
    return output is not None and output.suffix.lower() == REPORT and min_probability is None
