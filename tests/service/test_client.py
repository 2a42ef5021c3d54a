"""The client of the service asks a real one, and finds what the library finds."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slice_os import Corpus, Document, InputError, SpanEncoder, scan
from slice_os.client import (
    AccessError,
    AsyncClient,
    BadRequestError,
    Client,
    ConflictError,
    NotFoundError,
    ServiceUnavailableError,
    TopicTable,
)
from slice_os.labels.label import Label
from slice_os.service.asgi.keys import new_key
from slice_os.topics import Topic
from slice_os.topics.run import search_topics

from ..command_line import printed
from .conftest import DOCUMENTS, ENVIRONMENT, REPOSITORY, Server, served

PHRASE = "I want to cancel my subscription"
TOPIC: TopicTable = {
    "name": "cancel",
    "phrases": [PHRASE, "end my plan"],
    "threshold": 0.6,
    "must_match": ["please end my plan"],
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of topics and labels that the tests may change."""
    return tmp_path_factory.mktemp("client")


@pytest.fixture(scope="module")
def calls(home: Path, encoder: SpanEncoder) -> str:
    """A store that the tests may change."""
    with Corpus(home / "calls", encoder) as corpus:
        corpus.add(DOCUMENTS)
    return str(home / "calls")


@pytest.fixture(scope="module")
def process(home: Path, calls: str) -> Iterator[Server]:
    with served("--name", f"calls={calls}", "--work", str(home)) as server:
        yield server


@pytest.fixture
def service(process: Server) -> Iterator[Client]:
    with Client(process.address) as client:
        yield client


@pytest.fixture(scope="module")
def corpus(calls: str, process: Server, encoder: SpanEncoder) -> Iterator[Corpus]:
    with Corpus(calls, encoder) as corpus:
        yield corpus


def test_it_finds_what_the_library_finds(service: Client, corpus: Corpus) -> None:
    found = service.search(PHRASE, top_k=3, where={"csat": {"lte": 4}}, per_passage=2)
    expected = corpus.search(PHRASE, top_k=3, where={"csat": {"lte": 4}}, per_passage=2)
    assert [hit.to_dict() for hit in found] == [hit.to_dict() for hit in expected]
    done: list[int] = []
    mined = service.mine(
        [PHRASE, "my card was stolen"],
        threshold=0.5,
        progress=lambda number, _of: done.append(number),
    )
    expected = corpus.mine([PHRASE, "my card was stolen"], threshold=0.5)
    assert [hit.to_dict() for hit in mined] == [hit.to_dict() for hit in expected]
    assert (mined.threshold, mined.exhaustive) == (0.5, True)
    for options in ({}, {"min_probability": 0.3}, {"verify": False}):
        there, here = service.mine(PHRASE, **options), corpus.mine(PHRASE, **options)
        assert replace(there, items=()) == replace(here, items=())
    assert done[-1] == len(mined)
    assert list(service.iter_mine(PHRASE, threshold=0.5, limit=1)) == [
        next(iter(service.mine(PHRASE, threshold=0.5)))
    ]


def test_it_lists_documents_and_shows_turns_around(service: Client, corpus: Corpus) -> None:
    for listing in ("with", "without", "counts"):
        listed = list(service.list_documents(PHRASE, listing, max_count=1, threshold=0.5))
        expected = corpus.list_documents(PHRASE, listing, max_count=1, threshold=0.5)
        assert [one.to_dict() for one in listed] == [one.to_dict() for one in expected]
        assert listed
    service.save_topic({"name": "table", "phrases": [PHRASE]})
    cells = service.matrix(["table"])
    service.delete_topic("table")
    found = search_topics(corpus, [Topic("table", (PHRASE,))], None, ())
    expected = found.documents(corpus, "without")
    assert [one.to_dict() for one in cells] == [one.to_dict() for one in expected]
    around = service.mine(PHRASE, threshold=0.5, max_count=1, before=1, after=0)
    first = {hit.doc_id: hit for hit in reversed(corpus.mine(PHRASE, threshold=0.5))}
    expected = corpus.around((first[hit.doc_id] for hit in around), before=1)
    assert [hit.to_dict() for hit in around] == [hit.to_dict() for hit in expected]
    assert len(around) == len(first)


def test_it_scans_and_encodes(service: Client, encoder: SpanEncoder) -> None:
    found = service.scan(DOCUMENTS, PHRASE, threshold=0.5)
    expected = scan(DOCUMENTS, PHRASE, threshold=0.5, encoder=encoder)
    assert [hit.to_dict() for hit in found] == [hit.to_dict() for hit in expected]
    vectors = service.encode_phrases([PHRASE, "end my plan"])
    assert vectors.shape == (2, encoder.card.dimension)
    assert np.allclose(vectors, encoder.encode_phrases([PHRASE, "end my plan"]), atol=1e-5)
    assert service.encode_phrases([]).shape == (0, encoder.card.dimension)
    text = "😀 Please end my plan."
    (span,) = service.encode_spans(text, [(9, 20)])
    assert np.linalg.norm(span) == pytest.approx(1, abs=1e-4)
    assert float(span @ vectors[1]) > float(span @ vectors[0])


