"""Options of a search, validated here alone; light to import, so that `--help` is quick."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from slice_os.errors import InputError

if TYPE_CHECKING:
    from slice_os.query.filters import Filter
    from slice_os.query.fusion import Fusion, Linear

NUM_CANDIDATES = 400
MAX_CANDIDATES = 10_000
MAX_EXPORTED_CANDIDATES = 5_000

BY_SCORE, BY_PROBABILITY = "score", "probability"
ORDERS = (BY_SCORE, BY_PROBABILITY)
# Where the probability decides, it does so among this many hits by score.
REFINED = 50
# Where the probability decides, mining looks at hits from this cosine on.
LOW_THRESHOLD = 0.45
# Least score of the topic of a whole text: the mean of two thresholds, each chosen on the training
# parts of other sets; .253 for Banking77 and .266 for CLINC150, "with regression, nearest topic"
# without labels in docs/evaluation/topics.md.
UTTERANCE_THRESHOLD = 0.259

# A new fusion is a function and a line here.
FUSIONS = {
    "convex": "slice_os.query.fusion:convex",
    "rrf": "slice_os.query.fusion:reciprocal_rank",
    "cosine": "slice_os.query.fusion:cosine_only",
}
DEFAULT_FUSION = "convex"
# Not a function: the store itself fuses; see `slice_os.stores.protocol.FusingStore`.
SERVER = "server"
FUSION_NAMES = (*FUSIONS, SERVER)

SPAN, CLAUSE, SENTENCE, TURN = UNITS = ("span", "clause", "sentence", "turn")


def check_unit(unit: str) -> None:
    """Raise `InputError` for an unknown unit, naming those that there are."""
    if unit not in UNITS:
        raise InputError(f"no unit {unit!r}; there are {', '.join(UNITS)}")


def check_threshold(threshold: object) -> None:
    """Raise `InputError` for what is no cosine."""
    if not _within(threshold, -1, 1):
        raise InputError(f"threshold {threshold!r}: give a number from -1 to 1, such as 0.6")


def _within(value: Any, low: float, high: float) -> bool:
    """Whether a value is a number, and not NaN, between two others."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    return number and bool(low <= value <= high)


def load_fusion(name: str) -> Fusion:
    """The fusion of that name, other than `SERVER`.

    Raises an `InputError` if there is none.
    """
    if name not in tuple(FUSIONS):  # also if it cannot be hashed
        raise InputError(f"no fusion {name!r}; there are {', '.join(FUSION_NAMES)}")
    fusion: Fusion = pkgutil.resolve_name(FUSIONS[name])
    return fusion


def linear_fusion(name: str) -> Linear | None:
    """A fusion that gives each hit of a passage a score of its own; None if this one does not."""
    from slice_os.query.fusion import Linear

    found = None if name == SERVER else load_fusion(name)
    return found if isinstance(found, Linear) else None


class Checks(Protocol):
    """A `slice_os.Verifier`, as far as options need to know it."""

    def check(self, claims: Any, /) -> Sequence[Any]:
        """A verdict for each claim."""


@dataclass(frozen=True, kw_only=True)
class HitOptions:
    """Which spans are hits, and how they are returned: the options that every search has.

    Attributes:
        counter_phrases: wordings of what sounds alike but is something else. A hit whose words
            are nearer to one of them than to every phrase is left out.
        threshold: least cosine of a hit. None is any for `search`, and for the others 0.45.
        verify: whether a verifier reads the hits; None to do so if one was fitted to the model.
        verifier: a verifier, or the name of one; None for that of the corpus, or the bundled one.
        min_probability: least probability of a hit. None is any for `search` and if a threshold
            is given; otherwise unlikely hits are left out, or, if the model gives hits no
            probability, those below its own threshold. `search` applies it to the first 50 hits
            by score, or ``top_k`` if that is more.
        order: ``score`` or ``probability``, the highest first; a `search` orders the first 50 hits
            by score. None is the order of the documents or, for a `search` that verifies, the
            likeliest first at less cost: the 10 hits that are likeliest by the vectors of their
            words, by probability, then the others of the 50, which are read only if they are asked
            for; without a verifier, by score.
        unit: how wide hits are: ``span``, or the ``clause``, ``sentence`` or ``turn`` around the
            best span, as far as its passage goes; in a text without turns, the sentence. With
            ``span``, a hit is the clause, too, if the phrase or the span has a verb. Of several
            spans of a phrase in one unit, the best is the hit.
        collapse: return hits in the same words as one, with their count; a `search` counts those
            that it has seen when the requested ones are complete. With ``min_probability``, it
            reads up to three of them, in sentences that differ, and counts those of likely ones.

    Raises an `InputError` on a value that an option cannot have.
    """

    counter_phrases: Sequence[str] = ()
    threshold: float | None = None
    verify: bool | None = None
    verifier: Checks | str | None = None
    min_probability: float | None = None
    order: str | None = None
    unit: str = SPAN
    collapse: bool = False

    def __post_init__(self) -> None:
        if self.threshold is not None:
            check_threshold(self.threshold)
        least = self.min_probability
        if least is not None and not _within(least, 0, 1):
            raise InputError(f"min_probability {least!r}: give a number from 0 to 1, such as 0.5")
        if self.order is not None and self.order not in ORDERS:
            raise InputError(f"no order {self.order!r}; there are {', '.join(ORDERS)}")
        check_unit(self.unit)

    def given(self) -> dict[str, Any]:
        """The fields whose value is not the default one."""
        named = ((field, getattr(self, field.name)) for field in fields(self))
        return {field.name: value for field, value in named if value != field.default}


