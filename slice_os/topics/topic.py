"""A topic: its phrases, what its hits need, and what labels taught it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, log

from slice_os.hits.bands import reaches
from slice_os.hits.hit import Hit
from slice_os.query.query import Where
from slice_os.topics.combination import Combination

_EDGE = 1e-9


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

    threshold: float | None = None
    phrases: tuple[str, ...] = ()
    counter_phrases: tuple[str, ...] = ()
    offset: float = 0.0
    scale: float = 1.0
    labels: int = 0
    right: int = 0
    date: str = ""

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

    name: str
    phrases: tuple[str, ...] = ()
    description: str = ""
    counter_phrases: tuple[str, ...] = ()
    where: Where = ()
    threshold: float | None = None
    min_probability: float | None = None
    precision: float | None = None
    unit: str = ""
    verifier: str = ""
    must_match: tuple[str, ...] = ()
    must_not_match: tuple[str, ...] = ()
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
