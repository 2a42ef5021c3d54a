"""Hits in requests and answers: phrases or topics to find, and the hits of a store."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from inspect import cleandoc
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

from pydantic import BaseModel, Field, create_model

from slice_os.corpus import Corpus
from slice_os.hits.hit import Hit
from slice_os.query.filters import parse_where
from slice_os.query.options import (
    FUSION_NAMES,
    MAX_CANDIDATES,
    ORDERS,
    HitOptions,
    MineOptions,
)
from slice_os.service.resources.bodies import WHOLE, Body, Filters, PhraseList, StoreName, Text
from slice_os.service.services import Services
from slice_os.service.settings import MOST_HITS, MOST_PHRASES
from slice_os.tables.fields import type_hints
from slice_os.topics.run import mine_topics
from slice_os.topics.topic import Topic
from slice_os.verifier.registry import verifier_names

Options = TypeVar("Options", bound=HitOptions)
Model = TypeVar("Model", bound=Body)

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


_LIMITS: dict[str, Any] = {
    "counter_phrases": Annotated[list[Text], Field(max_length=MOST_PHRASES)],
    "threshold": Cosine | None,
    # A verifier's setting can name a folder, which is not for requests to choose.
    "verifier": Literal[verifier_names()] | None,
    "min_probability": Probability | None,
    "order": Literal[ORDERS] | None,
    "unit": Unit,
    "where": Filters,
    "top_k": Annotated[int, Field(ge=0, le=MOST_HITS), WHOLE],
    "offset": Annotated[int, Field(ge=0, le=MAX_CANDIDATES), WHOLE],
    "fusion": Literal[FUSION_NAMES],
    "num_candidates": Annotated[int, Field(ge=1, le=MAX_CANDIDATES), WHOLE],
    "per_passage": Annotated[int, Field(ge=1, le=MOST_HITS), WHOLE],
}


class PhraseBody(Body):
    """Phrases to find, beside the options that `with_options` adds.

    Attributes:
        phrases: one phrase, or several that mean the same.
    """

    phrases: PhraseList

    def options(self, kind: type[Options]) -> Options:
        """The options of a kind, from the fields that the request has."""
        known = type(self).model_fields
        names = [field.name for field in fields(kind) if field.name in known]
        return kind(**{name: getattr(self, name) for name in names})


def with_options(kind: type[HitOptions]) -> Callable[[type[Model]], type[Model]]:
    """Give a body the fields of some options, within the limits of the service."""
    types = {**get_type_hints(kind, localns={"Filter": Any}), **_LIMITS}
    texts = _descriptions(kind)
    named: dict[str, Any] = {
        field.name: (types[field.name], Field(field.default, description=texts[field.name]))
        for field in fields(kind)
    }

    def extended(body: type[Model]) -> type[Model]:
        return create_model(
            body.__name__,
            __base__=body,
            __doc__=body.__doc__,
            __module__=body.__module__,
            **named,
        )

    return extended


def _descriptions(kind: type[HitOptions]) -> dict[str, str]:
    """What the docstrings of a kind and of those that it extends say of each field."""
    texts = "\n".join(cleandoc(base.__doc__ or "") for base in kind.__mro__)
    found = re.findall(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", texts, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}


@with_options(HitOptions)
class PhraseHighlights(PhraseBody):
    """Phrases whose hits are marked in a document; see `slice_os.HitOptions`.

    Attributes:
        store: its name; may be missing if one store is served.
    """

    store: StoreName = None


class TopicHighlights(Body):
    """Topics whose hits are marked in a document, each with its own threshold.

    Attributes:
        store: its name; may be missing if one store is served.
        topics: their names.
        verify: whether the verifier reads the hits; null to let the service choose.
        unit: width of hits.
    """

    store: StoreName = None
    verify: bool | None = None
    unit: Unit = "span"
    topics: Annotated[list[Text], Field(min_length=1, max_length=MOST_PHRASES)]


def mined(
    services: Services,
    corpus: Corpus,
    wanted: PhraseBody | TopicHighlights,
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
    return corpus.iter_mine(wanted.phrases, wanted.options(MineOptions), where=where)


def named_topics(services: Services, names: Sequence[str]) -> list[Topic]:
    """The topics of these names, in the service's folder.

    Raises:
        NoSuchTopicError: if there is none of a name.
    """
    return [services.topics.get(name).topic for name in dict.fromkeys(names)]
