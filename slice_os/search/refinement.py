"""Hits after they are scored: verified, cut by probability, ordered, collapsed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from operator import attrgetter, itemgetter

from slice_os.encoder.model_folder import CALIBRATION_FILE
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.hits.bands import UNSURE_FROM, reaches
from slice_os.hits.collapse import collapse
from slice_os.hits.hit import Hit, Hits, HitWithVectors, without_vectors
from slice_os.query.filters import parse_where
from slice_os.query.options import (
    BY_PROBABILITY,
    DEFAULT_SCAN,
    LOW_THRESHOLD,
    REFINED,
    Cut,
    HitOptions,
    SearchOptions,
    StoreOptions,
)
from slice_os.query.query import Query
from slice_os.search.run import make_query
from slice_os.text.documents import ENGLISH
from slice_os.verifier.claims import Verdicts, Verifier, begun, claim_of
from slice_os.verifier.registry import chosen_verifier

# Many, so that the network reads claims of about one length together.
_BATCH = 128
# Hits that are read for a first page if a verifier can estimate; more bring no more right ones
# (benchmarks/reading_order.py). Repetitions count once.
_READ = 10
_TOLD = "probability", "reasons", "matches"


@dataclass(frozen=True, slots=True)
class Refinement:
    """The steps from scored hits to those that are returned.

    The verifier gives hits their probability; without one, they keep that of the cosine. A hit
    that has none, as in another language than English, counts from the cosine ``unread`` on,
    which is the model's own.
    """

    verifier: Verifier | None = None
    options: HitOptions = DEFAULT_SCAN
    unread: float = -1.0

    @property
    def verifies(self) -> bool:
        """Whether a verifier reads the hits; it then needs the vectors of their words."""
        return self.verifier is not None

    @property
    def needs_probability(self) -> bool:
        """Whether hits are cut or ordered by their probability."""
        return self.options.min_probability is not None or self._by_probability

    @property
    def _by_probability(self) -> bool:
        """Whether the likeliest hits come first; if nothing is said, in a search that verifies."""
        unsaid = self.options.order is None and isinstance(self.options, SearchOptions)
        return (unsaid and self.verifies) or self.options.order == BY_PROBABILITY

    @property
    def threshold(self) -> float:
        """The least cosine for mining: the given one, or one from which a probability decides."""
        given = self.options.threshold
        return min(self.unread, LOW_THRESHOLD) if given is None else given

    @property
    def cut(self) -> Cut:
        """What hits must reach."""
        return {"threshold": self.threshold, "min_probability": self.options.min_probability}

    def to_score(self, options: SearchOptions, exhaustive: bool = False) -> SearchOptions:
        """The hits to search for by score, from which `best` takes the requested ones.

        An order by probability is one of the first `REFINED` hits by score; those after them
        follow by score. A least probability leaves only hits among the first `REFINED`, or
        ``top_k`` if that is more. So all pages are parts of one list. An ``exhaustive`` store
        proposes every passage, whatever the candidates are.
        """
        if not self.needs_probability:
            return options
        reach = options.end if options.min_probability is None else options.top_k
        most = max(reach, REFINED if exhaustive else min(REFINED, options.num_candidates))
        return replace(options, offset=0, top_k=most)

    def best(self, hits: Hits, options: SearchOptions) -> Hits:
        """The requested hits, refined, of those that `to_score` asked for."""
        if not self.needs_probability:
            return replace(hits, items=tuple(self.each(hits)))
        found = self._likeliest(hits, options) if self._by_probability else self.each(hits)
        if options.collapse and options.min_probability is not None:
            found = iter(collapse(found))
        shown = tuple(islice(found, options.offset, options.end))
        return Hits(shown, hits.threshold, hits.exhaustive, options.min_probability)

    def _likeliest(self, hits: Hits, options: SearchOptions) -> Iterator[Hit]:
        """The first hits by probability, the rest by score; one that has none keeps its place."""
        first = hits[:REFINED]
        likely = [hit for hit in first if self._tells(hit)]
        blocks = self._blocks(likely, options)
        ordered = chain.from_iterable(in_order(self.each(one), BY_PROBABILITY) for one in blocks)
        for hit in first:
            yield from islice(ordered, 1) if self._tells(hit) else self.each([hit])
        yield from self.each(hits[REFINED:])

    def _blocks(self, hits: Sequence[Hit], options: SearchOptions) -> Iterator[Sequence[Hit]]:
        """Hits to read and order together: the likeliest by an estimate, then the others.

        All are one block if all must be read, or the verifier cannot estimate.
        """
        estimate = getattr(self.verifier, "estimate", None)
        if options.order or options.min_probability is not None or estimate is None:
            yield hits
            return
        claims = list(map(claim_of, hits))
        words = [claim.words for claim in claims]
        chances = zip(estimate(claims), words, hits, strict=True)
        likeliest = sorted(chances, key=itemgetter(0), reverse=True)
        read = set(islice(dict.fromkeys(said for _, said, _ in likeliest), _READ))
        yield [hit for _, said, hit in likeliest if said in read]
        yield [hit for _, said, hit in likeliest if said not in read]

    def _tells(self, hit: Hit) -> bool:
        """Whether a hit gets a probability, or has one."""
        return hit.probability is not None if self.verifier is None else _reads(self.verifier, hit)

    def each(
        self, hits: Iterable[Hit], below: Callable[[Hit], None] | None = None
    ) -> Iterator[Hit]:
        """The hits, verified and cut, one by one as they come; ``below`` gets those left out."""
        for hit in self.judged(hits):
            if self.admits(hit):
                yield hit
            elif below is not None:
                below(hit)

    def judged(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """The hits, verified, also those that do not count."""
        return iter(hits) if self.verifier is None else verified(hits, self.verifier)

    def admits(self, hit: Hit) -> bool:
        """Whether a hit that was verified reaches the least probability, if there is one."""
        least = self.options.min_probability
        if least is None or hit.probability is not None:
            return least is None or reaches(hit.probability, least)
        return hit.cosine >= self.unread


def prepare(
    encoder: SpanEncoder,
    phrases: str | Sequence[str],
    options: HitOptions,
    verifier: Verifier | str | None = None,
) -> tuple[Query, Refinement]:
    """The query for phrases, and the refinement of its hits; see `make_query` and `cutting`."""
    refine = cutting(encoder, options, verifier)
    where = parse_where(options.where) if isinstance(options, StoreOptions) else ()
    query = make_query(
        encoder, phrases, where, options.unit, refine.verifies, options.counter_phrases
    )
    return query, refine


def cutting(
    encoder: SpanEncoder, options: HitOptions, verifier: Verifier | str | None = None
) -> Refinement:
    """The `refinement` of hits, with the usual cut if all are searched for, and none is given."""
    refine = refinement(encoder, options, verifier)
    given = options.threshold is not None or options.min_probability is not None
    if given or isinstance(options, SearchOptions):
        return refine
    return replace(refine, options=replace(options, **usual_cut(encoder, refine.verifies)))


def usual_cut(encoder: SpanEncoder, verifies: bool) -> Cut:
    """The cut of hits for which nobody gives one, as a field of `HitOptions`.

    Unlikely hits do not count; where hits have no probability, the model's threshold decides.
    """
    if verifies or encoder.calibration is not None:
        return {"min_probability": UNSURE_FROM}
    return {"threshold": encoder.card.threshold}


def refinement(
    encoder: SpanEncoder, options: HitOptions = DEFAULT_SCAN, verifier: Verifier | str | None = None
) -> Refinement:
    """The refinement of an encoder's hits, by the options' verifier, the given or the bundled one.

    Raises an `InputError` if the hits have no probability, but it decides, and a `ModelError` if
    verifying is requested, and there is no verifier.
    """
    chosen = chosen_verifier(options.verify, options.verifier or verifier, encoder)
    made = Refinement(chosen, options, encoder.card.threshold)
    if made.needs_probability and made.verifier is None and encoder.calibration is None:
        raise InputError(
            f"hits of {encoder.card.name} have no probability: it has no {CALIBRATION_FILE}; "
            "verify them, or fit one with `slice-os eval calibration`"
        )
    return made


def verified(hits: Iterable[Hit], verifier: Verifier) -> Iterator[Hit]:
    """The hits with the verdicts of a verifier, which may read while the next ones are found.

    One in a language that the verifier does not read stays without a verdict.
    """
    started = _begun(iter(hits), verifier)
    following = next(started, None)
    while following:
        (batch, read, verdicts), following = following, next(started, None)
        found = dict(zip(map(id, read), verdicts(), strict=True))
        for hit in batch:
            verdict = found.get(id(hit))
            told = {} if verdict is None else {name: getattr(verdict, name) for name in _TOLD}
            yield without_vectors(hit, **told)


def _begun(
    rest: Iterator[Hit], verifier: Verifier
) -> Iterator[tuple[list[Hit], list[Hit], Verdicts]]:
    """Some hits, those of them that are read, and the verdicts on these."""
    while batch := list(islice(rest, _BATCH)):
        read = [hit for hit in batch if _reads(verifier, hit)]
        yield batch, read, begun(verifier, list(map(claim_of, read))) if read else list


def _reads(verifier: Verifier, hit: Hit) -> bool:
    """Whether a verifier reads the language of a hit."""
    language = hit.language if isinstance(hit, HitWithVectors) else ENGLISH
    return getattr(verifier, "language", None) in (None, language)


def arranged(hits: Iterable[Hit], options: HitOptions) -> Iterable[Hit]:
    """Hits in the order of the options, and collapsed if they say so."""
    ordered = in_order(hits, options.order)
    return collapse(ordered) if options.collapse else ordered


def in_order(hits: Iterable[Hit], order: str | None) -> Iterable[Hit]:
    """Hits by falling score or probability; None, and equal ones, stay as they are."""
    if order is None:
        return hits
    key = _probability if order == BY_PROBABILITY else attrgetter("score")
    return sorted(hits, key=key, reverse=True)


def _probability(hit: Hit) -> float:
    return -1.0 if hit.probability is None else hit.probability
