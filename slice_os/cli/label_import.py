"""`slice-os labels import`: answers that people gave in other tools."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slice_os.cli.options import store_option, work_option
from slice_os.cli.render import printable
from slice_os.errors import InputError

if TYPE_CHECKING:
    from slice_os.topics.labels import Label


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(exists=True))
@store_option
@work_option
@click.option("--reader", default="", metavar="NAME", help="Reader of answers that have no name.")
def import_(files: tuple[str, ...], store: str, work: Path | None, reader: str) -> int:
    """Add the answers of FILEs to the labels of a store.

    A FILE is what Label Studio exports as JSON, or JSON lines of Prodigy, both of tasks that
    `slice-os mine -o` wrote: spans that are left are right, hits that none of them touches are
    wrong. Or it has labelled hits: JSON lines with a field "label", or a table (.csv, .xlsx).

    The words of each label must be in the text of its document, where the label says. What cannot
    be used is reported on standard error, and the exit status is 1.
    """
    from slice_os.corpus import Corpus
    from slice_os.topics.answers import read_answered
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
    """Who answers, and about which words; the last answer holds."""
    return label.reader, label.settled, label.key
