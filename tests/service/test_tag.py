"""Tagging over HTTP: the topics of texts that are not stored."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

CANCEL = {"name": "cancel", "phrases": ["I want to cancel my subscription"], "threshold": 0.6}
STOLEN = {"name": "stolen", "phrases": ["my card was stolen"], "where": {"domain": "finance"}}
TEXTS = [
    {"id": "a", "text": "😀 I'd like to cancel my subscription."},
    {"text": "My card was stolen.", "metadata": {"domain": "finance"}},
    {"id": "a", "text": "My card was stolen."},
    {"id": "c", "text": ""},
]


@pytest.fixture(autouse=True)
def topics(client: TestClient) -> None:
    for topic in (CANCEL, STOLEN):
        assert client.post("/topics", json=topic).status_code == 201


def test_texts_get_the_names_of_their_topics(client: TestClient) -> None:
    found = client.post("/tag", json={"documents": TEXTS}).json()["documents"]
    assert [each["id"] for each in found] == ["a", None, "a", "c"]
    assert [each["topics"] for each in found] == [["cancel"], ["stolen"], [], []]
    (hit,) = found[0]["hits"]
    text = str(TEXTS[0]["text"])
    assert (hit["doc_id"], hit["topic"]) == ("a", "cancel")
    assert text[hit["start"] : hit["end"]] == hit["text"]


def test_only_the_topics_that_are_named(client: TestClient) -> None:
    body = {"documents": TEXTS, "topics": ["stolen"]}
    found = client.post("/tag", json=body).json()["documents"]
    assert [each["topics"] for each in found] == [[], ["stolen"], [], []]
    unknown = client.post("/tag", json={"documents": TEXTS, "topics": ["none"]})
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "no_such_topic")


def test_a_changed_topic_counts_at_once(client: TestClient) -> None:
    never = CANCEL | {"threshold": 1.0}
    client.put("/topics/cancel", json=never, headers={"If-Match": "*"})
    found = client.post("/tag", json={"documents": TEXTS}).json()["documents"]
    assert found[0]["topics"] == []


def test_no_text_and_no_topic(client: TestClient) -> None:
    assert client.post("/tag", json={"documents": []}).json() == {"documents": []}
    body = {"documents": TEXTS[:1], "topics": []}
    found = client.post("/tag", json=body).json()["documents"]
    assert found == [{"id": "a", "topics": [], "hits": []}]
