"""The service answers what the library finds, and every error in one shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import httpx
import pytest
from starlette.testclient import TestClient

from slice_os import Corpus, Hit
from slice_os.service.app import create_app
from slice_os.service.settings import ServiceSettings
from slice_os.verifier.claims import Claim, Verdict
from slice_os.verifier.registry import VERIFIERS

from .conftest import DOCUMENTS, Server, asking

PHRASE = "I want to cancel my subscription"


@pytest.fixture
def kind() -> str:
    """Of the store."""
    return "local"


def test_a_search_finds_what_the_library_finds(client: TestClient, store_folder: str) -> None:
    answer = client.post("/search", json={"phrases": PHRASE, "top_k": 3}).json()
    with Corpus(store_folder) as corpus:
        expected = corpus.search(PHRASE, top_k=3)
    assert [Hit.from_dict(hit).text for hit in answer["hits"]] == [hit.text for hit in expected]
    assert answer["hits"] == [hit.to_dict() for hit in expected]
    assert answer["exhaustive"] is expected.exhaustive
    assert answer["threshold"] is None


def test_a_store_that_is_down_does_not_hide_the_others(settings: ServiceSettings) -> None:
    stores = {"down": "http://127.0.0.1:9/calls", **settings.stores}
    with asking(create_app(replace(settings, stores=stores))) as client:
        answer = client.get("/stores")
    assert answer.status_code == 200
    assert [store["name"] for store in answer.json()["stores"]] == ["calls"]
    (fault,) = answer.json()["unavailable"]
    assert fault["name"] == "down"
    assert "127.0.0.1:9" in fault["reason"]


def test_a_passage_may_have_several_hits(client: TestClient, store_folder: str) -> None:
    body = {"phrases": "this agreement ends", "per_passage": 3, "unit": "sentence", "top_k": 20}
    hits = client.post("/search", json=body).json()["hits"]
    assert sum(hit["doc_id"] == "contract.txt" for hit in hits) == 3
    with Corpus(store_folder) as corpus:
        expected = corpus.search("this agreement ends", top_k=20, per_passage=3, unit="sentence")
    assert hits == [hit.to_dict() for hit in expected]
    answer = client.post("/search", json={**body, "fusion": "rrf"})
    assert 400 <= answer.status_code < 500
    assert "use one of convex, cosine" in answer.text


class Sure:
    """A verifier to which every hit is as likely."""

    def __init__(self, encoder: object) -> None:
        pass

    def check(self, claims: Sequence[Claim]) -> Sequence[Verdict]:
        return [Verdict(0.625) for _ in claims]


@pytest.mark.parametrize("path", ["search", "scan", "tag"])
def test_the_service_has_a_verifier_for_requests_that_name_none(
    path: str, settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(VERIFIERS, "sure", f"{__name__}:Sure")
    given = [{"id": "1", "text": "I want to cancel my subscription."}]
    body = {
        "search": {"phrases": PHRASE},
        "scan": {"phrases": PHRASE, "documents": given},
        "tag": {"documents": given},
    }[path]
    with asking(create_app(replace(settings, verifier="sure"))) as client:
        client.post("/topics", json={"name": "cancel", "phrases": [PHRASE], "threshold": 0.5})

        def probability(**changes: object) -> float:
            answer = client.post(f"/{path}", json={**body, **changes}).json()
            hits = answer["documents"][0]["hits"] if path == "tag" else answer["hits"]
            found: float = hits[0]["probability"]
            return found

        assert probability() == 0.625
        assert probability(verify=False) != 0.625
        if path != "tag":
            assert probability(verifier="slice-verify") != 0.625
        monkeypatch.setattr(Sure, "language", "de", raising=False)
        assert probability() != 0.625


def test_a_search_filters_and_cuts(client: TestClient) -> None:
    body = {"phrases": [PHRASE, "end my plan"], "where": {"csat": {"lt": 3}}, "threshold": 0.5}
    (hit,) = client.post("/search", json=body).json()["hits"]
    assert hit["doc_id"] == "calls/ü 1.txt"
    assert hit["metadata"]["csat"] == 2


def test_health_readiness_and_stores(client: TestClient, kind: str) -> None:
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/ready").json() == {"status": "ready", "stores": {"calls": "ok"}}
    (store,) = client.get("/stores").json()["stores"]
    assert store["name"] == "calls"
    assert store["kind"] == kind
    assert store["documents"] == len(DOCUMENTS)


def test_a_search_has_an_address_facets_and_pages(client: TestClient) -> None:
    body = {"phrases": [PHRASE, "my card was stolen"], "top_k": 2, "facets": ["domain", "day"]}
    posted = client.post("/search", json=body).json()
    address = {"q": body["phrases"], "top_k": 2, "facets": ["domain", "day"]}
    got = client.get("/search", params=address).json()
    for answer in (posted, got):
        del answer["milliseconds"]
    assert got == posted
    # A field with the name of a period is a field, too.
    for field in body["facets"]:
        found = [hit["metadata"].get(field) for hit in posted["hits"]]
        values = {one["value"]: one["hits"] for one in posted["facets"][field]}
        assert values == {value: found.count(value) for value in found if value is not None} != {}
    everywhere = client.get("/stores/calls/fields/domain").json()["values"]
    stored = {one["value"]: one["documents"] for one in everywhere}
    assert all(one["stored"] == stored[one["value"]] for one in posted["facets"]["domain"])
    assert posted["next"] == 2
    rest = client.post("/search", json={**body, "offset": 2, "top_k": 100}).json()
    assert rest["next"] is None
    assert client.get("/search", params={**address, "facets": "nothing"}).status_code == 400
    assert client.get("/search").json()["error"]["message"] == "query.q: is needed"
    assert client.get("/search", params={"q": "x", "top_k": 5_000}).status_code == 422


def test_a_browser_that_opens_a_search_is_sent_to_the_page(client: TestClient) -> None:
    opened = client.get(
        "/search",
        params={"q": ["stop my plan", "a&b"]},
        headers={"Accept": "text/html,*/*"},
        follow_redirects=False,
    )
    assert opened.status_code == 303
    assert opened.headers["location"] == "./#search?phrase=stop+my+plan&phrase=a%26b"


@pytest.mark.parametrize("kind", ["", "text/plain", "application/jsonl", "application/x; a=json"])
def test_a_body_of_another_type_is_told_its_header(client: TestClient, kind: str) -> None:
    answer = client.post("/search", content=b"{}", headers={"Content-Type": kind} if kind else {})
    assert (answer.status_code, answer.json()["error"]["message"]) == (
        422,
        "body: send it with the header Content-Type: application/json",
    )


@pytest.mark.parametrize("kind", ["Application/JSON; charset=utf-8", "application/ld+json"])
def test_a_type_of_json_is_one(client: TestClient, kind: str) -> None:
    content = b'{"phrases": "end my plan"}'
    assert client.post("/search", content=content, headers={"Content-Type": kind}).is_success


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "/search", {"phrases": "..."}, 400, "bad_input"),
        ("POST", "/search", {"phrases": "a", "store": "b"}, 404, "no_such_store"),
        ("POST", "/search", {"phrases": 3}, 422, "invalid_request"),
        ("POST", "/search", {"phrases": "a", "colour": "b"}, 422, "invalid_request"),
        ("GET", "/documents/none", None, 404, "no_such_document"),
        ("GET", "/nothing", None, 404, "not_found"),
        ("DELETE", "/search", None, 405, "method_not_allowed"),
        ("GET", "/search?q=...", None, 400, "bad_input"),
    ],
)
def test_errors_have_one_shape(
    client: TestClient, method: str, path: str, body: object, status: int, code: str
) -> None:
    answer = client.request(method, path, json=body, headers={"X-Request-Id": "abc-1"})
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error["code"] == code
    assert error["request_id"] == answer.headers["X-Request-Id"] == "abc-1"
    assert "\n" not in error["message"]


def test_a_fault_is_that_of_the_form_it_is_nearest_to(client: TestClient) -> None:
    answer = client.post("/mine", json={"topics": ["a"], "threshold": 0.5})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith("body.threshold: is no field")
    told = client.post("/search", json={"phrase": "a"}).json()["error"]["message"]
    assert told == "body.phrases: is needed; body.phrase: is no field of this request"


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("search", {"phrases": 3}, "phrases: give a text, or give a list"),
        ("search", {"phrases": [1]}, "phrases.0: give a text"),
        ("search", {"phrases": []}, "phrases: give a text, or give a list of 1 or more"),
        (
            "search",
            {"phrases": "a", "unit": "word"},
            "unit: give 'span', 'clause', 'sentence' or 'turn'",
        ),
        ("search", {"phrases": "a", "top_k": 0.5}, "top_k: give a whole number"),
        ("search", {"phrases": "a", "threshold": 2}, "threshold: give 1.0 or less"),
        (
            "match",
            {"rule": {"name": "a", "none": [3]}},
            "rule.none.0: give a text, or give an object",
        ),
    ],
)
def test_faults_say_what_to_give(
    client: TestClient, path: str, body: dict[str, object], told: str
) -> None:
    message = client.post(f"/{path}", json=body).json()["error"]["message"]
    assert message == f"body.{told}"


def test_a_method_that_is_not_allowed_tells_those_that_are(client: TestClient) -> None:
    assert client.patch("/documents/chat-1").headers["Allow"] == "DELETE, GET"


def test_the_page_loads_nothing_from_elsewhere(client: TestClient) -> None:
    answer = client.get("/")
    assert answer.headers["Content-Type"].startswith("text/html")
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert client.get("/assets/../app.py").status_code == 404


def test_a_process_serves_until_it_is_told_to_stop(server: Server) -> None:
    assert httpx.get(f"{server.address}/health").json() == {"status": "ok"}
    hits = httpx.post(f"{server.address}/search", json={"phrases": PHRASE}, timeout=60).json()
    assert hits["hits"]
    server.process.terminate()
    assert server.process.wait(60) == 0
