"""`slice-os topics`: checking, comparing and improving topics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from slice_os.cli.groups import CommandGroup
from slice_os.cli.options import (
    COUNT,
    Conditions,
    EncoderChoice,
    Exclusive,
    HitsAsJson,
    OptionalStore,
    RowsAsJson,
    Store,
    TopicFiles,
    VerifierName,
)
from slice_os.cli.parameters import NumberRange, argument
from slice_os.cli.render import printable, render, show, styled, wants_json
from slice_os.cli.topic_tag import tag
from slice_os.errors import InputError

if TYPE_CHECKING:
    from slice_os.corpus import Corpus
    from slice_os.labels.label import Label
    from slice_os.topics.topic import Topic

MOST_EXAMPLES = 3


@click.group(cls=CommandGroup)
def topics() -> None:
    """Check, compare and improve topics: TOML files of phrases and examples.

    `slice-os mine --topics` finds their hits in a store, `slice-os ingest --topics` marks what
    it stores, and `slice-os review` asks you about hits.
    """


@topics.command()
def test(
    paths: TopicFiles, verifier: VerifierName, as_json: RowsAsJson, encoder: EncoderChoice
) -> int:
    """Test the examples of topics: must_match and must_not_match.

    The exit status is 1 if an example fails.
    """
    from slice_os.combinations.checks import run_examples
    from slice_os.topics.files import read_topics

    found = read_topics(paths)
    wrong = right = 0
    for outcome in run_examples(found, encoder.load(), verifier=verifier):
        right += outcome.right
        wrong += not outcome.right
        plain = {name: getattr(outcome, name) for name in ("topic", "example", "wanted", "matched")}
        told = "no hit" if outcome.wanted else "a hit"
        line = printable(f"{outcome.topic}: {told} in {outcome.example!r}: {outcome.why()}")
        if wants_json(as_json) or not outcome.right:
            show({**plain, "why": outcome.why()}, line, as_json)
    click.echo(f"{right} of {right + wrong} examples pass", err=True)
    return 1 if wrong else 0


@topics.command()
def lint(
    paths: TopicFiles, store: OptionalStore, as_json: RowsAsJson, encoder: EncoderChoice
) -> int:
    """Find mistakes in topic files.

    These are unknown keys, repeated or nearly equal phrases, and examples closer to a
    counter-phrase; with --store also phrases that never win there, because others match the same
    words better. The exit status is 1 if there is a mistake.
    """
    from slice_os.combinations.checks import lint as find_problems

    if store is None:
        problems = find_problems(paths, encoder.load())
    else:
        with encoder.corpus(store) as corpus:
            problems = find_problems(paths, corpus.encoder, corpus)
    for problem in problems:
        plain = {"file": problem.path, "problem": problem.told}
        show(plain, printable(f"{problem.path}: {problem.told}"), as_json)
    if not problems:
        click.echo("no problem found", err=True)
    return 1 if problems else 0


@topics.command()
def suggest(
    *,
    paths: TopicFiles,
    store: Store,
    most: Annotated[int, COUNT, "Maximum suggestions for a topic."] = 10,
    margin: Annotated[
        float,
        NumberRange(0, 1, min_open=True),
        "How far below the cut-off of its topic a near miss may be.",
    ] = 0.1,
    where: Conditions,
    verifier: VerifierName,
    as_json: RowsAsJson,
    encoder: EncoderChoice,
) -> None:
    """Suggest phrases and counter-phrases from near misses in a store.

    Near misses are clustered, and each cluster is one suggestion.
    """
    from slice_os.topics.files import read_topics
    from slice_os.topics.near_misses import suggest as find_suggestions
    from slice_os.topics.work import Work

    found = read_topics(paths)
    with encoder.corpus(store, verifier) as corpus:
        labels = Work.of(corpus.store.folder).labels()
        suggestions = find_suggestions(
            corpus, found, most=most, margin=margin, where=where, labels=labels
        )
    for suggestion in suggestions:
        names = ("topic", "text", "spans", "documents", "phrase")
        plain = {name: getattr(suggestion, name) for name in names}
        plain["cosine"] = round(suggestion.cosine, 6)
        plain["examples"] = [hit.text for hit in suggestion.hits[:MOST_EXAMPLES]]
        text = (
            f"{styled(printable(suggestion.topic), bold=True)}  "
            f"{printable(repr(suggestion.text))}  spans {suggestion.spans}  "
            f"documents {suggestion.documents}  cosine {suggestion.cosine:.3f} with "
            f"{printable(repr(suggestion.phrase))}"
        )
        show(plain, text, as_json)
    if not suggestions:
        click.echo("nothing to suggest: no near misses within --margin", err=True)


@topics.command()
def diff(
    old: Annotated[str, argument(type=click.Path(exists=True))],
    new: Annotated[str, argument(type=click.Path(exists=True))],
    store: Store,
    as_json: HitsAsJson,
    encoder: EncoderChoice,
) -> None:
    """Show the hits that a change of topic files gains and loses in a store.

    Topics with the same name are compared, or two single ones, whatever their names.
    """
    from slice_os.topics.changes import difference
    from slice_os.topics.files import read_topics
    from slice_os.topics.work import Work

    before, after = read_topics([old]), read_topics([new])
    if len(before) == len(after) == 1:
        before = [replace(before[0], name=after[0].name)]
    counts = {"gained": 0, "lost": 0}
    with encoder.corpus(store) as corpus:
        labels = Work.of(corpus.store.folder).labels()
        for change in difference(corpus, before, after, labels):
            if change.kind == "kept":
                continue
            counts[change.kind] += 1
            head = styled(printable(f"{change.kind}  {change.hit.topic}"), bold=True)
            text = f"{head}\n{render(change.hit, sum(counts.values()))}"
            show({"change": change.kind, **change.hit.to_dict()}, text, as_json)
    click.echo(f"{counts['gained']} gained, {counts['lost']} lost", err=True)


@topics.command()
def learn(
    paths: TopicFiles,
    labels_file: Annotated[
        str | None,
        "--labels",
        click.Path(exists=True, dir_okay=False),
        "FILE",
        "JSON lines, as `slice-os review` writes them, or hits as .csv or .xlsx with "
        "labels.  [default: those of the store]",
    ],
    store: OptionalStore,
    exclusive: Exclusive,
    dry_run: Annotated[bool, "Show what would be learned, but write nothing."],
    encoder: EncoderChoice,
) -> int:
    """Learn thresholds, probabilities and phrases from labelled hits.

    What is learned, counter-phrases included, goes to the [learned] table of the topic's file.
    To undo it, delete the table. With --store, lines tell what that changes in the store.

    If a topic cannot learn, the others do, and the exit status is 1.
    """
    from slice_os.labels.label import of_topic, read_labels
    from slice_os.topics.files import read_topic, topic_files, write_learned
    from slice_os.topics.learning import learn as learn_topic
    from slice_os.topics.table import learned_table
    from slice_os.topics.work import Work

    if store is None and labels_file is None:
        raise click.UsageError("give --store or --labels")
    failed = False
    with encoder.corpus(store) if store else nullcontext() as corpus:
        known = Work.of(corpus.store.folder).labels() if corpus else []
        labels = read_labels(labels_file) if labels_file else known
        encodes = corpus.encoder if corpus else encoder.load()
        for path in topic_files(paths):
            try:
                topic = read_topic(path)
                mine = of_topic(labels, topic.name)
                if not mine:
                    click.echo(f"{printable(topic.name)}: no labels", err=True)
                    continue
                learned = learn_topic(topic, mine, encodes, exclusive=exclusive)
                if others := len(mine) - learned.labels:
                    told = f"{others} labels of others, or without words, teach nothing"
                    click.echo(printable(f"{topic.name}: {told}"), err=True)
                click.echo(f"# {printable(str(path))}\n{learned_table(learned)}")
                taught = replace(topic, learned=learned)
                for line in _changed(corpus, topic, taught, labels) if corpus else ():
                    click.echo(f"# {printable(line)}")
                if not dry_run:
                    write_learned(path, learned)
            except InputError as error:
                click.echo(printable(f"slice-os: {error}"), err=True)
                failed = True
    return int(failed)


def _changed(corpus: Corpus, old: Topic, new: Topic, labels: Sequence[Label]) -> Iterator[str]:
    """Show what a topic learned, as a difference: its cut, and its hits in a store."""
    from slice_os.topics.changes import Changes, difference
    from slice_os.topics.run import usual_requirement

    usual = usual_requirement(corpus.encoder, corpus.refinement())
    yield f"cut: {old.requirement(usual)} before, {new.requirement(usual)} now"
    changes = Changes.of(difference(corpus, [old], [new], labels))
    yield f"hits: {changes.before:,} before, {changes.after:,} now"
    for sign, hits in (("+", changes.gained), ("-", changes.lost)):
        yield from (f"{sign} {hit.text!r} ({hit.doc_id})" for hit in hits[:MOST_EXAMPLES])


@topics.command()
def rename(
    folder: Annotated[str, argument(type=click.Path(exists=True, file_okay=False))],
    old: Annotated[str, argument()],
    new: Annotated[str, argument()],
    labels_file: Annotated[
        str | None,
        "--labels",
        click.Path(exists=True, dir_okay=False),
        "FILE",
        "File of labels, which get the new name, too.  [default: labels.jsonl beside FOLDER]",
    ],
) -> None:
    """Rename a topic: OLD, in a FOLDER of topic files, becomes NEW.

    So do its labels, and its file if that is called OLD.toml. To `mine --new`, it is a new topic.
    If it is interrupted, the same command completes it.
    """
    from slice_os.topics.folder import TopicsFolder
    from slice_os.topics.journal import LabelJournal, rename_topic
    from slice_os.topics.work import Work

    journal = LabelJournal(labels_file or Work(Path(folder).resolve().parent).labels_file)
    stored, labels = rename_topic(TopicsFolder(folder), journal, old, new)
    told = (
        f"{stored.path}: {old!r} is now {new!r}, in {labels} label{'' if labels == 1 else 's'}, too"
    )
    click.echo(printable(told), err=True)


topics.add_command(tag)
