"""`slice-os labels`: agreement of readers, and their disagreements."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slice_os.cli.groups import CommandGroup
from slice_os.cli.label_import import import_
from slice_os.cli.options import reader_option, rows_option
from slice_os.cli.render import in_context, printable, show, styled, wants_json
from slice_os.cli.review import Question, ask_about

if TYPE_CHECKING:
    from slice_os.topics.agreement import ReadHit

labels_file = click.argument(
    "labels_file", metavar="LABELS", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)


@click.group(cls=CommandGroup)
def labels() -> None:
    """Compare the labels of several readers, settle what they disagree on, and import others.

    `slice-os review --reader NAME` adds labels with a name.
    """


@labels.command()
@labels_file
@rows_option
def agree(labels_file: Path, as_json: bool | None) -> int:
    """Show how far readers agree, by topic.

    Readers mean the same hit if their words share half of the shorter ones. Alpha is
    Krippendorff's: 1 if they always agree, 0 if as often as by chance. Behind each figure is its
    95 % interval. The exit status is 1 if no hit was answered by two readers with a name.
    """
    from slice_os.topics.agreement import agreement
    from slice_os.topics.journal import LabelJournal

    found = agreement(LabelJournal(labels_file).of_all_readers())
    for one in found:
        alpha = "not defined: all answers are the same" if one.alpha is None else one.alpha
        lines = [
            styled(printable(one.topic), bold=True),
            f"  readers   {printable(', '.join(one.readers))}",
            f"  hits      {one.hits:,}, of which {one.disputed:,} to settle",
            f"  agreed    {one.agreed}",
            f"  alpha     {alpha}",
        ]
        show(asdict(one), "\n".join(lines), as_json)
    if not found:
        click.echo("no hit was answered by two readers with a name", err=True)
    return 0 if found else 1


@labels.command()
@labels_file
@reader_option
@rows_option
def settle(labels_file: Path, reader: str, as_json: bool | None) -> int:
    """Settle the hits on which readers disagree.

    A terminal asks about each of them; your answer is valid from then on, and the readers' own
    answers stay. A pipe gets one line of JSON for each. The exit status is 1 if some are left.
    """
    from slice_os.topics.agreement import disputes
    from slice_os.topics.journal import LabelJournal

    journal = LabelJournal(labels_file)
    left = disputes(journal.of_all_readers())
    if wants_json(as_json):
        for hit in left:
            show([answer.label.to_row() for answer in hit.answers], "", as_json)
        return 1 if left else 0
    ask_about([_question(hit, reader) for hit in left], journal)
    return 1 if disputes(journal.of_all_readers()) else 0


def _question(hit: ReadHit, reader: str) -> Question:
    """Who is right; the answer is about the words of each of them."""
    answers = [answer.label for answer in hit.answers]
    first = answers[0]
    said = (f"{one.reader}: {'right' if one.right else 'wrong'}" for one in answers)
    lines = [
        f"{styled(printable(first.topic), bold=True)}: {printable(', '.join(said))}",
        printable(f"{first.doc_id}:{first.start}-{first.end}"),
        *(
            [printable(first.text)]
            if first.context is None
            else in_context(first.context, first.start, first.end)
        ),
    ]
    words = {label.key: label for label in hit.labels}
    settled = (replace(one, reader=reader, settled=True, date="") for one in words.values())
    return Question("\n".join(lines) + "\n", tuple(settled))


labels.add_command(import_)
