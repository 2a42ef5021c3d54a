"""How many places of a store are near topics: what can be looked for in the time of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from slice_os.corpus import Corpus
from slice_os.errors import InputError
from slice_os.query.filters import Filter
from slice_os.query.query import Query
from slice_os.search.hit_builder import HitBuilder
from slice_os.service.asgi.steps import until_stopped
from slice_os.service.known import store_state
from slice_os.service.services import Services
from slice_os.stores.candidates import ScoredCandidates
from slice_os.topics.run import least_cosine, topic_query
from slice_os.topics.topic import Topic

# Places near a phrase that are read in a second, counted for each phrase: half of what a core can
# read, since answers come first.
_READ = 2_000
# Phrases of a topic by which its others are judged, and topics that are judged together.
_SAMPLED, _TOGETHER = 20, 25
# Passages of some hundreds that tell how many places near a phrase they have.
_LOOKED_INTO = 16


def most_near(services: Services) -> int:
    """How many places near phrases can be read in the time of an answer."""
    return round(_READ * services.settings.limits.mine_seconds)


def near(
    services: Services,
    corpus: Corpus,
    topics: Sequence[Topic],
    where: Filter | None = None,
    margin: float = 0.0,
) -> dict[str, int]:
    """How many places are near the phrases of topics, counted for each phrase, by topic.

    Near is what the topic finds, or would find if its hits needed less by a margin. Where all words
    that there are can be read in time, these are all; otherwise some phrases of each topic tell.
    Without a filter, that is kept as long as the store and the topic are as they were.
    """
    info = corpus.info()
    location, *state = store_state(corpus, info)
    plain = [one for one in topics if one.combination is None]
    found = {one.name: len(one.all_phrases) * info.pieces for one in plain}
    if sum(found.values()) <= most_near(services):
        return found
    new = []
    for one in plain:
        kept = None if where else services.near.get((location, one.name, margin), (*state, one))
        if kept is None:
            new.append(one)
        else:
            (found[one.name],) = kept
    for some in (new[at : at + _TOGETHER] for at in range(0, len(new), _TOGETHER)):
        counted = _counted(corpus, some, where, margin)
        found |= counted
        for one in some if not where else ():
            services.near.keep((location, one.name, margin), (*state, one), (counted[one.name],))
    return found


def check_near(
    services: Services,
    corpus: Corpus,
    topics: Sequence[Topic],
    where: Filter | None = None,
    margin: float = 0.0,
) -> None:
    """Refuse topics that cannot be looked for together in time, by an InputError; see `near`."""
    found, most = near(services, corpus, topics, where, margin), most_near(services)
    name, number = max(found.items(), key=lambda one: one[1], default=("", 0))
    if number > most:
        raise InputError(too_near(services, name, number))
    if sum(found.values()) > most:
        raise InputError(
            f"these {len(found)} topics come near some {sum(found.values()):,} places together, "
            f"counted for each phrase, and {most:,} can be read in the time for an answer; ask for "
            "fewer topics"
        )


def too_near(services: Services, name: str, number: int) -> str:
    """What to do about a topic that cannot be looked for in time."""
    return (
        f"topic {name!r} comes near some {number:,} places, counted for each of its phrases, and "
        f"{most_near(services):,} can be read in the time for an answer; give it fewer phrases, or "
        "a higher threshold"
    )


def _counted(
    corpus: Corpus, topics: Sequence[Topic], where: Filter | None, margin: float
) -> dict[str, int]:
    """The numbers of `near`, by some phrases of each topic, each topic at its own cut."""
    sampled = {one.name: one.all_phrases[:: -(-len(one.all_phrases) // _SAMPLED)] for one in topics}
    bare = [
        replace(one, phrases=sampled[one.name], learned=replace(one.learned, phrases=()))
        for one in topics
    ]
    asked = topic_query(corpus, bare, where=where)
    wide = [aim.lowered(margin) for aim in asked.aims]
    least = {aim.topic.name: least_cosine(aim, corpus.encoder) for aim in wide}
    row = {text: number for number, text in enumerate(asked.query.phrases.texts)}
    counts = dict.fromkeys(sampled, 0.0)
    scanned = corpus.store.scan(asked.query, min(least.values()), exhaustive=True)
    for some in until_stopped(scanned):
        for name, phrases in sampled.items():
            rows = [row[text] for text in phrases]
            counts[name] += _places(some, asked.query, rows, least[name])
    return {
        one.name: round(counts[one.name] * len(one.all_phrases) / len(sampled[one.name]))
        for one in topics
    }


def _places(some: ScoredCandidates, query: Query, rows: Sequence[int], least: float) -> float:
    """About how many hits the phrases in some rows of the query have, from a cosine on."""
    pairs = np.argwhere(some.cosines[rows] >= least)
    chosen = pairs[:: -(-len(pairs) // _LOOKED_INTO) or 1].tolist()
    passages = some.load([some.keys[column] for _, column in chosen])
    hits = 0
    for row, column in chosen:
        if passage := passages.get(some.keys[column]):
            hits += len(HitBuilder(passage, query).hits(rows[row], threshold=least))
    return hits * len(pairs) / max(1, len(chosen))
