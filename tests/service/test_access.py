"""Keys and their scopes, and what pages from elsewhere may not do."""

from __future__ import annotations

import stat
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from slice_os import InputError
from slice_os.service.app import create_app
from slice_os.service.asgi.keys import SCOPES, find_key, new_key, read_keys
from slice_os.service.settings import ServiceSettings

from .conftest import COMMAND, ENVIRONMENT

SEARCH = {"phrases": "cancel my plan"}
LABEL = {"topic": "a", "doc_id": "b", "start": 0, "end": 1, "text": "c", "label": True}
REQUESTS = [
    ("read", "POST", "/search", SEARCH),
    ("read", "POST", "/mine", SEARCH),
    ("read", "POST", "/scan", {**SEARCH, "documents": []}),
    ("read", "POST", "/encode", {}),
    ("read", "POST", "/export?format=csv", {"hits": []}),
    ("read", "POST", "/tag", {"documents": []}),
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


def test_the_page_and_its_files_need_no_key(guarded: TestClient) -> None:
    assert guarded.get("/").status_code == 200
    assert guarded.get("/openapi.json").status_code == 200


def test_a_file_has_no_key_itself(tmp_path: Path) -> None:
    path = tmp_path / "keys.jsonl"
    secret = new_key(path, "ann", ["read"])
    assert secret not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert find_key(read_keys(path), secret).name == "ann"
    assert find_key(read_keys(path), secret + "x") is None
    with pytest.raises(InputError, match="has a key of 'ann'"):
        new_key(path, "ann", ["write"])


@pytest.mark.parametrize("line", ["", "{", '{"name": "a"}', '{"name": "a", "scopes": ["all"]}'])
def test_a_file_without_keys_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "keys.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match="slice-os key"):
        read_keys(path)
    with pytest.raises(InputError, match="slice-os key"):
        read_keys(tmp_path / "none")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_others_are_not_served_without_keys(settings: ServiceSettings, host: str) -> None:
    with pytest.raises(InputError, match="--keys"):
        create_app(replace(settings, host=host))
    with pytest.raises(InputError, match="--keys"):
        create_app(replace(settings, reached_at=f"http://{'[::]' if ':' in host else host}:80/"))
    create_app(replace(settings, host=host, reached_at="http://127.0.0.1:8000"))


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1:8000", 200), ("localhost", 200), ("[::1]:8000", 200), ("evil.example:8000", 421)],
)
def test_a_foreign_name_of_this_machine_is_refused(
    client: TestClient, host: str, status: int
) -> None:
    assert client.get("/stores", headers={"Host": host}).status_code == status


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
