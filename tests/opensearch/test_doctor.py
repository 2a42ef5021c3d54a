"""`slice-os doctor --store` on real nodes, one of which allows no scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from opensearchpy import OpenSearch

from slice_os import Corpus, SpanEncoder
from slice_os import doctor as checking
from slice_os.doctor import store_checks

from .node import Node
from .support import call_cli, documents


@pytest.fixture
def location(address: str, encoder: SpanEncoder) -> Iterator[str]:
    with Corpus(address, encoder) as corpus:
        corpus.add(documents(2))
        yield address


def test_a_node(
    location: str,
    opensearch: OpenSearch,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checking, "ROUNDS", 1)
    status, out, err = call_cli(capsys, "doctor", "--store", location, "--json")
    assert (status, err) == (0, "")
    found: dict[str, Any] = {check["name"]: check for check in orjson.loads(out)["checks"]}
    plugins = opensearch.cat.plugins(format="json")
    version = opensearch.info()["version"]["number"]
    assert found["store"]["documents"] == 2
    assert found["server"]["version"] == version
    assert found["nodes"]["nodes"][0]["version"] == version
    assert found["plugins"]["plugins"] == sorted({one["component"] for one in plugins})
    # The tests' node of Elasticsearch has no Painless.
    assert found["scripts"]["allowed"] is (found["server"]["product"] == "opensearch")
    assert isinstance(found["slice-os-span-score"]["installed"], bool)


def test_a_missing_index_fails(address: str) -> None:
    (check,) = store_checks(address)
    assert not check.usable
    assert "no index here" in check.finding


@pytest.mark.slow
@pytest.mark.release
def test_scripts_that_are_not_allowed_are_no_failure(
    scriptless_node: Node, encoder: SpanEncoder
) -> None:
    location = f"{scriptless_node.url}/doctor"
    with Corpus(location, encoder) as corpus:
        corpus.add(documents(2))
    found = {check.name: check for check in store_checks(location)}
    assert all(check.usable for check in found.values())
    assert found["scripts"].facts["allowed"] is False
    assert "script.allowed_types" in found["scripts"].finding
    assert "cannot execute [inline] scripts" in found["scripts"].finding
