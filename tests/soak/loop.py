"""How long refused bodies keep a service's event loop from anything else, in processor time.

    python -m tests.soak.loop --out benchmarks/results/soak_loop.json

Another process sends the bodies of `tests.soak.hostile`. Times are of the processor, so that other
work on the machine counts little: the longest callback of the loop, and the most that the process
did between two steps of a task that asks for a step every millisecond. The latter has what other
threads do while they hold the interpreter, and what they do without it.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from asyncio.events import Handle
from pathlib import Path
from subprocess import PIPE
from typing import Any

from slice_os import Corpus
from slice_os.service.app import create_app
from slice_os.service.settings import ServiceSettings
from tests.service.conftest import DOCUMENTS, Server, in_thread
from tests.soak.hostile import bodies, posted
from tests.soak.report import options, tell


class Watch:
    """The longest callback of a loop, and the most work between two steps, in seconds."""

    def __init__(self) -> None:
        self.callback = self.between = 0.0
        run, run_forever = Handle._run, asyncio.BaseEventLoop.run_forever

        def timed(handle: Handle) -> None:
            began = time.thread_time()
            run(handle)
            self.callback = max(self.callback, time.thread_time() - began)

        def watched(loop: asyncio.BaseEventLoop) -> None:
            steps = loop.create_task(self.step())
            run_forever(loop)
            steps.cancel()

        Handle._run = timed  # type: ignore[method-assign]
        asyncio.BaseEventLoop.run_forever = watched  # type: ignore[method-assign]

    async def step(self) -> None:
        """Ask for a step again and again."""
        before = time.process_time()
        while True:
            await asyncio.sleep(0.001)
            now = time.process_time()
            self.between, before = max(self.between, now - before), now

    def taken(self) -> dict[str, float]:
        """What was seen since the last time, in milliseconds."""
        found = {"callback_ms": self.callback, "between_ms": self.between}
        self.callback = self.between = 0.0
        return {name: round(1_000 * one, 1) for name, one in found.items()}


def send(address: str) -> None:
    """Send the bodies, each once a line of standard input asks for it, and print the statuses."""
    server: Any = Server(address, None, [])  # type: ignore[arg-type]
    for path, content in (("/scan", b"{}"), ("/scan", b"{}"), *bodies().values()):
        input()
        print(posted(server, path, content, "", 120)[0], flush=True)  # noqa: T201


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--send", metavar="ADDRESS")
    chosen = parser.parse_args()
    if chosen.send:
        send(chosen.send)
        return
    watch, report = Watch(), {}
    with tempfile.TemporaryDirectory() as folder:
        with Corpus(Path(folder, "calls")) as corpus:
            corpus.add(DOCUMENTS)
        app = create_app(ServiceSettings({"calls": str(Path(folder, "calls"))}, Path(folder)))
        command = [sys.executable, "-m", "tests.soak.loop", "--send"]
        with (
            in_thread(app) as address,
            subprocess.Popen([*command, address], stdin=PIPE, stdout=PIPE, text=True) as sender,
        ):
            assert sender.stdin is not None
            assert sender.stdout is not None
            for name in ("the first request", "none", *bodies()):
                watch.taken()
                print(file=sender.stdin, flush=True)
                status = sender.stdout.readline().strip()
                load = round(os.getloadavg()[0], 1)
                report[name] = {"status": status, "load": load, **watch.taken()}
    tell(report, chosen.out)


if __name__ == "__main__":
    main()
