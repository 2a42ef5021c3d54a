"""What a changed topic gains and loses on a store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from slice_os.corpus import Corpus
from slice_os.hits.hit import Hit, overlap
from slice_os.topics.run import mine_topics
from slice_os.topics.topic import Topic

_FORMER = "\0"


@dataclass(frozen=True, slots=True)
class Change:
    """A hit that only one of two versions of a topic has."""

    kind: Literal["gained", "lost"]
    hit: Hit


def difference(corpus: Corpus, old: Sequence[Topic], new: Sequence[Topic]) -> Iterator[Change]:
    """The hits that topics gain and lose by a change, in one pass.

    Hits that overlap are the same. A topic is known by its name.

    Args:
        corpus: where to look.
        old: topics before the change.
        new: topics after it.

    Yields:
        Changes by document and position.

    Raises:
        InputError: as `mine_topics`.
    """
    former = [replace(topic, name=f"{_FORMER}{topic.name}") for topic in old]
    hits = mine_topics(corpus, [*former, *new])
    for _, document in groupby(hits, key=lambda hit: hit.doc_id):
        by_topic: dict[str, list[Hit]] = defaultdict(list)
        for hit in document:
            by_topic[hit.topic or ""].append(hit)
        changes = []
        for name in dict.fromkeys(name.removeprefix(_FORMER) for name in by_topic):
            before = [replace(hit, topic=name) for hit in by_topic.get(f"{_FORMER}{name}", [])]
            after = by_topic.get(name, [])
            changes += [Change("lost", hit) for hit in before if not _among(hit, after)]
            changes += [Change("gained", hit) for hit in after if not _among(hit, before)]
        yield from sorted(changes, key=lambda change: (change.hit.start, change.hit.end))


def _among(hit: Hit, others: Sequence[Hit]) -> bool:
    return any(overlap(hit, other) for other in others)
