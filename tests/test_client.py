"""The client, without a service: what it sends, how it waits, and what it makes of any answer."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os import Document, InputError
from slice_os.client import (
    AccessError,
    AsyncClient,
    BadRequestError,
    Client,
    ConflictError,
    NotFoundError,
    ServiceError,
    ServiceUnavailableError,
)
from slice_os.client import client as module
from slice_os.client.answers import MinedLines
from slice_os.errors import UnavailableError
from slice_os.hits.hit import Context, Hit

ADDRESS = "http://service.test/prefix"
# U+2028 ends a line for some, but not in JSON.
HIT = Hit("a", "d/ü", 1, 2, "é\u2028", 0.5, None, 0.5, {}, Context(0, 3, "xé\u2028"))
FOUND = {"hits": [HIT.to_dict()], "threshold": 0.4, "min_probability": None, "exhaustive": True}
Answers = Callable[[httpx.Request], httpx.Response]


def asking(answers: Answers, **options: Any) -> Client:
    http = httpx.Client(transport=httpx.MockTransport(answers))
    return Client(ADDRESS, http=http, **options)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that the client waits; no time goes by."""
    waited: list[float] = []
    monkeypatch.setattr(module.time, "sleep", waited.append)
    return waited


def test_a_request_has_what_was_given_and_nothing_else() -> None:
    sent = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json=FOUND)

    client = asking(answer, api_key="secret", store="calls")
    hits = client.search("a", top_k=3, threshold=None, where={"n": {"lt": 3}})
    assert list(hits) == [HIT]
    assert (hits.threshold, hits.exhaustive) == (0.4, True)
    (request,) = sent
    assert str(request.url) == f"{ADDRESS}/search"
    assert request.headers["Authorization"] == "Bearer secret"
    assert json.loads(request.content) == {
        "phrases": "a",
        "top_k": 3,
        "where": {"n": {"lt": 3}},
        "store": "calls",
    }


@pytest.mark.parametrize(
    ("doc_id", "path"),
    [
        ("a/b ü?#.txt", "a%2Fb%20%C3%BC%3F%23.txt"),
        ("..", "%2E%2E"),
        ("../../topics", "..%2F..%2Ftopics"),
        ("%2F", "%252F"),
        ("😀", "%F0%9F%98%80"),
    ],
)
def test_an_id_is_one_part_of_the_address(doc_id: str, path: str) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.raw_path.decode() == f"/prefix/documents/{path}"
        return httpx.Response(200, json={"id": doc_id, "text": "x", "metadata": {}})

    assert asking(answer).document(doc_id) == Document(doc_id, "x")


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_service_is_asked_again_when_it_says_so(status: int, pauses: list[float]) -> None:
    answers = iter(
        [
            httpx.Response(status, headers={"Retry-After": "2"}),
            httpx.Response(status, headers={"Retry-After": "86400"}),
            httpx.Response(status, headers={"Retry-After": "Wed, 21 Oct 2037 07:28:00 GMT"}),
            httpx.Response(200, json=FOUND),
        ]
    )
    assert len(asking(lambda _request: next(answers)).search("a")) == 1
    assert pauses == [2, 10, 1]


def test_patience_ends(pauses: list[float]) -> None:
    error = {"error": {"code": "busy", "message": "64 requests wait", "request_id": "r1"}}
    client = asking(lambda _request: httpx.Response(429, json=error), retries=2)
    with pytest.raises(ServiceUnavailableError, match="64 requests wait") as caught:
        client.search("a")
    assert isinstance(caught.value, UnavailableError)
    assert (caught.value.code, caught.value.request_id, caught.value.status) == ("busy", "r1", 429)
    assert len(pauses) == 2


def test_a_service_that_is_not_there_is_told(pauses: list[float]) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("Connection refused", request=request)

    with pytest.raises(ServiceUnavailableError, match=r"no answer \(Connection refused\); is"):
        asking(answer).search("a")
    assert len(pauses) == 3


def test_a_service_that_is_silent_is_not_asked_again(pauses: list[float]) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("timed out", request=request)

    with pytest.raises(ServiceUnavailableError, match="no answer"):
        asking(answer).add([Document("a", "b")])
    assert pauses == []


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequestError),
        (401, AccessError),
        (403, AccessError),
        (404, NotFoundError),
        (409, ConflictError),
        (412, ConflictError),
        (422, BadRequestError),
        (500, ServiceError),
        (504, ServiceError),
    ],
)
@pytest.mark.parametrize("shape", ["ours", "html", "list", "empty"])
def test_errors_have_kinds(status: int, kind: type[ServiceError], shape: str) -> None:
    error = {"error": {"code": "c", "message": "what, where", "request_id": "r"}}
    answer = {
        "ours": httpx.Response(status, json=error),
        "html": httpx.Response(status, html="<h1>\nwhat, where</h1>"),
        "list": httpx.Response(status, json=["what, where"]),
        "empty": httpx.Response(status),
    }[shape]
    with pytest.raises(kind) as caught:
        asking(lambda _request: answer).search("a")
    assert type(caught.value) is kind
    assert caught.value.status == status
    assert "\n" not in str(caught.value)
    assert shape == "empty" or "what, where" in str(caught.value)
    assert issubclass(BadRequestError, InputError)


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, html="hello"),
        httpx.Response(200, json={}),
        httpx.Response(200, json={"hits": [{"id": 1}]}),
    ],
)
def test_the_answer_of_something_else_is_told(answer: httpx.Response) -> None:
    answer.request = httpx.Request("GET", ADDRESS)
    with pytest.raises(ServiceError, match="not the answer of a SLICE-OS service"):
        asking(lambda _request: answer).search("a")


