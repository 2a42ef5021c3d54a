"""A topic: its phrases, what its hits need, and what labels taught it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date
from math import exp, log
from typing import Annotated, Any, TypeAlias

from slice_os.errors import InputError
from slice_os.hits.bands import reaches
from slice_os.hits.hit import Hit
from slice_os.query.filters import check_size, parse_where
from slice_os.query.options import UNITS
from slice_os.query.query import Where
from slice_os.records import Bound, Natural, Reader, between
from slice_os.text.documents import check_text
from slice_os.topics.combination import Combination

LONGEST_TEXT, MOST_TEXTS = 10_000, 1_000
"""Characters of a text of a topic, and the most texts in each of its lists."""

_EDGE = 1e-9


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{value!r} is no string; put it between quotation marks")
    if len(value) > LONGEST_TEXT:
        raise InputError(f"a text of {len(value):,} characters; {LONGEST_TEXT:,} are the most")
    check_text(value, "text")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InputError(f"{value!r} is no list; put it between brackets")
    if len(value) > MOST_TEXTS:
        told = "make several topics of them, and combine these"
        raise InputError(f"{len(value):,} texts; {MOST_TEXTS:,} are the most: {told}")
    for item in value:
        if not _text(item).strip():
            raise InputError("one of the texts is empty; write it or delete it")
    return tuple(value)


def _where(value: Any) -> Where:
    if not isinstance(value, dict):
        raise InputError(f'{value!r}: give fields and their values, as where = {{domain = "bank"}}')
    check_size(value)
    return parse_where(value)


def _day(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else _text(value)


Text: TypeAlias = Annotated[str, Reader(_text)]
Texts: TypeAlias = Annotated[tuple[str, ...], Reader(_texts)]
Cosine: TypeAlias = Annotated[float | None, between(-1, 1)]
Probability: TypeAlias = Annotated[float | None, between(0, 1)]
Weight: TypeAlias = Annotated[float, between(-1_000_000, 1_000_000)]
Unit: TypeAlias = Annotated[
    str, Bound(UNITS.__contains__, f"{', '.join(UNITS[:-1])} or {UNITS[-1]}")
]


@dataclass(frozen=True, slots=True)
class Learned:
    """The ``[learned]`` table of a topic file, from labelled hits.

    Attributes:
        threshold: least cosine of a hit, in place of what the file itself asks of hits; None if
            the labels did not tell one.
        phrases: right hits that serve as further phrases.
        counter_phrases: wrong hits that serve as further counter-phrases.
        offset: added to the log-odds of a hit's probability.
        scale: factor of the log-odds, before the offset.
        labels: number of labels that this was learned from.
        right: number of right ones among them.
        date: day on which it was learned, as in 2026-06-01.
    """

    threshold: Cosine = None
    phrases: Texts = ()
    counter_phrases: Texts = ()
    offset: Weight = 0.0
    scale: Weight = 1.0
    labels: Natural = 0
    right: Natural = 0
    date: Annotated[str, Reader(_day)] = ""

    def probability(self, given: float) -> float:
        """The probability that a hit is right in this topic, from that of the verifier."""
        bounded = min(max(given, _EDGE), 1 - _EDGE)
        odds = self.scale * log(bounded / (1 - bounded)) + self.offset
        return 1 / (1 + exp(-odds))


@dataclass(frozen=True, slots=True)
class Requirement:
    """The least cosine and probability that a hit of a topic needs; probability 0 for any."""

    cosine: float = -1.0
    probability: float = 0.0

    def __str__(self) -> str:
        """The cut in words."""
        least = self.probability or self.cosine
        return f"{'probability' if self.probability else 'cosine'} {least:.2f} or more"

    def lowered(self, margin: float) -> Requirement:
        """Less by a margin, in probability if that is needed, or else in cosine."""
        if self.probability:
            return replace(self, probability=max(self.probability - margin, 1e-3))
        return replace(self, cosine=max(self.cosine - margin, -1.0))

    def admits(self, hit: Hit) -> bool:
        """Whether a hit, with the probability that its topic gives it, counts."""
        return hit.cosine >= self.cosine and reaches(hit.probability, self.probability)


@dataclass(frozen=True, slots=True)
class Topic:
    """A meaning that texts may express, in phrases; `read_topic` reads it from a file.

    A topic may also combine others, and has no phrases then.

    Attributes:
        name: letters, digits, ``-``, ``_`` and single spaces.
        phrases: wordings of it.
        description: for people.
        counter_phrases: wordings of what sounds alike but is something else. Words that are
            nearer to one of them than to every phrase are no hit.
        where: conditions on the metadata of hits.
        threshold: least cosine of a hit.
        min_probability: least probability of a hit, in place of a threshold.
        precision: share of the hits that should be right, in place of a threshold.
        unit: how wide hits are: ``span``, ``clause``, ``sentence`` or ``turn``; empty for what
            the run says.
        verifier: name of the verifier that reads its hits; see `find_verifier`. Empty for that of
            the run.
        must_match: examples with a hit.
        must_not_match: examples without one.
        learned: from labels.
        combination: of other topics; None if it has phrases.
    """

    name: Text
    phrases: Texts = ()
    description: Text = ""
    counter_phrases: Texts = ()
    where: Annotated[Where, Reader(_where)] = ()
    threshold: Cosine = None
    min_probability: Probability = None
    precision: Probability = None
    unit: Unit = ""
    verifier: Text = ""
    must_match: Texts = ()
    must_not_match: Texts = ()
    learned: Learned = field(default_factory=Learned)
    combination: Combination | None = None

    @property
    def all_phrases(self) -> tuple[str, ...]:
        """Its phrases, given and learned."""
        return tuple(dict.fromkeys(self.phrases + self.learned.phrases))

    @property
    def all_counter_phrases(self) -> tuple[str, ...]:
        """Its counter-phrases, given and learned."""
        return tuple(dict.fromkeys(self.counter_phrases + self.learned.counter_phrases))

    def requirement(self, usual: Requirement) -> Requirement:
        """The least that a hit needs; as usual, if the topic gives nothing.

        A precision is reached if every hit has at least that probability. Labels find a lower
        threshold that reaches it, too.
        """
        if self.learned.threshold is not None:
            return Requirement(cosine=self.learned.threshold)
        least = self.min_probability if self.precision is None else self.precision
        if least is not None:
            return Requirement(probability=least)
        return usual if self.threshold is None else Requirement(cosine=self.threshold)
