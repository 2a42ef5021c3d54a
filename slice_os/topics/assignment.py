"""Hits of topics, chosen among the hits of their phrases: pure functions over hits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import TypeAlias

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.hits.hit import Hit, overlap, without_vectors
from slice_os.labels.label import Label
from slice_os.query.filters import DOCUMENT_ID, matcher
from slice_os.query.options import SPAN
from slice_os.query.query import Where, nearer_counter
from slice_os.search.refinement import Refinement
from slice_os.text.documents import Metadata, field_text
from slice_os.topics.topic import Requirement, Topic

# Passages whose hits are verified together, so that threads share the work.
_TOGETHER = 64

SpanCosines: TypeAlias = Callable[[Hit, Sequence[str]], FloatArray]
"""The cosines of the words of a hit with phrases and counter-phrases."""


@dataclass(frozen=True, slots=True)
class Aim:
    """A topic, ready to be looked for.

    Attributes:
        needs: what its hits need.
        unit: how wide they are.
        refine: what verifies them.
        said: what people said of a hit; see `answers`.
        least: a cosine that every hit has, whatever other topics are looked for.
    """

    topic: Topic
    needs: Requirement
    unit: str = SPAN
    refine: Refinement = field(default_factory=Refinement)
    said: Callable[[Hit], bool | None] = lambda hit: None
    least: float = -1.0

    def lowered(self, margin: float) -> Aim:
        """The aim at hits that may lack a margin of what the topic needs."""
        return replace(self, needs=self.needs.lowered(margin))

    def admits(self, hit: Hit) -> bool:
        """Whether a hit has what the topic needs; without a probability, its cosine decides."""
        if hit.probability is None and self.needs.probability:
            return hit.cosine >= max(self.needs.cosine, self.refine.unread)
        return self.needs.admits(hit)

    def judged(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """The hits, verified, with the probability of the topic."""
        for hit in self.refine.each(hits):
            known = hit.probability
            likely = None if known is None else self.topic.learned.probability(known)
            hit = replace(hit, topic=self.topic.name, probability=likely)
            yield replace(hit, label=self.said(hit))


def assign(
    hits: Iterable[Hit],
    aims: Sequence[Aim],
    cosines: SpanCosines,
    exclusive: bool = False,
    below: Callable[[Hit], None] | None = None,
) -> Iterator[Hit]:
    """The hits of topics among the hits of their phrases.

    Of overlapping hits of one topic the nearest counts, or the likeliest if the topic is cut by
    probability, and nothing verifies. It must have what the topic needs, and its words must not be
    nearer to a counter-phrase than to every phrase.

    Args:
        hits: of every phrase, not verified yet, those of a passage one after the other.
        aims: the topics.
        cosines: called for topics with counter-phrases.
        exclusive: words count for the nearest topic alone.
        below: called with each hit that fails only for its probability.

    Yields:
        Hits with their topic and its probability, by passage, topic and position.
    """
    owners: dict[str, list[int]] = defaultdict(list)
    for number, aim in enumerate(aims):
        for phrase in aim.topic.all_phrases:
            owners[phrase].append(number)
    units = {aim.topic.name: aim.unit for aim in aims}
    passages = (list(passage) for _, passage in groupby(hits, key=_passage))
    while batch := list(islice(passages, _TOGETHER)):
        found: list[list[Hit]] = [[] for _ in aims]
        for passage in batch:
            own: dict[int, list[Hit]] = defaultdict(list)
            for hit in passage:
                for number in owners.get(hit.phrase, ()):
                    own[number].append(hit)
            for number, some in own.items():
                found[number] += _of_topic(aims[number], some, cosines)
        chosen: dict[tuple[str, int], list[Hit]] = {_passage(one[0]): [] for one in batch}
        for aim, some in zip(aims, found, strict=True):
            for hit in aim.judged(some):
                if aim.admits(hit):
                    chosen[_passage(hit)].append(hit)
                elif below is not None:
                    below(without_vectors(hit))
        for some in chosen.values():
            left = _nearest_topic(some) if exclusive else some
            wide = [without_vectors(hit).widened(units[hit.topic or ""]) for hit in left]
            yield from (hit for hit in wide if _apart(hit, wide))


def _passage(hit: Hit) -> tuple[str, int]:
    return hit.doc_id, hit.passage.start


def admits(where: Where, doc_id: str, metadata: Metadata) -> bool:
    """Whether a document, or a passage of it, meets all conditions, as in a store."""
    for condition in where:
        value = metadata.get(condition.field)
        matches = value is not None and matcher(condition)(field_text(value))
        if condition.field == DOCUMENT_ID:
            matches = doc_id in condition.values
        if matches == (condition.operator == "ne"):
            return False
    return True


def answers(labels: Iterable[Label]) -> Callable[[Hit], bool | None]:
    """A function that tells whether labels accept words of a hit; None if they say nothing of them.

    Labels of words that the document no longer has there do not count.
    """
    places: dict[tuple[str | None, str], list[Label]] = defaultdict(list)
    for label in labels:
        places[label.topic, label.doc_id].append(label)

    def answer(hit: Hit) -> bool | None:
        span, passage = hit.span or hit, hit.passage
        given = [
            label.right
            for label in places.get((hit.topic, hit.doc_id), ())
            if label.start < span.end and span.start < label.end
            if passage.text[max(0, label.start - passage.start) : label.end - passage.start]
            == label.text
        ]
        return any(given) if given else None

    return answer


def countered(hit: Hit, topic: Topic, cosines: SpanCosines) -> tuple[str, float] | None:
    """The counter-phrase that a hit's words are nearer to than to every phrase, and its cosine."""
    phrases, rivals = topic.all_phrases, topic.all_counter_phrases
    if not rivals:
        return None
    near, far = np.split(cosines(hit, [*phrases, *rivals]), [len(phrases)])
    counter = nearer_counter(near, far)
    return None if counter is None else (rivals[counter], float(far[counter]))