def test_documents_come_and_go(service: Client) -> None:
    new = Document("new/../ü?.txt", "Please shut down my account.", {"n": 1})
    assert service.add([new, replace(new, id="..")]) == 2
    assert {"..", new.id} <= set(service.document_ids())
    assert service.document(new.id) == new
    shown = service.highlights(new.id, "close my account", threshold=0.4)
    assert shown.document == new
    assert [hit.doc_id for hit in shown.hits] == [new.id]
    for doc_id in (new.id, ".."):
        service.delete(doc_id)
    with pytest.raises(NotFoundError, match="no document"):
        service.document(new.id)
    assert set(service.document_ids()) == {document.id for document in DOCUMENTS}


def test_it_says_what_is_served(service: Client) -> None:
    (store,) = service.stores()
    assert (store["name"], store["documents"]) == ("calls", len(DOCUMENTS))
    values = service.field_values("calls", "domain")
    assert {value["value"]: value["documents"] for value in values} == {
        "media": 2,
        "contracts": 1,
        "finance": 1,
    }


def test_topics_are_curated(service: Client, corpus: Corpus) -> None:
    stored = service.save_topic(TOPIC)
    assert service.topics() == [stored]
    mine = service.save_topic({**service.topic("cancel"), "description": "mine"})
    with pytest.raises(ConflictError, match="has changed since"):
        service.save_topic({**stored, "description": "yours"})
    with pytest.raises(ConflictError, match="exists"):
        service.save_topic(TOPIC)
    (case,) = service.try_topic("cancel")
    assert case.passed
    assert case.hit is not None
    (tagged,) = service.tag([Document("a", "I'd like to cancel my subscription.")])
    assert (tagged.id, tagged.topics) == ("a", ("cancel",))
    hits = service.mine(topics=["cancel"])
    assert (hits.threshold, hits.min_probability) == (None, None)
    assert {hit.topic for hit in hits} == {"cancel"}
    counts = service.counts("cancel", by="domain")
    assert [(row.topic, row.place) for row in counts] == [("cancel", "media")]
    assert service.counts(by="domain") == counts
    assert service.suggest("cancel", limit=3) is not None

    estimating = service.estimate("cancel", size=5)
    assert estimating.estimate is None
    assert estimating.sampled == len(estimating.waiting)
    silent: TopicTable = {"name": "silent", "none": ["cancel"]}
    names = {match.place for match in service.matches(rule=silent)}
    assert names == {one.id for one in DOCUMENTS} - {hit.doc_id for hit in hits}

    labels = [Label.of(hit, right=True) for hit in hits]
    assert service.add_labels(labels) == len(hits)
    assert list(service.labels("cancel")) == labels
    taught = service.learn("cancel")
    assert taught["learned"]["labels"] == len(hits)
    changes = taught["changes"]
    assert changes is not None
    assert changes["before"] == len(hits)
    assert changes["after"] == len(list(service.mine(topics=["cancel"])))
    assert service.save_topic(taught)["learned"] == taught["learned"]
    service.take_back(labels[0])
    assert list(service.labels("cancel")) == labels[1:]
    with pytest.raises(NotFoundError):
        service.take_back(labels[0])
    assert service.topic("cancel")["etag"] != mine["etag"]
    service.delete_topic("cancel")
    assert service.topics() == []


def test_faults_are_those_of_the_library(service: Client) -> None:
    with pytest.raises(BadRequestError):
        service.search("...")
    with pytest.raises(NotFoundError, match="no store 'other'"):
        service.search(PHRASE, store="other")
    with pytest.raises(InputError, match="from -1 to 1"):
        service.mine(PHRASE, threshold=7)
    with Client("http://127.0.0.1:9", retries=0) as nobody, pytest.raises(ServiceUnavailableError):
        nobody.stores()


@pytest.mark.slow
def test_a_key_allows_what_it_is_for(process: Server, calls: str, tmp_path: Path) -> None:
    keys = tmp_path / "keys.jsonl"
    key = new_key(keys, "ann", ["read"])
    with served(calls, "--keys", str(keys)) as server:
        with Client(server.address, api_key=key) as reader:
            assert reader.search(PHRASE)
            with pytest.raises(AccessError, match="curate"):
                reader.save_topic(TOPIC)
        with Client(server.address) as nobody, pytest.raises(AccessError, match="Bearer"):
            nobody.search(PHRASE)


def test_many_things_at_once(process: Server) -> None:
    async def ask() -> list[int]:
        async with AsyncClient(process.address) as service:
            searches = [service.search(PHRASE, top_k=number) for number in (1, 2, 3)]
            found = [len(hits) for hits in await asyncio.gather(*searches)]
            mined = [hit async for hit in service.iter_mine(PHRASE, threshold=0.5)]
            assert mined == list(await service.mine(PHRASE, threshold=0.5))
            ids = [doc_id async for doc_id in service.document_ids()]
            assert len(ids) == len(DOCUMENTS)
            with pytest.raises(NotFoundError):
                await service.document("none")
            return found

    assert asyncio.run(ask()) == [1, 2, 3]


def test_the_examples_of_the_documentation_run(server: Server) -> None:
    page = (REPOSITORY / "docs" / "clients.md").read_text("utf-8")
    programs = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(programs) == 2
    for program in programs:
        asking = program.replace("http://127.0.0.1:8000", server.address)
        assert printed([sys.executable, "-c", asking], env=ENVIRONMENT)
