"""Hits in requests and answers: phrases or topics to find, and the hits of a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from slice_os.corpus import Corpus
from slice_os.hits.hit import Hit
from slice_os.query.filters import parse_where
from slice_os.service.resources.bodies import Body, PhraseList, StoreName, Text
from slice_os.service.services import Services
from slice_os.service.settings import MOST_PHRASES
from slice_os.tables.fields import type_hints
from slice_os.topics.run import mine_topics
from slice_os.topics.topic import Topic

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


class HitsAnswer(BaseModel):
    """All hits, in the order of the documents."""

    hits: list[HitAnswer]  # type: ignore[valid-type]


class Width(Body):
    """Reading and width of hits.

    Attributes:
        verify: whether the verifier reads the hits; null to let the service choose.
        unit: width of hits.
    """

    verify: bool | None = None
    unit: Unit = "span"


class Wanted(Width):
    """Phrases to find, and conditions on their hits.

    Attributes:
        phrases: one phrase, or several that mean the same.
        counter_phrases: hits whose words are nearer to one of these are left out.
        threshold: least cosine of a hit; mining has the model's own by default.
        min_probability: least probability of a hit.
    """

    phrases: PhraseList
    counter_phrases: Annotated[list[Text], Field(max_length=MOST_PHRASES)] = Field(
        default_factory=list
    )
    threshold: Cosine | None = None
    min_probability: Probability | None = None


class PhraseHighlights(Wanted):
    """Phrases whose hits are marked in a document.

    Attributes:
        store: its name; may be missing if one store is served.
    """

    store: StoreName = None


class TopicHighlights(Width):
    """Topics whose hits are marked in a document, each with its own threshold.

    Attributes:
        store: its name; may be missing if one store is served.
        topics: their names.
    """

    store: StoreName = None
    topics: Annotated[list[Text], Field(min_length=1, max_length=MOST_PHRASES)]


def mined(
    services: Services,
    corpus: Corpus,
    wanted: PhraseHighlights | TopicHighlights,
    where: Mapping[str, Any] | None,
) -> Iterator[Hit]:
    """Every hit of phrases or topics in a store.

    Args:
        services: with the folder of topics.
        corpus: the store.
        wanted: the phrases or topics.
        where: conditions on metadata.

    Raises:
        NoSuchTopicError: if there is no such topic.
        InputError: if a filter or phrase cannot be used.
    """
    if isinstance(wanted, TopicHighlights):
        return mine_topics(
            corpus,
            named_topics(services, wanted.topics),
            where=parse_where(where),
            unit=wanted.unit,
            verify=wanted.verify,
        )
    return corpus.iter_mine(
        wanted.phrases,
        counter_phrases=wanted.counter_phrases,
        threshold=wanted.threshold,
        where=where,
        verify=wanted.verify,
        min_probability=wanted.min_probability,
        unit=wanted.unit,
    )


def named_topics(services: Services, names: Sequence[str]) -> list[Topic]:
    """The topics of these names, in the service's folder.

    Raises:
        NoSuchTopicError: if there is none of a name.
    """
    return [services.topics.get(name).topic for name in dict.fromkeys(names)]
