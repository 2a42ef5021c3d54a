"""How right hits are, by people's answers so far, and where to cut them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from slice_os.errors import InputError
from slice_os.hits.precision_cut import MEASURES, least_cut, wilson_interval
from slice_os.service.asgi.json_bodies import JsonRoute
from slice_os.service.resources.bodies import Body, Many, pooled
from slice_os.service.services import Shared

router = APIRouter(tags=["labels"], route_class=JsonRoute)

_MOST = 10_000
Measure: Any = Literal[MEASURES]


class AnsweredHit(Body):
    """The value of a hit, and whether people say that it is right."""

    value: Annotated[float, Field(ge=-1, le=1)]
    right: bool


class PrecisionRequest(Body):
    """Hits that people have answered.

    Attributes:
        hits: their values.
        by: what the values are.
        precision: that the cut should surely have.
    """

    hits: Annotated[Many[AnsweredHit], Field(min_length=1, max_length=_MOST)]
    by: Measure = "probability"
    precision: Annotated[float, Field(gt=0, le=1)] = 0.8


class PrecisionAnswer(BaseModel):
    """How right the answered hits are, and from where on they are right enough.

    Attributes:
        precision: share of right ones.
        low: lower end of its 95 % interval.
        high: its upper end.
        cut: hits from this value on surely have the precision asked for; null if no cut does.
        why: one line that says why there is none.
    """

    precision: float
    low: float
    high: float
    cut: float | None
    why: str | None


@router.post("/precision", response_model=PrecisionAnswer)
@pooled("files")
def precision(services: Shared, body: PrecisionRequest) -> dict[str, Any]:
    """The precision of answered hits, with its interval, and a cut; see `slice-os cut`."""
    del services
    right = [hit.right for hit in body.hits]
    low, high = wilson_interval(sum(right), len(right))
    answer = {"precision": sum(right) / len(right), "low": low, "high": high}
    try:
        found = least_cut([hit.value for hit in body.hits], right, body.precision, body.by)
    except InputError as error:
        return {**answer, "cut": None, "why": str(error)}
    return {**answer, "cut": found.value, "why": None}
