"""How often topics are said: hits or matches by day, week, document or field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from slice_os.combinations.matching import components, find_matches, missing
from slice_os.corpus import Corpus
from slice_os.errors import InputError
from slice_os.estimates.recall import TopicEstimate
from slice_os.estimates.sampling import known_estimate
from slice_os.estimates.tallies import PERIODS, documents_by, tally
from slice_os.hits.hit import Hit
from slice_os.labels.label import Label, folded, of_topic
from slice_os.query.filters import value_key
from slice_os.service.asgi.steps import until_stopped
from slice_os.service.known import Key, store_state
from slice_os.service.nearness import most_near, near, too_near
from slice_os.service.resources.bodies import Resource, attachment
from slice_os.service.resources.mining import JsonLines, json_lines
from slice_os.service.resources.topics import TopicName
from slice_os.service.services import Services, Shared
from slice_os.stores.protocol import StoreInfo
from slice_os.tables.spreadsheets import write_csv
from slice_os.tables.table import collected
from slice_os.topics.assignment import answers
from slice_os.topics.folder import StoredTopic
from slice_os.topics.match import Found, Match
from slice_os.topics.run import mine_topics
from slice_os.topics.topic import Topic

router = Resource("topics", lane="mining")

# Phrases that are looked for in one pass: after each, hits are kept for the next request.
_TOGETHER = 500
_COLUMNS = ("topic", "hits", "documents", "of", "per_100", "problem")
_NO_HIT = {"key": None, "within": None, "hits": 0, "documents": 0, "of": None}

DateField = Annotated[str, Field(description="Metadata field of the day, week or month.")]
OfStore = Annotated[int | None, Field(description="Documents of the store there; null if unknown.")]


class Counting(BaseModel):
    """What hits are counted by."""

    store: str | None = None
    by: str = Field(
        "day",
        min_length=1,
        description="day, week, month, document, or the name of a metadata field.",
    )
    date_field: DateField = "date"
    within: str | None = Field(
        None, min_length=1, description="A metadata field whose values are counted each by itself."
    )


How = Annotated[Counting, Query()]


class CountAnswer(BaseModel):
    """The hits of a topic in a period, in a document, or with a value of a field.

    Attributes:
        key: the day, the Monday of the week, the month, the document or the value; ``-`` without
            one.
        within: the value of the second field; empty if there is none.
        hits: number of hits.
        documents: number of documents that have one.
        of: number of all documents of the store in that period or with that value; null if it is
            not known, as with a second field.
    """

    key: str
    within: str
    hits: int
    documents: int
    of: OfStore


class CountsAnswer(BaseModel):
    """The number of hits, or matches, of a topic, in total and by day, week, document or field.

    Attributes:
        topic: its name.
        total: number of hits that nobody rejected.
        documents: number of documents that have one.
        accepted: number of different words that people accepted.
        rejected: likewise.
        estimate: what the largest labelled sample tells of the topic; null if there is none.
        of: number of all documents of the store.
        by: ``day``, ``week``, ``document`` or the name of the field.
        counts: days and weeks in order, otherwise the most frequent first.
    """

    topic: str
    total: int
    documents: int
    accepted: int
    rejected: int
    estimate: TopicEstimate | None
    of: OfStore
    by: str
    counts: list[CountAnswer]


class AllCountsAnswer(BaseModel):
    """The number of hits of every topic, by name; of topics without a hit, too.

    Attributes:
        topics: all that could be counted.
        problems: a line for each topic near too much of the store, or rule that names none.
    """

    topics: list[CountsAnswer]
    problems: list[str]


@router.get("/topics/{name}/counts", response_model=CountsAnswer)
def counts(services: Shared, name: TopicName, how: How) -> dict[str, Any]:
    """Count the hits of a topic in a store, by day, week or document, or by a field's values."""
    found, problems = _counted(services, how, name)
    if problems:
        raise InputError(problems[name])
    return found[0]


