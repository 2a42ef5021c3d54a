"""Topics: reading and changing them, trying them, and making them better."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.service.json_answers import JsonAnswer
from slice_os.service.models.topics import (
    NAME,
    CasesAnswer,
    LearnRequest,
    NewTopic,
    SuggestAnswer,
    SuggestRequest,
    TopicAnswer,
    TopicChange,
    TopicList,
)
from slice_os.service.services import Services, Shared
from slice_os.topics.examples import run_examples
from slice_os.topics.folder import StoredTopic
from slice_os.topics.labels import of_topic
from slice_os.topics.learning import learn
from slice_os.topics.near_misses import Suggestion, suggest
from slice_os.topics.table import read_table, topic_table
from slice_os.topics.topic import Topic

router = APIRouter(tags=["topics"])

TopicName = Annotated[str, Path(pattern=NAME)]
IfMatch = Annotated[
    str | None,
    Header(description="The topic's etag in quotation marks, or * for whatever is there."),
]
_SHOWN_HITS = 5
_ETAG = re.compile(r'"([^"]*)"')

# Work on files takes milliseconds. It does not wait for a worker, since others may be mining.
in_folder = asyncio.to_thread


@router.get("/topics", response_model=TopicList)
async def topics(services: Shared) -> JsonAnswer:
    """All topics, by name, and what is wrong with files that cannot be used."""
    found, problems = await in_folder(services.topics.read)
    return JsonAnswer({"topics": [_shown(stored) for stored in found], "problems": problems})


@router.post("/topics", status_code=201, response_model=TopicAnswer)
async def add(services: Shared, body: NewTopic) -> JsonAnswer:
    """Add a topic."""
    topic = _topic(body, body.name)
    return _answer(await in_folder(services.topics.add, topic), 201)


@router.get("/topics/{name}", response_model=TopicAnswer)
async def topic(services: Shared, name: TopicName) -> JsonAnswer:
    """A topic, with the keys of its file."""
    return _answer(await in_folder(services.topics.get, name))


@router.put("/topics/{name}", response_model=TopicAnswer, responses={201: {"model": TopicAnswer}})
async def put(
    services: Shared, name: TopicName, body: TopicChange, if_match: IfMatch = None
) -> JsonAnswer:
    """Replace the topic whose etag If-Match has; without the header, add a topic."""
    topic = _topic(body, name)
    if if_match is None:
        return _answer(await in_folder(services.topics.add, topic), 201)
    etag = _etag(if_match)
    return _answer(await in_folder(services.topics.replace, topic, etag))


@router.delete("/topics/{name}", status_code=204)
async def delete(services: Shared, name: TopicName, if_match: IfMatch = None) -> None:
    """Delete a topic; with If-Match only if it still has that etag."""
    etag = None if if_match is None else _etag(if_match)
    await in_folder(services.topics.delete, name, etag)


@router.post("/topics/{name}/test", response_model=CasesAnswer)
async def try_examples(services: Shared, name: TopicName, store: str | None = None) -> JsonAnswer:
    """Try the examples of a topic: must_match and must_not_match."""
    tried = (await in_folder(services.topics.get, name)).topic
    return JsonAnswer(await services.pool.run(lambda: _tested(services, tried, store)))


@router.post("/topics/{name}/suggest", response_model=SuggestAnswer)
async def near_misses(
    services: Shared, name: TopicName, body: SuggestRequest | None = None
) -> JsonAnswer:
    """Near misses of a topic in a store, clustered: phrases and counter-phrases to be."""
    wanted = body or SuggestRequest()
    topic = (await in_folder(services.topics.get, name)).topic

    def found() -> list[Suggestion]:
        corpus = services.stores.get(wanted.store)
        return suggest(corpus, [topic], most=wanted.limit, margin=wanted.margin, where=wanted.where)

    suggestions = await services.pool.run(found, services.settings.limits.mine_seconds)
    return JsonAnswer({"suggestions": [_suggestion(each) for each in suggestions]})


@router.post("/topics/{name}/learn", response_model=TopicAnswer)
async def learn_topic(
    services: Shared,
    name: TopicName,
    body: LearnRequest | None = None,
    if_match: IfMatch = None,
) -> JsonAnswer:
    """Learn from the topic's labels; the topic has a new table ``learned`` then."""
    wanted = body or LearnRequest()
    stored = await in_folder(services.topics.get, name)
    etag = stored.etag if if_match is None else _etag(if_match)
    answers = await in_folder(services.labels.read)
    labels = of_topic((answer.label for answer in answers), name)
    learned = await services.pool.run(
        lambda: learn(
            stored.topic, labels, _encoder(services, wanted.store), exclusive=wanted.exclusive
        ),
        services.settings.limits.mine_seconds,
    )
    return _answer(await in_folder(services.topics.write_learned, name, learned, etag))


def _topic(body: TopicChange, name: str) -> Topic:
    """The topic of a body, checked as a topic file is.

    Raises:
        InputError: saying what is wrong.
    """
    table = body.model_dump(exclude_unset=True, exclude_none=True)
    if table.setdefault("name", name) != name:
        raise InputError(f"name {table['name']!r}: the address has {name!r}; give one of them")
    topic, problems = read_table(table, name)
    if topic is None or problems:
        raise InputError(f"topic {name!r}: {problems[0]}")
    return topic


def _etag(header: str) -> str | None:
    """The etag that a change is for; None for whatever is there."""
    if header.strip() == "*":
        return None
    if (found := _ETAG.fullmatch(header.strip())) is None:
        raise InputError(f"If-Match {header!r}: give one etag in quotation marks, or *")
    return found[1]


def _answer(stored: StoredTopic, status: int = 200) -> JsonAnswer:
    headers = {"ETag": f'"{stored.etag}"'}
    if status == 201:
        headers["Location"] = f"topics/{stored.topic.name}"
    return JsonAnswer(_shown(stored), status, headers)


def _shown(stored: StoredTopic) -> dict[str, Any]:
    return {**topic_table(stored.topic), "etag": stored.etag}


def _encoder(services: Services, store: str | None) -> SpanEncoder:
    """The encoder of a store, or the default one if several stores are served and none is named."""
    if store is None and len(services.stores.names) != 1:
        return services.encoders.default()
    return services.stores.get(store).encoder


def _tested(services: Services, topic: Topic, store: str | None) -> Mapping[str, Any]:
    outcomes = list(run_examples([topic], _encoder(services, store)))
    cases = [
        {
            "text": outcome.example,
            "expected": outcome.wanted,
            "passed": outcome.right,
            "hit": outcome.nearest and outcome.nearest.to_dict(),
            "why": outcome.why(),
        }
        for outcome in outcomes
    ]
    return {"passed": all(outcome.right for outcome in outcomes), "cases": cases}


def _suggestion(found: Suggestion) -> dict[str, Any]:
    return {
        "text": found.text,
        "spans": found.spans,
        "documents": found.documents,
        "phrase": found.phrase,
        "cosine": round(found.cosine, 6),
        "hits": [hit.to_dict() for hit in found.hits[:_SHOWN_HITS]],
    }
