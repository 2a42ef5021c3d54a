"""What docs/operations.md says about roles and snapshots holds on a real node."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from opensearchpy import OpenSearch

from slice_os import Corpus, IndexOptions, SpanEncoder

from .node import Node
from .runtime import Runtime
from .support import DEMO, call_cli
from .texts import dialogues

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
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
    with Node(opensearch_runtime, home, heap="512m", settings=settings) as node:
        yield node
    shutil.rmtree(home)


class Actions:
    """The actions that a node ran since this was made."""

    def __init__(self, node: Node) -> None:
        self._log = node.home / "node.log"
        self._start = self._log.stat().st_size

    def seen(self) -> set[str]:
        with self._log.open("rb") as stream:
            stream.seek(self._start)
            text = stream.read().decode("utf-8", errors="replace")
        return set(re.findall(r" register \d+ \[\w+\] \[([^\]\[]+(?:\[\w+\])?)", text))


def test_probe(node: Node, encoder: SpanEncoder, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    location = f"{node.url}/calls"
    out = {}
    a = Actions(node)
    assert call_cli(capsys, "ingest", DEMO / "dialogues.jsonl", "--store", location)[0] == 0
    out["ingest"] = sorted(a.seen())
    a = Actions(node)
    with Corpus(location, encoder) as c:
        c.search(PHRASES); c.mine(PHRASES, threshold=.7); c.mine(PHRASES, threshold=.7, exhaustive=False); c.info()
    out["read"] = sorted(a.seen())
    a = Actions(node)
    for cmd in (["verify"], ["info"], ["reindex", "--swap"], ["swap", "calls-000001"], ["delete", "calls-000002", "--yes"]):
        assert call_cli(capsys, "index", *cmd, "--store", location)[0] == 0
    assert call_cli(capsys, "ingest", DEMO / "dialogues.jsonl", "--store", location, "--force-merge")[0] == 0
    out["manage"] = sorted(a.seen())
    a = Actions(node)
    assert call_cli(capsys, "index", "delete",  "--yes", "--store", location)[0] == 0
    out["delete"] = sorted(a.seen())
    Path("/tmp/plan/actions.json").write_text(json.dumps(out, indent=1))
