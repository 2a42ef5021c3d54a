"""Mining streams its hits, and ends with the request."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from slice_os import Corpus, Hit
from slice_os.errors import ModelError
from slice_os.hits.bands import FINDINGS
from slice_os.search.listing import Search
from slice_os.service.app import create_app
from slice_os.service.asgi.steps import Stopped, stopping
from slice_os.service.services import ServedStores
from slice_os.service.settings import ServiceSettings
from slice_os.threads import CHECKPOINT
from slice_os.topics import Topic

from .conftest import asking, in_thread

PHRASES = ["I want to cancel my subscription", "my card was stolen"]


def lines(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    return [orjson.loads(line) for line in answer.content.splitlines()]


def hits(answer: httpx.Response) -> list[dict[str, Any]]:
    return [line["hit"] for line in lines(answer) if "hit" in line]


def test_the_stream_has_the_hits_of_the_library(client: TestClient, store_folder: Path) -> None:
    answer = client.post("/mine", json={"phrases": PHRASES, "threshold": 0.5})
    with Corpus(store_folder) as corpus:
        expected = corpus.mine(PHRASES, threshold=0.5)
    assert hits(answer) == [hit.to_dict() for hit in expected]
    last = lines(answer)[-1]
    cut = {"threshold": 0.5, "min_probability": None}
    assert last == {"summary": {"hits": len(expected), "complete": True, "exhaustive": True, **cut}}
    assert {"progress": {"done": len(expected), "of": None}} in lines(answer)


def test_stores_are_asked_in_the_threads_for_mining_alone(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    get, threads = ServedStores.get, set()

    def noted(self: ServedStores, name: str | None = None) -> Corpus:
        threads.add(threading.current_thread().name.partition("_")[0])
        return get(self, name)

    monkeypatch.setattr(ServedStores, "get", noted)
    body = {"phrases": PHRASES, "exhaustive": False}
    assert lines(client.post("/mine", json=body))[-1]["summary"]["complete"]
    assert threads == {"mine"}


def test_the_stream_ends_at_its_limit(client: TestClient) -> None:
    answer = client.post("/mine", json={"phrases": PHRASES, "threshold": 0.3, "limit": 2})
    assert len(hits(answer)) == 2
    told = lines(answer)[-1]["summary"]
    assert (told["hits"], told["complete"], told["exhaustive"]) == (2, False, True)


@pytest.mark.parametrize("listing", ["with", "without", "counts"])
def test_documents_are_listed_as_the_library_lists_them(
    client: TestClient, store_folder: Path, listing: str
) -> None:
    body = {"phrases": PHRASES, "listing": listing, "max_count": 1}
    answer = lines(client.post("/mine", json=body))
    with Corpus(store_folder) as corpus:
        listed = corpus.list_documents(PHRASES, listing, max_count=1)
        expected = [{"document": one.to_dict()} for one in listed]
    assert [line for line in answer if "document" in line] == expected
    assert answer[-1]["summary"]["documents"] == len(expected)
    client.app.state.services.topics.add(Topic("leave", tuple(PHRASES)))
    body = {"topics": ["leave"], "listing": listing, "max_count": 1}
    found = [
        line["document"]
        for line in lines(client.post("/mine", json=body))[:-1]
        if "document" in line
    ]
    assert [one["doc_id"] for one in found] == [one["document"]["doc_id"] for one in expected]
    refused = client.post("/mine", json=body | {"before": 1})
    assert (refused.status_code, "leave out before" in refused.text) == (400, True)


def test_documents_and_topics_are_a_table(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, phrase in (("go", PHRASES[0]), ("moon", "zebras dance on the moon")):
        client.app.state.services.topics.add(Topic(name, (phrase,)))
    body = {"topics": ["moon", "go"]}
    found = client.post("/matrix", json=body).json()
    assert [one["topic"] for one in found["findings"]] == ["moon", "go"]
    listed = lines(client.post("/mine", json={**body, "listing": "without"}))
    assert found["cells"] == [line["document"] for line in listed if "document" in line]
    for counts in found["findings"]:
        own = [one for one in found["cells"] if one["topic"] == counts["topic"]]
        assert len(own) == found["documents"] == sum(counts[one] for one in FINDINGS)
        order = [FINDINGS.index(one["finding"]) for one in own]
        assert order == sorted(order)
    assert found["findings"][0]["has"] == 0 < found["findings"][1]["has"]
    text, read = Corpus.text, []
    monkeypatch.setattr(Corpus, "text", lambda self, key: read.append(key) or text(self, key))
    assert client.post("/matrix", json={**body, "sections": True}).json() == found
    assert sorted(read) == sorted({one["doc_id"] for one in found["cells"]})
    few = client.post("/matrix", json={**body, "limit": 1}).json()
    first = found["cells"][0]["doc_id"]
    assert [one["doc_id"] for one in few["cells"]] == [first, first]
    assert few["findings"] == found["findings"]
    table = client.post("/matrix?format=csv", json=body)
    assert table.headers["content-disposition"].endswith('"matrix.csv"')
    assert table.text.startswith("doc_id,moon,go,")
    assert len(table.text.splitlines()) == 1 + found["documents"]
    assert client.post("/matrix", json={"topics": ["none"]}).status_code == 404


def test_turns_around_hits_are_their_passages(client: TestClient, store_folder: Path) -> None:
    body = {"phrases": PHRASES, "before": 1, "after": 1, "max_count": 1}
    with Corpus(store_folder) as corpus:
        found = list(corpus.around(corpus.mine(PHRASES), 1, 1))
    first = {hit.doc_id: hit.to_dict() for hit in reversed(found)}
    assert hits(client.post("/mine", json=body)) == list(reversed(first.values()))


def test_the_topics_of_a_request_are_read_once(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, times = client.app.state.services.topics, []
    names = [folder.add(Topic(name, (name,))).topic.name for name in ("one", "two", "three")]
    read = folder.read
    monkeypatch.setattr(folder, "read", lambda: times.append(1) or read())
    assert client.post("/mine", json={"topics": names}).status_code == 200
    assert len(times) == 1


def test_topics_are_mined_by_name(client: TestClient) -> None:
    client.app.state.services.topics.add(Topic("cancel", tuple(PHRASES[:1]), threshold=0.5))
    found = hits(client.post("/mine", json={"topics": ["cancel"]}))
    assert {hit["topic"] for hit in found} == {"cancel"}
    answer = client.post("/mine", json={"topics": ["none"]})
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "no_such_topic"


@pytest.mark.parametrize(
    "body",
    [{}, {"phrases": "a", "topics": ["b"]}, {"topics": []}, {"topics": ["a"], "threshold": 0.4}],
)
def test_phrases_or_topics_are_mined(client: TestClient, body: dict[str, Any]) -> None:
    assert client.post("/mine", json=body).status_code == 422


def test_errors_before_the_first_hit_have_a_status(client: TestClient) -> None:
    answer = client.post("/mine", json={"phrases": "a", "where": {"colour": "red"}})
    assert answer.status_code == 400
    assert "no metadata field 'colour'" in answer.json()["error"]["message"]


def test_highlights_are_what_mining_finds_in_a_document(client: TestClient) -> None:
    body = {"phrases": PHRASES, "threshold": 0.4}
    mined = hits(client.post("/mine", json=body))
    for doc_id in ("calls/<b>2</b>.txt", "chat-1"):
        marked = client.post(f"/documents/{doc_id}/highlights", json=body).json()
        assert marked["hits"] == [hit for hit in mined if hit["doc_id"] == doc_id] != []
        for hit in marked["hits"]:
            assert marked["text"][hit["start"] : hit["end"]] == hit["text"]
    assert client.post("/documents/none/highlights", json=body).status_code == 404


def test_a_verifier_that_is_named_needs_no_other(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"phrases": PHRASES, "verify": True, "verifier": "similarity"}
    expected = hits(client.post("/mine", json=body))

    def refuse(*_: object) -> None:
        raise ModelError("no verifier was fitted to this model")

    monkeypatch.setattr(Corpus, "refinement", refuse)
    assert hits(client.post("/mine", json=body)) == expected != []
    assert client.post("/documents/chat-1/highlights", json=body).status_code == 200


def test_a_scan_finds_what_a_store_would(client: TestClient) -> None:
    documents = [
        {"text": "Please 😀 cancel my subscription."},
        {"id": "b", "text": "Nice weather."},
    ]
    (hit,) = client.post(
        "/scan", json={"documents": documents, "phrases": PHRASES[0], "threshold": 0.6}
    ).json()["hits"]
    assert Hit.from_dict(hit).doc_id == "0"
    assert documents[0]["text"][hit["start"] : hit["end"]] == hit["text"]


@pytest.fixture
def endless(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch
) -> tuple[FastAPI, list[int]]:
    """An app whose mining never ends by itself, and what it adds to for every hit."""
    seen: list[int] = []
    limits = replace(settings.limits, mine_seconds=5.0, seconds=5.0)
    app = create_app(replace(settings, limits=limits))
    corpus = app.state.services.stores.get()
    (hit, *_) = corpus.search(PHRASES)

    def mined(_: Search) -> Iterator[Hit]:
        while True:
            seen.append(1)
            time.sleep(0.001)
            yield hit

    monkeypatch.setattr(Search, "hits", mined)
    return app, seen


def ends(seen: list[int]) -> bool:
    """Whether nothing is added any more, after a moment; well before the time is over."""
    for _ in range(20):
        before = len(seen)
        time.sleep(0.1)
        if len(seen) == before:
            return True
    return False


@pytest.mark.slow
def test_mining_ends_when_the_time_is_over(endless: tuple[FastAPI, list[int]]) -> None:
    app, seen = endless
    with asking(app) as client:
        answer = client.post("/mine", json={"phrases": PHRASES})
    assert lines(answer)[-1]["error"]["code"] == "time_limit"
    assert ends(seen)


@pytest.mark.parametrize("path", ["mine", "documents/chat-1/highlights"])
def test_work_ends_when_the_client_goes_away(endless: tuple[FastAPI, list[int]], path: str) -> None:
    app, seen = endless
    with in_thread(app) as address:
        url, body = f"{address}/{path}", {"phrases": PHRASES}
        for seconds in (0.5, 5, 50):  # on a busy machine, work may not have begun
            with (
                suppress(httpx.ReadTimeout),
                httpx.stream("POST", url, json=body, timeout=seconds) as answer,
            ):
                next(answer.iter_lines())
            if seen:
                break
        assert seen
        assert ends(seen)
        assert app.state.services.pool.admitted == 0
        assert httpx.get(f"{address}/health").status_code == 200


def test_verifying_ends_between_batches(client: TestClient) -> None:
    corpus = client.app.state.services.stores.get()
    stop = threading.Event()
    stop.set()

    def verified() -> None:
        CHECKPOINT.set(stopping(stop))
        corpus.mine(PHRASES, threshold=0.3, verify=True)

    with pytest.raises(Stopped):
        contextvars.copy_context().run(verified)
