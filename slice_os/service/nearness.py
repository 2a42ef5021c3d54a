"""How many places of a store are near topics: what can be looked for in the time of an answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from slice_os.corpus import Corpus
from slice_os.errors import InputError
from slice_os.query.filters import Filter
from slice_os.search.hit_builder import HitBuilder
from slice_os.service.asgi.steps import until_stopped
from slice_os.service.known import store_state
from slice_os.service.services import Services
from slice_os.topics.near_misses import MARGIN
from slice_os.topics.run import least_cosine, topic_query
from slice_os.topics.topic import Topic

# Places near a phrase that are read in a second, counted for each phrase: half of what a core can
# read, since answers come first.
_READ = 2_000
# Phrases of a topic by which its others are judged, and topics that are judged together.
_SAMPLED, _TOGETHER = 20, 25
# Pairs of a phrase and a passage near it that are read to tell how many places such a pair has: of
# all topics together, spread over the store, and of each topic at once.
_LOOKED_INTO, _FIRST = 400, 4
# Times as many places as can be read, after which a topic is counted no further.
_FAR = 10


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
    that there are can be read in time, these are all; otherwise some phrases of each topic tell,
    until there are far too many. Without a filter, that is kept for the usual margins, as long as
    the store and the topic are as they were.
    """
    info, most = corpus.info(), most_near(services)
    state = store_state(corpus, info)
    plain = [one for one in topics if one.combination is None]
    found = {one.name: len(one.all_phrases) * info.pieces for one in plain}
    if sum(found.values()) <= most:
        return found
    keeps = not where and margin in (0.0, MARGIN)
    keys = {one.name: (info.location, one.name, margin) for one in plain}
    kept = {one.name: services.near.get(keys[one.name], (*state, one)) for one in plain if keeps}
    found |= {name: known[0] for name, known in kept.items() if known}
    new = [one for one in plain if not kept.get(one.name)]
    for some in (new[at : at + _TOGETHER] for at in range(0, len(new), _TOGETHER)):
        counted = _counted(corpus, some, where, margin, info.passages, _FAR * most)
        found |= counted
        for one in some if keeps else ():
            services.near.keep(keys[one.name], (*state, one), (counted[one.name],))
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
    most = most_near(services)
    about = "more than" if number > _FAR * most else "some"
    return (
        f"topic {name!r} comes near {about} {number:,} places, counted for each of its phrases, "
        f"and {most:,} can be read in the time for an answer; give it fewer phrases, or a higher "
        "threshold"
    )


def _counted(
    corpus: Corpus,
    topics: Sequence[Topic],
    where: Filter | None,
    margin: float,
    passages: int,
    enough: int,
) -> dict[str, int]:
    """The numbers of `near`, by some phrases of each topic, each topic at its own cut.

    There are so many passages; a topic with more than ``enough`` places is counted no further.
    """
    sampled = {one.name: one.all_phrases[:: -(-len(one.all_phrases) // _SAMPLED)] for one in topics}
    bare = [
        replace(one, phrases=sampled[one.name], learned=replace(one.learned, phrases=()))
        for one in topics
    ]
    asked = topic_query(corpus, bare, where=where)
    query = asked.query
    least = [least_cosine(aim.lowered(margin), corpus.encoder) for aim in asked.aims]
    row = {text: number for number, text in enumerate(query.phrases.texts)}
    rows = [[row[text] for text in phrases] for phrases in sampled.values()]
    each = [len(one.all_phrases) / len(sampled[one.name]) for one in topics]
    pairs, looked_into, hits, places = np.zeros((4, len(topics)))
    seen = 0
    for some in until_stopped(corpus.store.scan(query, min(least), exhaustive=True)):
        seen += len(some.keys)
        due = max(_FIRST, _LOOKED_INTO // len(topics) * seen // passages)
        chosen: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for one in np.flatnonzero(places <= enough).tolist():
            near_it = np.argwhere(some.cosines[rows[one]] >= least[one])
            pairs[one] += len(near_it)
            wanted = max(0, due - int(looked_into[one]))
            for number, column in near_it[:: len(near_it) // max(1, wanted) + 1][:wanted].tolist():
                chosen[column].append((one, rows[one][number]))
        loaded = some.load([some.keys[column] for column in chosen])
        for column, asked_of in chosen.items():
            if passage := loaded.get(some.keys[column]):
                builder = HitBuilder(passage, query)
                for one, number in asked_of:
                    looked_into[one] += 1
                    hits[one] += len(builder.hits(number, threshold=least[one]))
        places = pairs * hits / np.maximum(1, looked_into) * each
        if places.min() > enough:
            break
    return dict(zip(sampled, places.round().astype(int).tolist(), strict=True))
