"""Odd lines on the standard input of `slice-os mcp`: each is answered, or refused in one line.

    python -m tests.soak.stdio --out benchmarks/results/soak_stdio.json

After each, the server must still answer a usual request, and have written no traceback.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from pydantic_core import from_json

from slice_os import Corpus
from tests.service.conftest import DOCUMENTS
from tests.soak.fields import ODD, STRANGE, object_of
from tests.soak.report import options, tell

PATIENCE = 60
PATHS = (
    *("../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "calls/../calls/ü 1.txt", "~", "."),
    *(
        "\x00",
        "..%2f..%2fetc%2fpasswd",
        "C:\\windows\\win.ini",
        "a" * 100_000,
        "'; drop table x; --",
    ),
)
ARGUMENTS: dict[str, dict[str, Any]] = {
    "search": {"phrases": ["cancel my plan"], "store": "calls", "top_k": 2, "where": {"csat": 2}},
    "mine": {"phrases": ["cancel my plan"], "limit": 2, "threshold": 0.5, "unit": "span"},
    "scan": {"text": "I want to cancel.", "phrases": ["cancel my plan"], "limit": 2},
    "document": {"doc_id": "chat-1", "store": "calls", "start": 0, "length": 9},
    "stores": {},
}
RAW = (
    *("", "{", "nothing", "[]", "null", "[" * 100_000, '{"jsonrpc":"2.0"}', '{"id":1}', "\ufeff{}"),
    *('{"jsonrpc":"2.0","id":1,"method":"none"}', '{"jsonrpc":"1.0","id":1,"method":"ping"}'),
    *('{"jsonrpc":"2.0","id":null,"method":"ping"}', '{"jsonrpc":"2.0","id":{},"method":"ping"}'),
    '{"jsonrpc":"2.0","id":' + "9" * 5_000 + ',"method":"ping"}',
    '{"jsonrpc":"2.0","id":"' + "i" * 1_000_000 + '","method":"ping"}',
    '{"jsonrpc":"2.0","id":7,"method":"' + "m" * 1_000_000 + '"}',
    '{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}',
    '{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"../x"}}',
    '{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}',
)


class Mcp:
    """The command, and the lines that it writes."""

    def __init__(self, store: Path, work: Path) -> None:
        command = [sys.executable, "-m", "slice_os.cli", "mcp", "--store", str(store)]
        self.errors = (work / "errors.txt").open("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [*command, "--work", str(work)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
        )
        self.lines: Queue[dict[str, Any]] = Queue()
        self.number = 0
        threading.Thread(target=self._read, daemon=True).start()
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
        self.ask("initialize", {**hello, "clientInfo": {"name": "a", "version": "1"}})
        self.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.put(json.loads(line))

    def send(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode("utf-8", "surrogatepass") + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: object, packed: str = "") -> dict[str, Any]:
        """The answer to a request."""
        self.number += 1
        head = f'{{"jsonrpc":"2.0","id":"own {self.number}","method":"{method}","params":'
        self.send(f"{head}{packed or json.dumps(params)}}}")
        return self.answer_of(f"own {self.number}")

    def answer_of(self, name: str) -> dict[str, Any]:
        """The answer with an id; others are left out."""
        while (answer := self.lines.get(timeout=PATIENCE)).get("id") != name:
            pass
        return answer

    def end(self) -> str:
        """End it in order; what it wrote to standard error."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0
        with self.errors:
            self.errors.seek(0)
            return self.errors.read()


def odd_calls() -> Iterator[tuple[str, str]]:
    """Names of tools, and JSON of arguments for them."""
    for name in (*ARGUMENTS, "none", "../x", "__init__", "a" * 100_000, "\\ud800", ""):
        for odd in ODD:
            yield name, odd
        usual = {key: json.dumps(one) for key, one in ARGUMENTS.get(name, {}).items()}
        for key in usual:
            others = [(other, one) for other, one in usual.items() if other != key]
            for odd in (*ODD, *map(json.dumps, PATHS)):
                yield name, object_of([*others, (key, odd)])
                yield name, object_of([*others, (key, f"[{odd}]")])
        for key in STRANGE:
            yield name, object_of([(key, "1")])


def called(server: Mcp, name: str, arguments: str) -> tuple[str, str]:
    """How a call of a tool ends, and what is wrong with that."""
    packed = f'{{"name":"{name}","arguments":{arguments}}}'
    try:
        from_json(packed.encode("utf-8", "surrogatepass"), allow_inf_nan=False)
    except ValueError:
        # What cannot be read has no id, so that nobody may be answered.
        server.send(f'{{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{packed}}}')
        return "no JSON", "" if server.ask("ping", {}) else "deaf"
    try:
        answer = server.ask("tools/call", {}, packed)
    except Empty:
        return "none", "no answer"
    told = json.dumps(answer)
    end = "error" if "error" in answer else "refused" if answer["result"]["isError"] else "answer"
    return end, told[:300] if "Traceback" in told or "root:" in told else ""


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--every", type=int, default=1, help="send only each of so many")
    chosen = parser.parse_args()
    ends: Counter[str] = Counter()
    bad: list[str] = []
    longest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        with Corpus(work / "calls") as corpus:
            corpus.add(DOCUMENTS)
        server = Mcp(work / "calls", work)
        for line in RAW:
            server.send(line)
            server.ask("ping", {})
            ends["lines"] += 1
        for number, (name, arguments) in enumerate(odd_calls()):
            if number % chosen.every:
                continue
            began = time.monotonic()
            end, why = called(server, name, arguments)
            longest = max(longest, time.monotonic() - began)
            ends[end] += 1
            if why:
                bad.append(f"{name[:50]} {arguments[:200]}: {why}")
        tracebacks = server.end().count("Traceback")
    report = {"ends": ends, "longest": round(longest, 2), "tracebacks": tracebacks, "bad": bad[:50]}
    tell(report, chosen.out, failed=bad or tracebacks)


if __name__ == "__main__":
    main()
