"""From what a request looks for to the hits of a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slice_os.corpus import Corpus
from slice_os.hits.hit import Hit
from slice_os.query.filters import parse_where
from slice_os.service.models.search import PhraseHighlights, TopicHighlights
from slice_os.service.services import Services
from slice_os.topics.run import mine_topics
from slice_os.topics.topic import Topic


def mined(
    services: Services,
    corpus: Corpus,
    wanted: PhraseHighlights | TopicHighlights,
    where: Mapping[str, Any] | None,
) -> Iterator[Hit]:
    """Every hit of phrases or topics in a store.

    Args:
        services: with the folder of topics.
        corpus: where to look.
        wanted: the phrases or topics, and which hits count.
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
