"""What becomes of hits after they are scored: verified, cut by probability, and ordered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from slice_os.encoder.model_folder import CALIBRATION_FILE
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.hits.hit import Hit, Hits, UnreadHit
from slice_os.query.options import (
    BY_PROBABILITY,
    LOW_THRESHOLD,
    ORDERS,
    REFINED,
    check_probability,
)
from slice_os.search.run import check_page
from slice_os.stores.result_page import PageRequest
from slice_os.verifier.claims import Verifier, claim_of
from slice_os.verifier.registry import chosen_verifier

_BATCH = 32


@dataclass(frozen=True, slots=True)
class Refinement:
    """How hits are refined.

    Attributes:
        verifier: gives hits their probability; None to keep the one that the cosine gives.
        min_probability: least probability of a hit; None for any.
        order: ``score`` or ``probability``; None to leave hits as they come.

    Raises:
        InputError: on an unknown order, or a probability that is not from 0 to 1.
    """

    verifier: Verifier | None = None
    min_probability: float | None = None
    order: str | None = None

    def __post_init__(self) -> None:
        if self.min_probability is not None:
            check_probability(self.min_probability)
        if self.order is not None and self.order not in ORDERS:
            raise InputError(f"no order {self.order!r}; there are {', '.join(ORDERS)}")

    @property
    def verifies(self) -> bool:
        """Whether a verifier reads the hits; it then wants the vectors of their words."""
        return self.verifier is not None

    @property
    def needs_probability(self) -> bool:
        """Whether the probability decides which hits there are, or where."""
        return self.min_probability is not None or self.order == BY_PROBABILITY

    def threshold(self, given: float | None, default: float) -> float:
        """The least cosine of a hit: the one given, or a low one if the probability decides."""
        if given is not None:
            return given
        return default if self.min_probability is None else min(default, LOW_THRESHOLD)

    def scored_page(self, wanted: PageRequest) -> PageRequest:
        """The page of hits by score that a page of refined hits is chosen from.

        An order by probability is one of the first `REFINED` hits by score; those after them
        follow by score. A cut leaves only hits among the first `REFINED`, or as many as a page
        holds. So all pages of one size are parts of one list.
        """
        check_page(wanted, exhaustive=True)
        if not self.needs_probability:
            return wanted
        reach = wanted.end if self.min_probability is None else wanted.top_k
        return replace(wanted, offset=0, top_k=max(reach, min(REFINED, wanted.num_candidates)))

    def page(self, hits: Hits, wanted: PageRequest) -> Hits:
        """A page of refined hits.

        Args:
            hits: those of `scored_page`, by falling score.
            wanted: the page.
        """
        if not self.needs_probability:
            return replace(hits, items=tuple(self.each(hits)))
        first = self.all(hits[:REFINED], hits.threshold, hits.exhaustive)
        refined = (*first, *self.each(hits[REFINED:]))
        return replace(first, items=refined[wanted.offset : wanted.end])

    def all(self, hits: Iterable[Hit], threshold: float | None, exhaustive: bool) -> Hits:
        """Every hit, refined and in order.

        Args:
            hits: as they come.
            threshold: that they were found with.
            exhaustive: whether every passage was scored.
        """
        refined = self.each(hits)
        items = tuple(ordered(refined, self.order) if self.order else refined)
        return Hits(items, threshold, exhaustive, self.min_probability)

    def each(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """Hits one by one as they come, verified and cut."""
        least = self.min_probability
        for hit in hits if self.verifier is None else verified(hits, self.verifier):
            if least is None or _probability(hit) >= least:
                yield hit


def refinement(
    encoder: SpanEncoder,
    verifier: Verifier | None = None,
    verify: bool | None = None,
    min_probability: float | None = None,
    order: str | None = None,
) -> Refinement:
    """How to refine the hits of an encoder.

    Args:
        encoder: what makes the hits.
        verifier: the one to use; None for the bundled one.
        verify: whether to verify; None to do so with a verifier that is given, or with the bundled
            one if it was fitted to this encoder.
        min_probability: least probability of a hit; None for any.
        order: ``score`` or ``probability``; None to leave hits as they come.

    Raises:
        InputError: if the hits have no probability, but it is to decide.
        ModelError: if there is no verifier, but one is wanted.
    """
    made = Refinement(chosen_verifier(verify, verifier, encoder), min_probability, order)
    if made.needs_probability and made.verifier is None and encoder.calibration is None:
        raise InputError(
            f"hits of {encoder.card.name} have no probability: it has no {CALIBRATION_FILE}; "
            "verify them, or fit one with `slice-os eval calibration`"
        )
    return made


def verified(hits: Iterable[Hit], verifier: Verifier) -> Iterator[Hit]:
    """The hits with the probabilities and reasons of a verifier, reading only a little ahead."""
    rest = iter(hits)
    while batch := list(islice(rest, _BATCH)):
        verdicts = verifier.check([claim_of(hit) for hit in batch])
        for hit, verdict in zip(batch, verdicts, strict=True):
            if isinstance(hit, UnreadHit):
                yield hit.read(verdict.probability, verdict.reasons)
            else:
                yield replace(hit, probability=verdict.probability, reasons=verdict.reasons)


def ordered(hits: Iterable[Hit], order: str) -> list[Hit]:
    """Hits by falling score or probability; equal ones stay as they are."""
    key = _probability if order == BY_PROBABILITY else _score
    return sorted(hits, key=key, reverse=True)


def _score(hit: Hit) -> float:
    return hit.score


def _probability(hit: Hit) -> float:
    return -1.0 if hit.probability is None else hit.probability
