"""Matches of combined topics, among the hits of the topics that they name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from slice_os.combinations.places import Documents, Places
from slice_os.corpus import Corpus
from slice_os.errors import InputError, nearest_name
from slice_os.hits.bands import finding_of
from slice_os.hits.hit import Hit, counting
from slice_os.query.filters import Filter, parse_where
from slice_os.query.query import Where
from slice_os.search.run import likelihood
from slice_os.text.documents import field_text
from slice_os.threads import checkpoint
from slice_os.topics.assignment import admits
from slice_os.topics.combination import DOCUMENT, TURN, Combination, Part
from slice_os.topics.match import Lack, Match
from slice_os.topics.run import mine_topics
from slice_os.topics.topic import Topic


@dataclass(frozen=True, slots=True)
class _Scope:
    """A document, a turn, or the documents of a field's value that a combination can match."""

    place: str
    doc_ids: tuple[str, ...]
    turn: int | None = None


def match_topics(
    corpus: Corpus, topics: Sequence[Topic], *, where: Filter | None = None, **options: Any
) -> Iterator[Match]:
    """The texts of a store that combined topics describe, topic by topic; see `find_matches`.

    All topics that they name are mined in one pass. Options are those of `mine_topics`; ``where``
    is for the documents that lack every hit, too. Raises an `InputError` as that does, or if a
    topic that is named is not given.
    """
    plain = components(topics)
    if not plain:
        raise InputError("no combined topic; give one with all, any or none")
    near: list[Hit] = []
    mined = partial(mine_topics, corpus, plain, where=where, below=near.append, **options)
    # Where topics compete for words, what no rule asks for may take them from another.
    to_read = iter if options.get("exclusive") else partial(_decisive, topics, plain)
    try:
        hits = list(counting(mined(to_read=to_read)))
    except _ScatteredError:
        near.clear()
        hits = list(counting(mined()))
    yield from find_matches(hits, topics, corpus, near, parse_where(where))


class _ScatteredError(Exception):
    """The hits of a document do not come one after the other, so what decides is not known."""


def _decisive(
    topics: Sequence[Topic], plain: Sequence[Topic], hits: Iterable[Hit]
) -> Iterator[Hit]:
    """The hits of phrases that combined topics need, document by document.

    A document matches a topic only if it has, verified or not, a hit of each part of ``all`` and
    of one of ``any``; hits of other topics decide nothing in it. Raises a `_ScatteredError`.
    """
    owners: dict[str, set[str]] = defaultdict(set)
    for topic in plain:
        for phrase in topic.all_phrases:
            owners[phrase].add(topic.name)
    seen: set[str] = set()
    for doc_id, some in groupby(hits, key=lambda hit: hit.doc_id):
        if doc_id in seen:
            raise _ScatteredError
        seen.add(doc_id)
        own = list(some)
        said = {name for hit in own for name in owners[hit.phrase]}
        needed: set[str] = set()
        for one in filter(None, (topic.combination for topic in topics)):
            if one.possible(said):
                needed.update(one.topics)
        yield from (hit for hit in own if not needed.isdisjoint(owners[hit.phrase]))


def find_matches(
    hits: Iterable[Hit],
    topics: Sequence[Topic],
    documents: Documents,
    near: Iterable[Hit] = (),
    where: Where = (),
) -> Iterator[Match]:
    """The matches of combined topics, topic by topic, in the order of documents.

    Those that most surely lack what they were to lack come first, as far as ``near`` tells.

    Args:
        hits: of the topics that they name.
        topics: combined ones; others are left out.
        documents: that the hits are in. Texts and turns are read only where a part needs them.
        near: hits that do not count, to tell what comes nearest to a topic that a text lacks.
        where: conditions on the metadata of documents without a hit; all hits meet them.
    """
    found = _by_document(hits)
    nearly = _by_document(near)
    places = Places(documents)
    for topic in topics:
        if topic.combination is not None:
            rated = []
            for match in _matches(topic, topic.combination, found, documents, places, where):
                below = [hit for doc_id in match.doc_ids for hit in nearly.get(doc_id, ())]
                around = [hit for doc_id in match.doc_ids for hit in found.get(doc_id, ())]
                likely = 0.0
                lacks = []
                for one in match.lacks:
                    miss = _likeliest(one.topic, below)
                    given = miss.probability if miss and miss.label is not False else None
                    likely = max(likely, given or 0.0)
                    nearest = _likeliest(one.topic, [*below, *around])
                    lacks.append(Lack(one.topic, nearest, finding_of(0, given)))
                rated.append((likely, replace(match, lacks=tuple(lacks))))
            yield from (match for _, match in sorted(rated, key=itemgetter(0)))


def _by_document(hits: Iterable[Hit]) -> dict[str, list[Hit]]:
    found: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        found[hit.doc_id].append(hit)
    return found


def _likeliest(topic: str, hits: Iterable[Hit]) -> Hit | None:
    own = (hit for hit in hits if hit.topic == topic)
    return max(own, key=likelihood, default=None)


