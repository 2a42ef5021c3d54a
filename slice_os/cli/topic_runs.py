"""Options and output of runs over a store: what is new of topics, and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slice_os.cli.options import as_one, exclusive_option, work_option
from slice_os.cli.render import printable, show

if TYPE_CHECKING:
    from slice_os.corpus import Corpus
    from slice_os.stores.protocol import Store
    from slice_os.topics.changes import F
    from slice_os.topics.match import Found
    from slice_os.topics.work import Work


@dataclass(frozen=True)
class TopicRun:
    """A run over a store."""

    exclusive: bool
    only_new: bool
    work: Path | None
    counts: str | None
    date_field: str | None

    def recorded(self) -> dict[str, bool | None]:
        """What the record of a run says of it; None for what was not given."""
        return {"exclusive": self.exclusive or None, "new": self.only_new or None}

    def check(self, corpus: Corpus) -> None:
        """Refuse counts by dates, or by a field, that the store does not have."""
        from slice_os.query.filters import DATE
        from slice_os.topics.tallies import PERIODS, TOTALS

        if self.counts in PERIODS:
            corpus.days(self.date_field or DATE)
        elif self.date_field:
            raise click.UsageError("--date-field: only with --counts day or week")
        elif self.counts not in (None, "document", *TOTALS):
            corpus.field_values(self.counts, 1)

    def work_of(self, store: Store) -> Work:
        """The folder of topics, labels and seen hits."""
        from slice_os.topics.work import Work

        return Work.of(store.folder, self.work)

    @contextmanager
    def left(self, corpus: Corpus) -> Iterator[Callable[[Iterable[F]], Iterator[F]]]:
        """Leaves of what was found what the run is for: all, or what no run with ``--new`` found.

        That counts as found once the block has ended without an error.
        """
        from slice_os.topics.changes import SeenHits

        if not self.only_new:
            yield iter
            return
        seen = SeenHits(self.work_of(corpus.store).seen)
        yield seen.new
        seen.keep()

    def show_counts(
        self, found: Iterable[Found], noun: str, as_json: bool | None, of: str = "topic"
    ) -> None:
        """Print the numbers of what was found of topics, or else, and of its documents."""
        from slice_os.query.filters import DATE
        from slice_os.topics.tallies import tally

        by = self.counts or of
        rows = tally(found, by, self.date_field or DATE)
        if not rows:
            click.echo(f"no {noun}", err=True)
        for row in rows:
            where = {by: row.place} if row.place else {}
            plain = {of: row.topic, **where, noun: row.hits, "documents": row.documents}
            named = printable("  ".join(filter(None, (row.topic, row.place))))
            text = f"{row.hits:>8,} {noun}  {row.documents:>6,} documents  {named}"
            show(plain, text, as_json)


topic_run_options = as_one(
    "run",
    TopicRun,
    exclusive_option,
    click.option(
        "--new",
        "only_new",
        is_flag=True,
        help="Topics: only what no earlier run with --new found in this store.",
    ),
    work_option,
    click.option(
        "--counts",
        metavar="BY",
        help="Show counts of hits by topic or phrase, document, day, week, or a metadata field.",
    ),
    click.option(
        "--date-field",
        metavar="FIELD",
        help="With --counts day or week: metadata field of the date.  [default: date]",
    ),
)
