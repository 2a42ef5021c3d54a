"""Labels over HTTP: an answered label is on the disk, whatever happens then."""

from __future__ import annotations

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from slice_os.labels.label import read_labels
from slice_os.service.settings import ServiceSettings

from .conftest import DOCUMENTS, Server, served

TEXT = "😀 Please end my plan."
LABEL: dict[str, Any] = {
    "topic": "cancel",
    "doc_id": "calls/ü 1.txt",
    "start": 9,
    "end": 20,
    "text": "end my plan",
    "label": True,
    "passage": {"start": 0, "end": 21, "text": TEXT},
}
KEY = {name: LABEL[name] for name in ("topic", "doc_id", "start", "end", "text")}


def labels(client: TestClient, **params: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/labels", params=params).json()["labels"]
    assert all(row.pop("date").endswith("Z") for row in found)
    return found


def test_labels_are_added_and_taken_back(client: TestClient, settings: ServiceSettings) -> None:
    assert labels(client) == []
    answer = client.post("/labels", json={"labels": [LABEL, LABEL | {"label": False}]})
    assert answer.json() == {"added": 2}
    assert labels(client) == [{"number": 2, **LABEL, "label": False}]
    assert client.request("DELETE", "/labels", json=KEY).status_code == 204
    assert labels(client) == [{"number": 1, **LABEL}]
    (label,) = read_labels(settings.work / "labels.jsonl")
    assert label.right
    assert client.request("DELETE", "/labels", json=KEY).status_code == 204
    nothing = client.request("DELETE", "/labels", json=KEY)
    assert (nothing.status_code, nothing.json()["error"]["code"]) == (404, "no_such_label")
    assert labels(client) == []


def test_readers_do_not_see_each_other_but_agree(client: TestClient, store_folder: Path) -> None:
    topic = {"name": "cancel", "phrases": ["end my plan"], "threshold": 0.5}
    client.post("/topics", json=topic)
    start = DOCUMENTS[0].text.index(LABEL["text"])
    words = KEY | {"start": start, "end": start + len(LABEL["text"])}
    ann, bob = (words | {"reader": name, "label": name == "ann"} for name in ("ann", "bob"))
    answer = client.post("/labels", json={"store": "calls", "labels": [ann, bob]})
    assert answer.json() == {"added": 2}
    (own,) = labels(client, reader="ann")
    assert (own["label"], own["reader"], own["origin"]["threshold"]) == (True, "ann", 0.5)
    assert own["origin"]["store"] == str(store_folder)
    assert [row["reader"] for row in labels(client)] == ["bob"]
    (found,) = client.get("/agreement").json()["topics"]
    assert (found["readers"], found["hits"], found["disputed"]) == (["ann", "bob"], 1, 1)
    assert client.get("/agreement", params={"topic": "other"}).json() == {"topics": []}
    (dispute,) = client.get("/disputes", params={"topic": "cancel"}).json()["hits"]
    assert [(row["reader"], row["label"]) for row in dispute] == [("ann", True), ("bob", False)]

    def mined(**reader: str) -> int:
        answer = client.post("/mine", json={"topics": ["cancel"], "verify": False, **reader})
        return sum(b'"label":false' in line for line in answer.content.splitlines())

    assert mined() == mined(reader="bob") > mined(reader="ann")
    client.post("/labels", json={"labels": [ann | {"reader": "eve", "settled": True}]})
    client.post("/labels", json={"labels": [bob]})
    assert client.get("/disputes").json() == {"hits": []}
    assert [row["label"] for row in labels(client)] == [True]
    settled = {**words, "reader": "eve", "settled": True}
    assert client.request("DELETE", "/labels", json=settled).status_code == 204
    assert len(client.get("/disputes").json()["hits"]) == 1
    nobody = client.request("DELETE", "/labels", json=words)
    assert nobody.status_code == 404


def test_labels_come_in_pages(client: TestClient) -> None:
    texts = [f"text {number}" for number in range(7)]
    rows = [{"topic": "ab"[n % 2], "text": text, "label": True} for n, text in enumerate(texts)]
    client.post("/labels", json={"labels": rows})
    found, after = [], 0
    while after is not None:
        page = client.get("/labels", params={"after": after, "limit": 2}).json()
        found += [row["text"] for row in page["labels"]]
        after = page["next"]
    assert found == texts
    assert [row["text"] for row in labels(client, topic="b")] == texts[1::2]
    assert [row["text"] for row in labels(client, after=6)] == ["text 6"]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"text": " "}, 422),
        ({"label": None}, 422),
        ({"topic": "a/b"}, 422),
        ({"start": -1}, 422),
        ({"text": "another"}, 400),
        ({"colour": "red"}, 422),
        ({"doc_id": "\ud800"}, 422),
        ({"passage": {"start": 0, "end": 1, "text": "\udfff"}}, 422),
    ],
)
def test_what_is_no_label_is_refused(
    client: TestClient, settings: ServiceSettings, change: dict[str, Any], status: int
) -> None:
    content = json.dumps({"labels": [LABEL, LABEL | change]})
    answer = client.post("/labels", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    assert not (settings.work / "labels.jsonl").exists()


def test_many_curators_lose_nothing(server: Server, tmp_path: Path) -> None:
    def curate(curator: int) -> None:
        with httpx.Client(base_url=server.address, timeout=60) as client:
            for number in range(10):
                row = {"topic": "cancel", "text": f"{curator} {number}", "label": True}
                assert client.post("/labels", json={"labels": [row]}).json() == {"added": 1}

    with ThreadPoolExecutor(4) as curators:
        list(curators.map(curate, range(4)))
    texts = {label.text for label in read_labels(tmp_path / "labels.jsonl")}
    assert texts == {f"{curator} {number}" for curator in range(4) for number in range(10)}


@pytest.mark.slow
@pytest.mark.release
def test_killing_the_service_loses_no_answered_label(store_folder: Path, tmp_path: Path) -> None:
    arguments = [str(store_folder), *("--work", str(tmp_path))]
    answered: list[str] = []

    def curate(address: str, curator: int) -> None:
        with httpx.Client(base_url=address, timeout=60) as client:
            for number in range(10_000):
                text = f"{curator} {number}"
                row = {"topic": "cancel", "text": text, "label": True}
                try:
                    client.post("/labels", json={"labels": [row]}).raise_for_status()
                except httpx.TransportError:
                    return
                answered.append(text)

    with served(*arguments) as server, ThreadPoolExecutor(2) as curators:
        running = [curators.submit(curate, server.address, number) for number in range(2)]
        while len(answered) < 20 and not any(each.done() for each in running):
            pass
        server.process.send_signal(signal.SIGKILL)
        for each in running:
            each.result()
    with served(*arguments) as server:
        answer = httpx.get(f"{server.address}/labels", params={"limit": 1000}, timeout=60).json()
    assert len(answered) >= 20
    assert set(answered) <= {row["text"] for row in answer["labels"]}
