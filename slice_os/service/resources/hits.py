"""Hits in requests and answers: phrases or topics to find, and the hits of a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, Field

from slice_os.corpus import Corpus
from slice_os.hits.hit import Hit
from slice_os.query.options import Cut, HitOptions, MineOptions
from slice_os.search.listing import Search, search_phrases
from slice_os.search.refinement import arranged
from slice_os.service.asgi.steps import until_stopped
from slice_os.service.nearness import check_near
from slice_os.service.resources.bodies import (
    Many,
    PhraseBody,
    StoreBody,
    Text,
    Unit,
    answer_of,
    with_options,
)
from slice_os.service.services import Services
from slice_os.service.settings import MOST_PHRASES
from slice_os.topics.run import mine_topics, search_topics
from slice_os.topics.topic import Topic

HitAnswer = answer_of(Hit)


class HitsAnswer(BaseModel):
    """All hits, in the order of the documents."""

    hits: list[HitAnswer]  # type: ignore[valid-type]


@with_options(HitOptions)
class PhraseHighlights(StoreBody, PhraseBody):
    """Phrases whose hits are marked in a document; see `slice_os.HitOptions`."""


class TopicHighlights(StoreBody):
    """Topics whose hits are marked in a document, each with its own threshold.

    Attributes:
        topics: their names.
        verify: whether the verifier reads the hits; null to let the service choose.
        unit: width of hits.
        reader: whose labels hold, beside those without a name; empty for those of all.
    """

    verify: bool | None = None
    unit: Unit = "span"
    reader: Annotated[str, Field(max_length=100)] = ""
    topics: Annotated[Many[Text], Field(min_length=1, max_length=MOST_PHRASES)]


def mined(
    services: Services,
    corpus: Corpus,
    wanted: PhraseBody | TopicHighlights,
    where: Mapping[str, Any] | None,
) -> tuple[Iterator[Hit], Cut]:
    """Every hit of phrases, or of topics in the service's folder, in a store.

    With them comes what those of phrases must reach; each topic has its own.

    Raises:
        NoSuchTopicError: if there is no such topic.
        InputError: if a filter or phrase cannot be used.
    """
    if isinstance(wanted, TopicHighlights):
        topics, unit, verify = named_topics(services, wanted.topics), wanted.unit, wanted.verify
        labels = services.current_labels(wanted.reader)
        hits = mine_topics(corpus, topics, where=where, unit=unit, verify=verify, labels=labels)
        return hits, Cut()
    search = searched(services, corpus, wanted, where)
    # Arranging takes all hits before it returns the first one, so that it must be stoppable.
    found = arranged(until_stopped(search.hits()), wanted.options(MineOptions))
    return iter(found), search.cut


def searched(
    services: Services,
    corpus: Corpus,
    wanted: PhraseBody | TopicHighlights,
    where: Mapping[str, Any] | None,
) -> Search:
    """The search of `mined`, which knows also what comes nearest in a document; errors as there."""
    if isinstance(wanted, TopicHighlights):
        topics, unit, verify = named_topics(services, wanted.topics), wanted.unit, wanted.verify
        check_near(services, corpus, topics, where)
        labels = services.current_labels(wanted.reader)
        return search_topics(corpus, topics, where, labels, unit=unit, verify=verify)
    options = replace(wanted.options(MineOptions), where=where)
    verifier = options.verifier or corpus.refinement(options.verify).verifier
    return search_phrases(corpus.store, corpus.encoder, wanted.phrases, options, verifier)


def named_topics(services: Services, names: Sequence[str] | None) -> list[Topic]:
    """The topics of these names in the service's folder, or all; else a `NoSuchTopicError`."""
    known = {stored.topic.name: stored.topic for stored in services.topics.read()[0]}
    wanted = known if names is None else dict.fromkeys(names)
    return [known.get(name) or services.topics.get(name).topic for name in wanted]
