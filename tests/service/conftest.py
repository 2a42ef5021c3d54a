"""A service over a small store: as an app in this process, and as a process of its own."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from slice_os import Corpus, Document, Segment, SpanEncoder
from slice_os.service.app import AppServer, create_app
from slice_os.service.settings import ServiceSettings

REPOSITORY = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {
    "PYTHONPATH": str(REPOSITORY),
    "PYTHONUNBUFFERED": "1",
    "OMP_NUM_THREADS": "1",
}
COMMAND = [sys.executable, "-m", "slice_os.cli"]

# With markup, code points beyond the basic plane, and a right-to-left name.
DOCUMENTS = [
    Document(
        "calls/ü 1.txt",
        "😀 Hello there. Please end my plan today, I no longer need it.",
        {"domain": "media", "csat": 2, "day": "2026-06-01"},
    ),
    Document(
        "calls/<b>2</b>.txt",
        "I want to cancel my subscription. <script>alert('x')</script> Thank you & goodbye.",
        {"domain": "media", "csat": 4, "day": "2026-06-02", "agent": "<i>Ann</i>"},
    ),
    Document(
        "contract.txt",
        "Either party may terminate this agreement at any time. The fee is due in thirty days. "
        "This agreement renews by itself each year.",
        {"domain": "contracts", "party": "שלום"},
    ),
    Document(
        "chat-1",
        "My card was stolen.\nI am sorry to hear that.\nPlease block it at once.",
        {"domain": "finance", "csat": 3, "day": "2026-06-02"},
        (Segment(0, 19, "customer"), Segment(20, 44, "agent"), Segment(45, 69, "customer")),
    ),
]


@pytest.fixture(scope="session")
def store_folder(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of `DOCUMENTS` that no test changes."""
    folder = tmp_path_factory.mktemp("service") / "calls"
    with Corpus(folder, encoder) as corpus:
        corpus.add(DOCUMENTS)
    return folder


@pytest.fixture
def own_store(store_folder: Path, tmp_path: Path) -> str:
    """A copy of it that a test may change."""
    return str(shutil.copytree(store_folder, tmp_path / "copy"))


@pytest.fixture
def settings(store_folder: Path, tmp_path: Path) -> ServiceSettings:
    """Of a service over that store, with topics and labels of its own."""
    return ServiceSettings({"calls": str(store_folder)}, tmp_path)


def asking(app: FastAPI) -> TestClient:
    """Asks an app in this process as if it listened on this machine alone."""
    return TestClient(app, base_url="http://127.0.0.1:8000")


@pytest.fixture
def client(settings: ServiceSettings) -> Iterator[TestClient]:
    """Asks an app in this process."""
    with asking(create_app(settings)) as client:
        yield client


@dataclass(frozen=True)
class Server:
    """A service in a process of its own.

    Attributes:
        address: ``http://127.0.0.1:PORT``, without a slash at the end.
        process: ends with SIGTERM.
        log: what it wrote to standard error after its first line.
    """

    address: str
    process: subprocess.Popen[str]
    log: list[str]


@contextmanager
def served(
    *arguments: str, environment: Mapping[str, str] = {}, command: Sequence[str] = COMMAND
) -> Iterator[Server]:
    """``slice-os serve`` with these arguments and variables, on a free port."""
    command = [*command, "serve", "--port", "0", *arguments]
    variables = {**ENVIRONMENT, **environment}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=variables)
    assert process.stderr is not None
    first = process.stderr.readline()
    log: list[str] = []
    # A pipe that nobody reads would stop the service.
    reader = threading.Thread(target=lambda: log.extend(process.stderr or ()))
    reader.start()
    try:
        found = re.search(r"at (http://\S+)/;", first.rstrip())
        assert found, first
        yield Server(found[1], process, log)
    finally:
        process.terminate()
        try:
            process.wait(60)
        finally:
            process.kill()
            process.wait()
            reader.join()
            process.stderr.close()


@contextmanager
def in_thread(app: FastAPI) -> Iterator[str]:
    """An app behind a real server in a thread; gives its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = AppServer(app)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def server(store_folder: Path, tmp_path: Path) -> Iterator[Server]:
    """A service over the small store, with topics and labels of its own."""
    with served(str(store_folder), *("--work", str(tmp_path))) as server:
        yield server
