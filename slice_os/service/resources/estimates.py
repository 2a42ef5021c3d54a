"""Estimates of what topics find and miss, from a labelled sample of all passages."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from slice_os.estimates.recall import TopicEstimate
from slice_os.estimates.sampling import draw, known_estimate
from slice_os.service.asgi.json_bodies import JsonRoute
from slice_os.service.nearness import check_near
from slice_os.service.resources.bodies import WHOLE, StoreBody, pooled
from slice_os.service.resources.hits import HitsAnswer
from slice_os.service.resources.topics import TopicName
from slice_os.service.services import Shared

router = APIRouter(tags=["topics"], route_class=JsonRoute)


class EstimateRequest(StoreBody):
    """A sample of all passages of a store.

    Attributes:
        store: its name; may be missing if one store is served.
        size: passages to label; null for those of the largest sample so far, or 140.
        seed: of the sample; null for that of the largest one, or 0.
    """

    size: Annotated[int, Field(ge=1, le=2_000), WHOLE] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**53), WHOLE] | None = None


class EstimateAnswer(HitsAnswer):
    """A sample: the hits left to label, and the estimate once nothing is left.

    Attributes:
        hits: those without a label, in random order: add labels of their spans.
        sampled: number of all passages of the sample.
        estimate: what the topic finds and misses; null while passages have no label.
        labels_to_halve: more labels that would make its intervals about half as wide.
    """

    sampled: int
    estimate: TopicEstimate | None
    labels_to_halve: int | None


@router.post("/topics/{name}/estimate", response_model=EstimateAnswer)
@pooled("mining")
def estimate(
    services: Shared, name: TopicName, body: EstimateRequest | None = None
) -> dict[str, Any]:
    """Estimate how much of a topic is found and missed, from a labelled sample.

    The same store, topic, size and seed have the same sample: ask, add the labels, ask again. It
    is kept with the labels.
    """
    wanted = body or EstimateRequest()
    topic, corpus = services.topics.get(name).topic, services.stores.get(wanted.store)
    check_near(services, corpus, [topic])
    labels = services.current_labels()
    drawn = draw(corpus, topic, services.labels, labels, wanted.size, wanted.seed)
    waiting = drawn.waiting(labels)
    found = None if waiting else drawn.estimate(labels)
    return {
        "hits": waiting,
        "sampled": len(drawn.keys),
        "estimate": found,
        "labels_to_halve": found and found.labels_to_halve,
    }


@router.get("/topics/{name}/estimate", response_model=TopicEstimate | None)
@pooled("files")
def estimated(services: Shared, name: TopicName, store: str | None = None) -> TopicEstimate | None:
    """What the largest labelled sample of a topic, as it is now, tells; null without one."""
    topic, info = services.topics.get(name).topic, services.stores.get(store).info()
    drawn = services.labels.samples().get(name, ())
    return known_estimate(info, topic, drawn, services.current_labels())
