"""`slice-os index query`, and how docs/another-language.md says to use it in an application."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from opensearchpy import OpenSearch

from slice_os import Corpus, OpenSearchStore
from slice_os.cli import cli

from ..command_line import printed

DOCS = Path(__file__).parents[2] / "docs"
ADDRESS = "http://localhost:9200"
COUNT = 15
PHRASE = "I want to cancel my booking"


def blocks(language: str) -> list[str]:
    names = ("opensearch.md", "another-language.md", "token-vectors.md")
    pages = [(DOCS / name).read_text("utf-8") for name in names]
    return re.findall(rf"^```{language}\n(.*?)^```$", "\n".join(pages), re.M | re.S)


@pytest.fixture
def query(location: str) -> Callable[..., str]:
    def query(*arguments: str) -> str:
        done = CliRunner().invoke(cli, ["index", "query", *arguments, "--store", location])
        assert done.exit_code == 0, done.output
        return done.stdout

    return query


@pytest.fixture(scope="module")
def documented() -> dict[str, Any]:
    """The functions in docs/another-language.md and docs/token-vectors.md."""
    program: dict[str, Any] = {}
    for block in blocks("python"):
        if block.startswith(("import hashlib", "import math")):
            exec(block, program)
    return program


def test_an_application_searches_as_search_does(
    calls: Corpus, location: str, query: Callable[..., str], documented: dict[str, Any]
) -> None:
    """With the code of the documentation: two requests, spans and all scores."""
    asked = json.loads(query(PHRASE))
    assert asked["tokens"] is None
    assert (asked["hybrid"] is not None) == calls.store.can_fuse()  # type: ignore[attr-defined]
    found = list(documented["search"](location.rpartition("/")[0], asked))
    expected = calls.search(PHRASE, order="score")
    for (doc_id, start, end, cosine, *scores), theirs in zip(found, expected, strict=True):
        assert doc_id == theirs.doc_id
        assert scores == pytest.approx([theirs.bm25, theirs.score], abs=1e-3)
        # The search has moved the span to the borders of its clause.
        assert start < theirs.end
        assert theirs.start < end
        assert cosine > theirs.cosine - 1e-3


def test_an_application_decodes_token_vectors(
    calls: Corpus,
    location: str,
    query: Callable[..., str],
    documented: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the code of the documentation, for a server that does not score."""
    monkeypatch.setattr(OpenSearchStore, "script_engine", lambda *_: None)
    asked = json.loads(query(PHRASE, "--num-candidates", "4"))
    assert asked["scored"] is None
    server = location.rpartition("/")[0]
    ((ids, highest),) = documented["candidates"](server, asked)
    body = asked["tokens"]["body"]
    body["query"]["bool"]["filter"][0]["ids"]["values"] = ids
    answer = documented["post"](server + asked["tokens"]["path"], json.dumps(body))
    assert len(answer["hits"]["hits"]) == len(ids)
    expected = {hit.passage.text: hit for hit in calls.search(PHRASE, top_k=15)}
    lengths = asked["words"].values()
    for hit in answer["hits"]["hits"]:
        found = documented["best_span"](hit, asked["vectors"][0], *lengths)
        cosine, start, end = found
        theirs = expected[hit["_source"]["text"]]
        assert cosine > theirs.cosine - 1e-4
        assert start < theirs.end
        assert theirs.start < end
        bm25 = hit["matched_queries"].get("0", 0.0)
        assert bm25 == pytest.approx(theirs.bm25, abs=1e-4)
        assert documented["score"](cosine, bm25, highest) == pytest.approx(theirs.score, abs=1e-4)


def test_the_nearest_indexed_span_comes_along(
    calls: Corpus, query: Callable[..., str], opensearch: OpenSearch
) -> None:
    lines = query(PHRASE, "I lost my card", "--msearch")
    answers = opensearch.msearch(body=lines)["responses"]
    assert len(answers) == 6
    exact = {hit.passage.text: hit.cosine for hit in calls.search(PHRASE, top_k=15)}
    for hit in answers[0]["hits"]["hits"]:
        passage = hit["_source"]
        (nearest,) = hit["inner_hits"]["spans"]["hits"]["hits"]
        (start,), (end,) = (nearest["fields"][f"spans.{side}"] for side in ("start", "end"))
        text = calls.text(passage["doc_id"])
        assert text[start:end] == passage["text"][start - passage["start"] :][: end - start]
        assert 2 * hit["_score"] - 1 <= exact[passage["text"]] + 0.15


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
def test_the_example_with_curl_runs(location: str) -> None:
    (example,) = [block for block in blocks("sh") if "curl" in block]
    command = example.replace(f"{ADDRESS}/calls", location)
    command = command.replace(ADDRESS, location.rpartition("/")[0])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    answer = printed(command, shell=True, env=os.environ | {"PATH": path})
    dense, bm25, _ = json.loads(answer)["responses"]
    assert {hit["_source"]["metadata"]["domain"] for hit in dense["hits"]["hits"]} == {"airline"}
    assert dense["hits"]["hits"][0]["_score"] > 0.5
    assert bm25["hits"]["hits"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
def test_curl_sends_every_request(location: str, query: Callable[..., str]) -> None:
    """As the consoles of OpenSearch and Kibana do: a path, and lines of JSON."""
    asked = json.loads(query(PHRASE))

    def curl(path: str, *lines: dict[str, Any]) -> dict[str, Any]:
        command = ["curl", "-sS", "--fail-with-body", "-H", "Content-Type: application/json"]
        command += ["--data-binary", "@-", location.rpartition("/")[0] + path]
        body = "".join(json.dumps(line) + "\n" for line in lines)
        answer: dict[str, Any] = json.loads(printed(command, input=body))
        return answer

    answers = curl(asked["candidates"]["path"], *asked["candidates"]["lines"])["responses"]
    assert [bool(answer["hits"]["hits"]) for answer in answers[:2]] == [True, True]
    for kind in ("scored", "tokens", "hybrid"):
        if (request := asked[kind]) is not None:
            for body in request.get("bodies") or [request["body"]]:
                assert not curl(request["path"], body)["timed_out"]


def test_folders_have_no_requests(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["index", "query", PHRASE, "--store", str(tmp_path)])
    assert done.exit_code == 2
    assert "OpenSearch" in done.output


@pytest.mark.parametrize("block", [b for b in blocks("python") if ADDRESS in b])
def test_the_examples_in_python_run(location: str, block: str) -> None:
    url, _, name = location.rpartition("/")
    program = block.replace(f"{ADDRESS}/calls", location)
    program = program.replace(ADDRESS, url).replace('"calls"', f'"{name}"')
    assert printed([sys.executable, "-c", program])
