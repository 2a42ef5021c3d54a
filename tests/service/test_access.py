"""Keys and their scopes, and what pages from elsewhere may not do."""

from __future__ import annotations

import asyncio
import re
import socket
import stat
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from slice_os import InputError
from slice_os.service.app import create_app
from slice_os.service.asgi.access import opened_to
from slice_os.service.asgi.keys import SCOPES, find_key, new_key, read_keys
from slice_os.service.asgi.whole_requests import replayed
from slice_os.service.settings import ServiceSettings

from .conftest import COMMAND, ENVIRONMENT, in_thread, served

SEARCH = {"phrases": "cancel my plan"}
LABEL = {"topic": "a", "doc_id": "b", "start": 0, "end": 1, "text": "c", "label": True}
REQUESTS = [
    ("read", "POST", "/search", SEARCH),
    ("read", "POST", "/mine", SEARCH),
    ("read", "POST", "/scan", {**SEARCH, "documents": []}),
    ("read", "POST", "/encode", {}),
    ("read", "POST", "/export?format=csv", {"hits": []}),
    ("read", "POST", "/tag", {"documents": []}),
    ("read", "POST", "/matrix", {"topics": ["a"]}),
    ("read", "GET", "/stores", None),
    ("read", "GET", "/documents/chat-1", None),
    ("read", "POST", "/documents/chat-1/highlights", SEARCH),
    ("read", "POST", "/pages/chat-1", {"page": 1}),
    ("read", "GET", "/topics", None),
    ("read", "GET", "/labels", None),
    ("read", "GET", "/agreement", None),
    ("write", "POST", "/documents", {"documents": []}),
    ("write", "DELETE", "/documents/none", None),
    ("curate", "POST", "/topics", {"name": "a", "phrases": ["b"]}),
    ("curate", "DELETE", "/topics/none", None),
    ("curate", "POST", "/labels", {"labels": [LABEL]}),
    ("metrics", "GET", "/metrics", None),
]


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    """A key for each scope, in a file ``keys.jsonl``."""
    path = tmp_path / "keys.jsonl"
    return {scope: new_key(path, f"only-{scope}", [scope]) for scope in SCOPES}


@pytest.fixture
def guarded(
    settings: ServiceSettings, keys: dict[str, str], tmp_path: Path
) -> Iterator[TestClient]:
    app = create_app(replace(settings, host="0.0.0.0", keys=tmp_path / "keys.jsonl"))
    with TestClient(app, base_url="https://phrases.example") as client:
        yield client


@pytest.mark.parametrize(("scope", "method", "path", "body"), REQUESTS)
def test_a_key_allows_its_scope_alone(
    guarded: TestClient, keys: dict[str, str], scope: str, method: str, path: str, body: object
) -> None:
    for other, key in keys.items():
        header = {"Authorization": f"Bearer {key}"}
        answer = guarded.request(method, path, json=body, headers=header)
        assert (answer.status_code != 403) == (scope == other), answer.text
        assert answer.status_code != 401
    for header in ({}, {"Authorization": "Bearer slice-none"}, {"Authorization": "Basic YTpi"}):
        answer = guarded.request(method, path, json=body, headers=header)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert answer.json()["error"]["code"] == "no_key"


@pytest.mark.parametrize("path", ["/topics/a/estimate", "/topics/a/learn"])
def test_who_may_not_read_is_shown_no_passages(
    guarded: TestClient, keys: dict[str, str], tmp_path: Path, path: str
) -> None:
    both = new_key(tmp_path / "both.jsonl", "both", ["read", "curate"])
    with (tmp_path / "keys.jsonl").open("ab") as file:
        file.write((tmp_path / "both.jsonl").read_bytes())
    with TestClient(create_app(guarded.app.state.services.settings), guarded.base_url) as client:
        for key, status in ((keys["read"], 403), (keys["curate"], 403), (both, 404)):
            answer = client.post(path, headers={"Authorization": f"Bearer {key}"})
            assert answer.status_code == status, answer.text


def test_every_route_needs_a_key_but_those_that_tell_nothing(guarded: TestClient) -> None:
    paths = guarded.get("/openapi.json").json()["paths"]
    assert len(paths) > 15
    for path, operations in paths.items():
        for method in operations:
            expected = path in ("/health", "/ready")
            assert (guarded.request(method, path).status_code != 401) == expected, path


def test_a_label_has_the_name_of_the_key(guarded: TestClient, keys: dict[str, str]) -> None:
    def asked(scope: str, method: str, body: object = None) -> Any:
        header = {"Authorization": f"Bearer {keys[scope]}"}
        return guarded.request(method, "/labels", json=body, headers=header)

    asked("curate", "POST", {"labels": [LABEL]})
    (row,) = asked("read", "GET").json()["labels"]
    assert row["reader"] == "only-curate"
    words = {name: one for name, one in LABEL.items() if name != "label"}
    assert asked("curate", "DELETE", words).status_code == 204
    assert asked("read", "GET").json()["labels"] == []


