"""`slice-os mine`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from slice_os.cli.hit_options import file_option, flags_of, give, phrases_option
from slice_os.cli.options import (
    REPORT,
    chosen_encoder,
    encoder_options,
    output_option,
    store_option,
)
from slice_os.cli.topic_options import (
    mined_topics,
    new_hits,
    show_counts,
    topic_run_options,
    topics_option,
)
from slice_os.query.options import MineOptions


@click.command()
@phrases_option(required=False)
@topics_option()
@store_option
@flags_of(MineOptions)
@topic_run_options
@file_option
@output_option
@encoder_options
def mine(
    phrases: tuple[str, ...],
    topic_paths: tuple[str, ...],
    store: str,
    options: MineOptions,
    exclusive: bool,
    only_new: bool,
    state: str | None,
    counts: str | None,
    date_field: str,
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
    from slice_os.hits.report.near_misses import with_near_misses
    from slice_os.search.refinement import arranged

    _check(options, phrases, topic_paths)
    if phrases and (exclusive or only_new or state or counts):
        raise click.UsageError("--exclusive, --new, --state and --counts are for --topics")
    threshold = options.threshold
    encoder = chosen_encoder(model, providers, threads)
    with Corpus(store, encoder, verifier=options.verifier) as corpus:
        if topic_paths:
            hits = mined_topics(corpus, topic_paths, options, exclusive)
            hits = new_hits(hits, corpus, state) if only_new or state else hits
        else:
            as_they_come = replace(options, order=None, collapse=False)
            if _has_near_misses(output, options):
                threshold = corpus.encoder.card.threshold if threshold is None else threshold
                hits = with_near_misses(
                    lambda least: corpus.iter_mine(phrases, as_they_come, threshold=least),
                    threshold,
                )
            else:
                hits = corpus.iter_mine(phrases, as_they_come)
        if counts:
            show_counts(hits, counts, date_field, as_json)
        else:
            give(arranged(hits, options), output, as_json, threshold=threshold)


def _check(options: MineOptions, phrases: tuple[str, ...], topic_paths: tuple[str, ...]) -> None:
    """Refuse phrases beside topics, and options that the files of topics have."""
    if bool(phrases) == bool(topic_paths):
        raise click.UsageError("give --phrase or --topics")
    given = {
        "--threshold": options.threshold is not None,
        "--min-probability": options.min_probability is not None,
        "--not": bool(options.counter_phrases),
    }
    for flag, is_given in given.items():
        if topic_paths and is_given:
            raise click.UsageError(f"{flag}: with --topics, the files of the topics have it")


def _has_near_misses(output: Path | None, options: MineOptions) -> bool:
    """Whether hits a little below the threshold are shown, too."""
    report = output is not None and output.suffix.lower() == REPORT
    return report and options.min_probability is None