def test_pages_that_never_end_are_told() -> None:
    endless = httpx.Response(200, json={"labels": [], "documents": [], "next": 1})
    for ask in (Client.labels, Client.document_ids):
        with pytest.raises(ServiceError, match="not the answer of a SLICE-OS service"):
            list(ask(asking(lambda _request: endless)))


@pytest.mark.parametrize(
    "line",
    [
        b"<html>\n",
        b"[]\n",
        b'{"error": "no such page"}\n',
        b'{"progress": 5}\n',
        b'{"hit": {"id": 1}}\n',
        b'{"summary": "done"}\n',
    ],
)
def test_the_stream_of_something_else_is_told(line: bytes) -> None:
    with pytest.raises(ServiceError, match="not a line of a SLICE-OS service"):
        asking(lambda _request: httpx.Response(200, content=line)).mine("a")


def test_what_is_no_document_is_told() -> None:
    service = asking(lambda _request: httpx.Response(200, json={}))
    with pytest.raises(InputError, match=r'a dict is not a document; give .*"the text"\)$'):
        service.add([{"id": "a", "text": "b"}])  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"a Document is not a list of documents; give \[Doc"):
        service.add(Document("a", "b"))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_no_password_is_taken_from_an_address(kind: type[Client] | type[AsyncClient]) -> None:
    with pytest.raises(InputError, match="a password does not belong") as caught:
        kind("https://ann:secret@phrases.example.org/at")
    assert "secret" not in str(caught.value)
    kind("https://phrases.example.org/a@b")


def test_an_address_that_cannot_be_asked_is_told() -> None:
    with pytest.raises(ServiceUnavailableError, match="http://host:port: no answer"):
        Client("http://host:port").search("a")


LINES = b"".join(
    json.dumps(line, ensure_ascii=False).encode() + b"\n"
    for line in [
        {"hit": HIT.to_dict()},
        {"progress": {"done": 1, "of": None}},
        {"hit": HIT.to_dict()},
        {"summary": {"hits": 2, "complete": True, "exhaustive": True}},
    ]
)


@given(st.lists(st.integers(0, len(LINES)), max_size=6).map(sorted))
def test_a_stream_is_read_in_pieces_of_any_size(cuts: list[int]) -> None:
    done = []
    lines = MinedLines("hit", Hit.from_dict, lambda number, of: done.append((number, of)))
    edges = [0, *cuts, len(LINES)]
    pieces = [LINES[start:end] for start, end in pairwise(edges)]
    assert [hit for piece in pieces for hit in lines.rows(piece)] == [HIT, HIT]
    assert done == [(1, None)]
    assert lines.summary()["exhaustive"]


def test_a_stream_that_breaks_off_is_an_error() -> None:
    half = LINES[: LINES.index(b'{"summary"')]
    client = asking(lambda _request: httpx.Response(200, content=half))
    found = client.iter_mine("a")
    assert next(found) == HIT
    assert next(found) == HIT
    with pytest.raises(ServiceError, match="broke off"):
        next(found)
    with pytest.raises(ServiceError, match="broke off"):
        client.mine("a")


def test_a_stream_can_end_with_an_error() -> None:
    error = b'{"error": {"code": "time_limit", "message": "600 s are over", "request_id": "r"}}\n'
    client = asking(lambda _request: httpx.Response(200, content=LINES[:10] + LINES[10:] + error))
    with pytest.raises(ServiceError, match="600 s are over") as caught:
        client.mine("a")
    assert caught.value.code == "time_limit"


def test_leaving_a_stream_closes_the_connection() -> None:
    class Endless(httpx.SyncByteStream):
        closed = False

        def __iter__(self) -> Iterator[bytes]:
            while True:
                yield LINES[: LINES.index(b"\n") + 1]

        def close(self) -> None:
            self.closed = True

    stream = Endless()
    found = asking(lambda _request: httpx.Response(200, stream=stream)).iter_mine("a")
    assert [next(found) for _ in range(5)] == [HIT] * 5
    assert not stream.closed
    found.close()
    assert stream.closed


def test_a_topic_is_saved_as_the_version_that_was_read() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        assert "etag" not in body
        etag = request.headers.get("If-Match")
        assert request.method == ("POST" if etag is None else "PUT")
        return httpx.Response(200, json={**body, "etag": f"{etag} next"})

    client = asking(answer)
    new = client.save_topic({"name": "cancel", "phrases": ["end it"]})
    assert new["etag"] == "None next"
    assert client.save_topic({**new, "threshold": 0.6})["etag"] == '"None next" next'


def test_both_clients_do_the_same() -> None:
    def methods(kind: type) -> dict[str, list[tuple[str, Any]]]:
        return {
            name: [
                (each.name, each.annotation) for each in inspect.signature(one).parameters.values()
            ]
            for name, one in vars(kind).items()
            if callable(one) and not name.startswith("_")
        }

    assert methods(AsyncClient) == methods(Client)


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(ImportError, match=r"pip install 'slice-os\[client\]'"):
        Client()


def test_it_loads_neither_numpy_nor_a_model() -> None:
    program = (
        "import sys; import slice_os.client; "
        "print(*{'numpy', 'onnxruntime', 'tokenizers', 'httpx'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")