def test_nobody_answers_in_the_name_of_another(tmp_path: Path) -> None:
    # Keys are read at the start, so that all of them are made before.
    names = ("ann", "bo")
    settings = ServiceSettings({}, tmp_path / "work", keys=tmp_path / "own.jsonl")
    own = {name: new_key(tmp_path / "own.jsonl", name, ["read", "curate"]) for name in names}
    with TestClient(create_app(settings), base_url="https://phrases.example") as client:

        def asked(name: str, method: str, body: object = None) -> Any:
            header = {"Authorization": f"Bearer {own[name]}"}
            return client.request(method, "/labels", json=body, headers=header)

        for reader in ("", "ann"):
            assert (
                asked("ann", "POST", {"labels": [{**LABEL, "reader": reader}]}).status_code == 200
            )
        words = {name: one for name, one in LABEL.items() if name != "label"}
        for change in (
            asked("bo", "POST", {"labels": [LABEL, {**LABEL, "reader": "ann"}]}),
            asked("bo", "POST", {"labels": [{**LABEL, "reader": "ann", "settled": True}]}),
            asked("bo", "DELETE", {**words, "reader": "ann"}),
        ):
            assert change.status_code == 403
            assert "the key of bo answers as bo alone" in change.json()["error"]["message"]
        assert asked("bo", "DELETE", words).status_code == 404
        (row,) = asked("bo", "GET").json()["labels"]
        assert row["reader"] == "ann"


def test_the_page_and_its_files_need_no_key(guarded: TestClient) -> None:
    assert guarded.get("/").status_code == 200
    assert guarded.get("/openapi.json").status_code == 200


def test_a_file_has_no_key_itself(tmp_path: Path) -> None:
    path = tmp_path / "new" / "keys.jsonl"
    secret = new_key(path, "ann", ["read"])
    assert secret not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert find_key(read_keys(path), secret).name == "ann"
    assert find_key(read_keys(path), secret + "x") is None
    with pytest.raises(InputError, match="has a key of 'ann'"):
        new_key(path, "ann", ["write"])
    path.write_text(path.read_text().rstrip())  # as some editors leave it
    other = new_key(path, "bo", ["read"])
    assert [find_key(read_keys(path), one).name for one in (secret, other)] == ["ann", "bo"]


@pytest.mark.parametrize("line", ["", "{", '{"name": "a"}', '{"name": "a", "scopes": ["all"]}'])
def test_a_file_without_keys_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "keys.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match="slice-os key"):
        read_keys(path)
    with pytest.raises(InputError, match="slice-os key"):
        read_keys(tmp_path / "none")


def test_who_listens_beyond_this_machine_without_keys_is_warned(
    store_folder: Path, tmp_path: Path
) -> None:
    open_to_all = "--host", "0.0.0.0", "--reached-at", "http://127.0.0.1:8000"
    with served(str(store_folder), "--work", str(tmp_path), *open_to_all) as server:
        for _ in range(600):
            if server.log:
                break
            threading.Event().wait(0.05)
        assert server.log[0].startswith("warning: listens on 0.0.0.0 without keys: whoever reaches")
    here = ServiceSettings({}, tmp_path)
    assert opened_to(here) is None
    assert opened_to(replace(here, host="0.0.0.0", keys=tmp_path / "keys.jsonl")) is None


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_others_are_not_served_without_keys(settings: ServiceSettings, host: str) -> None:
    with pytest.raises(InputError, match="--keys"):
        create_app(replace(settings, host=host))
    with pytest.raises(InputError, match="--keys"):
        create_app(replace(settings, reached_at=f"http://{'[::]' if ':' in host else host}:80/"))
    create_app(replace(settings, host=host, reached_at="http://127.0.0.1:8000"))


@pytest.mark.parametrize("address", ["example.org", "example.org:443", "https:/a.b", "http://["])
def test_an_address_to_be_reached_at_has_a_host(settings: ServiceSettings, address: str) -> None:
    with pytest.raises(InputError, match="no address; give one such as https://"):
        create_app(replace(settings, reached_at=address))


