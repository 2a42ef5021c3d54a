"""`slice-os search`, `mine` and `scan`: passages that say a phrase, and all spans that do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slice_os.cli.hit_options import file_option, flags_of, give, phrases_option
from slice_os.cli.options import (
    FORMATS_HELP,
    REPORT,
    EncoderChoice,
    encoder_options,
    format_option,
    output_option,
    store_option,
    topics_option,
)
from slice_os.cli.reading_options import reading_options
from slice_os.cli.render import complaint, printable, wants_json
from slice_os.cli.topic_runs import TopicRun, topic_run_options
from slice_os.query.options import Cut, HitOptions, MineOptions, SearchOptions

if TYPE_CHECKING:
    from slice_os.corpus import Corpus
    from slice_os.hits.hit import Hit
    from slice_os.ingest.readers import ReadOptions
    from slice_os.originals.finding import Original
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
    from slice_os.originals.finding import find_original

    with encoder.corpus(store) as corpus:
        hits = corpus.search([phrase, *more], options)
        if hits and not hits.said:
            # A pipe has nothing but hits.
            click.echo("Nobody says this. Nearest:", err=output is not None or wants_json(as_json))
        find = partial(find_original, corpus.store)
        give(hits, output, as_json, options.offset + 1, several=bool(more), find=find)


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
    from slice_os.ingest.readers import BadRecord, ReadNote, SkippedFile
    from slice_os.ingest.reading import read
    from slice_os.ingest.sources import find_sources, skipped_line
    from slice_os.originals.finding import original_at
    from slice_os.search.scan import scan as scan_documents

    sources = find_sources(paths, format_name)
    files: dict[str, str] = {}
    bad = 0

    def documents() -> Iterator[Document]:
        nonlocal bad
        for source in sources:
            for record in read(source, reading):
                if isinstance(record, SkippedFile):
                    sources.skipped[record.kind] += 1
                elif isinstance(record, BadRecord):
                    bad += not isinstance(record, ReadNote)
                    click.echo(complaint(record), err=True)
                else:
                    files[record.id] = record.source
                    yield record

    hits = scan_documents(documents(), phrases, options, encoder=encoder.load())

    def find(doc_id: str) -> Original:
        return original_at(doc_id, files[doc_id], reading.page_edges)

    give(hits, output, as_json, several=len(phrases) > 1, find=find)
    if sources.skipped:
        click.echo(f"slice-os: {printable(skipped_line(sources.skipped))}", err=True)
    return 1 if bad else 0


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
    cut, and hits of one topic never overlap; what people rejected does not count again.
    """
    from slice_os.originals.finding import find_original
    from slice_os.search.refinement import arranged

    _check(options, phrases, topic_paths)
    if phrases and (run.exclusive or run.only_new or run.work or run.counts):
        raise click.UsageError("--exclusive, --new, --work and --counts are for --topics")
    cut: Cut = {}
    with encoder.corpus(store, options.verifier) as corpus:
        run.check(corpus)
        if topic_paths:
            hits = _mined_topics(corpus, topic_paths, options, run)
        else:
            as_they_come = replace(options, order=None, collapse=False)
            if output is not None and output.suffix.lower() == REPORT:
                hits, cut = _with_near_misses(corpus, phrases, as_they_come)
            else:
                hits = corpus.iter_mine(phrases, as_they_come)
        if run.counts:
            run.show_counts(hits, "hits", as_json)
        else:
            several = len(phrases) > 1

            def find(doc_id: str) -> Original:
                return find_original(corpus.store, doc_id)

            give(arranged(hits, options), output, as_json, several=several, find=find, **cut)


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


def _with_near_misses(
    corpus: Corpus, phrases: tuple[str, ...], options: MineOptions
) -> tuple[Iterator[Hit], Cut]:
    """Hits and those a little below the cut, and the cut itself."""
    from slice_os.hits.report.digest import FARTHEST_BELOW, with_near_misses
    from slice_os.search.refinement import usual_cut

    given = Cut(threshold=options.threshold, min_probability=options.min_probability)
    verifies = corpus.refinement(options.verify).verifies
    cut = given if any(given.values()) else usual_cut(corpus.encoder, verifies)
    if (least := cut.get("min_probability")) is not None:
        lower = max(0.0, least - FARTHEST_BELOW)
        return corpus.iter_mine(phrases, options, min_probability=lower), cut

    def mined(least: float) -> Iterable[Hit]:
        return corpus.iter_mine(phrases, options, threshold=least)

    return with_near_misses(mined, cut["threshold"] or 0.0), cut


def _mined_topics(
    corpus: Corpus, paths: tuple[str, ...], options: MineOptions, run: TopicRun
) -> Iterator[Hit]:
    """The hits of topics with phrases; the new ones alone, if the run is for those."""
    from slice_os.topics.files import read_topics
    from slice_os.topics.run import mine_topics

    work = run.work_of(corpus.store)
    hits = mine_topics(
        corpus,
        read_topics(paths),
        where=options.where,
        exhaustive=options.exhaustive,
        exclusive=run.exclusive,
        unit=options.unit,
        verify=options.verify,
        labels=work.labels(),
    )
    return run.left(hits, work)
