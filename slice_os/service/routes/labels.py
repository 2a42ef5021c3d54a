"""Labels: people's word on hits, which topics learn from."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from slice_os.service.json_answers import JsonAnswer
from slice_os.service.models.labels import (
    MOST_LABELS,
    Added,
    LabelledWords,
    LabelList,
    NewLabels,
)
from slice_os.service.models.topics import Name
from slice_os.service.problems import Problem
from slice_os.service.services import Services, Shared
from slice_os.topics.labels import label_of

router = APIRouter(tags=["labels"])

# File work takes milliseconds. It does not wait for a worker, so that a person who labels does
# not wait for somebody's mining.
in_thread = asyncio.to_thread


@router.get("/labels", response_model=LabelList)
async def labels(
    services: Shared,
    topic: Name | None = None,
    after: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_LABELS)] = 100,
) -> JsonAnswer:
    """The labels that count, in the order in which they were given."""
    return JsonAnswer(await in_thread(_page, services, topic, after, limit))


@router.post("/labels", response_model=Added)
async def add(services: Shared, body: NewLabels) -> JsonAnswer:
    """Add labels. When the answer comes, they are on the disk."""
    rows = [label.model_dump(exclude_none=True) for label in body.labels]
    added = [label_of(row, f"labels.{number}") for number, row in enumerate(rows)]
    await in_thread(services.labels.add, added)
    return JsonAnswer({"added": len(added)})


@router.delete("/labels", status_code=204)
async def take_back(services: Shared, body: LabelledWords) -> Response:
    """Take back the last answer about some words; the one before it counts again."""
    label = label_of({**body.model_dump(exclude_none=True), "label": False}, "label")
    if await in_thread(services.labels.take_back, label.key) is None:
        raise Problem(404, "no_such_label", f"no label of topic {label.topic!r} on these words")
    return Response(status_code=204)


def _page(services: Services, topic: str | None, after: int, limit: int) -> dict[str, Any]:
    found = [
        answer
        for answer in services.labels.read()
        if answer.number > after and topic in (None, answer.label.topic)
    ]
    shown = found[:limit]
    rows = [{"number": each.number, **each.label.to_row()} for each in shown]
    return {"labels": rows, "next": shown[-1].number if len(found) > limit else None}
