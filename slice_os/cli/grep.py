"""The habits of grep: which documents, how many hits, what is around them, and its statuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import click

from slice_os.cli.options import COUNT
from slice_os.cli.parameters import group, option
from slice_os.cli.render import printable, show
from slice_os.errors import SliceError
from slice_os.hits.bands import PROBABLE_FROM, UNSURE_FROM, rounded_down

if TYPE_CHECKING:
    from pathlib import Path

    from slice_os.hits.document_hits import DocumentHits
    from slice_os.hits.hit import Hit
    from slice_os.text.documents import Document

FOUND, NOTHING, FAILED = range(3)
_MEANT = {
    "lacks": f"lack it (below {UNSURE_FROM:.2f})",
    "unsure": "unsure",
    "has": f"have it ({PROBABLE_FROM:.2f} or more)",
}


class _FailedError(click.ClickException):
    exit_code = FAILED


@dataclass(frozen=True)
class Grep:
    """The part of the hits that is shown, and the number of hits of each document.

    Attributes:
        listing: ``with``, ``without`` or ``counts`` of documents in place of hits.
        most: hits of a document.
        before: turns or sentences before a hit; None for its passage.
        after: turns or sentences after it.
    """

    listing: str | None
    most: int | None
    before: int | None
    after: int | None
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def given(self) -> bool:
        """Whether one of these options is, so that statuses are those of grep."""
        return self.listing is not None or self.most is not None or self.around

    @property
    def around(self) -> bool:
        """Whether hits are shown with turns or sentences around them."""
        return self.before is not None or self.after is not None

    def check(self, **others: Any) -> None:
        """Refuse what cannot be together; ``others`` are values of options, by their flags."""
        if self.listing:
            given = [flag for flag, value in others.items() if value not in (None, False)]
            given += ["-A, -B and -C"] if self.around else []
            if given:
                flag = f"--{given[0]}" if given[0] in others else given[0]
                raise click.UsageError(f"-l, -L and -c list documents; leave out {flag}")
        if self.most is not None and others.get("new"):
            raise click.UsageError("--max-count: with --new, hits that are left out count as seen")

    def shown(self, scanned: Iterable[tuple[Document, Hit]]) -> Iterator[Hit]:
        """The hits of documents, with what is to be shown around them."""
        from slice_os.search.around import units_in, with_around

        for document, found in groupby(scanned, itemgetter(0)):
            text, units = document.text, units_in(document) if self.around else []
            around = self.before or 0, self.after or 0
            for _, hit in found:
                yield with_around(hit, text, units, *around) if self.around else hit

    def limited(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """The hits that are shown; all that have been are counted."""
        from slice_os.search.listing import first_of_each

        return first_of_each(hits, self.most, self.counts)

    def show_documents(
        self, found: Iterable[DocumentHits], as_json: bool | None, output: Path | None = None
    ) -> None:
        """Print the documents that the options ask for, or write what they have to a file.

        How many have and lack what is looked for goes to standard error.
        """
        from slice_os.hits.document_hits import findings, write_matrix

        cells = []
        for one in found:
            cells += [one] if one.finding else []
            if output is None:
                show(one.to_dict(), _told(one), as_json)
        if output is not None:
            write_matrix(cells, output)
            click.echo(f"{output}: {len({one.doc_id for one in cells}):,} documents", err=True)
        for topic, counts in findings(cells).items():
            named = f"{printable(topic)}: " if topic else ""
            told = (f"{number:,} {_MEANT[one]}" for one, number in counts.items())
            click.echo(f"{named}{', '.join(told)}", err=True)

    @contextmanager
    def statuses(self) -> Iterator[None]:
        """Errors with the status of grep, if one of its options is given."""
        try:
            yield
        except (SliceError, OSError) as error:
            if not self.given or isinstance(error, BrokenPipeError):
                raise
            raise _FailedError(str(error)) from None

    def status(self, failed: bool = False) -> int:
        """Of the command at its end; ``failed`` if a record could not be used."""
        if not self.given:
            return int(failed)
        return FAILED if failed else FOUND if self.counts else NOTHING


def _told(one: DocumentHits) -> str:
    if one.finding is None:
        return f"{printable(one.doc_id)}{'' if one.hits is None else f':{one.hits}'}"
    likely = "    -" if one.probability is None else rounded_down(one.probability, 3)
    named = [f"{one.finding:<6}", likely, one.topic, one.doc_id, _quoted(one.nearest)]
    return "  ".join(printable(part) for part in named if part)


def _quoted(near: Hit | None) -> str:
    if near is None:
        return ""
    rejected = ", rejected" if near.label is False else ""
    section = f", {near.metadata['section']}" if "section" in near.metadata else ""
    place = f"{near.start}-{near.end}{section}, cosine {near.cosine:.3f}{rejected}"
    return f"“{near.text}” ({place})"


def _made(with_hits: bool, without: bool, each: bool, context: int | None, **others: Any) -> Grep:
    chosen = {"with": with_hits, "without": without, "counts": each}
    listings = [name for name, is_given in chosen.items() if is_given]
    if len(listings) > 1:
        raise click.UsageError("give one of -l, -L and -c")
    for side in ("before", "after"):
        others[side] = context if others[side] is None else others[side]
    return Grep(listings[0] if listings else None, **others)


_units = partial(option, type=click.IntRange(min=0), metavar="NUM")
_options = group(
    _made,
    with_hits=option("-l", "--files-with-matches", "Documents alone.", is_flag=True),
    without=option(
        "-L",
        "--files-without-match",
        "All documents, from the one that most surely lacks what is looked for.",
        is_flag=True,
    ),
    each=option("-c", "--count", "Number of hits of each document.", is_flag=True),
    most=option("-m", "--max-count", COUNT, "NUM", "Only the first NUM hits of each document."),
    after=_units(
        "-A", "--after", "Show NUM turns after each hit, or sentences where nobody takes turns."
    ),
    before=_units("-B", "--before", "Show NUM turns or sentences before each hit."),
    context=_units("-C", "--context", "Show NUM turns or sentences before and after each hit."),
)
GrepOptions: TypeAlias = Annotated[Grep, _options]
