"""Options and output of runs over a store: what is new of topics, and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import click

from slice_os.cli.options import Exclusive, WorkFolder
from slice_os.cli.render import printable, show, wants_json

if TYPE_CHECKING:
    from slice_os.corpus import Corpus
    from slice_os.estimates.tallies import Tally
    from slice_os.stores.protocol import Store
    from slice_os.topics.changes import F
    from slice_os.topics.match import Found
    from slice_os.topics.work import Work

# The exit status if the rate of a topic is unusual.
ALERTED = 3
_PERIODS = 8


@dataclass(frozen=True)
class TopicRun:
    """A run over a store."""

    exclusive: Exclusive
    only_new: Annotated[
        bool, "--new", "Topics: only what no earlier run with --new found in this store."
    ]
    work: WorkFolder
    counts: Annotated[
        str | None,
        "BY",
        "Show counts of hits by topic or phrase, document, day, week, month, or a metadata field.",
    ]
    within: Annotated[
        str | None,
        "--by",
        "FIELD",
        "With --counts: each value of this metadata field by itself; periods side by side.",
    ]
    alert: Annotated[
        bool, "With --counts day, week or month: exit with 3 if a topic's last rate is unusual."
    ]
    sections: Annotated[
        bool, "Give hits the nearest numbered heading before them, such as 12.3 Liability."
    ]
    date_field: Annotated[
        str | None,
        "FIELD",
        "With --counts day, week or month: metadata field of the date.  [default: date]",
    ]

    def check(self, corpus: Corpus) -> None:
        """Refuse counts by dates, or by a field, that the store does not have."""
        from slice_os.estimates.tallies import PERIODS, TOTALS, counted_values
        from slice_os.query.filters import DATE

        if self.counts in PERIODS:
            corpus.days(self.date_field or DATE)
        elif self.date_field or self.alert:
            flag = "--date-field" if self.date_field else "--alert"
            raise click.UsageError(f"{flag}: only with --counts day, week or month")
        elif self.counts not in (None, "document", *TOTALS):
            counted_values(corpus, self.counts, 1, TOTALS)
        if self.within and not self.counts:
            raise click.UsageError("--by: only with --counts")
        if self.within:
            corpus.field_values(self.within, 1)

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
        self,
        found: Iterable[Found],
        noun: str,
        as_json: bool | None,
        corpus: Corpus,
        of: str,
        names: Sequence[str],
    ) -> int:
        """Print the numbers of what was found of these topics, or else, and of its documents.

        Returns the exit status that alerts ask for, or 0.
        """
        from slice_os.estimates.tallies import PERIODS, alerts, documents_by, tally
        from slice_os.query.filters import DATE

        by, dates = self.counts or of, self.date_field or DATE
        hits = list(found) if self.alert else found
        rows = tally(hits, by, dates, self.within, names)
        if not rows:
            click.echo(f"no {noun}", err=True)
        beside = self.within and by in PERIODS and not wants_json(as_json)
        everywhere = documents_by(corpus, by, dates) if beside or self.alert else {}
        if beside:
            for line in _side_by_side(rows, everywhere):
                click.echo(printable(line))
            rows = []
        for row in rows:
            where = {by: row.place} if row.place else {}
            where |= {self.within: row.within} if self.within else {}
            plain = {of: row.topic, **where, noun: row.hits, "documents": row.documents}
            named = printable("  ".join(filter(None, (row.topic, row.place, row.within))))
            text = f"{row.hits:>8,} {noun}  {row.documents:>6,} documents  {named}"
            show(plain, text, as_json)
        if not self.alert:
            return 0
        whole = tally(hits, by, dates) if self.within else rows
        unusual = alerts(whole, everywhere)
        for one in unusual:
            click.echo(f"alert: {printable(str(one))}", err=True)
        return ALERTED if unusual else 0


def _side_by_side(rows: Sequence[Tally], everywhere: Iterable[str]) -> Iterator[str]:
    """The documents of each topic, a line for each value, with the last periods beside it."""
    from slice_os.estimates.tallies import NOWHERE

    periods = sorted({*everywhere, *(row.place for row in rows)} - {NOWHERE})[-_PERIODS:]
    cells = {(row.topic, row.within, row.place): row.documents for row in rows}
    widest = max((len(name) for row in rows for name in (row.within, row.topic)), default=0)
    for topic in dict.fromkeys(row.topic for row in rows):
        yield "  ".join([f"{topic:<{widest}}", *(f"{one:>10}" for one in periods), "    change"])
        for value in sorted({row.within for row in rows if row.topic == topic}):
            own = [cells.get((topic, value, one), 0) for one in periods]
            change = f"{own[-1] - own[-2]:+,}" if len(own) > 1 else ""
            line = [f"{value:<{widest}}", *(f"{one:>10,}" for one in own), f"{change:>10}"]
            yield "  ".join(line)
