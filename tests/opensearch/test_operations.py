"""What the docs say about sizing, rights and operating an index holds on a real node."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from opensearchpy import OpenSearch

from slice_os import Corpus, IndexOptions, SpanEncoder
from slice_os.stores.cluster.server import detection

from ..command_line import printed
from .node import Node, node_of_its_own
from .runtime import Runtime
from .support import call_cli, write_lines
from .support import dialogues as raw_dialogues
from .texts import dialogues

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / name for name in ("sizing.md", "access.md", "operations.md")]
ADDRESS = "http://localhost:9200"
PHRASES = ["please change my seat", "I need my boarding pass"]

# The security plugin checks an automatic action as the one that a request would name.
SAME_ACTION = {
    "indices:admin/mapping/auto_put": "indices:admin/mapping/put",
    "indices:admin/auto_create": "indices:admin/create",
}
# These it checks by the role's cluster permissions, all others by those for the index.
CLUSTER_ACTIONS = re.compile(
    r"cluster:|indices:admin/(index_)?template/"
    r"|indices:data/read/(mget$|msearch|scroll)|indices:data/write/bulk$"
)


@pytest.fixture(scope="module")
def node(opensearch_runtime: Runtime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node whose log names every action, and that may write snapshots."""
    home = tmp_path_factory.mktemp("operations")
    settings = {
        "logger.org.opensearch.tasks": "trace",
        "path.repo": [str(tmp_path_factory.mktemp("snapshots"))],
    }
    node = Node(opensearch_runtime, home, heap="512m", settings=settings)
    with node_of_its_own(node):
        yield node


def fences(language: str) -> list[str]:
    """The blocks of the pages in a language."""
    parser = MarkdownIt("commonmark")
    blocks = [block for page in PAGES for block in parser.parse(page.read_text("utf-8"))]
    return [block.content for block in blocks if block.type == "fence" and block.info == language]


def permissions(role: dict[str, Any]) -> set[tuple[str, str]]:
    """What a role allows, as kind and pattern."""
    (index,) = role["index_permissions"]
    return {("cluster", pattern) for pattern in role["cluster_permissions"]} | {
        ("index", pattern) for pattern in index["allowed_actions"]
    }


def allowing(action: str, allowed: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The permissions that allow an action."""
    kind = "cluster" if CLUSTER_ACTIONS.match(action) else "index"
    return {one for one in allowed if one[0] == kind and fnmatchcase(action, one[1])}


class Actions:
    """The actions that a node ran since this was made, but for the server's own."""

    def __init__(self, node: Node) -> None:
        self._log = node.home / "node.log"
        self._start = self._log.stat().st_size

    def seen(self) -> set[str]:
        with self._log.open("rb") as stream:
            stream.seek(self._start)
            text = stream.read().decode("utf-8", errors="replace")
        found = re.findall(
            r" register \d+ \[\w+\] \[((?:indices|cluster):[\w/]+(?:\[\w+\])?)", text
        )
        return {SAME_ACTION.get(name, name) for name in found if "/seq_no/" not in name}


@pytest.mark.release
def test_roles_allow_what_the_commands_do_and_no_more(
    node: Node, encoder: SpanEncoder, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    location = f"{node.url}/calls"
    path = write_lines(tmp_path / "calls.jsonl", raw_dialogues(8))

    def write() -> None:
        assert call_cli(capsys, "ingest", path, "--store", location, "--force-merge")[0] == 0
        write_lines(path, raw_dialogues(8, first=2))
        assert call_cli(capsys, "ingest", path, "--store", location)[0] == 0
        first = raw_dialogues(1, first=2)[0]["id"]
        assert call_cli(capsys, "store", "delete", first, "--store", location)[0] == 0

    def read() -> None:
        with Corpus(location, encoder) as calls:
            calls.search(PHRASES)
            calls.mine(PHRASES, threshold=0.5)
            calls.mine(PHRASES, threshold=0.5, exhaustive=False)
        for command in (["store", "info"], ["index", "query", PHRASES[0]]):
            assert call_cli(capsys, *command, "--store", location)[0] == 0

    def manage() -> None:
        for command in (
            ["index", "info"],
            ["store", "check"],
            ["index", "reindex", "--swap"],
            ["index", "swap", "calls-000001"],
            ["index", "delete", "calls-000002", "--yes"],
            ["index", "delete", "--yes"],
        ):
            assert call_cli(capsys, *command, "--store", location)[0] == 0

    reader, writer, manager = (permissions(json.loads(role)) for role in fences("json"))
    for work, role, others in (
        (write, writer, reader),
        (read, reader, set()),
        (manage, manager, reader | writer),
    ):
        actions = Actions(node)
        detection._found.clear()  # as in a new process
        work()
        seen = actions.seen()
        used = {action: allowing(action, role | others) for action in seen}
        assert not [action for action, by in used.items() if not by], work.__name__
        assert role == role & set().union(*used.values()), work.__name__


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
def test_the_commands_run_and_a_restored_index_answers_as_before(
    node: Node, encoder: SpanEncoder, tmp_path: Path
) -> None:
    location = f"{node.url}/calls"
    binaries = Path(sys.executable).parent
    path = write_lines(tmp_path / "calls.jsonl", raw_dialogues(12))

    def run(block: str) -> str:
        command = block.replace(ADDRESS, node.url).replace("demo/dialogues.jsonl", str(path))
        command = command.replace("/var/backups/opensearch", node.settings["path.repo"][0])
        variables = os.environ | {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}
        answer = printed(["sh", "-euc", command], cwd=tmp_path, env=variables)
        assert '"error"' not in answer, answer
        return answer

    *before, restore = fences("sh")
    answers = [run(block) for block in before]
    assert '"SUCCESS"' in answers[-1]
    (health,) = [answer for answer in answers if '"unassigned_shards"' in answer]
    assert '"status":"green"' in health
    with Corpus(location, encoder) as calls:
        hits = list(calls.search(PHRASES))
    run(restore)
    with Corpus(location, encoder) as calls:
        assert list(calls.search(PHRASES)) == hits


@pytest.mark.release
def test_an_index_with_replicas_on_one_node_is_yellow(node: Node, encoder: SpanEncoder) -> None:
    with Corpus(f"{node.url}/lonely", encoder, index=IndexOptions(replicas=1)) as corpus:
        corpus.add(dialogues(2))
    with OpenSearch(node.url) as client:
        health = client.cluster.health(index="lonely")
        assert (health["status"], health["unassigned_shards"]) == ("yellow", 1)
