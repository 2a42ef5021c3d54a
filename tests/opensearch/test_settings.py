"""Addresses and indices that are refused, and how."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from opensearchpy import OpenSearch

from slice_os import Corpus, EncoderMismatchError, SliceError, SpanEncoder, StoreError
from slice_os.stores.cluster.server.connection import parse_location

from .support import Index, call_cli, documents

SENTINEL = "s3ntinel"
FLOATS = {"vec": {"type": "float"}}


@pytest.mark.parametrize(
    "location",
    [
        f"https://user:{SENTINEL}@host:9200/calls",
        f"https://user:{SENTINEL}@host:9200",
        f"https://user:{SENTINEL}/{SENTINEL}@host/calls",
        f"https://user:12/{SENTINEL}@host/",
        f"https://user:12/{SENTINEL}@host/calls",
        f"https://user:[{SENTINEL}@host/calls",
        f"https://user:?{SENTINEL}@host/calls",
        f"https://user:#{SENTINEL}@host/calls",
        f"https://host/calls?token={SENTINEL}",
        f"https://host:{SENTINEL}/calls",
        f"ftp://me:{SENTINEL}@host/calls",
        f"search+https://host/{SENTINEL.lower()}",
        "https://host",
        "https://host/",
        "https://host/two/names",
        "https:///calls",
        "https://host/Calls",
        "https://host/*",
        "https://host/one,two",
        "https://host/_all",
        "https://a b/calls",
        "https://a%b/calls",
    ],
)
def test_addresses_that_are_refused(location: str) -> None:
    with pytest.raises(SliceError) as caught:
        parse_location(location, {})
    message = str(caught.value)
    assert SENTINEL not in message
    assert "\n" not in message
    assert SENTINEL not in repr(caught.value.__context__) or caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("location", "url", "index", "user"),
    [
        ("http://host/calls", "http://host:80", "calls", None),
        ("https://host/calls/", "https://host:443", "calls", None),
        ("https://me@host:9200/calls", "https://host:9200", "calls", "me"),
        ("https://me%40example.org@host/calls", "https://host:443", "calls", "me@example.org"),
        ("http://[::1]:9200/calls-000001", "http://[::1]:9200", "calls-000001", None),
    ],
)
def test_addresses(location: str, url: str, index: str, user: str | None) -> None:
    connection = parse_location(location, {})
    assert (connection.url, connection.index, connection.user) == (url, index, user)
    assert connection.location == f"{url}/{index}"


def test_no_index(address: str) -> None:
    corpus = Corpus(address)
    with pytest.raises(StoreError, match="no index here; make one with `slice-os ingest`"):
        corpus.search("cancel my order")


def test_no_server() -> None:
    corpus = Corpus("http://127.0.0.1:9/calls")
    with pytest.raises(StoreError, match=r"no answer .*is the server running\?"):
        corpus.search("cancel my order")


@pytest.fixture
def corpus(corpus: Corpus) -> Corpus:
    with corpus:
        corpus.add(documents(1))
    return corpus


def test_another_encoder_is_refused(
    corpus: Corpus, index: Index, address: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    index.note(encoder=index.meta["encoder"] | {"encoder_id": "ffff", "name": "another"})
    for use in (lambda: corpus.search("cancel"), lambda: corpus.add(documents(2))):
        with pytest.raises(EncoderMismatchError, match=r"made by another .*\(ffff\), not by"):
            use()
    file = tmp_path / "note.txt"
    file.write_text("Cancel my order.")
    command = ["ingest", file, "--store", address]
    status, output, errors = call_cli(capsys, *command)
    assert (status, output, errors.count("\n")) == (1, "", 1)


@pytest.mark.parametrize("version", [1, 99])
def test_another_schema_is_refused(corpus: Corpus, index: Index, version: int) -> None:
    index.note(schema_version=version)
    with pytest.raises(StoreError, match=rf"schema version {version}.*upgrade slice-os.*again"):
        corpus.search("cancel my order")


def test_a_foreign_index_is_refused(
    opensearch: OpenSearch, address: str, index_name: str, encoder: SpanEncoder
) -> None:
    opensearch.indices.create(index=index_name)
    corpus = Corpus(address, encoder)
    with pytest.raises(StoreError, match="not one that slice-os made; name another"):
        corpus.add(documents(1))
    assert opensearch.indices.get_mapping(index=index_name)[index_name]["mappings"] == {}


def test_an_alias_of_two_indices_is_refused(
    opensearch: OpenSearch, corpus: Corpus, index_name: str
) -> None:
    other = f"{index_name}-other"
    opensearch.indices.create(index=other, body={"aliases": {index_name: {}}})
    with pytest.raises(StoreError, match="stands for 2 indices; name one of them"):
        corpus.search("cancel my order")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"settings": {"index.routing.allocation.require._name": "nobody"}},
            r"no node has \[.*\]; wait for the node",
        ),
        (
            {"mappings": {"properties": {"reading": {"type": "keyword"}}}},
            r"field reading is of type keyword, but \w+ searches text; .* its mapping was changed",
        ),
        (
            {"mappings": {"properties": {"spans": {"type": "nested", "properties": FLOATS}}}},
            r"field vec is of type float, but \w+ searches \w+_vector; .* from another engine",
        ),
    ],
    ids=["a cluster in the red", "a changed mapping", "another engine"],
)
def test_what_cannot_be_used_is_told_in_one_line(
    opensearch: OpenSearch,
    corpus: Corpus,
    opensearch_url: str,
    index_name: str,
    changes: dict[str, Any],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setitem(os.environ, "SLICE_OS_RETRY_SECONDS", "0")
    other = f"{index_name}-000002"
    nobody = {"wait_for_active_shards": "0"}
    opensearch.indices.create(index=other, body=changes, params=nobody)
    (tmp_path / "note.txt").write_text("Cancel my order.")
    for command in (["search", "cancel"], ["store", "info"], ["ingest", tmp_path / "note.txt"]):
        store = f"{opensearch_url}/{other}"
        status, output, errors = call_cli(capsys, *command, "--store", store)
        assert (status, output, errors.count("\n")) == (1, "", 1)
        assert re.search(f"{store}: .*{told}", errors), errors


@pytest.mark.parametrize("text", ["soon", "-1", "inf", "nan"])
def test_a_retry_limit_that_is_not_a_number(
    corpus: Corpus, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "SLICE_OS_RETRY_SECONDS", text)
    with pytest.raises(SliceError, match=r"SLICE_OS_RETRY_SECONDS=.*give a number of seconds"):
        corpus.add(documents(2))
