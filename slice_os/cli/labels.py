"""`slice-os labels`: agreement of readers, and their disagreements."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import click

from slice_os.cli.groups import CommandGroup
from slice_os.cli.options import Reader, RowsAsJson, Store, WorkFolder
from slice_os.cli.parameters import argument, option
from slice_os.cli.render import echo_json, in_context, printable, show, styled, wants_json
from slice_os.cli.review import Question, ask_about
from slice_os.errors import InputError

if TYPE_CHECKING:
    from slice_os.estimates.agreement import ReadHit
    from slice_os.labels.label import Label

LabelsFile: TypeAlias = Annotated[
    Path, argument(metavar="LABELS", type=click.Path(exists=True, dir_okay=False, path_type=Path))
]


@click.group(cls=CommandGroup)
def labels() -> None:
    """Compare the labels of several readers, settle what they disagree on, and import others.

    `slice-os review --reader NAME` adds labels with a name.
    """


@labels.command()
def agree(labels_file: LabelsFile, as_json: RowsAsJson) -> int:
    """Show how far readers agree, by topic.

    Readers mean the same hit if their words share half of the shorter ones. Alpha is
    Krippendorff's: 1 if they always agree, 0 if as often as by chance. Behind each figure is its
    95 % interval. The exit status is 1 if no hit was answered by two readers with a name.
    """
    from slice_os.estimates.agreement import agreement
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
def settle(labels_file: LabelsFile, reader: Reader, as_json: RowsAsJson) -> int:
    """Settle the hits on which readers disagree.

    A terminal asks about each of them; your answer is valid from then on, and the readers' own
    answers stay. A pipe gets one line of JSON for each. The exit status is 1 if some are left.
    """
    from slice_os.estimates.agreement import disputes
    from slice_os.topics.journal import LabelJournal

    journal = LabelJournal(labels_file)
    left = disputes(journal.of_all_readers())
    if wants_json(as_json):
        for hit in left:
            echo_json([answer.label.to_row() for answer in hit.answers])
        return 1 if left else 0
    ask_about([_question(hit, reader) for hit in left], journal)
    return 1 if disputes(journal.of_all_readers()) else 0


def _question(hit: ReadHit, reader: str) -> Question:
    """Ask who is right; the answer is about the words of each of them."""
    answers = [answer.label for answer in hit.answers]
    first = answers[0]
    said = (f"{one.reader}: {'right' if one.right else 'wrong'}" for one in answers)
    lines = [
        f"{styled(printable(first.topic), bold=True)}: {printable(', '.join(said))}",
        printable(f"{first.doc_id}:{first.start}-{first.end}"),
        *(
            [printable(first.text)]
            if first.passage is None
            else in_context(first.passage, first.start, first.end)
        ),
    ]
    words = {label.key: label for label in hit.labels}
    settled = (replace(one, reader=reader, settled=True, date="") for one in words.values())
    return Question("\n".join(lines) + "\n", tuple(settled))


@labels.command("import")
def import_(
    files: Annotated[
        tuple[str, ...], argument(required=True, metavar="FILE...", type=click.Path(exists=True))
    ],
    store: Store,
    work: WorkFolder,
    reader: Annotated[str, option("NAME", "Reader of answers that have no name.", default="")],
) -> int:
    """Add the answers of FILEs to the labels of a store.

    A FILE is what Label Studio exports as JSON, or JSON lines of Prodigy, both of tasks that
    `slice-os mine -o` wrote: spans that are left are right, hits that none of them touches are
    wrong. Or it has labelled hits: JSON lines with a field "label", or a table (.csv, .xlsx).

    The words of each label must be in the text of its document, where the label says. What cannot
    be used is reported on standard error, and the exit status is 1.
    """
    from slice_os.corpus import Corpus
    from slice_os.labels.imported import read_answered
    from slice_os.topics.journal import LabelJournal
    from slice_os.topics.work import Work

    found: dict[tuple[object, ...], Label] = {}
    bad = 0
    with Corpus(store) as corpus:
        journal = LabelJournal(Work.of(corpus.store.folder, work).labels_file)
        for file in files:
            for one in read_answered(file, corpus.text):
                if isinstance(one, InputError):
                    bad += 1
                    click.echo(f"slice-os: {printable(str(one))}", err=True)
                else:
                    label = replace(one, reader=one.reader or reader)
                    found[_about(label)] = label
    known = {_about(one.label): one.label.right for one in journal.of_all_readers()}
    new = [one for about, one in found.items() if known.get(about) != one.right]
    journal.add(new)
    told = f"{len(new):,} labels added to {journal.path}, {len(found) - len(new):,} known before"
    click.echo(printable(told), err=True)
    return 1 if bad else 0


def _about(label: Label) -> tuple[object, ...]:
    """The key of who answers, and about which words; the last answer holds."""
    return label.reader, label.settled, label.key
