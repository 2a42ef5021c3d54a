"""Mines a store for topics: one pass, however many topics and phrases there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from slice_os.corpus import Corpus
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.hits.hit import Hit
from slice_os.query.filters import Filter, parse_where
from slice_os.query.options import LOW_THRESHOLD, SPAN, check_unit
from slice_os.search.refinement import Refinement
from slice_os.search.run import make_query, mine
from slice_os.text.words import find_words
from slice_os.topics.assignment import Rule, SpanCosines, assign
from slice_os.topics.topic import Topic
from slice_os.topics.vectors import SpanVectors

_STEPS = 1_001


def mine_topics(
    corpus: Corpus,
    topics: Sequence[Topic],
    *,
    where: Filter | None = None,
    exhaustive: bool = True,
    exclusive: bool = False,
    unit: str = SPAN,
    verify: bool | None = None,
) -> Iterator[Hit]:
    """Every hit of every topic in a store, in one pass.

    Args:
        corpus: where to look.
        topics: what to look for.
        where: conditions on metadata for all topics, besides their own; see `Corpus.search`.
        exhaustive: score every passage; see `Corpus.mine`.
        exclusive: words count for the nearest topic alone.
        unit: how wide hits are of topics that do not say it; see `Corpus.search`.
        verify: whether the verifier reads the hits of topics; see `Corpus.search`.

    Yields:
        Hits with their topic, by document, passage, topic and position.

    Raises:
        InputError: on no topic, two with one name, or one cut by probability if the model has none.
    """
    rules = make_rules(topics, corpus.encoder, unit)
    refine = corpus.refinement(verify)
    hits = mine_phrases(corpus, rules, refine, where, exhaustive)
    cosines = span_cosines(rules, corpus.encoder)
    yield from assign(hits, rules, cosines, exclusive, refine.each)


def mine_phrases(
    corpus: Corpus,
    rules: Sequence[Rule],
    refine: Refinement,
    where: Filter | None = None,
    exhaustive: bool = True,
) -> Iterator[Hit]:
    """The hits of every phrase and counter-phrase that `assign` chooses from; see `mine_topics`.

    They are not verified yet: only those that `assign` leaves need it.
    """
    texts = wordings(rule.topic for rule in rules)
    least = least_cosine(rules, corpus.encoder, refine)
    query = make_query(corpus.encoder, texts, parse_where(where), word_vectors=refine.verifies)
    yield from mine(corpus.store, query, threshold=least, exhaustive=exhaustive)


def make_rules(topics: Sequence[Topic], encoder: SpanEncoder, unit: str = SPAN) -> list[Rule]:
    """Topics with what their hits need, and how wide they are.

    Raises:
        InputError: as `mine_topics`.
    """
    check_topics(topics)
    check_unit(unit)
    usual = encoder.card.threshold
    rules = [Rule(topic, topic.cut(usual), topic.unit or unit) for topic in topics]
    for rule in rules:
        if rule.cut.probability and encoder.calibration is None:
            raise InputError(
                f"topic {rule.topic.name!r} is cut by probability, but model {encoder.card.name!r} "
                "has no calibration; give the topic a threshold"
            )
    return rules


def check_topics(topics: Sequence[Topic]) -> None:
    """Raise unless there are topics, each with a phrase and a name of its own.

    Raises:
        InputError: if there are none.
    """
    if not topics:
        raise InputError("no topic to look for")
    names = [topic.name for topic in topics]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"two topics are called {twice!r}; give each a name of its own")
    for topic in topics:
        if not topic.phrases:
            raise InputError(f"topic {topic.name!r} has no phrase")


def span_cosines(rules: Sequence[Rule], encoder: SpanEncoder) -> SpanCosines:
    """What `assign` compares hits with counter-phrases by."""
    contested = [rule.topic for rule in rules if rule.topic.all_counter_phrases]
    return SpanVectors(encoder, wordings(contested)).cosines


def wordings(topics: Iterable[Topic]) -> list[str]:
    """Every phrase and counter-phrase of topics, once."""
    return list(
        dict.fromkeys(
            text for topic in topics for text in topic.all_phrases + topic.all_counter_phrases
        )
    )


def least_cosine(rules: Sequence[Rule], encoder: SpanEncoder, refine: Refinement) -> float:
    """A cosine that every hit of these topics has; a low one if a verifier decides."""

    def least(rule: Rule) -> float:
        if not rule.cut.probability:
            return rule.cut.cosine
        return _cosine_for(rule, encoder) if refine.verifier is None else LOW_THRESHOLD

    return min(map(least, rules))


def _cosine_for(rule: Rule, encoder: SpanEncoder) -> float:
    """The least cosine with which a span of any length reaches a topic's probability."""
    if encoder.calibration is None:
        return -1.0
    cosines = np.linspace(0, 1, _STEPS)[:, None]
    lengths = np.arange(encoder.card.min_words, encoder.card.max_words + 1)
    least = 1.0
    for words in {len(find_words(phrase)) for phrase in rule.topic.all_phrases}:
        given = encoder.calibration.probabilities(cosines, words, lengths).max(axis=1)
        enough = [rule.topic.learned.probability(each) >= rule.cut.probability for each in given]
        least = min(least, max(0, enough.index(True) - 1) / (_STEPS - 1) if any(enough) else 1.0)
    return least