def _of_topic(aim: Aim, own: Iterable[Hit], cosines: SpanCosines) -> list[Hit]:
    """The hits of a topic in a passage, by cosine and counter-phrases."""
    # A verifier tells more than how likely the cosine alone makes a hit.
    likeliest = aim.needs.probability > 0 and not aim.refine.verifies

    def rank(hit: Hit) -> tuple[float, float, int, int]:
        return -(hit.probability or 0.0) if likeliest else 0.0, -hit.cosine, hit.start, hit.end

    kept: list[Hit] = []
    for hit in sorted(own, key=rank):
        if (
            hit.cosine >= max(aim.needs.cosine, aim.least)
            and admits(aim.topic.where, hit.doc_id, hit.metadata)
            and not any(overlap(hit, other) for other in kept)
            and not countered(hit, aim.topic, cosines)
        ):
            kept.append(hit)
    return sorted(kept, key=lambda hit: hit.start)


def _apart(hit: Hit, hits: Sequence[Hit]) -> bool:
    """Whether no nearer hit of the topic overlaps, as wide as they are; the first of equals."""
    return not any(
        other is not hit
        and other.topic == hit.topic
        and (other.label is not False or hit.label is False)
        and overlap(hit, other)
        and (-other.cosine, (other.span or other).start) < (-hit.cosine, (hit.span or hit).start)
        for other in hits
    )


def _nearest_topic(hits: Sequence[Hit]) -> Iterator[Hit]:
    """The hits whose words are not nearer to another topic; the first of equals."""
    for number, hit in enumerate(hits):
        if not any(
            other.topic != hit.topic
            and other.label is not False
            and _same_words(hit, other)
            and (other.cosine, -at) > (hit.cosine, -number)
            for at, other in enumerate(hits)
        ):
            yield hit


def _same_words(one: Hit, other: Hit) -> bool:
    """Whether two hits share at least half of the shorter one."""
    shared = min(one.end, other.end) - max(one.start, other.start)
    return 2 * shared >= min(one.end - one.start, other.end - other.start)
