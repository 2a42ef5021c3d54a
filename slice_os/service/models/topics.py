"""Topics in requests and answers: the keys of topic files, as JSON."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, create_model

from slice_os.service.models.base import WHOLE, Body, Filters, StoreName
from slice_os.service.models.search import Cosine, HitAnswer, Probability, Unit
from slice_os.service.settings import LONGEST_PHRASE
from slice_os.tables.fields import type_hints
from slice_os.topics.topic import Learned, Topic

NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"
Name = Annotated[str, Field(pattern=NAME)]
Filled = Annotated[str, Field(pattern=r"\S", max_length=LONGEST_PHRASE)]
Texts = list[Filled]
Weight = Annotated[float, Field(ge=-1e6, le=1e6)]
Count = Annotated[int, Field(ge=0, le=10**9), WHOLE]

_TYPES: dict[str, Any] = {
    "name": Name,
    "description": str,
    "unit": Unit,
    "where": Filters,
    "threshold": Cosine,
    "min_probability": Probability,
    "precision": Probability,
    "offset": Weight,
    "scale": Weight,
    "labels": Count,
    "right": Count,
    "date": str,
}


def _table(record: type, base: type[BaseModel], name: str, **types: Any) -> type[BaseModel]:
    """The keys that a topic file has for a record; those that are missing have the usual value."""
    known = {**_TYPES, **types}
    fields: dict[str, Any] = {key: (known.get(key, Texts), None) for key in type_hints(record)}
    return create_model(name, __base__=base, __doc__=record.__doc__, **fields)


LearnedTable = _table(Learned, Body, "LearnedTable")
_TopicTable = _table(Topic, Body, "TopicTable", learned=LearnedTable)


class TopicChange(_TopicTable):  # type: ignore[misc,valid-type]
    """A topic, with the keys of its file; the name is the one in the address."""

    name: Name | None = None
    phrases: Annotated[Texts, Field(min_length=1)]


class NewTopic(TopicChange):
    """A new topic, with the keys of its file."""

    name: Name


class TopicAnswer(NewTopic):
    """A topic, with the keys of its file; those that are missing have the usual value.

    Attributes:
        etag: of this content, for the header If-Match.
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


class Case(BaseModel):
    """An example of a topic, and what came of it.

    Attributes:
        text: the example.
        expected: whether it should match.
        passed: whether it came out as it should.
        hit: the nearest one, however far.
        why: one line about it.
    """

    text: str
    expected: bool
    passed: bool
    hit: HitAnswer | None  # type: ignore[valid-type]
    why: str


class CasesAnswer(BaseModel):
    """What came of the examples of a topic.

    Attributes:
        passed: whether all came out as they should.
        cases: one for each example.
    """

    passed: bool
    cases: list[Case]


class SuggestRequest(Body):
    """Which near misses to look for.

    Attributes:
        store: its name; may be missing if one store is served.
        limit: number of suggestions.
        margin: how far below its cut a near miss is.
        where: conditions on metadata.
    """

    store: StoreName = None
    limit: Annotated[int, Field(ge=1, le=100), WHOLE] = 10
    margin: Annotated[float, Field(gt=0, le=1)] = 0.1
    where: Filters = None


class SuggestionAnswer(BaseModel):
    """Near misses that say much the same: a phrase or a counter-phrase to be.

    Attributes:
        text: the one that represents them best.
        spans: number of them.
        documents: number of their documents.
        phrase: the nearest phrase of the topic.
        cosine: of the nearest of them.
        hits: the nearest of them.
    """

    text: str
    spans: int
    documents: int
    phrase: str
    cosine: float
    hits: list[HitAnswer]  # type: ignore[valid-type]


class SuggestAnswer(BaseModel):
    """What a topic may have missed.

    Attributes:
        suggestions: the largest first.
    """

    suggestions: list[SuggestionAnswer]


class LearnRequest(Body):
    """How to learn from the labels of a topic.

    Attributes:
        store: whose encoder reads the labels; may be missing if one store is served.
        exclusive: the topic is mined together with others that exclude it.
    """

    store: StoreName = None
    exclusive: bool = False
