"""The programs in examples/clients find, stream and mark what a service finds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from slice_os import Corpus, Document, SpanEncoder

from .opensearch.runtime import RuntimeMissingError, find_jdk
from .service.conftest import ENVIRONMENT, Server, served

EXAMPLES = Path(__file__).parents[1] / "examples"
PHRASE = "I want to cancel my subscription"
# What one must not read as bytes, as UTF-16, as parts of an address or as an escape of a shell.
DOCUMENT = Document(
    "calls/ü &?#%2F 1.txt",
    "😀👩‍👩‍👧 Grüezi.\nI want to cancel my subscription \u2028😀. Well, "
    'please <b>cancel</b> my subscription "today".',
)
OTHER = Document("other", "Stop my subscription at once. The weather is nice.")


@pytest.fixture(scope="module")
def store(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples") / "calls"
    with Corpus(folder, encoder) as corpus:
        corpus.add([DOCUMENT, OTHER])
    return folder


@pytest.fixture(scope="module")
def service(store: Path) -> Iterator[Server]:
    with served(str(store)) as server:
        yield server


def program(name: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    """The command of an example without its arguments, as its page says, and its environment.

    Skips if what it needs is not installed.
    """
    page = (EXAMPLES / "clients" / "README.md").read_text("utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S)
    (block,) = [block for block in blocks if f"examples/clients/{name}" in block]
    *builds, command = block.splitlines()
    environment = ENVIRONMENT | {"LC_ALL": "C"}
    if name == "java":
        try:
            environment["JAVA_HOME"] = str(find_jdk())
        except RuntimeMissingError as error:
            pytest.skip(str(error))
        binaries = f"{environment['JAVA_HOME']}/bin"
        environment["PATH"] = os.pathsep.join([binaries, environment["PATH"]])
    tools = {"curl.sh": ["curl", "jq"], "node": ["node"], "go": ["go"], "java": ["mvn"]}
    for tool in tools[name]:
        if shutil.which(tool, path=environment["PATH"]) is None:
            pytest.skip(f"no {tool} on the PATH")
    for build in builds:
        done = subprocess.run(
            build.split(), cwd=folder, env=environment, capture_output=True, text=True
        )
        output = done.stdout + done.stderr
        if re.search(r"Could not (transfer|resolve)|has not been downloaded", output):
            pytest.skip("Maven could not fetch what the example in Java needs: check the network")
        assert done.returncode == 0, output
    words = command.split()
    return words[: words.index("http://127.0.0.1:8000")], environment


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the examples, to build them in."""
    folder = tmp_path_factory.mktemp("checkout")
    ignored = shutil.ignore_patterns("target")
    shutil.copytree(EXAMPLES / "clients", folder / "examples" / "clients", ignore=ignored)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "curl.sh",
        "node",
        pytest.param("go", marks=pytest.mark.release),
        pytest.param("java", marks=pytest.mark.release),
    ],
)
def test_an_example_finds_what_the_service_finds(
    service: Server, store: Path, folder: Path, name: str, encoder: SpanEncoder
) -> None:
    command, environment = program(name, folder)

    def run(address: str, phrase: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*command, address, phrase], cwd=folder, env=environment, capture_output=True
        )

    done = run(service.address, PHRASE)
    assert done.returncode == 0, done.stderr.decode()
    searched, mined, marked = re.fullmatch(
        r"search\n(.*)mine\n(.*)highlights\n(.*)\n", done.stdout.decode(), re.S
    ).groups()  # type: ignore[union-attr]
    with Corpus(store, encoder) as corpus:
        found = corpus.search(PHRASE, top_k=3)
        hits = corpus.mine(PHRASE, threshold=0.5)

    def lines(text: str) -> list[tuple[str, float]]:
        rows = re.findall(r"^([\d.]+)  (.*)$", text, re.M)
        return [(place, round(float(cosine), 6)) for cosine, place in rows]

    for text, expected in ((searched, found), (mined, hits)):
        assert lines(text) == [
            (f"{hit.doc_id}:{hit.start}-{hit.end}  {hit.text}", round(hit.cosine, 6))
            for hit in expected
        ]
    assert mined.splitlines()[-1] == f"{len(hits)} hits"
    assert marked.replace("[", "").replace("]", "") == DOCUMENT.text
    assert re.findall(r"\[(.*?)\]", marked) == [
        hit.text for hit in hits if hit.doc_id == found[0].doc_id == DOCUMENT.id
    ]

    refused = run(service.address, "...")
    assert refused.returncode != 0
    assert b"..." in refused.stdout + refused.stderr
