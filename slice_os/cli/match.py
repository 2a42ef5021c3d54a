"""`slice-os match`: documents that combined topics describe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from slice_os.cli.options import (
    Conditions,
    EncoderChoice,
    RowsAsJson,
    Store,
    TopicFiles,
    VerifierName,
)
from slice_os.cli.parameters import command
from slice_os.cli.render import printable, show, styled
from slice_os.cli.topic_runs import TopicRun
from slice_os.hits.bands import rounded_down

if TYPE_CHECKING:
    from slice_os.hits.hit import Hit
    from slice_os.topics.match import Match


@command()
def match(
    paths: TopicFiles,
    store: Store,
    where: Conditions,
    verifier: VerifierName,
    run: TopicRun,
    as_json: RowsAsJson,
    encoder: EncoderChoice,
) -> int:
    """Find the documents that combined topics describe.

    A combined topic names others that a document must have or lack, in which order, and from
    whom. All of them are mined in one pass. Each match has its evidence; for what it lacks, it
    has what comes nearest. What a topic needs, such as times, and the store lacks is told on
    standard error. A file that cannot be used, or names a topic that is not given, is
    reported on standard error, the others are looked for, and the exit status is 1.
    """
    from slice_os.combinations.checks import unknown
    from slice_os.combinations.matching import match_topics, sound
    from slice_os.topics.files import usable_topics

    topics, problems = usable_topics(paths)
    topics, lacking = sound(topics)
    problems += lacking.values()
    for problem in problems:
        click.echo(f"slice-os: {printable(problem)}", err=True)
    if problems and not any(topic.combination for topic in topics):
        return 1
    with encoder.corpus(store, verifier) as corpus, run.left(corpus) as left:
        run.check(corpus)
        for topic in topics:
            for told in unknown(topic, corpus):
                click.echo(f"slice-os: topic {topic.name!r}: {printable(told)}", err=True)
        options = {"exclusive": run.exclusive, "labels": run.work_of(corpus.store).labels()}
        matches = left(match_topics(corpus, topics, where=where, **options))
        if run.counts:
            names = [topic.name for topic in topics if topic.combination]
            alerted = run.show_counts(matches, "matches", as_json, corpus, "topic", names)
            return 1 if problems else alerted
        one = None
        for one in matches:
            show(one.to_dict(), _render(one), as_json)
    if one is None:
        click.echo("no matches", err=True)
    return 1 if problems else 0


def _render(found: Match) -> str:
    """The match on a line, and a line for each hit and each topic that it lacks."""
    place = printable(found.place)
    if list(found.doc_ids) != [found.place]:
        place += f" ({', '.join(map(printable, found.doc_ids))})"
    lines = [f"{styled(printable(found.topic), bold=True)}  {place}"]
    lines += [f"  {printable(str(hit.topic))}: {_told(hit)}" for hit in found.evidence]
    for lack in found.lacks:
        near = f"nearest: {_told(lack.nearest)}" if lack.nearest else "nothing comes near"
        maybe = "perhaps " if lack.finding == "unsure" else ""
        lines.append(f"  {maybe}no {printable(lack.topic)}; {near}")
    return "\n".join([*lines, ""])


def _told(hit: Hit) -> str:
    speaker = hit.metadata.get("speaker")
    said = f"{printable(str(speaker))}: " if speaker is not None else ""
    likely = "" if hit.probability is None else f", probability {rounded_down(hit.probability)}"
    return f"{said}“{printable(hit.text)}” ({printable(hit.doc_id)}:{hit.start}-{hit.end}{likely})"