@dataclass(frozen=True, kw_only=True)
class StoreOptions(HitOptions):
    """Options of a search in a store.

    Attributes:
        where: metadata fields, each with the value or values that it may have, or with operators:
            ``{"csat": {"gte": 3}, "domain": ["bank", "airline"]}``. There are ``eq``, ``ne``,
            ``in``, ``lt``, ``lte``, ``gt`` and ``gte``; see `slice_os.query.filters.Condition`.
    """

    where: Filter | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.where is not None:
            from slice_os.query.filters import parse_where

            parse_where(self.where)


@dataclass(frozen=True, kw_only=True)
class MineOptions(StoreOptions):
    """Options of a search for all hits in a store.

    Attributes:
        exhaustive: score every passage, so that no hit is missed; otherwise only those that an
            index in OpenSearch proposes. Local stores always score every passage.
    """

    exhaustive: bool = True


@dataclass(frozen=True, kw_only=True)
class SearchOptions(StoreOptions):
    """Options of a search for the best hits in a store.

    Attributes:
        top_k: number of hits.
        offset: hits to skip, for the next page.
        fusion: ``convex``, ``rrf`` or ``cosine``; or ``server``, for the ``hybrid`` query of an
            OpenSearch with the neural-search plugin.
        num_candidates: passages that an index in OpenSearch proposes by vector, and as many by
            BM25; all pages of a search need the same number. Local stores score every passage.
        per_passage: most hits of a passage. Each has its own score by ``convex`` or ``cosine``;
            ``rrf`` and ``server`` rank passages, so that these have one hit.
    """

    top_k: int = 10
    offset: int = 0
    fusion: str = DEFAULT_FUSION
    num_candidates: int = NUM_CANDIDATES
    per_passage: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("top_k", "offset", "num_candidates", "per_passage"):
            number: object = getattr(self, name)
            if not isinstance(number, Integral):
                raise InputError(f"{name} {number!r}: give a whole number")
        if self.top_k < 0 or self.offset < 0:
            raise InputError("top_k and offset must not be negative")
        if self.per_passage < 1:
            raise InputError(f"per_passage {self.per_passage}: give 1 or more")
        if self.per_passage > 1 and linear_fusion(self.fusion) is None:
            able = ", ".join(name for name in FUSIONS if linear_fusion(name))
            raise InputError(
                f"per_passage {self.per_passage}: fusion '{self.fusion}' ranks passages, not "
                f"hits; use one of {able}"
            )
        if self.fusion not in FUSION_NAMES:
            load_fusion(self.fusion)

    @property
    def end(self) -> int:
        """Number of hits up to the end of the requested ones."""
        return self.offset + self.top_k

    def check_reach(self) -> None:
        """Raise `InputError` for hits that an index cannot return: it proposes fewer passages."""
        if not 1 <= self.num_candidates <= MAX_CANDIDATES:
            raise InputError(f"num_candidates {self.num_candidates}: give 1 to {MAX_CANDIDATES:,}")
        if self.end > self.num_candidates:
            raise InputError(
                f"hit {self.end} is beyond the {self.num_candidates} candidates: use "
                f"num_candidates {self.end} or more for all pages, or mine by threshold"
            )


class Cut(TypedDict, total=False):
    """What hits must reach, as keywords."""

    threshold: float | None
    min_probability: float | None


class HitKeywords(Cut, total=False):
    """The fields of `HitOptions` as keywords, for type checkers and editors."""

    counter_phrases: Sequence[str]
    verify: bool | None
    verifier: Checks | str | None
    order: str | None
    unit: str
    collapse: bool


class StoreKeywords(HitKeywords, total=False):
    """The fields of `StoreOptions` as keywords."""

    where: Filter | None


class MineKeywords(StoreKeywords, total=False):
    """The fields of `MineOptions` as keywords."""

    exhaustive: bool


class SearchKeywords(StoreKeywords, total=False):
    """The fields of `SearchOptions` as keywords."""

    top_k: int
    offset: int
    fusion: str
    num_candidates: int
    per_passage: int


DEFAULT_SCAN, DEFAULT_MINING, DEFAULT_SEARCH = HitOptions(), MineOptions(), SearchOptions()
