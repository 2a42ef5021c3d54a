"""What topics find and miss: a sample of all passages to label, and what its labels tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from slice_os.corpus import Corpus
from slice_os.service.asgi.json_bodies import JsonRoute
from slice_os.service.known_hits import store_state
from slice_os.service.resources.bodies import WHOLE, Body, StoreName, pooled
from slice_os.service.resources.hits import HitsAnswer
from slice_os.service.resources.topics import TopicName
from slice_os.service.services import Services, Shared
from slice_os.topics.folder import StoredTopic
from slice_os.topics.labels import Label
from slice_os.topics.recall import TopicEstimate
from slice_os.topics.sampling import Sample, sample

router = APIRouter(tags=["topics"], route_class=JsonRoute)

_MOST_SAMPLES = 100


class EstimateRequest(Body):
    """A sample of all passages of a store.

    Attributes:
        store: its name; may be missing if one store is served.
        size: passages to label, about.
        seed: of the sample.
    """

    store: StoreName = None
    size: Annotated[int, Field(ge=1, le=2_000), WHOLE] = 140
    seed: Annotated[int, Field(ge=0, lt=2**53), WHOLE] = 0


class EstimateAnswer(HitsAnswer):
    """What is left to label of a sample, and what its labels tell once nothing is left.

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

    The same store, topic, size and seed have the same sample: ask, add the labels, ask again.
    """
    wanted = body or EstimateRequest()
    stored, corpus = services.topics.get(name), services.stores.get(wanted.store)
    drawn, labels = _sample(services, corpus, stored, wanted), services.current_labels()
    waiting = drawn.waiting(labels)
    found = None if waiting else drawn.estimate(labels)
    return {
        "hits": [hit.to_dict() for hit in waiting],
        "sampled": sum(map(len, drawn.hits)),
        "estimate": found,
        "labels_to_halve": found and found.labels_to_halve,
    }


def known_estimate(
    services: Services, corpus: Corpus, stored: StoredTopic, labels: Sequence[Label]
) -> TopicEstimate | None:
    """What the last sample tells, if it is labelled, and store and topic are as they were."""
    known = services.samples.get(_key(corpus, stored))
    if known is None or known[0][:2] != (store_state(corpus), stored.etag):
        return None
    return None if known[1].waiting(labels) else known[1].estimate(labels)


def _key(corpus: Corpus, stored: StoredTopic) -> tuple[str, str]:
    return corpus.info().location, stored.topic.name


def _sample(
    services: Services, corpus: Corpus, stored: StoredTopic, wanted: EstimateRequest
) -> Sample:
    """The sample, from what is kept as long as store and topic have not changed."""
    key = _key(corpus, stored)
    state = store_state(corpus), stored.etag, wanted.size, wanted.seed
    known = services.samples.get(key)
    if known is None or known[0] != state:
        known = services.samples[key] = (
            state,
            sample(corpus, stored.topic, wanted.size, wanted.seed),
        )
        for oldest in list(services.samples)[:-_MOST_SAMPLES]:
            services.samples.pop(oldest, None)
    return known[1]