LOCAL = "127.0.0.1:8000"
NAMES = ("127.0.0.1", "127.0.0.2", "127.255.255.254", "localhost", "LocalHost", "[::1]", "[0:0::1]")
HOSTS = [f"{name}{port}" for name in NAMES for port in ("", ":80", ":8000", ":65535")]
# What a browser, a proxy or an attacker may send; whatever is no host of this machine is refused.
FOREIGN = r"""
127.0.0.1.evil.example localhost.evil.example evil.example.localhost localhosts a`b.evil.example
a{b}.evil.example a|b.example a^b a%b a$b a!b a'b a"b.example a(b) a*b * a+b a,b a;b a=b a~b a<b> \
a\b : :80 :8000 [] []:80 [ ] [::1 ::1 ::1] @ # / ? x@127.0.0.1:80 evil.example@127.0.0.1
127.0.0.1@evil.example 127.0.0.1#@evil.example [::1%lo] [::1%25lo] [fe80::1%eth0] [::1%lo]:80
[fe80::1] [2001:db8::1] [::] [127.0.0.1] [localhost] [::1]x [::1].evil.example x[::1] [[::1]] [v1.x]
localhost. localhost.:80 localhost: localhost:http 127.1 2130706433 0x7f.0.0.1 0177.0.0.1 127.0.0.01
127.0.0.1.1 127.0.0 0 017700000001 256.0.0.1 ｌｏｃａｌｈｏｓｔ 127。0。0。1 １２７.0.0.1 lоcalhost
bücher.example xn--bcher-kva.example
"""
HEADS = "x@ x:y@ http:// // evil.example# evil#@ % ."
TAILS = r"#x /x ?x \x @x : :x :-1 :+80 . :65536 :999999 :80:80 %00 %20 ,x ;x & .. .:80"
FOREIGN_HOSTS = [
    *("", " ", *FOREIGN.split(), *(f"{head}127.0.0.1" for head in HEADS.split())),
    *(f"{name}{port}" for name in ("evil.example", "192.0.2.1", "0.0.0.0") for port in ("", ":80")),
    *(f"127.0.0.1{tail}" for tail in (" :80", ": 80", " x", "\tx", "\x00", "\x7f", *TAILS.split())),
    *("[::1 ]", "localhost\u200b", "\u202elocalhost", "\xa0localhost", "localhost\xad"),
]
ORIGINS = [f"http://{LOCAL}", f"https://{LOCAL}"]
ELSEWHERE = f"""
null NULL https://evil.example http:// http://[ // file:// about:blank http://127.0.0.1
http://127.0.0.1:80 http://127.0.0.1:9000 http://localhost:8000 http://127.1:8000 {LOCAL} //{LOCAL}
http:{LOCAL} http:/{LOCAL} http:///{LOCAL}
"""
KINDS = ("ftp", "ws", "httpx", "chrome-extension", "moz-extension", "")
FOREIGN_ORIGINS = [
    *("", f"http://{LOCAL}, http://evil.example", f"http://{LOCAL} http://evil.example"),
    *(*ELSEWHERE.split(), *(f"{kind}://{LOCAL}" for kind in KINDS)),
    *(
        f"http://{LOCAL}{tail}"
        for tail in ("/", "/x", "?x", "#x", ".", "0", " ", ".evil.example", "@x")
    ),
    *(
        f"http://{head}{LOCAL}"
        for head in ("x@", "x:y@", "evil.example#", "evil.example/", " ", "x.")
    ),
]


def statuses(app: FastAPI, requests: Sequence[Sequence[tuple[str, str]]]) -> list[int]:
    """The statuses of requests for labels with these headers, sent as they are."""

    async def ask(headers: Sequence[tuple[str, str]]) -> int:
        given = [(name.encode(), value.encode()) for name, value in headers]
        scope = {"type": "http", "method": "GET", "path": "/labels", "raw_path": b"/labels"}
        scope |= {"query_string": b"", "headers": given, "server": ("127.0.0.1", 8000)}
        scope |= {
            "scheme": "http",
            "http_version": "1.1",
            "client": ("127.0.0.1", 9),
            "root_path": "",
        }
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await app(scope, replayed(b""), send)
        return int(sent[0]["status"])

    async def each() -> list[int]:
        return [await ask(headers) for headers in requests]

    return asyncio.run(each())


