"""The command of the service in compose.yaml, run on its own against a real node."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from opensearchpy import OpenSearch

REPOSITORY = Path(__file__).parents[2]
SERVICE: dict[str, Any] = yaml.safe_load((REPOSITORY / "compose.yaml").read_text("utf-8"))[
    "services"
]["service"]
INDEX = "http://opensearch:9200/demo"
PATIENCE = 300


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def some_of_the_demo(home: Path) -> Path:
    """Three contracts and twenty dialogues, which load in seconds."""
    demo = home / "demo"
    (demo / "contracts").mkdir(parents=True)
    for path in sorted((REPOSITORY / "demo" / "contracts").glob("*.txt"))[:3]:
        shutil.copy(path, demo / "contracts")
    lines = (REPOSITORY / "demo" / "dialogues.jsonl").read_text("utf-8").splitlines(True)
    (demo / "dialogues.jsonl").write_text("".join(lines[:20]), "utf-8")
    return demo


@pytest.mark.slow
@pytest.mark.release
def test_it_loads_the_demo_is_ready_and_answers(
    address: str, opensearch: OpenSearch, tmp_path: Path
) -> None:
    port = free_port()
    (program,) = SERVICE["command"]
    command = program.replace(INDEX, address).replace("/demo/", f"{some_of_the_demo(tmp_path)}/")
    # Compose replaces the variable; the container has an address of its own.
    command = command.replace("${SLICE_OS_PORT:-8000}", str(port)).replace("0.0.0.0", "127.0.0.1")
    binaries = [str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(binaries), "PYTHONPATH": str(REPOSITORY)}
    log = tmp_path / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*SERVICE["entrypoint"], f"{command} --port {port}"],
            cwd=tmp_path,
            env=environment,
            stderr=file,
            start_new_session=True,
        )
    healthy = [word.replace("8000", str(port)) for word in SERVICE["healthcheck"]["test"][1:]]
    try:
        end = time.monotonic() + PATIENCE
        while subprocess.run(healthy, env=environment, capture_output=True).returncode:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(1)
        address = f"http://127.0.0.1:{port}"
        assert "<html" in httpx.get(address).text
        (store,) = httpx.get(f"{address}/stores", timeout=60).json()["stores"]
        assert (store["kind"], store["documents"]) == ("opensearch", 23)
        body = {"phrases": "either party may terminate this agreement at any time", "top_k": 3}
        hits = httpx.post(f"{address}/search", json=body, timeout=60).json()["hits"]
        assert len(hits) == 3
        assert any("terminat" in hit["passage"]["text"].lower() for hit in hits)
        foreign = httpx.get(f"{address}/stores", headers={"Host": "elsewhere.example"})
        assert foreign.status_code >= 400
        label = {"topic": "termination", "text": hits[0]["text"], "label": True}
        httpx.post(f"{address}/labels", json={"labels": [label]}).raise_for_status()
        assert (tmp_path / "labels.jsonl").exists()
        # The shell has replaced itself, so that the signal of Compose reaches the service.
        process.terminate()
        assert process.wait(60) in (0, -signal.SIGTERM)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
