"""Options by which several commands use topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import orjson

from slice_os.cli.render import echo_json, printable, wants_json

if TYPE_CHECKING:
    from slice_os.corpus import Corpus
    from slice_os.hits.hit import Hit
    from slice_os.query.options import MineOptions

Command = TypeVar("Command", bound=Callable[..., Any])

TALLIES = ("topic", "document", "day")

topic_paths = click.argument(
    "paths", nargs=-1, required=True, metavar="TOPICS...", type=click.Path(exists=True)
)
exclusive_option = click.option(
    "--exclusive", is_flag=True, help="Topics: words count for the nearest topic alone."
)


def topics_option(required: bool = False) -> Callable[[Command], Command]:
    """``--topics``, files and folders."""
    return click.option(
        "--topics",
        "topic_paths",
        multiple=True,
        required=required,
        metavar="PATH",
        type=click.Path(exists=True),
        help="Topic file, or folder of topic files; repeatable.",
    )


def topic_run_options(command: Command) -> Command:
    """Options for a run of topics over a store."""
    for option in reversed(
        [
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
                help="With --new: what earlier runs found.  [default: in the folder of the store]",
            ),
            click.option(
                "--counts",
                type=click.Choice(TALLIES),
                help="Topics: numbers of hits and documents in place of the hits.",
            ),
            click.option(
                "--date-field",
                default="date",
                show_default=True,
                metavar="FIELD",
                help="With --counts day: metadata field of the day.",
            ),
        ]
    ):
        command = option(command)
    return command


def mined_topics(
    corpus: Corpus,
    paths: Sequence[str],
    options: MineOptions,
    exclusive: bool,
) -> Iterator[Hit]:
    """The hits of the topics in files and folders."""
    from slice_os.topics.files import read_topics
    from slice_os.topics.run import mine_topics

    topics = read_topics(paths)
    return mine_topics(
        corpus,
        topics,
        where=options.where,
        exhaustive=options.exhaustive,
        exclusive=exclusive,
        unit=options.unit,
        verify=options.verify,
    )


def new_hits(hits: Iterable[Hit], corpus: Corpus, state: str | None) -> Iterator[Hit]:
    """The hits that no earlier run found.

    Raises:
        click.UsageError: if there is no place for the state.
    """
    from slice_os.topics.changes import FILE, SeenHits

    folder = corpus.store.folder
    if state is None and folder is None:
        raise click.UsageError("--new: give --state FILE, since this store has no folder")
    return SeenHits(Path(state) if state else folder / FILE).new(hits)  # type: ignore[operator]


def show_counts(hits: Iterable[Hit], by: str, date_field: str, as_json: bool | None) -> None:
    """Print the numbers of hits and documents."""
    from slice_os.topics.tallies import tally

    rows = tally(hits, by, date_field)
    if wants_json(as_json):
        for row in rows:
            where = {by: row.place} if row.place else {}
            counts = {"hits": row.hits, "documents": row.documents}
            echo_json(orjson.dumps({"topic": row.topic, **where, **counts}))
        return
    for row in rows:
        place = f"{printable(row.place)}  " if row.place else ""
        click.echo(f"{row.hits:>8,} hits  {row.documents:>6,} documents  {row.topic}  {place}")
