"""`slice-os review`, and asking people in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import click

from slice_os.cli.options import (
    PROBABILITY,
    Conditions,
    EncoderChoice,
    Reader,
    Store,
    TopicFiles,
    WorkFolder,
)
from slice_os.cli.parameters import command
from slice_os.cli.render import printable, render, styled

if TYPE_CHECKING:
    from slice_os.hits.hit import Hit
    from slice_os.labels.label import Label, Origin
    from slice_os.topics.journal import LabelJournal

KEYS = "y: right  n: wrong  s: skip  u: undo  q: quit"


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a person, and the labels that the answer gives."""

    shown: str
    labels: tuple[Label, ...]

    @classmethod
    def of(cls, hits: Sequence[Hit], number: int, reader: str, origin: Origin) -> Question:
        """Whether hits of a topic, all in the same words, are right; only the first is shown."""
        from slice_os.labels.label import Label

        first, *others = hits
        same = f"     and {len(others):,} more in the same words\n" if others else ""
        title = f"{styled(printable(first.topic or ''), bold=True)}: {printable(first.phrase)}"
        labels = tuple(Label.of(hit, True, reader, origin) for hit in hits)
        return cls(f"{title}\n{render(first, number)}\n{same}".rstrip("\n") + "\n", labels)


@command()
def review(
    *,
    paths: TopicFiles,
    store: Store,
    work: WorkFolder,
    margin: Annotated[
        float, PROBABILITY, "Also show near misses up to this far below the cut-off of their topic."
    ] = 0.1,
    where: Conditions,
    reader: Reader,
    encoder: EncoderChoice,
) -> None:
    """Label hits of topics as right or wrong, the most uncertain and most different first.

    Each answer is added to labels.jsonl at once, for all hits in the same words, and you are not
    asked about them again. What other readers said is not shown; what they read comes first, so
    that `slice-os labels agree` can compare your answers.

    Press y, n, s to skip, u to undo the last answer, or q to quit. The next run continues where
    this one ended. Then `slice-os topics learn` improves the topics.
    """
    from slice_os.labels.label import known_to
    from slice_os.topics.files import read_topics
    from slice_os.topics.journal import LabelJournal
    from slice_os.topics.reviewing import origin_of, requirements, to_review
    from slice_os.topics.work import Work

    found = read_topics(paths)
    with encoder.corpus(store) as corpus:
        journal = LabelJournal(Work.of(corpus.store.folder, work).labels_file)
        answers = journal.of_all_readers()
        needs = requirements(corpus, found)
        waiting = to_review(corpus, found, answers, reader, margin=margin, where=where)
        origins = {name: origin_of(corpus, one) for name, one in needs.items()}
    click.echo(f"{len(known_to(reader, answers))} labels so far", err=True)
    questions = [
        Question.of(hits, number, reader, origins[hits[0].topic or ""])
        for number, hits in enumerate(waiting, 1)
    ]
    ask_about(questions, journal)


def ask_about(questions: Sequence[Question], journal: LabelJournal) -> None:
    """Show questions one by one, and add the answers to a journal."""
    click.echo(f"{len(questions)} to review. {KEYS}", err=True)
    answered: list[tuple[Label, ...]] = []  # the labels of each question, none if skipped
    while questions:
        question = questions[len(answered)] if len(answered) < len(questions) else None
        if question is not None:
            click.echo(question.shown)
        # The last answer can be taken back, too.
        key = _ask("right?", "ynsuq") if question else _ask("all answered", "uq")
        if key == "q":
            break
        if key == "u" and not answered:
            click.echo("nothing to undo", err=True)
        elif key == "u":
            journal.take_back(answered.pop())
        elif key == "s":
            answered.append(())
        elif question is not None:
            labels = tuple(replace(label, right=key == "y") for label in question.labels)
            journal.add(labels)
            answered.append(labels)
    given = sum(map(len, answered))
    click.echo(f"{given} labels added to {printable(str(journal.path))}", err=True)


def _ask(asked: str, keys: str) -> str:
    """One of the keys, read until it is one; the end of the input quits."""
    while True:
        click.echo(f"{asked} [{'/'.join(keys)}] ", nl=False, err=True)
        typed = sys.stdin.isatty()
        key = click.getchar() if typed else sys.stdin.buffer.read(1).decode("latin-1") or "q"
        click.echo(printable(key), err=True)
        if key.lower() in tuple(keys):
            return key.lower()
