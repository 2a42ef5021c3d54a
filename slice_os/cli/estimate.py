"""`slice-os estimate`: how much a topic finds, and how much it misses."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import click

from slice_os.cli.options import COUNT, EncoderChoice, Reader, RowsAsJson, Store, WorkFolder
from slice_os.cli.parameters import NumberRange, argument, command
from slice_os.cli.render import echo_json, printable, show, wants_json

if TYPE_CHECKING:
    from slice_os.estimates.recall import Interval, TopicEstimate


@command()
def estimate(
    topic: Annotated[str, argument(type=click.Path(exists=True, dir_okay=False))],
    store: Store,
    work: WorkFolder,
    size: Annotated[
        int | None, COUNT, "Passages to label.  [default: as in the largest sample so far, or 140]"
    ],
    seed: Annotated[int | None, click.INT, "Random seed of the sample.  [default: likewise, or 0]"],
    precision: Annotated[
        float | None,
        NumberRange(0, 1, min_open=True),
        "Also show the lowest cut that surely has this precision.",
    ],
    reader: Reader,
    as_json: RowsAsJson,
    encoder: EncoderChoice,
) -> int:
    """Estimate how much of a topic is found and missed, from a sample that you label.

    The sample is of all passages, also of those below the cut. A terminal asks about each of
    them, as `slice-os review` does; sample and answers are kept, and the next run continues. A
    pipe gets those without a label. Then it shows recall, precision and the share of right
    passages among those that are not found, each with its 95 % interval, for the topic's own cut
    and for others.
    """
    from slice_os.cli.review import Question, ask_about
    from slice_os.estimates.sampling import draw
    from slice_os.topics.files import read_topic
    from slice_os.topics.journal import LabelJournal
    from slice_os.topics.reviewing import origin_of, requirements
    from slice_os.topics.work import Work

    read = read_topic(topic)
    with encoder.corpus(store) as corpus:
        journal = LabelJournal(Work.of(corpus.store.folder, work).labels_file)
        labels = [answer.label for answer in journal.read()]
        drawn = draw(corpus, read, journal, labels, size, seed)
        origin = origin_of(corpus, requirements(corpus, [read])[read.name])
    waiting = drawn.waiting(labels)
    if waiting and not wants_json(as_json):
        asked = (Question.of([hit], n, reader, origin) for n, hit in enumerate(waiting, 1))
        ask_about(list(asked), journal)
        labels = [answer.label for answer in journal.read()]
        waiting = drawn.waiting(labels)
    if waiting:
        click.echo(
            f"{len(waiting)} of {len(drawn.keys)} passages of the sample have no label; "
            f"answer in a terminal, or add labels to {printable(str(journal.path))}",
            err=True,
        )
        for hit in waiting if wants_json(as_json) else ():
            echo_json(hit.to_json())
        return 1
    found = drawn.estimate(labels)
    more: dict[str, Any] = {"labels_to_halve": found.labels_to_halve}
    told = _told(found)
    if precision is not None:
        cut = found.least_cut(precision)
        more["enough"] = cut and asdict(cut)
        enough = "no cut surely has it; label more, or ask for less"
        if cut is not None:
            enough = f"from {cut.least:.2f} on, precision {cut.precision}, recall {cut.recall}"
        told += f"\n\nprecision {precision:g} or more: {enough}"
    show(asdict(found) | more, told, as_json)
    return 0


def _told(found: TopicEstimate) -> str:
    """The estimate in lines: the cut's own figures, then those of other cuts."""
    said = found.richness
    lines = [
        f"after {found.labels} labels, from {found.passages:,} passages",
        f"  recall     {found.cut.recall}",
        f"  precision  {found.cut.precision}",
        f"  elusion    {_fine(found.cut.elusion)}  right among those that are not found",
        f"  richness   {_fine(said)}  right among all: about {said.value * found.passages:,.0f}",
        f"  {found.labels_to_halve:,} more labels would make these intervals about half as wide",
        "",
        "   cut   found  precision            recall",
    ]
    lines += [
        f"{one.least:6.2f} {one.found:7,}  {one.precision!s:<19}  {one.recall}"
        for one in found.curve
        if one.least >= 0
    ]
    return "\n".join(lines)


def _fine(one: Interval) -> str:
    return f"{one.value:.4f} ({one.low:.4f} to {one.high:.4f})"
