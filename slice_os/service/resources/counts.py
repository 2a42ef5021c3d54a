"""How often topics are said: hits or matches by day, week, document or field."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from slice_os.corpus import Corpus
from slice_os.errors import InputError
from slice_os.hits.hit import Hit
from slice_os.hits.precision_cut import wilson_interval
from slice_os.query.filters import DATE
from slice_os.service.asgi.json_bodies import JsonRoute
from slice_os.service.asgi.steps import until_stopped
from slice_os.service.known_hits import Key, store_state
from slice_os.service.resources.bodies import pooled
from slice_os.service.resources.estimates import known_estimate
from slice_os.service.resources.topics import TopicName
from slice_os.service.services import Services, Shared
from slice_os.tables.spreadsheets import write_csv
from slice_os.tables.table import collected
from slice_os.topics.folder import StoredTopic
from slice_os.topics.labels import Label, LabelKey, of_topic
from slice_os.topics.match import Found
from slice_os.topics.matching import components, find_matches, missing, sound
from slice_os.topics.run import mine_topics
from slice_os.topics.tallies import PERIODS, expected_documents, place_of, place_of_span, tally
from slice_os.topics.topic import Topic

router = APIRouter(tags=["topics"], route_class=JsonRoute)

By = Annotated[
    str, Query(min_length=1, description="day, week, document, or the name of a metadata field.")
]
DateField = Annotated[str, Query(description="Metadata field of the day or week.")]
OfStore = Annotated[int | None, Field(description="Documents of the store there; null if unknown.")]


class CountAnswer(BaseModel):
    """The hits of a topic on a day, in a week, in a document, or with a value of a field.

    Attributes:
        key: the day, the Monday of the week, the document or the value; ``-`` without one.
        hits: number of hits.
        documents: number of documents that have one.
        of: number of all documents of the store on that day, in that week or with that value;
            null if it is not known.
    """

    key: str
    hits: int
    documents: int
    of: OfStore


class RecallAnswer(BaseModel):
    """The share of right ones that a topic's cut finds, with its 95 % interval.

    Attributes:
        value: the share.
        low: lower end of the interval.
        high: its upper end.
        labels: that it rests on.
        sampled: whether these are of a sample of all passages; else they are the accepted hits.
    """

    value: float
    low: float
    high: float
    labels: int
    sampled: bool


class CountsAnswer(BaseModel):
    """The number of hits, or matches, of a topic, in total and by day, week, document or field.

    Attributes:
        topic: its name.
        total: number of hits.
        documents: number of documents that have one.
        expected: about how many documents say it: the sum of the probabilities of the likeliest
            hit of each, where an accepted one is sure; null for matches.
        recall: of the topic's cut, as expected from labels; null without labels.
        of: number of all documents of the store.
        by: ``day``, ``week``, ``document`` or the name of the field.
        counts: days and weeks in order, otherwise the most frequent first.
    """

    topic: str
    total: int
    documents: int
    expected: float | None
    recall: RecallAnswer | None
    of: OfStore
    by: str
    counts: list[CountAnswer]


class AllCountsAnswer(BaseModel):
    """The number of hits of every topic, by name; of topics without a hit, too.

    Attributes:
        topics: all that could be counted.
        problems: a line for each rule that names a topic which is not there.
    """

    topics: list[CountsAnswer]
    problems: list[str]


@router.get("/topics/{name}/counts", response_model=CountsAnswer)
@pooled("mining")
def counts(
    services: Shared,
    name: TopicName,
    store: str | None = None,
    by: By = "day",
    date_field: DateField = "date",
) -> dict[str, Any]:
    """Count the hits of a topic in a store, by day, week or document, or by a field's values."""
    wanted, known = services.topics.get(name), services.topics.read()[0]
    if problem := missing(wanted.topic, [one.topic for one in known]):
        raise InputError(problem)
    (found,) = _counted(services, [wanted], store, by, date_field)
    return found


@router.get("/counts", response_model=AllCountsAnswer)
@pooled("mining")
def all_counts(
    services: Shared, store: str | None = None, by: By = "day", date_field: DateField = "date"
) -> dict[str, Any]:
    """Count the hits of every topic in a store, in one pass over it.

    Hits are looked for again only if the store, the topic or what is rejected has changed.
    """
    usable, problems = _usable(services)
    return {
        "topics": _counted(services, usable, store, by, date_field),
        "problems": list(problems.values()),
    }


@router.get("/counts.csv", response_class=Response, responses={200: {"content": {"text/csv": {}}}})
@pooled("mining")
def counts_file(
    services: Shared, store: str | None = None, by: By = "day", date_field: DateField = "date"
) -> Response:
    """The counts of every topic as CSV, with the documents that have a hit of each 100 there.

    A rule that names a topic which is not there has a row with this problem, and no counts.
    """
    usable, problems = _usable(services)
    rows = [
        {
            "topic": found["topic"],
            by: row["key"],
            **{name: row[name] for name in ("hits", "documents", "of")},
            "per_100": round(100 * row["documents"] / row["of"], 3) if row["of"] else None,
        }
        for found in _counted(services, usable, store, by, date_field)
        for row in found["counts"]
    ]
    rows += [{"topic": name, "problem": problem} for name, problem in problems.items()]
    with TemporaryDirectory(prefix="slice-os-") as folder:
        path = Path(folder, "counts.csv")
        write_csv(collected(rows, ()), path)
        content = path.read_bytes()
    headers = {"Content-Disposition": 'attachment; filename="counts.csv"'}
    return Response(content, media_type="text/csv; charset=utf-8", headers=headers)


