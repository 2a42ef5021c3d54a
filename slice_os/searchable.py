"""Asking a store for phrases: what hits there are, and which of them are shown."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import cached_property

from slice_os.contents import Contents
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.hits.collapse import collapse as collapsed
from slice_os.hits.hit import Hit, Hits
from slice_os.query.filters import Filter, parse_where
from slice_os.query.options import DEFAULT_FUSION, NUM_CANDIDATES, SPAN
from slice_os.search.notebook_bars import counted
from slice_os.search.refinement import Refinement, refinement
from slice_os.search.run import make_query, mine, search
from slice_os.stores.result_page import PageRequest
from slice_os.verifier.claims import Verifier


class Searchable(Contents):
    """Documents with an encoder, and perhaps a verifier, that read phrases."""

    _verifier: Verifier | None

    @cached_property
    @abstractmethod
    def encoder(self) -> SpanEncoder:
        """The encoder of the documents."""

    def search(
        self,
        phrases: str | Sequence[str],
        *,
        counter_phrases: Sequence[str] = (),
        top_k: int = 10,
        offset: int = 0,
        threshold: float | None = None,
        where: Filter | None = None,
        fusion: str = DEFAULT_FUSION,
        num_candidates: int = NUM_CANDIDATES,
        per_passage: int = 1,
        verify: bool | None = None,
        min_probability: float | None = None,
        order: str | None = None,
        unit: str = SPAN,
        collapse: bool = False,
    ) -> Hits:
        """The best hits for any of the phrases: of each passage its best span, or several.

        Args:
            phrases: one origin phrase, or several that mean the same.
            counter_phrases: wordings of what sounds alike but is something else. A hit whose words
                are nearer to one of them than to every phrase is left out.
            top_k: number of hits.
            offset: hits to skip, for the next page.
            threshold: least cosine of a hit; None for any.
            where: metadata fields, each with the value or values that it may have, or with
                operators: ``{"csat": {"gte": 3}, "domain": ["bank", "airline"]}``. There are
                ``eq``, ``ne``, ``in``, ``lt``, ``lte``, ``gt`` and ``gte``; see `Condition`.
            fusion: ``convex``, ``rrf`` or ``cosine``; or ``server``, for the ``hybrid`` query
                of an OpenSearch with the neural-search plugin.
            num_candidates: passages that an index in OpenSearch proposes by vector, and as many by
                BM25; all pages of a search need the same number. Local stores score every passage.
            per_passage: most hits of a passage. Each has its own score by ``convex`` or ``cosine``;
                ``rrf`` and ``server`` rank passages, so that these have one hit.
            verify: whether the verifier reads the hits; None to do so if it knows this model.
            min_probability: least probability of a hit; None for any. Only the first 50 hits by
                score, or ``top_k`` if that is more, are looked at.
            order: ``probability`` puts the likeliest of these first; otherwise by score.
            unit: how wide hits are: ``span``, or the ``clause``, ``sentence`` or ``turn`` around
                the best span, as far as its passage goes; in a text without turns, the sentence.
            collapse: show hits in the same words as one, with their count.

        Raises:
            InputError: on a page beyond the candidates, an unknown fusion, or one by rank with
                several hits of a passage, no phrase, or a filter with an unknown field or operator.
        """
        refine = refinement(self.encoder, self._verifier, verify, min_probability, order)
        query = make_query(
            self.encoder, phrases, parse_where(where), unit, refine.verifies, counter_phrases
        )
        wanted = PageRequest(top_k, offset, threshold, fusion, num_candidates, per_passage)
        hits = search(self.store, query, refine.scored_page(wanted), collapse)
        return refine.page(hits, wanted)

    def refinement(self, verify: bool | None = None) -> Refinement:
        """What verifies hits of this store; see `search`."""
        return refinement(self.encoder, self._verifier, verify)

    def mine(
        self,
        phrases: str | Sequence[str],
        *,
        counter_phrases: Sequence[str] = (),
        threshold: float | None = None,
        where: Filter | None = None,
        exhaustive: bool = True,
        verify: bool | None = None,
        min_probability: float | None = None,
        order: str | None = None,
        unit: str = SPAN,
        collapse: bool = False,
    ) -> Hits:
        """Every span of every document at or above the threshold, without overlaps.

        Args:
            phrases: origin phrases; each is mined on its own.
            counter_phrases: as for `search`.
            threshold: least cosine of a hit; None for the model's own, or for 0.45 if the
                probability decides.
            where: conditions on metadata fields; see `search`.
            exhaustive: score every passage, so that none is missed; otherwise only those that an
                index in OpenSearch proposes. Local stores always score every passage.
            verify: whether the verifier reads the hits; see `search`.
            min_probability: least probability of a hit; None for any.
            order: ``score`` or ``probability``; None for that of the documents.
            unit: how wide hits are; see `search`. If several spans of a phrase are in one clause,
                sentence or turn, the best of them is the hit.
            collapse: show hits in the same words as one, with their count.
        """
        refine = refinement(self.encoder, self._verifier, verify, min_probability, order)
        least = refine.threshold(threshold, self.encoder.card.threshold)
        query = make_query(
            self.encoder, phrases, parse_where(where), unit, refine.verifies, counter_phrases
        )
        mined = mine(self.store, query, threshold=least, exhaustive=exhaustive)
        hits = refine.all(counted(mined, "hits"), least, exhaustive or self.store.exhaustive)
        return replace(hits, items=tuple(collapsed(hits))) if collapse else hits

    def iter_mine(
        self,
        phrases: str | Sequence[str],
        *,
        counter_phrases: Sequence[str] = (),
        threshold: float | None = None,
        where: Filter | None = None,
        exhaustive: bool = True,
        verify: bool | None = None,
        min_probability: float | None = None,
        unit: str = SPAN,
    ) -> Generator[Hit, None, None]:
        """The hits of `mine`, one by one, if they may not fit into memory."""
        refine = refinement(self.encoder, self._verifier, verify, min_probability)
        query = make_query(
            self.encoder, phrases, parse_where(where), unit, refine.verifies, counter_phrases
        )
        least = refine.threshold(threshold, self.encoder.card.threshold)
        yield from refine.each(mine(self.store, query, threshold=least, exhaustive=exhaustive))
