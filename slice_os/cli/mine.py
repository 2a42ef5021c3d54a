"""`slice-os mine`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import orjson

from slice_os.cli.hit_options import file_option, flags_of, give, phrases_option
from slice_os.cli.options import (
    REPORT,
    EncoderChoice,
    as_one,
    encoder_options,
    exclusive_option,
    output_option,
    store_option,
    topics_option,
)
from slice_os.cli.render import echo_json, printable, wants_json
from slice_os.query.options import MineOptions

if TYPE_CHECKING:
    from slice_os.corpus import Corpus
    from slice_os.hits.hit import Hit


@dataclass(frozen=True)
class TopicRun:
    """A run of topics over a store."""

    exclusive: bool
    only_new: bool
    state: str | None
    counts: str | None
    date_field: str


topic_run_options = as_one(
    "run",
    TopicRun,
    exclusive_option,
    click.option(
        "--new",
        "only_new",
        is_flag=True,
        help="Topics: only hits that no earlier run with --new found in this store.",
    ),
    click.option(
        "--state",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        help="With --new: file of earlier findings.  [default: in the folder of the store]",
    ),
    click.option(
        "--counts",
        type=click.Choice(["topic", "document", "day"]),
        help="Topics: show counts of hits and documents instead of hits.",
    ),
    click.option(
        "--date-field",
        default="date",
        metavar="FIELD",
        help="With --counts day: metadata field of the day.",
    ),
)


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
    run: TopicRun,
    output: Path | None,
    as_json: bool | None,
    encoder: EncoderChoice,
) -> None:
    """Find every span in a store that says a phrase, document by document.

    Every passage is scored, unless you give --candidates. Hits of one phrase never overlap;
    hits of two phrases may. With --topics, all topics are mined in one pass, each with its own
    threshold, and hits of one topic never overlap.
    """
    from slice_os.hits.report.digest import with_near_misses
    from slice_os.search.refinement import arranged

    _check(options, phrases, topic_paths)
    if phrases and (run.exclusive or run.only_new or run.state or run.counts):
        raise click.UsageError("--exclusive, --new, --state and --counts are for --topics")
    threshold = options.threshold
    with encoder.corpus(store, options.verifier) as corpus:
        if topic_paths:
            hits = _mined_topics(corpus, topic_paths, options, run)
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
        if run.counts:
            _show_counts(hits, run.counts, run.date_field, as_json)
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
    """Whether a report shows hits a little below the threshold too."""
    report = output is not None and output.suffix.lower() == REPORT
    return report and options.min_probability is None


def _mined_topics(
    corpus: Corpus, paths: tuple[str, ...], options: MineOptions, run: TopicRun
) -> Iterator[Hit]:
    """The hits of topics; the new ones alone, if the run is for those."""
    from slice_os.topics.changes import FILE, SeenHits
    from slice_os.topics.files import read_topics
    from slice_os.topics.run import mine_topics

    hits = mine_topics(
        corpus,
        read_topics(paths),
        where=options.where,
        exhaustive=options.exhaustive,
        exclusive=run.exclusive,
        unit=options.unit,
        verify=options.verify,
    )
    if not (run.only_new or run.state):
        return hits
    folder = corpus.store.folder
    if run.state is not None:
        return SeenHits(Path(run.state)).new(hits)
    if folder is None:
        raise click.UsageError("--new: give --state FILE, since this store has no folder")
    return SeenHits(folder / FILE).new(hits)


def _show_counts(hits: Iterable[Hit], by: str, date_field: str, as_json: bool | None) -> None:
    """Print the numbers of hits and documents."""
    from slice_os.topics.tallies import tally

    for row in tally(hits, by, date_field):
        if wants_json(as_json):
            where = {by: row.place} if row.place else {}
            counts = {"hits": row.hits, "documents": row.documents}
            echo_json(orjson.dumps({"topic": row.topic, **where, **counts}))
            continue
        place = f"{printable(row.place)}  " if row.place else ""
        click.echo(f"{row.hits:>8,} hits  {row.documents:>6,} documents  {row.topic}  {place}")
