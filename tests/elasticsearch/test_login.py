"""Logins at a proxy in front of a real node: the node of the tests has no security of its own."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from slice_os import AsyncCorpus, Hits, SpanEncoder
from tests.command_line import Run
from tests.opensearch.proxy import Forward, Proxy, Reply, Request, proxying

pytestmark = pytest.mark.release

PASSWORD = "s3ntinel-pässword"
KEY = "czNudGluZWw6a2V5"
WRONG = "wr0ng-s3cret"
TEXT = "I want to cancel my booking, please."
REFUSED = {"type": "security_exception", "reason": "unable to authenticate [anna]"}


def basic(password: str) -> str:
    return b64encode(f"anna:{password}".encode()).decode()


@pytest.fixture
def guarded(elasticsearch_url: str) -> Iterator[Proxy]:
    """A proxy that answers 401, as Elasticsearch does, whoever has neither password nor key."""

    def guard(request: Request, forward: Forward) -> Reply:
        if request.login in (f"Basic {basic(PASSWORD)}", f"ApiKey {KEY}"):
            return forward()
        error = {"root_cause": [REFUSED], **REFUSED}
        body = json.dumps({"error": error, "status": 401}).encode()
        return Reply(401, body, product="Elasticsearch")

    with proxying(Proxy(elasticsearch_url, guard)) as proxy:
        yield proxy


@pytest.mark.parametrize(
    ("scheme", "user", "variable", "secret", "enters"),
    [
        ("http", "anna@", "SLICE_OS_PASSWORD", PASSWORD, True),
        ("elasticsearch+http", "anna@", "SLICE_OS_PASSWORD", PASSWORD, True),
        ("elasticsearch+http", "", "ELASTIC_API_KEY", KEY, True),
        ("http", "anna@", "SLICE_OS_PASSWORD", WRONG, False),
        ("elasticsearch+http", "anna@", "SLICE_OS_PASSWORD", WRONG, False),
        ("elasticsearch+http", "", "ELASTIC_API_KEY", WRONG, False),
        # A key is for addresses that say Elasticsearch.
        ("http", "", "ELASTIC_API_KEY", KEY, False),
    ],
)
def test_who_has_a_password_or_a_key_enters(
    guarded: Proxy,
    index_name: str,
    encoder: SpanEncoder,
    command_line: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    scheme: str,
    user: str,
    variable: str,
    secret: str,
    enters: bool,
) -> None:
    monkeypatch.setenv(variable, secret)
    location = f"{scheme}://{user}{guarded.url.removeprefix('http://')}/{index_name}"
    (tmp_path / "call.txt").write_text(TEXT)
    told = [command_line("ingest", tmp_path / "call.txt", "--store", location)]
    if enters:
        told.append(command_line("search", "cancel my booking", "--store", location))
        assert [outcome.status for outcome in told] == [0, 0], told
        assert TEXT[:6] in told[-1].out
        (hit,) = asyncio.run(search(location, encoder))
        assert hit.text in TEXT
    else:
        assert told[0].status == 1
        assert told[0].err.count("\n") == 1
        assert "login refused (401); check the user and SLICE_OS_PASSWORD" in told[0].err
    for text in (*(part for outcome in told for part in outcome[1:]), caplog.text):
        assert secret not in text
        assert basic(secret) not in text


async def search(location: str, encoder: SpanEncoder) -> Hits:
    async with AsyncCorpus(location, encoder) as corpus:
        return await corpus.search("cancel my booking")
