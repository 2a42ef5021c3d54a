"""Near misses of a mining run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from slice_os.hits.hit import Hit, overlap

# Near misses are at most this far below the threshold.
NEAR = 0.05


def with_near_misses(mine: Callable[[float], Iterable[Hit]], threshold: float) -> Iterator[Hit]:
    """The hits from a threshold on, then those a little below it that overlap none of them.

    Both are mined separately: at a lower threshold, another span of the same words can be the
    hit, with a lower cosine but better edges.

    Args:
        mine: gives the hits from a threshold on.
        threshold: least cosine of a hit.
    """
    found: dict[tuple[str, str], list[Hit]] = defaultdict(list)
    for hit in mine(threshold):
        found[hit.phrase, hit.doc_id].append(hit)
        yield hit
    for hit in mine(max(-1.0, threshold - NEAR)):
        others = found[hit.phrase, hit.doc_id]
        if not any(overlap(hit, other) for other in others):
            yield hit
