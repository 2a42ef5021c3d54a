"""Topics over HTTP: several people change them, and learn from what they labelled."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from slice_os import Corpus
from slice_os.combinations import match_topics
from slice_os.hits.hit import Hit
from slice_os.labels.label import Label
from slice_os.service import nearness
from slice_os.service.app import create_app
from slice_os.service.known import Known
from slice_os.service.resources import counts
from slice_os.service.settings import ServiceSettings
from slice_os.threads import checkpoint
from slice_os.topics import mine_topics, read_topic
from slice_os.topics.table import read_table
from slice_os.topics.topic import Topic
from tests.service.conftest import asking

CANCEL: dict[str, Any] = {
    "name": "cancel",
    "description": "How <customers> leave",
    "phrases": ["I want to cancel my subscription", "end my plan"],
    "counter_phrases": ["please cancel my flight"],
    "threshold": 0.6,
    "where": {"domain": ["media"], "csat": {"lte": 4}},
    "must_match": ["please end my plan"],
    "must_not_match": ["the weather is nice"],
}


@pytest.fixture
def etag(client: TestClient) -> str:
    """Of the topic `CANCEL`, which is there."""
    answer = client.post("/topics", json=CANCEL)
    assert answer.status_code == 201
    return str(answer.headers["ETag"])


def test_a_topic_is_kept_as_a_file(client: TestClient, settings: ServiceSettings) -> None:
    assert client.get("/topics").json() == {"topics": [], "problems": []}
    answer = client.post("/topics", json=CANCEL)
    assert answer.status_code == 201
    assert answer.headers["Location"] == "topics/cancel"
    topic = answer.json()
    assert answer.headers["ETag"] == f'"{topic["etag"]}"'
    assert {key: topic[key] for key in CANCEL} == CANCEL | {
        "where": {"domain": "media", "csat": {"lte": 4}}
    }
    assert client.get("/topics").json() == {"topics": [topic], "problems": []}
    assert client.get("/topics/cancel").json() == topic
    assert read_topic(settings.work / "topics" / "cancel.toml").phrases == tuple(CANCEL["phrases"])


def test_what_was_read_can_be_sent_back(client: TestClient, etag: str) -> None:
    topic = client.get("/topics/cancel").json()
    del topic["etag"]
    answer = client.put("/topics/cancel", json=topic, headers={"If-Match": etag})
    assert (answer.status_code, answer.headers["ETag"]) == (200, etag)


def test_of_two_changes_at_once_one_is_refused(client: TestClient, etag: str) -> None:
    def change(number: int) -> int:
        changed = CANCEL | {"description": f"by {number}"}
        headers = {"If-Match": etag}
        return client.put("/topics/cancel", json=changed, headers=headers).status_code

    with ThreadPoolExecutor(4) as threads:
        statuses = list(threads.map(change, range(4)))
    assert sorted(statuses) == [200, 412, 412, 412]
    kept = client.get("/topics/cancel").json()["description"]
    assert kept == f"by {statuses.index(200)}"
    answer = client.delete("/topics/cancel", headers={"If-Match": etag})
    assert (answer.status_code, answer.json()["error"]["code"]) == (412, "topic_changed")


def test_put_renames_a_topic_and_its_labels(client: TestClient, etag: str) -> None:
    label = {"topic": "cancel", "text": "shut down my account", "label": True}
    client.post("/labels", json={"labels": [label, {**label, "topic": "other"}]})
    changed = CANCEL | {"name": "Wants to cancel", "description": "who leaves"}
    answer = client.put("/topics/cancel", json=changed, headers={"If-Match": etag})
    assert (answer.status_code, answer.json()["name"]) == (200, "Wants to cancel")
    assert client.get("/topics/cancel").status_code == 404
    renamed = client.get("/topics/Wants%20to%20cancel").json()
    assert (renamed["description"], renamed["etag"]) == ("who leaves", answer.json()["etag"])
    labels = client.get("/labels").json()["labels"]
    assert [one["topic"] for one in labels] == ["Wants to cancel", "other"]


def test_a_topic_whose_labels_cannot_be_renamed_keeps_its_name(
    client: TestClient, settings: ServiceSettings, etag: str
) -> None:
    (settings.work / "labels.jsonl").write_text("no label\n")
    changed = CANCEL | {"name": "Wants to cancel"}
    answer = client.put("/topics/cancel", json=changed, headers={"If-Match": etag})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_input")
    assert client.get("/topics/cancel").headers["ETag"] == etag
    assert client.get("/topics/Wants%20to%20cancel").status_code == 404


def test_put_adds_and_replaces(client: TestClient) -> None:
    body = {key: value for key, value in CANCEL.items() if key != "name"}
    assert client.put("/topics/cancel", json=body).status_code == 201
    again = client.put("/topics/cancel", json=body)
    assert (again.status_code, again.json()["error"]["code"]) == (409, "topic_exists")
    whatever = client.put(
        "/topics/cancel", json={"phrases": ["end it"]}, headers={"If-Match": "*"}
    ).json()
    assert {**whatever, "etag": ""} == {"name": "cancel", "phrases": ["end it"], "etag": ""}
    assert client.delete("/topics/cancel").status_code == 204
    gone = client.get("/topics/cancel")
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "no_such_topic")


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/topics", {"name": "../x", "phrases": ["a"]}, 422),
        ("POST", "/topics", {"name": "x", "phrases": []}, 422),
        ("POST", "/topics", {"name": "x", "phrases": [" "]}, 422),
        ("POST", "/topics", {"name": "x", "phrases": ["a"], "phrase": "b"}, 422),
        ("POST", "/topics", {"name": "x", "phrases": ["a"], "where": {"a": {"is": 3}}}, 400),
        ("POST", "/topics", {"name": "x", "phrases": ["a"], "threshold": 1, "precision": 1}, 400),
        ("PUT", "/topics/x", {"name": "y", "phrases": ["a"]}, 400),
        ("PUT", "/topics/..%2Fx", {"phrases": ["a"]}, 404),
        ("PUT", "/topics/.x", {"phrases": ["a"]}, 422),
        ("DELETE", "/topics/none", None, 404),
        ("POST", "/topics/none/test", None, 404),
        ("POST", "/topics/none/learn", None, 404),
        ("GET", "/topics/none/counts", None, 404),
    ],
)
def test_what_cannot_be_is_refused(
    client: TestClient, settings: ServiceSettings, method: str, path: str, body: Any, status: int
) -> None:
    answer = client.request(method, path, json=body)
    assert answer.status_code == status, answer.text
    assert "\n" not in answer.json()["error"]["message"]
    assert not list(settings.work.rglob("*.toml"))


def test_one_broken_file_does_not_hide_the_others(
    client: TestClient, settings: ServiceSettings, etag: str
) -> None:
    (settings.work / "topics" / "broken.toml").write_text("phrases = 3")
    answer = client.get("/topics").json()
    assert [topic["name"] for topic in answer["topics"]] == ["cancel"]
    (problem,) = answer["problems"]
    assert problem.startswith("broken.toml: phrases: 3 is no list")


def test_examples_are_tried(client: TestClient, etag: str) -> None:
    answer = client.post("/topics/cancel/test").json()
    assert answer["passed"] is True
    assert [(case["expected"], case["passed"]) for case in answer["cases"]] == [
        (True, True),
        (False, True),
    ]
    assert "end my plan" in answer["cases"][0]["hit"]["text"]
    assert "needs 0.6" in answer["cases"][1]["why"]


def test_near_misses_are_suggested(client: TestClient, etag: str) -> None:
    strict = CANCEL | {"threshold": 0.99, "where": {}}
    client.put("/topics/cancel", json=strict, headers={"If-Match": etag})
    body = {"margin": 0.9, "limit": 2}
    suggestions = client.post("/topics/cancel/suggest", json=body).json()["suggestions"]
    assert 0 < len(suggestions) <= 2
    assert all(each["hits"][0]["topic"] == "cancel" for each in suggestions)


def test_a_topic_learns_from_labels(
    client: TestClient, settings: ServiceSettings, etag: str
) -> None:
    nothing = client.post("/topics/cancel/learn")
    assert nothing.status_code == 400
    path = settings.work / "topics" / "cancel.toml"
    path.write_text(f"# ours\n{path.read_text()}")
    labels = [
        {"topic": "cancel", "text": "shut down my account", "label": True},
        {"topic": "cancel", "text": "cancel my order", "label": False},
    ]
    client.post("/labels", json={"labels": labels})
    topic = client.post("/topics/cancel/learn").json()
    assert topic["learned"]["labels"] == 2
    assert "shut down my account" in topic["learned"]["phrases"]
    assert topic["etag"] not in etag
    assert topic.pop("changes").keys() == {"before", "after", "gained", "lost"}
    assert client.get("/topics/cancel").json() == topic
    assert path.read_text().startswith("# ours\n")
    stale = client.post("/topics/cancel/learn", headers={"If-Match": etag})
    assert stale.status_code == 412


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("day", ["2026-06-01", "2026-06-02"]),
        ("document", ["calls/<b>2</b>.txt", "calls/ü 1.txt"]),
        ("csat", ["2", "4"]),
        ("agent", ["-", "<i>Ann</i>"]),
    ],
)
def test_hits_are_counted(
    client: TestClient, store_folder: Path, etag: str, by: str, keys: list[str]
) -> None:
    answer = client.get("/topics/cancel/counts", params={"by": by, "date_field": "day"}).json()
    assert [count["key"] for count in answer["counts"]] == keys
    topic = client.get("/topics/cancel").json()
    with Corpus(store_folder) as corpus:
        given = Topic("cancel", tuple(topic["phrases"]), threshold=topic["threshold"])
        hits = [hit for hit in mine_topics(corpus, [given]) if hit.metadata["domain"] == "media"]
    assert answer["total"] == len(hits) == sum(count["hits"] for count in answer["counts"])
    assert answer["documents"] == 2


def test_hits_are_counted_within_a_field(client: TestClient, etag: str) -> None:
    params = {"by": "month", "date_field": "day", "within": "csat"}
    answer = client.get("/topics/cancel/counts", params=params).json()
    rows = [(row["key"], row["within"], row["documents"], row["of"]) for row in answer["counts"]]
    assert rows == [("2026-06", "2", 1, None), ("2026-06", "4", 1, None)]
    table = client.get("/counts.csv", params=params).text
    assert table.startswith("topic,month,csat,hits,documents")
    unknown = client.get("/counts", params={"within": "nothing"})
    assert unknown.status_code == 400


def test_counts_tell_what_a_sample_tells_and_no_other_labels_do(
    client: TestClient, settings: ServiceSettings, store_folder: Path, etag: str
) -> None:
    def counted() -> Any:
        return client.get("/topics/cancel/counts").json()

    with Corpus(store_folder) as corpus:
        topic, _ = read_table(CANCEL, "cancel")
        assert topic is not None
        hit = next(mine_topics(corpus, [topic]))
    before = counted()["total"]
    client.post("/labels", json={"labels": [Label.of(hit, right=False).to_row()]})
    rejected = counted()
    assert (rejected["total"], rejected["estimate"]) == (before - 1, None)
    mined = client.post("/mine", json={"topics": ["cancel"]}).text.splitlines()
    labels = [line["hit"]["label"] for line in map(json.loads, mined) if "hit" in line]
    assert sorted(labels, key=str) == [False, None]
    while waiting := client.post("/topics/cancel/estimate", json={"size": 60}).json()["hits"]:
        labels = [Label.of(Hit.from_dict(one), right=False).to_row() for one in waiting]
        client.post("/labels", json={"labels": labels})
    found = client.post("/topics/cancel/estimate").json()["estimate"]
    assert counted()["estimate"] == client.get("/topics/cancel/estimate").json() == found
    with asking(create_app(settings)) as again:
        assert again.get("/topics/cancel/counts").json()["estimate"] == found
        again.post("/topics/cancel/estimate", json={"size": 1})
        assert again.get("/topics/cancel/estimate").json() == found


def test_all_topics_are_counted_in_one_pass(client: TestClient, etag: str) -> None:
    client.post("/topics", json={"name": "never", "phrases": ["xylophones"], "threshold": 1})
    params = {"by": "csat"}
    found = client.get("/counts", params=params).json()["topics"]
    assert [each["topic"] for each in found] == ["cancel", "never"]
    for each in found:
        assert client.get(f"/topics/{each['topic']}/counts", params=params).json() == each
    lines = client.get("/counts/progress", params=params).text.splitlines()
    told = [json.loads(line) for line in lines]
    assert [one["counts"]["topics"] for one in told if "counts" in one] == [found]
    assert told[-1]["progress"]["of"] == 4
    assert found[1] == {
        "topic": "never",
        "total": 0,
        "documents": 0,
        "accepted": 0,
        "rejected": 0,
        "estimate": None,
        "of": 4,
        "by": "csat",
        "counts": [],
    }
    assert client.get("/counts.csv", params=params).text.splitlines()[3:] == ["never,,0,0,,"]


def test_weeks_are_counted_beside_all_documents_of_each(client: TestClient, etag: str) -> None:
    params = {"by": "week", "date_field": "day"}
    (found,) = client.get("/counts", params=params).json()["topics"]
    assert (found["documents"], found["of"]) == (2, 4)
    assert found["counts"] == [
        {"key": "2026-06-01", "within": "", "hits": 2, "documents": 2, "of": 3}
    ]
    lines = client.get("/counts.csv", params=params).text.splitlines()
    assert lines == ["topic,week,hits,documents,of,per_100", "cancel,2026-06-01,2,2,3,66.667"]


def test_a_field_may_have_the_name_of_another_column(
    settings: ServiceSettings, own_store: str
) -> None:
    with asking(create_app(replace(settings, stores={"own": own_store}))) as client:
        fields = {"hits": "many", "day": "2026-06-03"}
        said = {"id": "said", "text": "I want to cancel my subscription.", "metadata": fields}
        client.post("/documents", json={"documents": [said]})
        client.post("/topics", json=CANCEL | {"where": {"_id": "said"}})
        for by, within in (("day", "hits"), ("hits", "day"), ("day", "day")):
            params = {"by": by, "date_field": "day", "within": within}
            head, row = client.get("/counts.csv", params=params).text.splitlines()
            names = [f"{name}: value" if name == "hits" else name for name in (by, within)]
            names[1] += ": value" if by == within else ""
            assert head == f"topic,{names[0]},{names[1]},hits,documents"
            assert row == f"cancel,{fields[by]},{fields[within]},1,1"


def test_a_field_that_no_document_has_is_refused(client: TestClient, etag: str) -> None:
    for params in ({"date_field": "dya"}, {"by": "dya"}):
        problem = client.get("/counts", params=params)
        assert problem.status_code == 400
        assert "no metadata field 'dya' (did you mean 'day'?)" in problem.text
        assert ("; or count by document, day, week, month" in problem.text) == ("by" in params)
    (found,) = client.get("/counts").json()["topics"]
    assert [(one["key"], one["hits"], one["of"]) for one in found["counts"]] == [("-", 2, None)]


def test_counts_follow_the_store_and_the_topic(settings: ServiceSettings, own_store: str) -> None:
    with asking(create_app(replace(settings, stores={"own": own_store}))) as client:

        def total() -> int:
            (found,) = client.get("/counts").json()["topics"]
            return int(found["total"])

        tag = client.post("/topics", json=CANCEL | {"where": {}}).headers["ETag"]
        assert (total(), total()) == (2, 2)
        more = {"id": "more", "text": "I want to cancel my subscription."}
        client.post("/documents", json={"documents": [more]})
        assert total() == 3
        if (folder := Path(own_store)).is_dir():
            # As if SQLite had deleted its log between two looks at the folder.
            (folder / "store.sqlite-gone").symlink_to("nowhere")
        assert total() == 3
        other = CANCEL | {"where": {}, "threshold": 1}
        client.put("/topics/cancel", json=other, headers={"If-Match": tag})
        assert total() == 0


@pytest.mark.parametrize("change", [None, Topic("cancel", ("my card was stolen",))])
def test_counts_are_of_one_state_of_the_topics(
    client: TestClient, etag: str, monkeypatch: pytest.MonkeyPatch, change: Topic | None
) -> None:
    folder, before = client.app.state.services.topics, client.get("/topics/cancel/counts").json()
    client.app.state.services.counted = Known()

    def near(*asked: Any) -> dict[str, int]:
        monkeypatch.undo()  # somebody changes the topic while it is counted
        folder.replace(change, None) if change else folder.delete("cancel", None)
        return nearness.near(*asked)

    monkeypatch.setattr(counts, "near", near)
    assert client.get("/topics/cancel/counts").json() == before
    after = client.get("/topics/cancel/counts")
    assert (after.status_code, after.json() == before) == (200 if change else 404, False)


def test_counts_go_on_where_their_time_was_over(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def mined(_corpus: Corpus, topics: list[Topic], **_options: Any) -> Iterator[Hit]:
        asked.append([one.name for one in topics])
        while len(asked) == 2:
            checkpoint()
            time.sleep(0.01)
        return iter(())

    monkeypatch.setattr(counts, "mine_topics", mined)
    monkeypatch.setattr(counts, "_TOGETHER", 2)
    limits = replace(settings.limits, mine_seconds=2.0)
    with asking(create_app(replace(settings, limits=limits))) as client:
        client.get("/stores")  # opens the store
        for name, phrases in (("a", ["b", "c", "d"]), ("b", ["d", "c"]), ("c", ["e", "f"])):
            client.post("/topics", json={"name": name, "phrases": phrases})
        answer = client.get("/counts")
        assert answer.status_code == 504
        assert "counts go on where they ended" in answer.json()["error"]["message"]
        assert [one["topic"] for one in client.get("/counts").json()["topics"]] == ["a", "b", "c"]
    assert asked == [["a", "b"], ["c"], ["c"]]


def test_no_topic_has_no_counts(client: TestClient) -> None:
    assert client.get("/counts").json() == {"topics": [], "problems": []}


def test_a_rule_without_its_topic_fails_alone(client: TestClient, etag: str) -> None:
    own = client.get("/topics/cancel").json()
    for table in ({"name": "sorry", "phrases": own["phrases"]}, {"name": "rule", "all": ["sorry"]}):
        assert client.post("/topics", json=table).status_code == 201
    client.delete("/topics/sorry", headers={"If-Match": "*"})
    problem = "topic 'rule': 'sorry' is not among these topics; there are cancel"
    found = client.get("/counts", params={"by": "document"}).json()
    assert [one["topic"] for one in found["topics"]] == ["cancel"]
    assert found["topics"][0]["total"] == 2
    assert found["problems"] == [problem]
    whole = {"name": "whole", "none": ["cancel"]}
    assert client.post("/match", json={}).json() == {
        "total": 0,
        "matches": [],
        "next": None,
        "problems": [problem],
    }
    assert client.post("/topics", json=whole).status_code == 201
    matched = client.post("/match", json={}).json()
    assert matched["problems"] == [problem]
    pages, offset = [], 0
    while offset is not None:
        page = client.post("/match", json={"offset": offset, "limit": 1}).json()
        pages += page["matches"]
        offset = page["next"]
    assert pages == matched["matches"]
    assert {one["topic"] for one in matched["matches"]} == {"whole"}
    assert client.post("/match", json={"topics": ["rule"]}).status_code == 400
    alone = client.get("/topics/rule/counts", params={"by": "document"})
    assert (alone.status_code, alone.json()["error"]["message"]) == (400, problem)
    lines = client.get("/counts.csv", params={"by": "document"}).text.splitlines()
    assert lines[0].endswith(",problem")
    assert lines[-1].startswith("rule,")
    assert problem in lines[-1]


def test_rules_match_and_are_counted(client: TestClient, store_folder: Path) -> None:
    stolen = {"name": "stolen", "phrases": ["my card was stolen"], "threshold": 0.7}
    sorry = {"name": "sorry", "phrases": ["I am sorry to hear that"], "threshold": 0.7}
    rule = {
        "name": "unhelped",
        "all": [{"topic": "stolen", "speaker": "customer"}],
        "none": [{"topic": "sorry", "after": "stolen", "within": "1 word"}],
        "must_match": ["customer: my card was stolen\nagent: what a pity"],
    }
    for topic in (stolen, sorry, rule):
        assert client.post("/topics", json=topic).status_code == 201
    kept = client.get("/topics/unhelped").json()
    assert {key: kept[key] for key in rule} == rule
    assert client.post("/topics/unhelped/test").json()["passed"]
    answer = client.post("/match", json={}).json()
    assert answer["total"] == 0  # the agent is sorry
    loose = {**rule, "none": [{"topic": "sorry", "before": "stolen"}]}
    assert client.post("/match", json={"rule": loose}).json()["matches"][0]["doc_ids"] == ["chat-1"]
    headers = {"If-Match": "*"}
    assert client.put("/topics/unhelped", json=loose, headers=headers).status_code == 200
    answer = client.post("/match", json={"topics": ["unhelped"]}).json()
    with Corpus(store_folder) as corpus:
        topics = [read_table(one, "")[0] for one in (stolen, sorry, loose)]
        expected = [one.to_dict() for one in match_topics(corpus, list(filter(None, topics)))]
    assert answer == {"total": 1, "matches": expected, "next": None, "problems": []}
    assert expected[0]["lacks"][0]["nearest"]["text"] == "I am sorry to hear that"
    counts = client.get("/counts", params={"by": "domain"}).json()["topics"]
    assert [(one["topic"], one["documents"]) for one in counts] == [
        ("sorry", 1),
        ("stolen", 1),
        ("unhelped", 1),
    ]
    assert client.post("/match", json={"topics": ["sorry"]}).status_code == 400
    lone = {"name": "x", "none": ["never"]}
    assert "never" in client.post("/match", json={"rule": lone}).json()["error"]["message"]


def test_what_is_missed_is_estimated_once_all_is_labelled(client: TestClient, etag: str) -> None:
    drawn = client.post("/topics/cancel/estimate", json={"size": 5}).json()
    assert drawn["estimate"] is None
    assert drawn["sampled"] == len(drawn["hits"]) == 2  # of the passages that the topic is for
    hits = [Hit.from_dict(hit) for hit in drawn["hits"]]
    for left, hit in zip((1, 0), hits, strict=True):
        client.post("/labels", json={"labels": [Label.of(hit, right=True).to_row()]})
        answer = client.post("/topics/cancel/estimate", json={"size": 5}).json()
        assert len(answer["hits"]) == left
    assert answer["estimate"]["labels"] == 2
    assert answer["estimate"]["cut"]["recall"]["value"] == 1
    assert answer["labels_to_halve"] == 6
