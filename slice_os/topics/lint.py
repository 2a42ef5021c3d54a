"""Problems of topic files, also of those that can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from slice_os.corpus import Corpus
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.hits.hit import Hit
from slice_os.search.run import mine
from slice_os.topics.examples import run_examples
from slice_os.topics.files import examine, topic_files
from slice_os.topics.labels import folded
from slice_os.topics.run import TopicQuery, make_rules
from slice_os.topics.topic import Topic

SAME_COSINE = 0.97


@dataclass(frozen=True, slots=True)
class Problem:
    """Something to correct in a topic file.

    Attributes:
        path: the file.
        told: the problem, and what to do.
    """

    path: Path
    told: str


def lint(
    paths: Sequence[str | Path], encoder: SpanEncoder, corpus: Corpus | None = None
) -> list[Problem]:
    """Everything that is wrong or needless in topic files.

    Args:
        paths: files and folders.
        encoder: compares phrases.
        corpus: where to find phrases that have no hit, because others match the same words better.

    Raises:
        InputError: if a path does not exist.
    """
    problems = []
    topics: dict[Path, Topic] = {}
    for path in topic_files(paths):
        topic, wrong = examine(path)
        problems += [Problem(path, told) for told in wrong]
        if topic is not None and topic.phrases:
            topics[path] = topic
    owners: dict[str, Path] = {}
    names: dict[str, Path] = {}
    for path, topic in topics.items():
        told = [*_repeated(topic), *_across(topic, path, owners, names)]
        told += _nearly_equal(topic, encoder)
        told += _countered(topic, encoder)
        problems += [Problem(path, each) for each in told]
    if corpus is not None:
        problems += _shadowed(topics, corpus)
    return problems


def _repeated(topic: Topic) -> Iterator[str]:
    for name in ("phrases", "counter_phrases", "must_match", "must_not_match"):
        counts = Counter(map(folded, getattr(topic, name)))
        yield from (f"{name}: {text!r} occurs {n} times" for text, n in counts.items() if n > 1)
    counters = set(map(folded, topic.all_counter_phrases))
    for phrase in topic.phrases:
        if folded(phrase) in counters:
            yield f"{phrase!r} is a phrase and a counter-phrase; delete one"


def _across(
    topic: Topic, path: Path, owners: dict[str, Path], names: dict[str, Path]
) -> Iterator[str]:
    """Names and phrases that another file has, too."""
    if names.setdefault(topic.name, path) != path:
        yield f"name: {names[topic.name]} also has topic {topic.name!r}"
    for phrase in topic.phrases:
        if owners.setdefault(folded(phrase), path) != path:
            yield f"phrase {phrase!r} is also in {owners[folded(phrase)]}"


def _nearly_equal(topic: Topic, encoder: SpanEncoder) -> Iterator[str]:
    phrases = list({folded(phrase): phrase for phrase in topic.phrases}.values())
    vectors = encoder.encode_phrases(phrases)
    for later, row in enumerate(np.tril(vectors @ vectors.T, -1)):
        if row.max() >= SAME_COSINE:
            former = phrases[int(row.argmax())]
            yield (
                f"phrase {phrases[later]!r} says what {former!r} says (cosine {row.max():.3f}); "
                "delete one"
            )


def _countered(topic: Topic, encoder: SpanEncoder) -> Iterator[str]:
    for outcome in run_examples([topic], encoder):
        if outcome.wanted and not outcome.matched and outcome.counter is not None:
            yield (
                f"must_match {outcome.example!r} is nearer to counter-phrase "
                f"{outcome.counter[0]!r} than to any phrase"
            )


def _shadowed(topics: dict[Path, Topic], corpus: Corpus) -> Iterator[Problem]:
    rules = make_rules(list(topics.values()), corpus.encoder, verify=False)
    reached: Counter[tuple[str, str]] = Counter()

    def counted(hits: Iterable[Hit]) -> Iterator[Hit]:
        for hit in hits:
            for rule in rules:
                if hit.phrase in rule.topic.all_phrases and rule.needs.admits(hit):
                    reached[rule.topic.name, hit.phrase] += 1
            yield hit

    asked = TopicQuery.of(rules, corpus.encoder)
    hits = asked.assign(counted(mine(corpus.store, asked.query, threshold=asked.least)))
    counts = Counter((hit.topic, hit.phrase) for hit in hits)
    for path, topic in topics.items():
        for phrase in topic.phrases:
            among = reached[topic.name, phrase]
            if among and not counts[topic.name, phrase]:
                yield Problem(
                    path,
                    f"phrase {phrase!r} is shadowed: other phrases match all of its {among} "
                    "spans better; delete it",
                )
