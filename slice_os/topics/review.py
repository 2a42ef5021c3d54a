"""Which hits to show to a person first, so that few labels tell much."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from slice_os.hits.hit import Hit
from slice_os.topics.labels import Label
from slice_os.topics.topic import Cut


def to_review(hits: Iterable[Hit], labels: Sequence[Label], cuts: dict[str, Cut]) -> list[Hit]:
    """Hits and near misses without a label, the most uncertain first, topics in turn.

    Those nearest to the cut of their topic are the most uncertain. Of equal texts only one comes.

    Args:
        hits: of topics, also some below their cut.
        labels: given so far.
        cuts: of the topics, by name.
    """
    seen = {(label.topic, _folded(label.text)) for label in labels}
    queues: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        label = Label.of(hit, right=True)
        key = (label.topic, _folded(label.text))
        if key not in seen:
            seen.add(key)
            queues[key[0]].append(hit)
    ranked = [
        (rank, name, hit)
        for name, queue in queues.items()
        for rank, hit in enumerate(sorted(queue, key=lambda hit: _distance(hit, cuts[name])))
    ]
    return [hit for _, _, hit in sorted(ranked, key=lambda each: each[:2])]


def _distance(hit: Hit, cut: Cut) -> float:
    """How far from its cut a hit is, in cosine or in probability."""
    if cut.probability:
        return abs((hit.probability or 0.0) - cut.probability)
    return abs(hit.cosine - cut.cosine)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