def documents_by(corpus: Corpus, by: str, date_field: str) -> dict[str, int]:
    """The number of all documents of a store on each day or in each week, or by field value.

    Empty if it would be by dates, and the store has none.

    Raises an `InputError` if no passage has another field.
    """
    field = date_field if by in PERIODS else by
    if by == "document" or (field == DATE and field not in corpus.fields()):
        return {}
    found: Counter[str] = Counter()
    for value in corpus.field_values(field, None):
        found[place_of(value.value, by)] += value.documents
    return found


def _usable(services: Services) -> tuple[list[StoredTopic], dict[str, str]]:
    """The topics that can be looked for, and what the others lack, by name."""
    stored = services.topics.read()[0]
    problems = sound([one.topic for one in stored])[1]
    return [one for one in stored if one.topic.name not in problems], problems


def _counted(
    services: Services, topics: list[StoredTopic], store: str | None, by: str, date_field: str
) -> list[dict[str, Any]]:
    if not topics:
        return []
    corpus = services.stores.get(store)
    everywhere = _everywhere(services, corpus, by, date_field)
    of_all, labels = corpus.info().documents, services.current_labels()
    return [
        {
            "topic": stored.topic.name,
            "total": len(found),
            "documents": len({hit.doc_id for hit in found}),
            **_expected(services, corpus, stored, found, labels),
            "of": of_all,
            "by": by,
            "counts": [
                {
                    "key": row.place,
                    "hits": row.hits,
                    "documents": row.documents,
                    "of": everywhere.get(row.place),
                }
                for row in tally(found, by, date_field)
            ],
        }
        for stored, found in zip(topics, _hits(services, corpus, topics, labels), strict=True)
    ]


def _expected(
    services: Services,
    corpus: Corpus,
    stored: StoredTopic,
    found: Sequence[Found],
    labels: Sequence[Label],
) -> dict[str, Any]:
    """What probabilities and labels tell of the hits of a topic."""
    if stored.topic.combination is not None:
        return {"expected": None, "recall": None}
    hits = [hit for hit in found if isinstance(hit, Hit)]
    own = of_topic(labels, stored.topic.name)
    accepted = {label.place for label in own if label.right and label.doc_id}
    recall = None
    if estimate := known_estimate(services, corpus, stored, labels):
        recall = {**asdict(estimate.cut.recall), "labels": estimate.labels, "sampled": True}
    elif accepted:
        kept, of = len(accepted & set(map(place_of_span, hits))), len(accepted)
        low, high = wilson_interval(kept, of)
        recall = {"value": kept / of, "low": low, "high": high, "labels": of, "sampled": False}
    return {"expected": expected_documents(hits, accepted), "recall": recall}


def _everywhere(services: Services, corpus: Corpus, by: str, date_field: str) -> dict[str, int]:
    """As `documents_by`, from what is kept as long as the store has not changed."""
    location, *state = store_state(corpus)
    key = location, by, date_field if by in PERIODS else ""
    known, found = services.documents_by.get(key, ([], {}))
    if known != state:
        found = documents_by(corpus, by, date_field)
        services.documents_by[key] = state, found
    return found


def _hits(
    services: Services, corpus: Corpus, topics: list[StoredTopic], labels: Sequence[Label]
) -> list[tuple[Found, ...]]:
    """The hits or matches of each topic, from what is kept as far as nothing has changed."""
    location, *state = store_state(corpus)
    stored = {one.topic.name: one for one in services.topics.read()[0]}
    places: dict[str, set[LabelKey]] = defaultdict(set)
    for label in labels:
        if not label.right:
            places[label.topic].add(label.key)

    def state_of(topic: Topic) -> Key:
        names = (topic.name, *(topic.combination.topics if topic.combination else ()))
        own = (
            (name, stored[name].etag, frozenset(places[name])) for name in names if name in stored
        )
        return *state, *own

    states = {one.topic.name: state_of(one.topic) for one in topics}
    known = {name: services.counted.get((location, name), own) for name, own in states.items()}
    new = [one.topic for one in topics if known[one.topic.name] is None]
    rules = [one for one in new if one.combination is not None]
    parts = [one.topic for one in stored.values() if one.topic.combination is None]
    asked = {one.name: one for one in (*new, *components([*rules, *parts])) if one not in rules}
    found: dict[str | None, list[Found]] = {topic.name: [] for topic in new}
    hits = (
        list(until_stopped(mine_topics(corpus, list(asked.values()), labels=labels)))
        if asked
        else []
    )
    for one in chain[Found](hits, until_stopped(find_matches(hits, rules, corpus))):
        if one.topic in found:
            found[one.topic].append(one)
    for name in (one.name for one in new):
        known[name] = services.counted.keep((location, name), states[name], found[name])
    return [known[one.topic.name] or () for one in topics]
