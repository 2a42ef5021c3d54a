"""How much of a store is near topics: what can be looked for in the time of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from slice_os.corpus import Corpus
from slice_os.errors import InputError
from slice_os.service.asgi.steps import until_stopped
from slice_os.service.known import store_state
from slice_os.service.services import Services
from slice_os.topics.run import topic_query
from slice_os.topics.topic import Topic

# Passages near a phrase that are read in a second, counted for each phrase.
_READ = 1_000
# Phrases of a topic by which its others are judged.
_SAMPLED = 20


def most_near(services: Services) -> int:
    """How many passages near phrases can be read in the time of an answer."""
    return round(_READ * services.settings.limits.mine_seconds)


def near(services: Services, corpus: Corpus, topics: Sequence[Topic]) -> dict[str, int]:
    """How many passages are near the phrases of topics, counted for each phrase, by topic.

    Where all that there are can be read in time, that is all; otherwise some phrases of each topic
    tell, which is kept as long as the store and the topics are as they were.
    """
    location, *state = store_state(corpus)
    plain = {one.name: one for one in topics if one.combination is None}
    found = {name: len(one.all_phrases) * corpus.info().passages for name, one in plain.items()}
    if sum(found.values()) > most_near(services):
        kept = services.near
        new = [
            one for name, one in plain.items() if kept.get((location, name), ())[:2] != (state, one)
        ]
        for name, number in _counted(corpus, new).items() if new else ():
            kept[location, name] = state, plain[name], number
        found = {name: kept[location, name][2] for name in plain}
    return found


def check_near(services: Services, corpus: Corpus, topics: Sequence[Topic]) -> None:
    """Refuse topics that cannot be looked for together in time, by an InputError."""
    found = near(services, corpus, topics)
    if sum(found.values()) > most_near(services):
        raise InputError(too_near(services, *max(found.items(), key=lambda one: one[1])))


def too_near(services: Services, name: str, number: int) -> str:
    """What to do about a topic that cannot be looked for in time."""
    return (
        f"topic {name!r} comes near some {number:,} passages, counted for each of its phrases, and "
        f"{most_near(services):,} can be read in the time for an answer; give it fewer phrases, or "
        "a higher threshold"
    )


def _counted(corpus: Corpus, topics: Sequence[Topic]) -> dict[str, int]:
    """What `near` tells, by some phrases of each topic."""
    sampled = {one.name: one.all_phrases[:: -(-len(one.all_phrases) // _SAMPLED)] for one in topics}
    bare = [
        replace(one, phrases=sampled[one.name], learned=replace(one.learned, phrases=()))
        for one in topics
    ]
    asked = topic_query(corpus, bare)
    counts = np.zeros(len(asked.query.phrases.texts), np.int64)
    for some in until_stopped(corpus.store.scan(asked.query, asked.least, exhaustive=True)):
        counts += (some.cosines >= asked.least).sum(axis=1)
    of = dict(zip(asked.query.phrases.texts, counts.tolist(), strict=True))
    return {
        one.name: sum(map(of.__getitem__, sampled[one.name]))
        * len(one.all_phrases)
        // len(sampled[one.name])
        for one in topics
    }
