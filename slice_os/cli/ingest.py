"""`slice-os ingest`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from slice_os.cli.options import (
    FORMATS_HELP,
    EncoderChoice,
    FollowLinks,
    FormatName,
    IndexChoices,
    Reading,
    Store,
    TopicPaths,
    connect,
)
from slice_os.cli.parameters import argument, command, option
from slice_os.cli.progress import ProgressBar
from slice_os.cli.render import printable, show

if TYPE_CHECKING:
    from slice_os.ingest.pipeline import Enrich, IngestSummary
    from slice_os.stores.cluster.schema.settings import IndexOptions


@command(epilog=FORMATS_HELP)
def ingest(
    paths: Annotated[tuple[str, ...], argument(required=True, metavar="PATH...")],
    store: Store,
    reading: Reading,
    format_name: FormatName,
    source: Annotated[
        str | None,
        "NAME",
        "Name of standard input, or of the folder that the files are in. By default "
        "files have their real paths as names, and standard input is called stdin.",
    ],
    id_prefix: Annotated[
        str, option("Prefix for the id of every document.", default="", show_default=False)
    ],
    prune: Annotated[bool, "Delete the documents of files that are gone from a folder."],
    checksum: Annotated[bool, "Detect changed files by content, not by size and time."],
    follow_links: FollowLinks,
    strict: Annotated[bool, "Exit with status 1 if files were skipped."],
    part: Annotated[
        str,
        option(
            "NUMBER/TOTAL",
            "Read only this part of the files, such as 3/16, so that several processes can "
            "load one index at once.",
            default="1/1",
            show_default=False,
        ),
    ],
    max_pieces: Annotated[
        int | None,
        click.IntRange(8, 1024),
        "New store: maximum word pieces in a passage.  [default: 128]",
    ],
    dead_letters: Annotated[
        Path | None,
        "File for records that cannot be used.  [default: dead-letters.jsonl in the "
        "store's folder, or in the current folder for an index]",
    ],
    topic_paths: TopicPaths,
    index_choices: IndexChoices,
    force_merge: Annotated[bool, "Index: merge segments at the end, for faster searches."],
    encoder: EncoderChoice,
) -> int:
    """Read files, folders, globs or standard input (-) into a store.

    Unchanged files are skipped, changed ones replaced, and an interrupted run resumes. Standard
    input adds to the store; with --source it replaces what had that name. A record that cannot be
    used goes to the dead letters with the reason, reading continues, and the exit status is 1.
    Files of unknown formats are counted by extension.

    Index options apply when an index on a server is created. To change them later, use
    `slice-os index reindex`.
    """
    from slice_os.corpus import Corpus
    from slice_os.hits.files import check_place
    from slice_os.ingest.readers.reader import counted
    from slice_os.ingest.sources import skipped_line

    if dead_letters is not None and not dead_letters.exists():
        check_place(dead_letters)
    index = _index_options(store, index_choices, force_merge)
    with (
        Corpus(store, encoder.for_store(), max_pieces, index) as corpus,
        ProgressBar(paths, format_name, part, follow_links=follow_links) as bar,
    ):
        letters = dead_letters or corpus.default_dead_letters
        enrich: Enrich | None = None
        if topic_paths:
            from slice_os.topics import TopicTagger, read_topics

            enrich = TopicTagger(read_topics(topic_paths), corpus.encoder).tag
        summary = corpus.ingest(
            paths,
            options=reading,
            read_as=format_name,
            dead_letters=letters,
            part=part,
            follow_links=follow_links,
            progress=bar.update,
            complain=bar.complain,
            enrich=enrich,
            source=source,
            id_prefix=id_prefix,
            prune=prune,
            checksum=checksum,
        )
    if force_merge:
        from slice_os.stores.cluster.schema.indices import force_merge as merge_segments

        click.echo("merging …", err=True)
        merge_segments(connect(store))
    show(summary, summary_line(summary))
    if summary.notes:
        click.echo(f"slice-os: in these files: {counted(summary.notes)}", err=True)
    if summary.skipped:
        click.echo(f"slice-os: {printable(skipped_line(summary.skipped))}", err=True)
    if summary.bad_records:
        records = "1 record" if summary.bad_records == 1 else f"{summary.bad_records} records"
        click.echo(f"slice-os: {records} could not be used, see {letters}", err=True)
    return 1 if summary.bad_records or (strict and summary.skipped) else 0


def summary_line(summary: IngestSummary) -> str:
    """A summary as a sentence."""
    rate = summary.pieces / max(summary.seconds, 1e-9)
    pruned = f", {summary.sources_pruned:,} gone" if summary.sources_pruned else ""
    return (
        f"documents: {summary.documents:,} stored, {summary.documents_unchanged:,} unchanged, "
        f"{summary.documents_deleted:,} deleted; sources: {summary.sources:,} read, "
        f"{summary.sources_unchanged:,} unchanged{pruned}; {summary.pieces:,} word pieces in "
        f"{summary.seconds:.1f} s ({rate:,.0f}/s)"
    )


def _index_options(store: str, wanted: dict[str, Any], force_merge: bool) -> IndexOptions | None:
    """Options for a new index; refused for a local store and for an index that has others."""
    from slice_os.stores.cluster.store import OpenSearchBackend
    from slice_os.stores.registry import find_backend

    names = ["force-merge"] * force_merge + [name.replace("fields", "field") for name in wanted]
    if not names:
        return None
    if not isinstance(find_backend(store), OpenSearchBackend):
        raise click.UsageError(
            f"--{names[0]}: only for a store in OpenSearch or Elasticsearch, not a folder"
        )
    from slice_os.stores.cluster.schema.settings import IndexOptions
    from slice_os.stores.cluster.versions.manage import check_options

    check_options(connect(store), wanted)
    return IndexOptions(**wanted)
