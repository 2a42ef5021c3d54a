"""The programs in examples/ find what a search finds, run as examples/README.md says."""

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

from slice_os import Corpus, Document, Hits, SpanEncoder

from .runtime import RuntimeMissingError, find_jdk
from .texts import index_of

EXAMPLES = Path(__file__).parents[2] / "examples"
ADDRESS = "http://localhost:9200"
PHRASE = "I want to cancel my booking"
# Code points beyond the basic plane stand before the spans, and in the id.
EMOJI = Document(
    "anruf/ü-😀", "😀😀👩‍👩‍👧 Guten Tag 🎉 please cancel my booking 😀 thanks. I lost my card."
)

Program = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def location(opensearch_url: str, encoder: SpanEncoder) -> Iterator[str]:
    with index_of(15, opensearch_url, encoder) as location:
        with Corpus(location, encoder) as corpus:
            corpus.add([EMOJI])
        yield location


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the examples, to build them in."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(EXAMPLES, folder / "examples", ignore=shutil.ignore_patterns("target"))
    return folder


@pytest.fixture(scope="module")
def node_path() -> Path:
    found = shutil.which("node")
    if found is None:
        pytest.skip("no Node.js (node) on the PATH")
    version = subprocess.run([found, "--version"], capture_output=True, text=True).stdout
    if int(version.lstrip("v").partition(".")[0] or 0) < 18:
        pytest.skip(f"the example needs Node.js 18 or newer, not {version.strip()}")
    return Path(found).parent


@pytest.fixture(scope="module")
def java_path(folder: Path) -> Path:
    """The JDK's commands; the example is built with them."""
    try:
        home = find_jdk()
    except RuntimeMissingError as error:
        pytest.skip(str(error))
    if shutil.which("mvn") is None:
        pytest.skip("no Maven (mvn) on the PATH")
    (build,) = [line for line in commands("mvn") if line.startswith("mvn")]
    environment = {**os.environ, "JAVA_HOME": str(home)}
    done = subprocess.run(
        build, shell=True, cwd=folder, env=environment, capture_output=True, text=True
    )
    output = done.stdout + done.stderr
    if re.search(r"Could not (transfer|resolve)|has not been downloaded", output):
        pytest.skip("Maven could not fetch what the example in Java needs: check the network")
    assert done.returncode == 0, output
    return home / "bin"


@pytest.fixture(params=["node", pytest.param("java", marks=pytest.mark.release)])
def program(request: pytest.FixtureRequest, location: str, folder: Path) -> Program:
    """Exports a query and searches with it, by the command of the documentation."""
    runtime: Path = request.getfixturevalue(f"{request.param}_path")
    (command,) = [line for line in commands(request.param) if line.startswith("slice-os")]
    binaries = [str(runtime), str(Path(sys.executable).parent), os.environ["PATH"]]

    def search(*phrases: str, more: str = "") -> list[dict[str, Any]]:
        quoted = " ".join(f'"{phrase}"' for phrase in phrases)
        line = command.replace(f'"{PHRASE}"', quoted).replace(f"{ADDRESS}/calls", location + more)
        done = subprocess.run(
            line.replace(ADDRESS, location.rpartition("/")[0]),
            shell=True,
            cwd=folder,
            # Hits are in UTF-8 wherever they are printed.
            env={**os.environ, "PATH": os.pathsep.join(binaries), "LC_ALL": "C"},
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr.decode()
        return [json.loads(hit) for hit in done.stdout.decode("utf-8").splitlines()]

    return search


def commands(name: str) -> list[str]:
    """The commands in the block of the documentation that names the program."""
    page = (EXAMPLES / "README.md").read_text("utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S)
    (block,) = [block for block in blocks if f"{name} " in block]
    return block.replace("|\n", "| ").splitlines()


def assert_same(found: list[dict[str, Any]], expected: Hits) -> None:
    """The same passages and scores; a search has moved spans to the borders of their clauses."""
    for hit, theirs in zip(found, expected, strict=True):
        assert (hit["phrase"], hit["doc_id"]) == (theirs.phrase, theirs.doc_id)
        assert hit["start"] < theirs.end
        assert theirs.start < hit["end"]
        assert hit["cosine"] > theirs.cosine - 1e-3
        scores = theirs.bm25, theirs.score
        assert (hit["bm25"], hit["score"]) == pytest.approx(scores, abs=1e-3)


@pytest.mark.parametrize(
    ("phrases", "best"),
    [([PHRASE], "please cancel my booking"), ([PHRASE, "I lost my card"], "I lost my card")],
)
def test_the_examples_find_what_a_search_finds(
    calls: Corpus, program: Program, phrases: list[str], best: str
) -> None:
    found = program(*phrases)
    assert_same(found, calls.search(phrases, order="score"))
    assert {hit["phrase"] for hit in found} == set(phrases)
    first = found[0]
    assert (first["doc_id"], first["text"]) == (EMOJI.id, best)
    assert calls.text(EMOJI.id)[first["start"] : first["end"]] == best


def test_a_filter_and_no_term_in_any_passage(calls: Corpus, program: Program) -> None:
    found = program("xylophones", more=" --filter domain=airline")
    assert {hit["bm25"] for hit in found} == {0}
    assert_same(found, calls.search("xylophones", where={"domain": "airline"}, order="score"))
