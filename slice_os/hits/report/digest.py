"""The contents of a report, gathered as hits pass: counts, score histograms and examples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from itertools import count
from typing import Any

from slice_os.hits.hit import Hit, overlap
from slice_os.hits.report.pages import Location
from slice_os.tables.table import paired, shown

BINS = 50
"""Bins of the histograms, from 0 to 1; the thresholds that a reader of the report can choose."""

MOST_EXAMPLES = 3_000
"""Hits that a report shows, near misses included."""

FARTHEST_BELOW = 0.05
"""The distance below the cut at which a hit is still a near miss."""

_BEST, _WEAKEST, _NEAR = 100, 25, 25
_CONTEXT = 160
_MOST_GROUPS = 500


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A hit, at a document and offsets, in its context.

    Attributes:
        strength: the score that the threshold of the report applies to.
        band: of its probability; None if there is none.
        details: metadata and further remarks, by name.
    """

    place: Location
    phrase: str
    before: str
    text: str
    after: str
    scores: Mapping[str, float]
    strength: float
    band: str | None
    details: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Group:
    """The hits of one topic, or of one phrase.

    Attributes:
        near: number of near misses.
        best: the best hits, the best one first.
        weakest: of the further hits the weakest, the weakest one first.
        near_misses: the best of them.
        counts: for ``probability``, if any hit has one, and ``cosine``: ``BINS`` counts from 0 to
            1, first of hits and near misses, then of near misses alone.
        strengths: such counts of hits by `Excerpt.strength`.
    """

    name: str
    hits: int
    documents: int
    near: int
    best: tuple[Excerpt, ...]
    weakest: tuple[Excerpt, ...]
    near_misses: tuple[Excerpt, ...]
    counts: Mapping[str, tuple[Sequence[int], Sequence[int]]]
    strengths: Sequence[int]


@dataclass(frozen=True, slots=True)
class Digest:
    """The contents of a report: groups by falling number of hits, and numbers of all of them.

    Examples are ordered by the ``measure``: ``probability`` or ``cosine``.
    """

    groups: tuple[Group, ...]
    hits: int
    documents: int
    near: int
    measure: str


