"""`slice-os review`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slice_os.cli.options import (
    EncoderChoice,
    encoder_options,
    store_option,
    topic_paths,
    where_option,
    work_option,
)
from slice_os.cli.render import printable, render, styled

if TYPE_CHECKING:
    from slice_os.hits.hit import Hit
    from slice_os.query.filters import Condition
    from slice_os.topics.journal import LabelJournal

KEYS = "y: right  n: wrong  s: skip  u: undo  q: quit"


@click.command()
@topic_paths
@store_option
@work_option
@click.option(
    "--margin",
    type=click.FloatRange(0, 1),
    default=0.1,
    help="Show also near misses up to this far below the cut-off of their topic.",
)
@where_option
@encoder_options
def review(
    paths: tuple[str, ...],
    store: str,
    work: Path | None,
    margin: float,
    where: tuple[Condition, ...],
    encoder: EncoderChoice,
) -> None:
    """Label hits of topics as right or wrong, the most uncertain first.

    Each answer is added to labels.jsonl at once, and labelled hits are not shown again.

    Press y, n, s to skip, u to undo the last answer, or q to quit. The next run continues where
    this one ended. Then `slice-os topics learn` improves the topics.
    """
    from slice_os.topics.files import read_topics
    from slice_os.topics.journal import LabelJournal
    from slice_os.topics.near_misses import near_misses, to_review
    from slice_os.topics.run import usual_requirement
    from slice_os.topics.work import Work

    found = read_topics(paths)
    with encoder.corpus(store) as corpus:
        journal = LabelJournal(Work.of(corpus.store.folder, work).labels_file)
        labels = [answer.label for answer in journal.read()]
        usual = usual_requirement(corpus.encoder, corpus.refinement())
        needs = {topic.name: topic.requirement(usual) for topic in found}
        hits = near_misses(corpus, found, margin=margin, where=where, and_hits=True, labels=labels)
        waiting = to_review(hits, labels, needs)
    click.echo(f"{len(labels)} labels so far", err=True)
    ask_about(waiting, journal)


def ask_about(waiting: Sequence[Hit], journal: LabelJournal) -> None:
    """Show hits one by one, and add the answers to a journal."""
    from slice_os.topics.labels import Label

    click.echo(f"{len(waiting)} to review. {KEYS}", err=True)
    answers: list[Label | None] = []  # for each hit shown
    while len(answers) < len(waiting):
        hit = waiting[len(answers)]
        click.echo(f"{styled(printable(hit.topic or ''), bold=True)}: {printable(hit.phrase)}")
        click.echo(render(hit, len(answers) + 1))
        key = _ask()
        if key == "q":
            break
        if key == "u" and not answers:
            click.echo("nothing to undo", err=True)
        elif key == "u":
            if (last := answers.pop()) is not None:
                journal.take_back(last.key)
        elif key == "s":
            answers.append(None)
        else:
            label = Label.of(hit, key == "y")
            journal.add([label])
            answers.append(label)
    given = sum(answer is not None for answer in answers)
    click.echo(f"{given} labels added to {printable(str(journal.path))}", err=True)


def _ask() -> str:
    """One of the keys, read until it is one; the end of the input quits."""
    while True:
        click.echo("right? [y/n/s/u/q] ", nl=False, err=True)
        key = click.getchar() if sys.stdin.isatty() else sys.stdin.read(1) or "q"
        click.echo(printable(key), err=True)
        if key.lower() in ("y", "n", "s", "u", "q"):
            return key.lower()
