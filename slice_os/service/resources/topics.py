"""The topics of the folder, with the keys of their files as JSON."""

from __future__ import annotations

import re
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Header, Path
from pydantic import BaseModel, Field, create_model
from starlette.responses import Response

from slice_os.errors import InputError
from slice_os.records import type_hints
from slice_os.service.resources.bodies import (
    WHOLE,
    Body,
    Cosine,
    Filters,
    JsonAnswer,
    Many,
    Probability,
    Resource,
    Unit,
    VerifierName,
)
from slice_os.service.services import Shared
from slice_os.service.settings import LONGEST_PHRASE
from slice_os.topics.combination import MOST_PARTS, Part
from slice_os.topics.folder import StoredTopic
from slice_os.topics.journal import rename_topic
from slice_os.topics.table import NAME, read_table, topic_table
from slice_os.topics.topic import MOST_TEXTS, Learned, Topic

router = Resource("topics", lane="files")

_NAME = f"^{NAME}$"
Name = Annotated[str, Field(pattern=_NAME)]
TopicName = Annotated[str, Path(pattern=_NAME)]
# No white space, whichever language reads the pattern.
_BLACK = r"[^\s\u0085\uFEFF\u001C-\u001F]"
Filled = Annotated[str, Field(pattern=_BLACK, max_length=LONGEST_PHRASE)]
IfMatch = Annotated[
    str | None,
    Header(description="The topic's etag in quotation marks, or * for any version."),
]
_Texts = Annotated[Many[Filled], Field(max_length=MOST_TEXTS)]
_Weight = Annotated[float, Field(ge=-1e6, le=1e6)]
_Count = Annotated[int, Field(ge=0, le=10**9), WHOLE]
_Length = Annotated[str, Field(pattern=r"^\d+(\.\d+)? +(second|turn|sentence|word)s?$")]
_Least = Annotated[int, Field(ge=1, le=10**9), WHOLE]
_RULE = "combination"
_ETAG = re.compile(r'"([^"]*)"')

_TYPES: dict[str, Any] = {
    "name": Name,
    "description": Annotated[str, Field(max_length=LONGEST_PHRASE)],
    "unit": Unit,
    "verifier": VerifierName,
    "where": Filters,
    "threshold": Cosine,
    "min_probability": Probability,
    "precision": Probability,
    "offset": _Weight,
    "scale": _Weight,
    "labels": _Count,
    "right": _Count,
    "date": str,
    "topic": Name,
    "speaker": Filled,
    "asked": bool,
    **dict.fromkeys(("first", "last", "within"), _Length),
    **dict.fromkeys(("after", "before", "near"), Name),
    **dict.fromkeys(("times", "documents"), _Least),
}


def _table(record: type, name: str, **types: Any) -> type[BaseModel]:
    """The keys that a topic file has for a record; those that are missing have the usual value."""
    known = {**_TYPES, **types}
    keys = dict.fromkeys([*type_hints(record), *types])
    fields: dict[str, Any] = {key: (known.get(key, _Texts), None) for key in keys if key != _RULE}
    return create_model(name, __base__=Body, __doc__=record.__doc__, **fields)


LearnedTable = _table(Learned, "LearnedTable")


class PartTable(_table(Part, "Part")):  # type: ignore[misc]
    """A topic in a combined one, and what its hits need; see "Combine topics" in the guide."""

    topic: Name


_Parts = Annotated[Many[Name | PartTable], Field(min_length=1, max_length=MOST_PARTS)]
_TopicTable = _table(
    Topic, "TopicTable", learned=LearnedTable, per=Filled, all=_Parts, any=_Parts, none=_Parts
)


class TopicChange(_TopicTable):  # type: ignore[misc,valid-type]
    """A topic, with the keys of its file: phrases, or what it combines.

    A name other than in the address renames it.
    """

    name: Name | None = None
    phrases: Annotated[_Texts, Field(min_length=1)] = None  # type: ignore[assignment]


class NewTopic(TopicChange):
    """A new topic, with the keys of its file."""

    name: Name


class TopicAnswer(NewTopic):
    """A topic, with the keys of its file; those that are missing have the usual value.

    Attributes:
        etag: of this version, for the header If-Match.
    """

    etag: str


class TopicList(BaseModel):
    """The topics of the folder.

    Attributes:
        topics: by name.
        problems: one line for each file that cannot be used.
    """

    topics: list[TopicAnswer]
    problems: list[str]


@router.get("/topics", response_model=TopicList)
def topics(services: Shared) -> dict[str, Any]:
    """All topics, by name, and the faults of files that cannot be used."""
    found, problems = services.topics.read()
    return {"topics": [_shown(stored) for stored in found], "problems": problems}


@router.post("/topics", status_code=201, response_model=TopicAnswer)
def add(services: Shared, body: NewTopic) -> JsonAnswer:
    """Add a topic."""
    return topic_answer(services.topics.add(topic_of(body, body.name)), 201)


@router.get("/topics/{name}", response_model=TopicAnswer)
def topic(services: Shared, name: TopicName) -> JsonAnswer:
    """A topic, with the keys of its file."""
    return topic_answer(services.topics.get(name))


@router.put("/topics/{name}", response_model=TopicAnswer, responses={201: {"model": TopicAnswer}})
def put(
    services: Shared, name: TopicName, body: TopicChange, if_match: IfMatch = None
) -> JsonAnswer:
    """Replace the version of a topic with the etag in If-Match; without it, add a topic.

    With another name, the topic is renamed, and so are its labels.
    """
    if if_match is None:
        return topic_answer(services.topics.add(topic_of(body, name)), 201)
    topic, etag = topic_of(body, body.name or name), wanted_etag(if_match)
    if topic.name == name:
        return topic_answer(services.topics.replace(topic, etag))
    stored, _ = rename_topic(services.topics, services.labels, name, topic.name, etag, topic)
    return topic_answer(stored)


@router.delete("/topics/{name}", status_code=204)
def delete(services: Shared, name: TopicName, if_match: IfMatch = None) -> Response:
    """Delete a topic; with If-Match only if it still has that etag."""
    etag = None if if_match is None else wanted_etag(if_match)
    services.topics.delete(name, etag)
    return Response(status_code=204)


def wanted_etag(header: str) -> str | None:
    """The etag in If-Match, None for any version; several are an `InputError`."""
    if header.strip() == "*":
        return None
    if (found := _ETAG.fullmatch(header.strip())) is None:
        raise InputError(f"If-Match {header!r}: give one etag in quotation marks, or *")
    return found[1]


def topic_answer(stored: StoredTopic, status: int = 200, **others: Any) -> JsonAnswer:
    """A topic as the answer to a request, with other fields, and its etag as a header."""
    headers = {"ETag": f'"{stored.etag}"'}
    if status == 201:
        headers["Location"] = f"topics/{quote(stored.topic.name)}"
    return JsonAnswer({**_shown(stored), **others}, status, headers)


def topic_of(body: TopicChange, name: str) -> Topic:
    """The topic of a body, checked as a topic file is."""
    table = body.model_dump(exclude_unset=True, exclude_none=True)
    if table.setdefault("name", name) != name:
        raise InputError(f"name {table['name']!r}: the address has {name!r}; give one of them")
    topic, problems = read_table(table, name)
    if topic is None or problems:
        raise InputError(f"topic {name!r}: {problems[0]}")
    return topic


def _shown(stored: StoredTopic) -> dict[str, Any]:
    return {**topic_table(stored.topic), "etag": stored.etag}
