"""Which hits of which phrases are hits of which topic: pure functions over hits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.hits.hit import Hit, overlap
from slice_os.query.filters import matcher
from slice_os.query.nearer_counter import nearer_counter
from slice_os.query.options import SPAN
from slice_os.query.query import Where
from slice_os.text.documents import Metadata, field_text
from slice_os.text.extents import Extent
from slice_os.topics.topic import Cut, Topic
from slice_os.topics.units import widened

SpanCosines: TypeAlias = Callable[[Hit, Sequence[str]], FloatArray]
"""The cosines of the words of a hit with phrases."""

Verify: TypeAlias = Callable[[Iterable[Hit]], Iterator[Hit]]
"""Hits with their probabilities, in order."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A topic, the least that its hits need, and how wide they are."""

    topic: Topic
    cut: Cut
    unit: str = SPAN


def assign(
    hits: Iterable[Hit],
    rules: Sequence[Rule],
    cosines: SpanCosines,
    exclusive: bool = False,
    verify: Verify = iter,
) -> Iterator[Hit]:
    """The hits of topics among the hits of their phrases and counter-phrases.

    Of overlapping hits of one topic the nearest counts, or the likeliest if the topic is cut by
    probability. It must reach the cut, and its words must not be nearer to a counter-phrase than
    to every phrase.

    Args:
        hits: of every phrase and counter-phrase, those of a passage one after the other.
        rules: the topics.
        cosines: compares the words of a hit with phrases. It is called only if a counter-phrase
            has a hit that overlaps; if none has, the words are not nearer to it.
        exclusive: words count for the nearest topic alone.
        verify: gives the hits that are left their probabilities.

    Yields:
        Hits with their topic and its probability, by passage, topic and position.
    """
    sides = _sides(rules)
    topics = {rule.topic.name: rule.topic.learned for rule in rules}
    cuts: dict[str | None, Cut] = {rule.topic.name: rule.cut for rule in rules}
    units: dict[str | None, str] = {rule.topic.name: rule.unit for rule in rules}

    def judge(hit: Hit) -> Hit:
        if hit.probability is None or hit.topic is None:
            return hit
        return replace(hit, probability=topics[hit.topic].probability(hit.probability))

    for _, passage in groupby(hits, key=lambda hit: (hit.doc_id, hit.context.start)):
        found: list[list[Hit]] = [[] for _ in rules]
        against: list[list[Hit]] = [[] for _ in rules]
        for hit in passage:
            for number, counters in sides[hit.phrase]:
                (against if counters else found)[number].append(hit)
        chosen = [
            hit
            for rule, own, counter in zip(rules, found, against, strict=True)
            if own
            for hit in _of_topic(rule, own, counter, cosines)
        ]
        judged = [hit for hit in map(judge, verify(chosen)) if cuts[hit.topic].admits(hit)]
        left = _nearest_topic(judged) if exclusive else judged
        wide = [widened(hit, units[hit.topic]) for hit in left]
        yield from (hit for hit in wide if _apart(hit, wide))


def admits(where: Where, metadata: Metadata) -> bool:
    """Whether metadata meets all conditions, as in a store."""
    for condition in where:
        value = metadata.get(condition.field)
        matches = value is not None and matcher(condition)(field_text(value))
        if matches == (condition.operator == "ne"):
            return False
    return True


def _sides(rules: Sequence[Rule]) -> dict[str, list[tuple[int, bool]]]:
    """The numbers of the topics that a phrase is for, or against."""
    sides: dict[str, list[tuple[int, bool]]] = defaultdict(list)
    for number, rule in enumerate(rules):
        for phrase in rule.topic.all_phrases:
            sides[phrase].append((number, False))
        for phrase in rule.topic.all_counter_phrases:
            sides[phrase].append((number, True))
    return sides


def _of_topic(
    rule: Rule, own: Iterable[Hit], against: Sequence[Hit], cosines: SpanCosines
) -> list[Hit]:
    topic = rule.topic
    likeliest = rule.cut.probability > 0

    def rank(hit: Hit) -> tuple[float, float, int, int]:
        return -(hit.probability or 0.0) if likeliest else 0.0, -hit.cosine, hit.start, hit.end

    kept: list[Hit] = []
    for hit in sorted(own, key=rank):
        if (
            hit.cosine >= rule.cut.cosine
            and admits(topic.where, hit.metadata)
            and not any(overlap(hit, other) for other in kept)
            and not countered(hit, topic, against, cosines)
        ):
            kept.append(replace(hit, topic=topic.name))
    return sorted(kept, key=lambda hit: hit.start)


def _apart(hit: Hit, hits: Sequence[Hit]) -> bool:
    """Whether no nearer hit of the topic overlaps, as wide as they are; the first of equals."""
    return not any(
        other is not hit
        and other.topic == hit.topic
        and overlap(hit, other)
        and (-other.cosine, _span(other).start) < (-hit.cosine, _span(hit).start)
        for other in hits
    )


def countered(
    hit: Hit, topic: Topic, against: Sequence[Hit], cosines: SpanCosines
) -> tuple[str, float] | None:
    """The counter-phrase that the words of a hit are nearer to than to every phrase.

    Args:
        hit: of the topic.
        topic: with its phrases.
        against: hits of its counter-phrases in the same passage.
        cosines: compares the words of the hit with phrases.

    Returns:
        The nearest one and its cosine; None if there is none.
    """
    rivals = list(dict.fromkeys(other.phrase for other in against if overlap(hit, other)))
    if not rivals:
        return None
    phrases = topic.all_phrases
    near, far = np.split(cosines(hit, [*phrases, *rivals]), [len(phrases)])
    counter = nearer_counter(near, far)
    return None if counter is None else (rivals[counter], float(far[counter]))


def _nearest_topic(hits: Sequence[Hit]) -> Iterator[Hit]:
    """The hits whose words no other topic's hit says better; the first of equals."""
    for number, hit in enumerate(hits):
        if not any(
            other.topic != hit.topic
            and _same_words(hit, other)
            and (other.cosine, -at) > (hit.cosine, -number)
            for at, other in enumerate(hits)
        ):
            yield hit


def _same_words(one: Hit, other: Hit) -> bool:
    """Whether the spans of two hits share at least half of the shorter one."""
    first, second = _span(one), _span(other)
    shared = min(first.end, second.end) - max(first.start, second.start)
    return 2 * shared >= min(first.end - first.start, second.end - second.start)


def _span(hit: Hit) -> Extent:
    """The span of a hit, however wide it is shown."""
    return hit.span or Extent(hit.start, hit.end)
