"""Processes that run `slice-os` with small requests, from one that has imported it already."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from pathlib import Path

ERRORS = "errors.txt"
# What a command imports when it runs.
IMPORTED = (
    "onnxruntime",
    "tokenizers",
    "slice_os.cli.ingest",
    "slice_os.corpus",
    "slice_os.ingest.pipeline",
    "slice_os.stores.cluster.store",
)


class Child:
    """A process that runs the command line; it can be killed like any other.

    Args:
        arguments: of `slice-os`.
        work: the folder to run it in; what it complains of goes to a file there.
    """

    def __init__(self, arguments: Sequence[str], work: Path) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["__main__", *IMPORTED])
        self._errors = work / ERRORS
        self._process = context.Process(target=_run, args=(list(arguments), work))
        self._process.start()

    def poll(self) -> int | None:
        """The exit status; None while it runs."""
        return self._process.exitcode

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()

    def wait(self) -> int:
        """Wait for its end; returns the exit status."""
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode

    def errors(self) -> list[str]:
        """Lines that it wrote to standard error."""
        return self._errors.read_text("utf-8").splitlines() if self._errors.exists() else []


def _run(arguments: list[str], work: Path) -> None:
    from slice_os.cli import main

    os.chdir(work)
    for stream, name in ((1, os.devnull), (2, ERRORS)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), stream)
    make_requests_small()
    main(arguments)


def make_requests_small() -> None:
    """Few documents make many requests; a killed process soon counts as ended."""
    from slice_os.stores.cluster.loading import bulk, lease, writer

    bulk.CHUNK_ACTIONS, writer.LOOKUP_DOCUMENTS = 10, 4
    lease.BEAT_SECONDS, lease.SILENCE_SECONDS = 1.0, 6.0
