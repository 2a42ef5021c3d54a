"""What SECURITY.md says of work with a local store: no connection, nothing unpickled."""

from __future__ import annotations

import sys
from pathlib import Path

from .command_line import printed

RUN = """
import os, sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "pickle.find_class"):
        os.write(2, f"{event} {arguments}".encode())
        os._exit(9)

sys.addaudithook(refuse)
from slice_os.cli import cli

folder = sys.argv[1]
for command in (
    ["ingest", f"{folder}/calls", "--store", f"{folder}/store"],
    ["search", "end my plan", "--store", f"{folder}/store"],
    ["mine", "--phrase", "end my plan", "--store", f"{folder}/store"],
    ["scan", "--phrase", "end my plan", f"{folder}/calls/a.html"],
):
    try:
        cli(command)
    except SystemExit as end:
        assert not end.code, command
assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"
"""


def test_work_with_a_local_store_connects_to_nothing_and_unpickles_nothing(tmp_path: Path) -> None:
    (tmp_path / "calls").mkdir()
    (tmp_path / "calls" / "a.html").write_text("<p>Please end my plan today.</p>")
    (tmp_path / "calls" / "b.jsonl").write_text('{"id": "b", "text": "I want to end my plan."}\n')
    assert printed([sys.executable, "-c", RUN, str(tmp_path)]).count("end my plan") >= 3
