"""`slice-os search`, `mine` and `scan`: passages that say a phrase, and all spans that do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import click

from slice_os.cli.grep import GrepOptions
from slice_os.cli.hit_options import OutputFile, Phrases, flags_of, give, phrases_option
from slice_os.cli.options import (
    FORMATS_HELP,
    REPORT,
    EncoderChoice,
    FollowLinks,
    FormatName,
    HitsAsJson,
    Reading,
    Store,
    TopicPaths,
)
from slice_os.cli.parameters import argument, command
from slice_os.cli.render import complaint, printable, wants_json
from slice_os.cli.topic_runs import TopicRun
from slice_os.query.options import Cut, HitOptions, MineOptions, SearchOptions

if TYPE_CHECKING:
    from slice_os.corpus import Corpus
    from slice_os.hits.hit import Hit
    from slice_os.originals.finding import Original
    from slice_os.search.listing import Search
    from slice_os.text.documents import Document


@command()
def search(
    first: Annotated[tuple[str, ...], argument(required=False, metavar="[PHRASE]...")],
    phrases: Annotated[tuple[str, ...], phrases_option()],
    store: Store,
    options: Annotated[SearchOptions, flags_of(SearchOptions)],
    output: OutputFile,
    as_json: HitsAsJson,
    encoder: EncoderChoice,
) -> None:
    """Rank the passages that say PHRASE, or another wording of it, each with its best span.

    The ranking combines the exact cosine of the span with BM25. A terminal shows hits in
    context; a pipe, or --json, gets one line of JSON per hit.
    """
    from slice_os.originals.finding import find_original
    from slice_os.search.recording import run_record

    phrases = (*first, *phrases)
    if not phrases:
        raise click.UsageError("give a phrase")
    with encoder.corpus(store) as corpus:
        hits = corpus.search(phrases, options)
        if hits and not hits.said:
            # A pipe has nothing but hits.
            click.echo("Nobody says this. Nearest:", err=output is not None or wants_json(as_json))
        give(
            hits,
            output,
            as_json,
            options.offset + 1,
            several=len(phrases) > 1,
            find=partial(find_original, corpus.store),
            text_of=corpus.text,
            run=run_record("search", corpus.encoder, phrases, options, store=store),
        )


@command(epilog=FORMATS_HELP)
def scan(
    paths: Annotated[tuple[str, ...], argument(required=True, metavar="PATH...")],
    phrases: Phrases,
    options: Annotated[HitOptions, flags_of(HitOptions)],
    grep: GrepOptions,
    reading: Reading,
    format_name: FormatName,
    follow_links: FollowLinks,
    output: OutputFile,
    as_json: HitsAsJson,
    encoder: EncoderChoice,
) -> int:
    """Find every span in files or standard input (-) that says a phrase, without a store.

    A record that cannot be used is reported on standard error; reading continues, and the exit
    status is 1. With -l, -L, -c, -m, -A, -B or -C it is as that of grep: 0 if there are hits, 1 if
    there are none, 2 on an error.
    """
    from slice_os.hits.exchange.documents import TextSpool
    from slice_os.hits.files import holds_texts
    from slice_os.ingest.readers import BadRecord, ReadNote, SkippedFile
    from slice_os.ingest.reading import read
    from slice_os.ingest.sources import find_sources, skipped_line
    from slice_os.originals.finding import original_at
    from slice_os.search.listing import Seen, list_documents
    from slice_os.search.recording import run_record
    from slice_os.search.refinement import arranged
    from slice_os.search.scan import scan_each

    grep.check(output=output, order=options.order, collapse=options.collapse)
    files: dict[str, str] = {}
    texts = TextSpool() if output is not None and holds_texts(output) else None
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
                    if output is not None or grep.listing:
                        files[record.id] = record.source
                    if texts is not None:
                        texts.add(record.id, record.text)
                    yield record

    def find(doc_id: str) -> Original:
        return original_at(doc_id, files[doc_id], reading.page_edges)

    with grep.statuses():
        sources = find_sources(paths, format_name, follow_links=follow_links)
        model = encoder.load()
        seen = Seen()  # of every document, so not unless they are listed
        below = seen.note if grep.listing else None
        scanned = scan_each(documents(), phrases, options, model, below)
        hits = grep.shown(scanned)
        if grep.listing:
            hits = grep.limited(seen.noted(hits))
            found = list_documents(hits, files, grep.listing, seen)
            grep.show_documents(found, as_json)
        else:
            shown = grep.limited(arranged(hits, options))
            about = {"paths": list(paths), "max_count": grep.most}
            give(
                shown,
                output,
                as_json,
                several=len(phrases) > 1,
                find=find,
                whole=grep.around,
                text_of=texts,
                run=run_record("scan", model, phrases, options, further=about),
            )
        if sources.skipped:
            click.echo(f"slice-os: {printable(skipped_line(sources.skipped))}", err=True)
    return grep.status(bool(bad))


@command()
def mine(
    first: Annotated[tuple[str, ...], argument(required=False, metavar="[PHRASE]...")],
    phrases: Annotated[tuple[str, ...], phrases_option()],
    topic_paths: TopicPaths,
    store: Store,
    options: Annotated[MineOptions, flags_of(MineOptions)],
    grep: GrepOptions,
    run: TopicRun,
    output: OutputFile,
    as_json: HitsAsJson,
    encoder: EncoderChoice,
) -> int:
    """Find every span in a store that says PHRASE, document by document.

    Every passage is scored, unless you give --candidates. Hits of one phrase never overlap;
    hits of two phrases may. With --topics, all topics are mined in one pass, each with its own
    cut, and hits of one topic never overlap; what people rejected is marked, and not counted.

    -L tells how near the nearest span of each document is. With -l, -L, -c, -m, -A, -B or -C the
    exit status is as that of grep: 0 if there are hits, 1 if there are none, 2 on an error.
    """
    from slice_os.hits.document_hits import check_matrix, with_sections
    from slice_os.hits.hit import counting
    from slice_os.originals.finding import find_original
    from slice_os.search.refinement import arranged
    from slice_os.topics.files import read_topics
    from slice_os.topics.run import mine_topics, mining_record

    phrases = (*first, *phrases)
    _check(options, phrases, topic_paths)
    if phrases and (run.exclusive or run.only_new or run.work):
        raise click.UsageError("--exclusive, --new and --work are for --topics")
    if run.counts and (output or options.order or options.collapse):
        raise click.UsageError("--counts shows no hits; leave out --output, --order and --collapse")
    ordered = {"order": options.order, "collapse": options.collapse}
    table = output if grep.listing == "without" else None
    grep.check(
        output=output if table is None else None, counts=run.counts, new=run.only_new, **ordered
    )
    cut: Cut = {}
    with (
        grep.statuses(),
        encoder.corpus(store, options.verifier) as corpus,
        run.left(corpus) as left,
    ):
        run.check(corpus)
        as_they_come = replace(options, order=None, collapse=False)
        if grep.listing:
            if table is not None:
                check_matrix(table)
            found = _search(corpus, phrases, topic_paths, as_they_come, run)
            listed = found.documents(corpus, grep.listing, grep.limited)
            if run.sections and grep.listing == "without":
                listed = with_sections(listed, corpus.with_sections)
            grep.show_documents(listed, as_json, table)
            return grep.status()
        topics = read_topics(topic_paths) if topic_paths else []
        if topics:
            hits = left(mine_topics(corpus, topics, **_topic_options(options, run, corpus)))
        elif output is not None and output.suffix.lower() == REPORT and grep.most is None:
            hits, cut = _with_near_misses(corpus, phrases, as_they_come)
        else:
            hits = corpus.iter_mine(phrases, as_they_come)

        if grep.around:
            hits = corpus.around(hits, grep.before or 0, grep.after or 0)
        if run.sections:
            hits = corpus.with_sections(hits)
        if run.counts:
            grouped = (replace(hit, topic=hit.group) for hit in grep.limited(counting(hits)))
            mined = [topic.name for topic in topics if topic.phrases]
            of, names = ("phrase", phrases) if phrases else ("topic", mined)
            if alerted := run.show_counts(grouped, "hits", as_json, corpus, of, names):
                return alerted
        else:

            def find(doc_id: str) -> Original:
                return find_original(corpus.store, doc_id)  # opened after all options are checked

            shown = grep.limited(arranged(hits, options))
            given = {"exclusive": run.exclusive, "new": run.only_new, "max_count": grep.most}
            about = {name: value or None for name, value in given.items()}
            give(
                shown,
                output,
                as_json,
                several=len(phrases) > 1,
                find=find,
                whole=grep.around,
                text_of=corpus.text,
                run=mining_record(corpus, store, phrases, topics, topic_paths, options, about),
                **cut,
            )
    return grep.status()


def _check(options: MineOptions, phrases: tuple[str, ...], topic_paths: tuple[str, ...]) -> None:
    """Refuse phrases beside topics, and options that the files of topics have."""
    if bool(phrases) == bool(topic_paths):
        raise click.UsageError("give a phrase or --topics")
    given = {
        "--threshold": options.threshold is not None,
        "--min-probability": options.min_probability is not None,
        "--not": bool(options.counter_phrases),
    }
    for flag, is_given in given.items():
        if topic_paths and is_given:
            raise click.UsageError(f"{flag}: with --topics, the files of the topics have it")


def _search(
    corpus: Corpus,
    phrases: tuple[str, ...],
    paths: tuple[str, ...],
    options: MineOptions,
    run: TopicRun,
) -> Search:
    """The hits of phrases or topics, and what comes nearest to them."""
    from slice_os.search.listing import search_phrases
    from slice_os.topics.files import read_topics
    from slice_os.topics.run import search_topics

    if phrases:
        own = corpus.refinement(options.verify).verifier
        return search_phrases(corpus.store, corpus.encoder, phrases, options, own)
    return search_topics(corpus, read_topics(paths), **_topic_options(options, run, corpus))


def _topic_options(options: MineOptions, run: TopicRun, corpus: Corpus) -> dict[str, Any]:
    own = {name: getattr(options, name) for name in ("where", "exhaustive", "unit", "verify")}
    labels = run.work_of(corpus.store).labels()
    return {**own, "exclusive": run.exclusive, "labels": labels}


def _with_near_misses(
    corpus: Corpus, phrases: tuple[str, ...], options: MineOptions
) -> tuple[Iterator[Hit], Cut]:
    """Hits and those a little below the cut, and the cut itself."""
    from slice_os.hits.report.digest import FARTHEST_BELOW, with_near_misses
    from slice_os.search.refinement import usual_cut

    given = Cut(threshold=options.threshold, min_probability=options.min_probability)
    verifies = corpus.refinement(options.verify).verifies
    is_given = any(value is not None for value in given.values())
    cut = given if is_given else usual_cut(corpus.encoder, verifies)
    if (least := cut.get("min_probability")) is not None:
        lower = max(0.0, least - FARTHEST_BELOW)
        return corpus.iter_mine(phrases, options, min_probability=lower), cut

    def mined(least: float) -> Iterable[Hit]:
        return corpus.iter_mine(phrases, options, threshold=least)

    return with_near_misses(mined, cut["threshold"] or 0.0), cut
