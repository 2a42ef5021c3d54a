"""Requests and answers of searches."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from slice_os.results import Hit
from slice_os.rows.fields import type_hints
from slice_os.search_options import MAX_CANDIDATES, NUM_CANDIDATES
from slice_os.service.models.base import Body, Filters, PhraseList

MOST_HITS = 2_000
Cosine = Annotated[float, Field(ge=-1, le=1)]
Probability = Annotated[float, Field(ge=0, le=1)]
Unit = Literal["span", "clause", "sentence", "turn"]


def _hit_answer() -> type[BaseModel]:
    """The JSON of a hit, as `Hit.to_dict` gives it, with the types that the library declares."""
    names = {"context": "passage"}
    hints = {names.get(name, name): hint for name, hint in type_hints(Hit).items()}
    fields: dict[str, Any] = {name: (hint, ...) for name, hint in hints.items()}
    return create_model("Hit", __doc__="A span that paraphrases an origin phrase.", **fields)


HitAnswer = _hit_answer()


class Wanted(Body):
    """What is looked for, and which hits count.

    Attributes:
        phrases: one phrase, or several that mean the same.
        counter_phrases: hits whose words are nearer to one of these are left out.
        threshold: least cosine of a hit; for mining, the model's own by default.
        verify: whether the verifier reads the hits; by default if the probability decides.
        min_probability: least probability of a hit.
        unit: how wide hits are.
    """

    phrases: PhraseList
    counter_phrases: list[str] = Field(default_factory=list)
    threshold: Cosine | None = None
    verify: bool | None = None
    min_probability: Probability | None = None
    unit: Unit = "span"


class SearchRequest(Wanted):
    """A search; see `slice_os.Corpus.search`.

    Attributes:
        store: its name; may be missing if one store is served.
        top_k: number of hits.
        offset: hits to skip, for the next page.
        where: conditions on metadata.
        fusion: how cosine and BM25 make a score.
        num_candidates: passages that an index proposes.
        order: by score or by probability.
        collapse: show hits in the same words as one, with their count.
    """

    store: str | None = None
    top_k: Annotated[int, Field(ge=0, le=MOST_HITS)] = 10
    offset: Annotated[int, Field(ge=0, le=MAX_CANDIDATES)] = 0
    where: Filters = None
    fusion: Literal["convex", "rrf", "cosine", "server"] = "convex"
    num_candidates: Annotated[int, Field(ge=1, le=MAX_CANDIDATES)] = NUM_CANDIDATES
    order: Literal["score", "probability"] | None = None
    collapse: bool = False


class SearchAnswer(BaseModel):
    """Hits of a search.

    Attributes:
        hits: the best first.
        threshold: least cosine that they were selected with; null for any.
        min_probability: least probability; null for any.
        exhaustive: whether every passage was scored.
        milliseconds: that the search took.
    """

    hits: list[HitAnswer]  # type: ignore[valid-type]
    threshold: float | None
    min_probability: float | None
    exhaustive: bool
    milliseconds: float
