"""Hits of topics in a store, counted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel

from slice_os.hits.hit import Hit
from slice_os.service.asgi.work import until_stopped
from slice_os.service.resources.bodies import JsonAnswer
from slice_os.service.resources.topics import TopicName
from slice_os.service.services import Services, Shared
from slice_os.topics.run import mine_topics
from slice_os.topics.tallies import tally
from slice_os.topics.topic import Topic

router = APIRouter(tags=["topics"])

By = Annotated[
    str, Query(min_length=1, description="day, document, or the name of a metadata field.")
]
DateField = Annotated[str, Query(description="Metadata field of the day.")]


class CountAnswer(BaseModel):
    """The hits of a topic on a day, in a document, or with a value of a field.

    Attributes:
        key: the day, the document or the value; ``-`` without one.
        hits: number of hits.
        documents: number of documents that have one.
    """

    key: str
    hits: int
    documents: int


class CountsAnswer(BaseModel):
    """The number of hits of a topic, in total and by day, document or field.

    Attributes:
        topic: its name.
        total: number of hits.
        documents: number of documents that have one.
        by: ``day``, ``document`` or the name of the field.
        counts: days in order, otherwise the most frequent first.
    """

    topic: str
    total: int
    documents: int
    by: str
    counts: list[CountAnswer]


class AllCountsAnswer(BaseModel):
    """The number of hits of every topic, by name; of topics without a hit, too."""

    topics: list[CountsAnswer]


@router.get("/topics/{name}/counts", response_model=CountsAnswer)
async def counts(
    services: Shared,
    name: TopicName,
    store: str | None = None,
    by: By = "day",
    date_field: DateField = "date",
) -> JsonAnswer:
    """Count the hits of a topic in a store, by day, by document, or by the values of a field."""
    topic = (await asyncio.to_thread(services.topics.get, name)).topic
    (found,) = await _counted(services, [topic], store, by, date_field)
    return JsonAnswer(found)


@router.get("/counts", response_model=AllCountsAnswer)
async def all_counts(
    services: Shared, store: str | None = None, by: By = "day", date_field: DateField = "date"
) -> JsonAnswer:
    """Count the hits of every topic in a store, in one pass over it."""
    stored, _ = await asyncio.to_thread(services.topics.read)
    topics = [each.topic for each in stored]
    found = await _counted(services, topics, store, by, date_field) if topics else []
    return JsonAnswer({"topics": found})


async def _counted(
    services: Services, topics: Sequence[Topic], store: str | None, by: str, date_field: str
) -> list[dict[str, Any]]:
    def count() -> list[dict[str, Any]]:
        hits: dict[str | None, list[Hit]] = {topic.name: [] for topic in topics}
        for hit in until_stopped(mine_topics(services.stores.get(store), topics)):
            hits[hit.topic].append(hit)
        return [{"topic": name, **_shown(found, by, date_field)} for name, found in hits.items()]

    return await services.pool.run(count, services.settings.limits.mine_seconds)


def _shown(hits: Sequence[Hit], by: str, date_field: str) -> dict[str, Any]:
    rows = tally(hits, by, date_field)
    return {
        "total": len(hits),
        "documents": len({hit.doc_id for hit in hits}),
        "by": by,
        "counts": [
            {"key": row.place, "hits": row.hits, "documents": row.documents} for row in rows
        ],
    }
