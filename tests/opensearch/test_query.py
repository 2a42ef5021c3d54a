"""`slice-os query`, and how docs/another-language.md says to use it in an application."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from opensearchpy import OpenSearch

from slice_os import Corpus, SpanEncoder
from slice_os.cli import cli
from slice_os.stores.opensearch import hybrid

from .texts import index_of

DOCS = Path(__file__).parents[2] / "docs"
ADDRESS = "http://localhost:9200"
PHRASE = "I want to cancel my booking"


def blocks(language: str) -> list[str]:
    pages = [(DOCS / name).read_text("utf-8") for name in ("opensearch.md", "another-language.md")]
    return re.findall(rf"^```{language}\n(.*?)^```$", "\n".join(pages), re.M | re.S)


@pytest.fixture(scope="module")
def location(opensearch_url: str, encoder: SpanEncoder) -> Iterator[str]:
    with index_of(15, opensearch_url, encoder) as location:
        yield location


@pytest.fixture
def calls(location: str, encoder: SpanEncoder) -> Iterator[Corpus]:
    with Corpus(location, encoder) as corpus:
        yield corpus


@pytest.fixture
def query(location: str) -> Callable[..., str]:
    def query(*arguments: str) -> str:
        done = CliRunner().invoke(cli, ["query", *arguments, "--store", location])
        assert done.exit_code == 0, done.output
        return done.stdout

    return query


def test_an_application_ranks_as_search_does(
    calls: Corpus, query: Callable[..., str], opensearch: OpenSearch
) -> None:
    """With the code of the documentation: exact cosines, spans, and the fused score."""
    program: dict[str, Any] = {}
    for block in blocks("python"):
        if block.startswith(("import math", "def score")):
            exec(block, program)
    asked = json.loads(query(PHRASE, "-k", "4"))
    plugins = opensearch.cat.plugins(format="json")
    assert (asked["hybrid"] is not None) == hybrid.installed(plugins)
    answers = opensearch.msearch(body=asked["msearch"]["lines"])["responses"]
    found = {hit["_id"]: hit for answer in answers for hit in answer["hits"]["hits"]}
    body = asked["candidates"]["body"]
    body["query"]["bool"]["filter"][0]["ids"]["values"] = list(found)
    answer = opensearch.transport.perform_request("POST", asked["candidates"]["path"], body=body)
    expected = {hit.context.text: hit for hit in calls.search(PHRASE, top_k=15)}
    assert len(answer["hits"]["hits"]) == len(found)
    best = answers[1]["hits"]["max_score"]
    for hit in answer["hits"]["hits"]:
        words = asked["words"]
        cosine, start, end = program["best_span"](
            hit, asked["vectors"][0], words["min"], words["max"]
        )
        theirs = expected[hit["_source"]["text"]]
        assert cosine == pytest.approx(theirs.cosine, abs=1e-4)
        assert (start, end) == (theirs.start, theirs.end)
        relevance = hit["matched_queries"].get("0", 0.0)
        assert relevance == pytest.approx(theirs.bm25)
        assert program["score"](cosine, relevance, best) == pytest.approx(theirs.score, abs=1e-4)


def test_the_nearest_indexed_span_comes_along(
    calls: Corpus, query: Callable[..., str], opensearch: OpenSearch
) -> None:
    asked = json.loads(query(PHRASE, "I lost my card"))
    assert len(asked["vectors"]) == len(asked["phrases"]) == 2
    answers = opensearch.msearch(body=asked["msearch"]["lines"])["responses"]
    assert len(answers) == 6
    exact = {hit.context.text: hit.cosine for hit in calls.search(PHRASE, top_k=15)}
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
    binaries = Path(sys.executable).parent
    done = subprocess.run(
        command,
        shell=True,
        env={**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    dense, bm25, _ = json.loads(done.stdout)["responses"]
    assert {hit["_source"]["metadata"]["domain"] for hit in dense["hits"]["hits"]} == {"airline"}
    assert dense["hits"]["hits"][0]["_score"] > 0.5
    assert bm25["hits"]["hits"]


def test_the_lines_equal_those_of_the_object(query: Callable[..., str]) -> None:
    lines = query(PHRASE, "--msearch").splitlines()
    assert [json.loads(line) for line in lines] == json.loads(query(PHRASE))["msearch"]["lines"]


def test_folders_have_no_requests(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["query", PHRASE, "--store", str(tmp_path)])
    assert done.exit_code == 2
    assert "OpenSearch" in done.output


@pytest.mark.parametrize("block", [b for b in blocks("python") if ADDRESS in b])
def test_the_examples_in_python_run(location: str, block: str) -> None:
    url, _, name = location.rpartition("/")
    program = block.replace(f"{ADDRESS}/calls", location)
    program = program.replace(ADDRESS, url).replace('"calls"', f'"{name}"')
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout
