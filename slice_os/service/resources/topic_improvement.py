"""Improving a topic: its examples, near misses, labels, and what it finds and misses."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, Field

from slice_os.combinations.checks import run_examples
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.estimates.recall import TopicEstimate
from slice_os.estimates.sampling import draw, known_estimate
from slice_os.labels.label import of_topic
from slice_os.service.asgi.steps import until_stopped
from slice_os.service.nearness import check_near, most_near, near
from slice_os.service.resources.bodies import (
    WHOLE,
    Filters,
    JsonAnswer,
    Resource,
    StoreBody,
    answer_of,
    pooled,
)
from slice_os.service.resources.hits import HitAnswer, HitsAnswer, named_topics
from slice_os.service.resources.topics import (
    IfMatch,
    TopicAnswer,
    TopicName,
    topic_answer,
    wanted_etag,
)
from slice_os.service.services import Services, Shared
from slice_os.topics.changes import Changes, difference
from slice_os.topics.learning import learn
from slice_os.topics.match import Case, Suggestion
from slice_os.topics.near_misses import suggest
from slice_os.topics.topic import Learned

router = Resource("topics")

_SHOWN_HITS = 5
_Changes = answer_of(
    Changes, "kept", before=int, after=int, gained=list[HitAnswer], lost=list[HitAnswer]
)


class CasesAnswer(BaseModel):
    """The results of all examples of a topic; `passed` if all are as expected."""

    passed: bool
    cases: list[answer_of(Case, hit=HitAnswer | None)]  # type: ignore[valid-type]


class SuggestRequest(StoreBody):
    """Near misses to look for.

    Attributes:
        limit: number of suggestions.
        margin: distance of near misses below the threshold.
        where: conditions on metadata.
    """

    limit: Annotated[int, Field(ge=1, le=100), WHOLE] = 10
    margin: Annotated[float, Field(gt=0, le=1)] = 0.1
    where: Filters = None


class SuggestAnswer(BaseModel):
    """Candidate phrases and counter-phrases of a topic, the most frequent first."""

    suggestions: list[answer_of(Suggestion, hits=list[HitAnswer])]  # type: ignore[valid-type]


class LearnAnswer(TopicAnswer):
    """What a topic learned.

    Attributes:
        changes: what that changes; null if several stores are served and none is named.
    """

    changes: _Changes | None  # type: ignore[valid-type]


class LearnRequest(StoreBody):
    """Options of learning from the labels of a topic.

    Attributes:
        store: whose encoder reads the labels; may be missing if one store is served.
        exclusive: whether the topic is mined together with others that exclude it.
    """

    exclusive: bool = False


class EstimateRequest(StoreBody):
    """A sample of all passages of a store.

    Attributes:
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


@router.post("/topics/{name}/test", response_model=CasesAnswer)
def try_examples(services: Shared, name: TopicName, store: str | None = None) -> dict[str, Any]:
    """Try the examples of a topic: must_match and must_not_match."""
    topic = services.topics.get(name).topic
    parts = topic.combination.topics if topic.combination else ()
    topics = [topic, *named_topics(services, parts)]
    outcomes = run_examples(topics, _encoder(services, store))
    cases = [outcome.case() for outcome in outcomes if outcome.topic == name]
    return {"passed": all(case.passed for case in cases), "cases": cases}


@router.post("/topics/{name}/suggest", response_model=SuggestAnswer)
@pooled("mining")
def near_misses(
    services: Shared, name: TopicName, body: SuggestRequest | None = None
) -> dict[str, Any]:
    """Cluster the near misses of a topic in a store: candidate phrases and counter-phrases."""
    wanted = body or SuggestRequest()
    topic = services.topics.get(name).topic
    corpus = services.stores.get(wanted.store)
    where, margin = wanted.where, wanted.margin
    check_near(services, corpus, [topic], where, margin)
    labels = services.current_labels()
    found = suggest(corpus, [topic], most=wanted.limit, margin=margin, where=where, labels=labels)
    shown = [
        replace(each, cosine=round(each.cosine, 6), hits=each.hits[:_SHOWN_HITS]) for each in found
    ]
    return {"suggestions": shown}


@router.post("/topics/{name}/learn", response_model=LearnAnswer)
async def learn_topic(
    services: Shared,
    name: TopicName,
    body: LearnRequest | None = None,
    if_match: IfMatch = None,
) -> JsonAnswer:
    """Learn from the topic's labels; the topic then has a new table ``learned``.

    The answer says what that changes in the store.
    """
    wanted = body or LearnRequest()
    stored = await asyncio.to_thread(services.topics.get, name)
    etag = stored.etag if if_match is None else wanted_etag(if_match)

    def learning() -> tuple[Learned, dict[str, Any] | None]:
        labels = services.current_labels()
        encoder, own = _encoder(services, wanted.store), of_topic(labels, name)
        learned = learn(stored.topic, own, encoder, exclusive=wanted.exclusive)
        if wanted.store is None and len(services.stores.names) != 1:
            return learned, None
        corpus, taught = services.stores.get(wanted.store), replace(stored.topic, learned=learned)
        for one in (stored.topic, taught):
            if near(services, corpus, [one])[name] > most_near(services):
                return learned, None
        found = Changes.of(until_stopped(difference(corpus, [stored.topic], [taught], labels)))
        some = {"gained": found.gained[:_SHOWN_HITS], "lost": found.lost[:_SHOWN_HITS]}
        return learned, {"before": found.before, "after": found.after, **some}

    learned, changes = await services.pool.run(learning, "mining")
    # Not in the pool: a request whose time is over must not change the topic.
    written = await asyncio.to_thread(services.topics.write_learned, name, learned, etag)
    return topic_answer(written, changes=changes)


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


def _encoder(services: Services, store: str | None) -> SpanEncoder:
    """The encoder of a store, or the default one if several stores are served and none is named."""
    if store is None and len(services.stores.names) != 1:
        return services.encoders.default()
    return services.stores.get(store).encoder