@router.get("/counts", response_model=AllCountsAnswer)
def all_counts(services: Shared, how: How) -> dict[str, Any]:
    """Count the hits of every topic in a store, in one pass over it for some hundred phrases.

    Hits are looked for again only if the store or the topic has changed. If the time is over, ask
    again: what was counted is kept.
    """
    topics, problems = _counted(services, how)
    return {"topics": topics, "problems": list(problems.values())}


@router.get("/counts/progress", response_class=JsonLines, status_code=200)
async def counted_by_steps(request: Request, services: Shared, how: How) -> JsonLines:
    """The counts of every topic as one line of JSON, `counts`, after lines that tell `progress`.

    That is the number of documents that have been looked at; the others may have nothing near.
    Closing the connection ends the work.
    """
    seen: set[str] = set()
    of: int | None = None

    def found() -> Iterator[dict[str, Any]]:
        nonlocal of
        of = services.stores.get(how.store).info().documents
        topics, problems = _counted(services, how, seen=seen)
        yield {"topics": topics, "problems": list(problems.values())}

    def lines(batch: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        yield from ({"counts": one} for one in batch)
        yield {"progress": {"done": len(seen), "of": of}}

    return await json_lines(request, services.pool.stream(found), lines)


@router.get("/counts.csv", response_class=Response, responses={200: {"content": {"text/csv": {}}}})
def counts_file(services: Shared, how: How) -> Response:
    """The counts of every topic as CSV, with the documents that have a hit of each 100 there.

    A topic without a hit has one row. A topic near too much of the store, or a rule that names
    none, has a row with this problem, and no counts.
    """
    topics, problems = _counted(services, how)
    by = _column(how.by)
    rows = [
        {
            "topic": found["topic"],
            by: row["key"],
            **({_column(how.within, by): row["within"]} if how.within else {}),
            **{name: row[name] for name in ("hits", "documents", "of")},
            "per_100": round(100 * row["documents"] / row["of"], 3) if row["of"] else None,
        }
        for found in topics
        for row in found["counts"] or [_NO_HIT]
    ]
    rows += [{"topic": name, "problem": problem} for name, problem in problems.items()]
    table = collected(rows, ())
    return attachment("counts.csv", "text/csv; charset=utf-8", partial(write_csv, table))


def _column(name: str, *others: str) -> str:
    """The column of the values of a field: its name, unless another column has that."""
    return f"{name}: value" if name in (*_COLUMNS, *others) else name


def _problems(
    services: Services, store: str | None, known: Sequence[Topic], asked: Sequence[Topic]
) -> dict[str, str]:
    """A line on each topic that cannot be looked for, by name."""
    parts = {one.name: one.combination.topics if one.combination else (one.name,) for one in asked}
    needed = set(chain.from_iterable(parts.values()))
    plain = [one for one in known if one.combination is None and one.name in needed]
    found = near(services, services.stores.get(store), plain) if plain else {}
    problems = {}
    for one in asked:
        most = max(parts[one.name], key=lambda name: found.get(name, 0))
        if told := missing(one, known):
            problems[one.name] = told
        elif found.get(most, 0) > most_near(services):
            problems[one.name] = too_near(services, most, found[most])
    return problems


def _counted(
    services: Services, how: Counting, name: str | None = None, seen: set[str] | None = None
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The counts of all topics, or of one, and a line on each that cannot be looked for, by name.

    The documents that are looked at are noted in ``seen``.
    """
    # Read once, since others may change them meanwhile.
    stored = {one.topic.name: one for one in services.topics.read()[0]}
    if name is not None and name not in stored:
        stored[name] = services.topics.get(name)  # usually tells that there is none
    known = [one.topic for one in stored.values()]
    asked = known if name is None else [stored[name].topic]
    problems = _problems(services, how.store, known, asked)
    topics = [one for one in asked if one.name not in problems]
    if not topics:
        return [], problems
    by, date_field, within = how.by, how.date_field, how.within
    corpus = services.stores.get(how.store)
    if within:
        corpus.field_values(within, 1)  # refuses an unknown one
    info, drawn, labels = corpus.info(), services.labels.samples(), services.current_labels()
    state = store_state(corpus, info)
    key = info.location, by, date_field if by in PERIODS else ""
    everywhere = services.documents_by.of(key, state, partial(documents_by, corpus, by, date_field))
    every = _hits(services, corpus, state, stored, topics, labels, seen)
    return [
        {
            "topic": topic.name,
            "total": len(found),
            "documents": len({hit.doc_id for hit in found}),
            **_said(info, topic, drawn.get(topic.name, ()), labels),
            "of": info.documents,
            "by": by,
            "counts": [
                {
                    "key": row.place,
                    "within": row.within,
                    "hits": row.hits,
                    "documents": row.documents,
                    "of": None if within else everywhere.get(value_key(row.place)),
                }
                for row in tally(found, by, date_field, within)
            ],
        }
        for topic, found in zip(topics, every, strict=True)
    ], problems


def _said(
    info: StoreInfo, topic: Topic, drawn: Sequence[Mapping[str, Any]], labels: Sequence[Label]
) -> dict[str, Any]:
    """What people say of a topic, and what they tell by that; the same words are one answer."""
    own = of_topic(labels, topic.name)
    given = {(folded(label.text), label.right) for label in own}
    accepted = sum(right for _, right in given)
    estimate = None if topic.combination else known_estimate(info, topic, drawn, own)
    return {"accepted": accepted, "rejected": len(given) - accepted, "estimate": estimate}


def _hits(
    services: Services,
    corpus: Corpus,
    state: Key,
    stored: Mapping[str, StoredTopic],
    topics: Sequence[Topic],
    labels: Sequence[Label],
    seen: set[str] | None,
) -> list[Sequence[Found]]:
    """What counts of each topic: its hits that nobody rejected, or its matches.

    Hits are kept as long as store and topic are as they were, whatever people say of them; those
    of topics that were complete, also if the time is over before the others are.
    """
    rules = [one for one in topics if one.combination is not None]
    plain = [one for one in topics if one.combination is None]
    parts = [one.topic for one in stored.values() if one.topic.combination is None]
    wanted = {one.name: one for one in (*plain, *components([*rules, *parts]))}
    kept = {
        name: services.counted.get((state[0], name), (*state, stored[name].etag)) for name in wanted
    }
    known = {name: hits_of for name, hits_of in kept.items() if hits_of is not None}
    new = [wanted[name] for name in wanted if name not in known]
    reading = partial(_noted, set() if seen is None else seen)
    for some in _some_at_a_time(new, near(services, corpus, new), most_near(services)):
        own: dict[str, list[Hit]] = {topic.name: [] for topic in some}
        for hit in until_stopped(mine_topics(corpus, some, labels=(), to_read=reading)):
            own[hit.topic or ""].append(hit)
        for name, hits_of in own.items():
            services.counted.keep((state[0], name), (*state, stored[name].etag), hits_of)
        known |= own
    said = answers(labels)
    found = {name: [hit for hit in own if said(hit) is not False] for name, own in known.items()}
    hits = sorted(chain.from_iterable(found.values()), key=lambda hit: (hit.doc_id, hit.start))
    matches: dict[str, list[Match]] = {rule.name: [] for rule in rules}
    for match in until_stopped(find_matches(hits, rules, corpus)):
        matches[match.topic].append(match)
    every: dict[str, Sequence[Found]] = {**found, **matches}
    return [every[one.name] for one in topics]


def _some_at_a_time(
    topics: Iterable[Topic], places: Mapping[str, int], most: int
) -> Iterator[list[Topic]]:
    """The topics; those that come together have few phrases, or the same ones, and few places."""
    some: list[Topic] = []
    phrases: set[str] = set()
    number = 0
    for topic in topics:
        together = phrases.union(topic.all_phrases)
        number += places[topic.name]
        if some and (len(together) > max(_TOGETHER, len(phrases)) or number > most):
            yield some
            some, together, number = [], set(topic.all_phrases), places[topic.name]
        some.append(topic)
        phrases = together
    if some:
        yield some


def _noted(seen: set[str], hits: Iterable[Hit]) -> Iterator[Hit]:
    for hit in hits:
        seen.add(hit.doc_id)
        yield hit