def test_hosts_and_origins_are_those_of_this_machine(settings: ServiceSettings) -> None:
    assert len({*HOSTS, *FOREIGN_HOSTS}) + len({*ORIGINS, *FOREIGN_ORIGINS}) >= 150
    table: list[tuple[list[tuple[str, str]], int]] = [
        *(([("host", one)], 200) for one in HOSTS),
        *(([("host", one)], 421) for one in FOREIGN_HOSTS),
        *(([("host", LOCAL), ("origin", one)], 200) for one in ORIGINS),
        *(([("host", LOCAL), ("origin", one)], 403) for one in FOREIGN_ORIGINS),
        ([], 421),
        ([("origin", f"http://{LOCAL}")], 421),
        ([("host", LOCAL), ("host", LOCAL)], 400),
        ([("host", LOCAL), ("host", "evil.example")], 400),
        ([("host", LOCAL), ("origin", ORIGINS[0]), ("origin", ORIGINS[0])], 400),
        ([("host", LOCAL), ("origin", ORIGINS[0]), ("origin", "http://evil.example")], 400),
        ([("host", LOCAL), ("authorization", "Bearer a"), ("authorization", "Bearer b")], 400),
        *(
            (
                [
                    ("host", LOCAL),
                    ("sec-fetch-site", "cross-site"),
                    ("sec-fetch-mode", "navigate"),
                    ("sec-fetch-dest", where),
                ],
                status,
            )
            for where, status in (("document", 200), ("iframe", 403), ("embed", 403))
        ),
        *(
            ([("host", LOCAL), ("sec-fetch-site", site), ("sec-fetch-mode", mode)], status)
            for site, mode, status in (
                ("same-origin", "cors", 200),
                ("none", "navigate", 200),
                ("cross-site", "navigate", 200),
                ("cross-site", "no-cors", 403),
                ("same-site", "cors", 403),
            )
        ),
    ]
    found = statuses(create_app(settings), [headers for headers, _ in table])
    wrong = [(one, seen) for one, seen in zip(table, found, strict=True) if one[1] != seen]
    assert wrong == []


def test_with_keys_a_host_has_any_name_but_must_be_one(
    settings: ServiceSettings, keys: dict[str, str], tmp_path: Path
) -> None:
    app = create_app(replace(settings, host="0.0.0.0", keys=tmp_path / "keys.jsonl"))
    key = ("authorization", f"Bearer {keys['read']}")
    odd = [
        one for one in FOREIGN_HOSTS if not re.fullmatch(r"[\w.-]+(:\d+)?|\[[\da-f:]+\]", one, re.A)
    ]
    assert len(odd) > 80
    assert set(statuses(app, [[key, ("host", one)] for one in odd])) == {421}
    for host in ("phrases.example", "phrases.example:443", "192.0.2.1", "[2001:db8::1]:80"):
        own = ("host", host)
        asked = [
            [key, own],
            [key, own, ("origin", f"https://{host}")],
            [key],
            [own],
            [key, key, own],
        ]
        assert statuses(app, asked) == [200, 200, 200, 401, 400]
        assert statuses(app, [[key, own, ("origin", "https://evil.example")]]) == [403]


@pytest.mark.parametrize(
    "head",
    [
        "GET http://127.0.0.1/labels HTTP/1.1\r\nHost: 127.0.0.1",
        "GET http://127.0.0.1/labels HTTP/1.1\r\nHost: evil.example",
        "GET http://evil.example/labels HTTP/1.1\r\nHost: 127.0.0.1",
        "GET //evil.example/labels HTTP/1.1\r\nHost: 127.0.0.1",
        "GET /labels HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example",
        "GET /labels HTTP/1.1\r\nHost: a`b.evil.example",
        "GET /labels HTTP/1.1\r\nHost:",
        "GET /labels HTTP/1.1",
        "GET /labels HTTP/1.0",
    ],
)
def test_other_ways_to_name_a_host_are_refused(settings: ServiceSettings, head: str) -> None:
    with in_thread(create_app(settings)) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as sender:
            sender.sendall(f"{head}\r\nConnection: close\r\n\r\n".encode())
            assert re.match(rb"HTTP/1\.[01] (400|404|421) ", sender.recv(100))


def test_a_foreign_page_is_refused(client: TestClient) -> None:
    for origin in ("https://evil.example", "null", "http://127.0.0.1:9000", "http://["):
        headers = {"Origin": origin, "Content-Type": "text/plain"}
        answer = client.post("/topics/a/learn", headers=headers)
        assert answer.status_code == 403
        assert answer.json()["error"]["code"] == "foreign_origin"
        assert "Access-Control-Allow-Origin" not in answer.headers
    own = {"Origin": "http://127.0.0.1:8000"}
    assert client.post("/search", json=SEARCH, headers=own).status_code == 200


def test_the_command_line_makes_keys_and_demands_them(tmp_path: Path, store_folder: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True
        )

    made = run("key", "ann", "--scope", "read", "--scope", "curate")
    found = find_key(read_keys(tmp_path / "keys.jsonl"), made.stdout.strip())
    assert found is not None
    assert found.scopes == {"read", "curate"}
    refused = run("serve", str(store_folder), "--host", "0.0.0.0", "--port", "0")
    assert refused.returncode == 1
    assert "--keys" in refused.stderr
    assert refused.stderr.count("\n") == 1
