"""The proposed passages that are worth an exact score, by the scores of the proposals.

A passage's nearest indexed span gives a rough cosine. The exact one, the best over all spans, is
hardly ever more than a margin away, so a passage that cannot reach the page is not scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slice_os.query.options import SearchOptions
from slice_os.stores.opensearch.schema.span_policy import SpanPolicy
from slice_os.stores.opensearch.search.scripting import Weights
from slice_os.stores.opensearch.search.searches import Answer, id_of

# By how much the exact cosine may lie above and below that of the nearest indexed span. The vector
# of that span is cut to bytes and to some dimensions; the best span need not be indexed.
# benchmarks/candidate_recall.py measures what they cost.
ABOVE = 0.1
BELOW = 0.1
# How much further above if no single words are indexed, which short phrases resemble.
ABOVE_PER_WORD = 0.5


def margin(policy: SpanPolicy, phrase: str) -> float:
    """The most that an exact cosine may exceed that of the nearest indexed span."""
    if policy.kind == "grid" and min(policy.sizes) > 1:
        return ABOVE + ABOVE_PER_WORD / max(len(phrase.split()), 1)
    return ABOVE


@dataclass(frozen=True, slots=True)
class Proposals:
    """The results of the searches for candidates for one phrase.

    Attributes:
        cosines: rough cosines of the passages nearest by vector, by passage id.
        bm25: BM25 of the passages that rank first by it, by passage id.
        others: ids of passages proposed without a score.
        far: rough cosine that no other passage exceeds.
        low: BM25 that no other passage exceeds.
    """

    cosines: dict[str, float]
    bm25: dict[str, float]
    others: Sequence[str]
    far: float
    low: float

    @classmethod
    def of(cls, answers: Sequence[Answer], nearest: int, num_candidates: int) -> Proposals:
        """The proposals in answers to `searches.ranking` for one phrase.

        It requested ``nearest`` passages by vector and ``num_candidates`` by BM25.
        """
        dense, bm25, verbatim = (answer["hits"]["hits"] for answer in answers)
        # Lucene scores a cosine as (1 + cosine) / 2.
        cosines = {id_of(hit): 2 * hit["_score"] - 1 for hit in dense}
        terms = {id_of(hit): hit["_score"] for hit in bm25}
        return cls(
            cosines=cosines,
            bm25=terms,
            others=[id_of(hit) for hit in verbatim],
            far=min(cosines.values()) if len(cosines) >= nearest else -1.0,
            low=min(terms.values()) if len(terms) >= num_candidates else 0.0,
        )

    @property
    def ids(self) -> list[str]:
        """All of them, without duplicates."""
        return list(dict.fromkeys([*self.cosines, *self.bm25, *self.others]))

    def worth_scoring(self, weights: Weights, wanted: SearchOptions, above: float) -> list[str]:
        """Those that may be on a page, if exact cosines exceed rough ones by ``above`` at most."""
        ids = self.ids
        if len(ids) <= wanted.end:
            return ids
        rough = np.array([self.cosines.get(key, self.far) for key in ids])
        bm25 = weights.bm25 * np.array([self.bm25.get(key, self.low) for key in ids])
        known = np.array([key in self.cosines for key in ids])
        most = weights.cosine * (rough + above) + bm25
        least = np.where(known, weights.cosine * (rough - BELOW) + bm25, -np.inf)
        bar = np.sort(least)[-wanted.end] if wanted.end else np.inf
        return [key for key, reaches in zip(ids, most >= bar, strict=True) if reaches]