def digest(
    records: Iterable[Mapping[str, Any]],
    threshold: float | None = None,
    min_probability: float | None = None,
) -> Digest:
    """Gather the contents of a report from hits, as `Hit.to_dict` gives them.

    Those with a lower cosine or probability, and rejected ones, are near misses. Memory does not
    grow with the number of hits.
    """
    tallies: dict[str, _Tally] = {}
    everywhere: set[str] = set()
    for record in records:
        name = record["topic"] or record["phrase"]
        if name not in tallies and len(tallies) >= _MOST_GROUPS:
            name = "other groups"
        cuts = (record["cosine"], threshold), (record["probability"], min_probability)
        below = any(None not in cut and cut[0] < cut[1] for cut in cuts)
        near = below or record["label"] is False
        tallies.setdefault(name, _Tally()).add(record, near)
        if not near:
            everywhere.add(record["doc_id"])
    certain = any(("probability", False) in tally.counts for tally in tallies.values())
    measures = ("probability", "cosine") if certain else ("cosine",)
    share = max(4, MOST_EXAMPLES // max(len(tallies), 1))
    groups = sorted(
        (tally.group(name, share, measures) for name, tally in tallies.items()),
        key=lambda group: (-group.hits, group.name),
    )
    return Digest(
        tuple(groups),
        sum(group.hits for group in groups),
        len(everywhere),
        sum(group.near for group in groups),
        measures[0],
    )


@dataclass(slots=True)
class _Tally:
    """Counts and examples of a group, while hits pass."""

    hits: int = 0
    near: int = 0
    documents: set[str] = field(default_factory=set)
    best: _Top = field(default_factory=lambda: _Top(_BEST))
    weakest: _Top = field(default_factory=lambda: _Top(_WEAKEST))
    near_misses: _Top = field(default_factory=lambda: _Top(_NEAR))
    # By measure; of all, and of near misses alone.
    counts: dict[tuple[str, bool], list[int]] = field(
        default_factory=lambda: defaultdict(lambda: [0] * BINS)
    )

    strengths: list[int] = field(default_factory=lambda: [0] * BINS)

    def add(self, record: Mapping[str, Any], near: bool) -> None:
        probability = record["probability"]
        strength = record["cosine"] if probability is None else probability
        for measure in ("probability", "cosine"):
            if record[measure] is not None:
                self.counts[measure, False][_bin(record[measure])] += 1
                self.counts[measure, True][_bin(record[measure])] += near
        if near:
            self.near += 1
            self.near_misses.add(strength, record)
            return
        self.hits += 1
        self.strengths[_bin(strength)] += 1
        self.documents.add(record["doc_id"])
        pushed_out = self.best.add(strength, record)
        if pushed_out is not None:
            self.weakest.add(-pushed_out[0], pushed_out[1])

    def group(self, name: str, share: int, measures: Iterable[str]) -> Group:
        """The group, with ``share`` examples at most."""
        best = self.best.excerpts(share * _BEST // (_BEST + _WEAKEST + _NEAR))
        fewer = max(1, share * _NEAR // (_BEST + _WEAKEST + _NEAR))
        return Group(
            name=name,
            hits=self.hits,
            documents=len(self.documents),
            near=self.near,
            best=best,
            weakest=self.weakest.excerpts(0 if len(best) == self.hits else fewer),
            near_misses=self.near_misses.excerpts(fewer),
            counts={one: (self.counts[one, False], self.counts[one, True]) for one in measures},
            strengths=self.strengths,
        )


class _Top:
    """The records with the highest scores, so many at most."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[float, int, Mapping[str, Any]]] = []
        self._order = count(0, -1)  # of equal scores, the first ones stay

    def add(
        self, score: float, record: Mapping[str, Any]
    ) -> tuple[float, Mapping[str, Any]] | None:
        """Take a record; return the one that no longer belongs to them."""
        entry = (score, next(self._order), record)
        if len(self._heap) < self._most:
            heappush(self._heap, entry)
            return None
        score, _, record = heappushpop(self._heap, entry)
        return score, record

    def excerpts(self, most: int) -> tuple[Excerpt, ...]:
        """The first of them, the highest score first."""
        return tuple(_excerpt(one) for _, _, one in sorted(self._heap, reverse=True)[:most])


def _bin(value: float) -> int:
    # Six decimals, as hits are written: 0.58 belongs to the bin that begins with it.
    return int(min(max(round(value, 6) * BINS + 1e-6, 0), BINS - 1))


def _excerpt(record: Mapping[str, Any]) -> Excerpt:
    passage = record["passage"]
    text: str = passage["text"]
    start, end = record["start"] - passage["start"], record["end"] - passage["start"]
    left, right = max(0, start - _CONTEXT), min(len(text), end + _CONTEXT)
    scores = {
        name: record[name] for name in ("probability", "cosine", "bm25") if record[name] is not None
    }
    details = {name: shown(name, value) for name, value in record["metadata"].items()}
    if record["count"] > 1:
        details["similar hits"] = str(record["count"])
    if (label := record["label"]) is not None:
        details["people say"] = "right" if label else "wrong"
    if record["reasons"]:
        details["reasons"] = "; ".join(record["reasons"])
    if record["matches"]:
        details["matches"] = ", ".join(map(paired, record["matches"]))
    return Excerpt(
        place=Location(record["doc_id"], record["start"], record["end"], record["text"]),
        phrase=record["phrase"],
        before=("…" if left else "") + text[left : max(start, 0)],
        text=record["text"],
        after=text[max(end, 0) : right] + ("…" if right < len(text) else ""),
        scores=scores,
        strength=scores.get("probability", record["cosine"]),
        band=record["band"],
        details=details,
    )


def with_near_misses(mine: Callable[[float], Iterable[Hit]], threshold: float) -> Iterator[Hit]:
    """The hits from a threshold on, then those a little below it that overlap none of them.

    Both are mined separately: at a lower threshold, another span of the same words can be the
    hit, with a lower cosine but better edges. ``mine`` gives the hits from a threshold on.
    """
    found: dict[tuple[str, str], list[Hit]] = defaultdict(list)
    for hit in mine(threshold):
        found[hit.phrase, hit.doc_id].append(hit)
        yield hit
    for hit in mine(max(-1.0, threshold - FARTHEST_BELOW)):
        others = found[hit.phrase, hit.doc_id]
        if not any(overlap(hit, other) for other in others):
            yield hit