def _matches(
    topic: Topic,
    wanted: Combination,
    found: Mapping[str, Sequence[Hit]],
    documents: Documents,
    places: Places,
    where: Where,
) -> Iterator[Match]:
    lacks = tuple(map(Lack, dict.fromkeys(part.topic for part in wanted.none)))

    def candidates() -> Iterator[str]:
        for doc_id in documents if wanted.only_lacks else found:
            said = {str(hit.topic) for hit in found.get(doc_id, ())}
            conditions = topic.where if doc_id in found else (*topic.where, *where)
            if wanted.possible(said) and (
                not conditions or admits(conditions, doc_id, documents.metadata(doc_id))
            ):
                yield doc_id

    possible = list(candidates())
    places.expect(possible)
    for scope in _scopes(wanted.per, possible, documents, places):
        checkpoint()
        own = [hit for doc_id in scope.doc_ids for hit in found.get(doc_id, ())]
        if scope.turn is not None:
            own = [hit for hit in own if places(hit.doc_id).turn_of(hit) == scope.turn]
        evidence = evidence_of(wanted, own, places)
        if evidence is not None:
            with_hits = dict.fromkeys(hit.doc_id for hit in evidence)
            doc_ids = tuple(dict.fromkeys((*with_hits, *scope.doc_ids)))
            begins = None if scope.turn is None else places(doc_ids[0]).turns[scope.turn].start
            metadata = documents.metadata(doc_ids[0])
            yield Match(topic.name, scope.place, doc_ids, evidence, lacks, metadata, begins)


def _scopes(
    per: str, doc_ids: Iterable[str], documents: Documents, places: Places
) -> Iterator[_Scope]:
    """Yield the scopes."""
    if per == DOCUMENT:
        yield from (_Scope(doc_id, (doc_id,)) for doc_id in doc_ids)
    elif per == TURN:
        for doc_id in doc_ids:
            yield from (_Scope(doc_id, (doc_id,), n) for n in range(len(places(doc_id).turns)))
    else:
        groups: dict[str, list[str]] = defaultdict(list)
        for doc_id in doc_ids:
            value = documents.metadata(doc_id).get(per)
            if value is not None:
                groups[field_text(value)].append(doc_id)
        yield from (_Scope(value, tuple(group)) for value, group in groups.items())


def evidence_of(wanted: Combination, hits: Sequence[Hit], places: Places) -> tuple[Hit, ...] | None:
    """The hits by which a text matches; None if it does not."""
    counted: dict[Part, list[Hit]] = {}

    def count(part: Part) -> list[Hit]:
        """The hits of a part. Those that need no place are looked at first, which is cheaper."""
        if part not in counted:
            own = [hit for hit in hits if hit.topic == part.topic]
            if part.speaker or part.first or part.last or part.asked is not None:
                own = [hit for hit in own if places(hit.doc_id).admits(part, hit)]
            for name in part.others if own else ():
                others = _by_document(count(wanted.part_of(name)))
                own = [hit for hit in own if _placed(part, hit, others.get(hit.doc_id, ()), places)]
            counted[part] = own
        return counted[part]

    def has(part: Part) -> bool:
        own = count(part)
        return len(own) >= part.times and len({hit.doc_id for hit in own}) >= part.documents

    if not all(map(has, wanted.all)) or any(map(has, wanted.none)):
        return None
    some = [part for part in wanted.any if has(part)]
    if wanted.any and not some:
        return None
    evidence = {id(hit): hit for part in (*wanted.all, *some) for hit in count(part)}
    return tuple(sorted(evidence.values(), key=lambda hit: (hit.doc_id, hit.start, hit.end)))


def _placed(part: Part, hit: Hit, others: Iterable[Hit], places: Places) -> bool:
    """Whether one of the other hits in the document of a hit is beside it."""
    checkpoint()
    return any(_beside(part, hit, one, places) for one in others)


def _beside(part: Part, hit: Hit, other: Hit, places: Places) -> bool:
    """Whether another hit of the document is on the side, and as near, as a hit's part wants."""
    follows, precedes = other.end <= hit.start, hit.end <= other.start
    beside = follows if part.after else precedes if part.before else hit is not other
    if not beside or part.within is None:
        return beside
    apart = places(hit.doc_id).distance(hit, other, part.within.measure)
    return apart <= part.within.amount


def components(topics: Sequence[Topic]) -> list[Topic]:
    """The topics with phrases that combined ones name.

    Raises an `InputError` if a combined topic names one that is not among them, or is combined.
    """
    for topic in topics:
        if told := missing(topic, topics):
            raise InputError(told)
    by_name = {topic.name: topic for topic in topics}
    combinations = [topic.combination for topic in topics if topic.combination is not None]
    return [
        by_name[name] for name in dict.fromkeys(name for one in combinations for name in one.topics)
    ]


def sound(topics: Sequence[Topic]) -> tuple[list[Topic], dict[str, str]]:
    """The topics that can be looked for, and what is `missing` for each other one, by its name."""
    problems = {one.name: told for one in topics if (told := missing(one, topics))}
    return [one for one in topics if one.name not in problems], problems


def missing(topic: Topic, topics: Sequence[Topic]) -> str:
    """A line on why a combined topic cannot be looked for among some; empty if it can be.

    It may name one that is not among them, or place hits by themselves.
    """
    plain = [one.name for one in topics if one.combination is None]
    for name in topic.combination.topics if topic.combination else ():
        if name not in plain:
            known = any(one.name == name for one in topics)
            why = "is combined itself" if known else "is not among these topics"
            hint = nearest_name(name, plain) if plain else "give its file, too"
            return f"topic {topic.name!r}: {name!r} {why}; {hint}"
    circles = topic.combination.circles() if topic.combination else iter(())
    return next((f"topic {topic.name!r}: {one}" for one in circles), "")
