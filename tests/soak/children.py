"""Processes that run `slice-os` with small requests, from one that has imported it already."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from pathlib import Path

ERRORS = "errors.txt"
# What a command imports when it runs.
IMPORTED = (
    *("onnxruntime", "tokenizers", "slice_os.cli.ingest", "slice_os.corpus"),
    *("slice_os.ingest.pipeline", "slice_os.stores.cluster.store"),
)


class Child:
    """A process that runs the command line; it can be killed like any other.

    Args:
        arguments: of `slice-os`.
        work: the folder to run it in.
        errors: name of a file there for what it complains of.
    """

    def __init__(self, arguments: Sequence[str], work: Path, errors: str = ERRORS) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["__main__", *IMPORTED])
        self._errors = work / errors
        self._process = context.Process(target=_run, args=(list(arguments), work, errors))
        self._process.start()

    def poll(self) -> int | None:
        """The exit status; None while it runs."""
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int:
        """Wait for its end; returns the exit status."""
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode

    def errors(self) -> list[str]:
        """Lines that it wrote to standard error."""
        return self._errors.read_text("utf-8").splitlines() if self._errors.exists() else []


class Workers:
    """Processes that load one index together; the first of them is killed.

    Args:
        arguments: of `slice-os`, without the part.
        work: the folder to run it in.
        count: how many.
    """

    def __init__(self, arguments: Sequence[str], work: Path, count: int) -> None:
        parts = [f"{number}/{count}" for number in range(1, count + 1)]
        self._children = [
            Child([*arguments, "--part", part], work, f"{part[0]}-{ERRORS}") for part in parts
        ]

    def poll(self) -> int | None:
        """The worst exit status; None while one runs."""
        ends = [child.poll() for child in self._children]
        return None if None in ends else max(map(abs, filter(None, ends)), default=0)

    def kill(self) -> None:
        """Kill the first."""
        self._children[0].kill()

    def wait(self) -> int:
        """Wait for the end of all; returns the worst exit status."""
        return max(abs(child.wait()) for child in self._children)

    def errors(self) -> list[str]:
        """Lines that they wrote to standard error."""
        return [line for child in self._children for line in child.errors()]


def _run(arguments: list[str], work: Path, errors: str) -> None:
    from slice_os.cli import main

    os.chdir(work)
    for stream, name in ((1, os.devnull), (2, errors)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), stream)
    make_requests_small()
    main(arguments)


def make_requests_small() -> None:
    """Few documents make many requests; a killed process soon counts as ended."""
    from slice_os.stores.cluster.loading import bulk, lease, writer

    bulk.CHUNK_ACTIONS, writer.LOOKUP_DOCUMENTS = 10, 4
    lease.BEAT_SECONDS, lease.SILENCE_SECONDS = 1.0, 6.0
