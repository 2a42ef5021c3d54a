"""The service does what its OpenAPI description says, for whatever is sent to it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from pydantic import BaseModel
from starlette.testclient import TestClient

from slice_os.client.records import StoreRecord, TopicTable
from slice_os.service.asgi.keys import SCOPES, new_key
from slice_os.service.resources.stores import StoreEntry
from slice_os.service.resources.topic_improvement import LearnAnswer

from .conftest import served

# Values of the right form may still be wrong: a phrase without a word, an unknown field or topic, a
# reader whom the key does not name.
CONFIG = """
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "403", "404", "409", "412"]
negative_data_rejection.expected-statuses = ["400", "404", "405", "409", "412", "422"]
"""


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.parametrize(
    "phase", ["fuzzing", pytest.param("examples,coverage", marks=pytest.mark.large)]
)
def test_schemathesis_finds_no_fault(store_folder: Path, tmp_path: Path, phase: str) -> None:
    shutil.copytree(store_folder, tmp_path / "calls")
    (tmp_path / "schemathesis.toml").write_text(CONFIG)
    # Most of its time would be the network's.
    places = ("--work", str(tmp_path), "--verifier", "similarity")
    keys = tmp_path / "keys.jsonl"
    header = f"Bearer {new_key(keys, 'all', SCOPES)}"
    with served(str(tmp_path / "calls"), *places, "--keys", str(keys)) as server:
        topic = {"name": "cancel", "phrases": ["cancel my plan"]}
        added = httpx.post(
            f"{server.address}/topics", json=topic, headers={"Authorization": header}
        )
        assert added.status_code == 201
        command = [
            *(sys.executable, "-m", "schemathesis.cli"),
            *("--config-file", str(tmp_path / "schemathesis.toml")),
            *("run", f"{server.address}/openapi.json"),
            *("--phases", phase, "--max-examples", "5"),
            *("--seed", "1", "--generation-deterministic"),
            *("--header", f"Authorization: {header}"),
            *("--request-timeout", "60", "--workers", "1", "--no-color"),
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert httpx.get(f"{server.address}/ready").status_code == 200
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert "Traceback" not in "".join(server.log)


def test_the_description_is_openapi_3_1_and_has_every_error(client: TestClient) -> None:
    description = client.get("/openapi.json").json()
    assert description["openapi"] == "3.1.0"
    for path, operations in description["paths"].items():
        if path in ("/health", "/ready"):
            continue
        for operation in operations.values():
            assert {"401", "403", "429", "503", "504"} <= operation["responses"].keys()


@pytest.mark.parametrize(
    ("record", "answer"), [(StoreRecord, StoreEntry), (TopicTable, LearnAnswer)]
)
def test_what_is_declared_twice_has_the_same_fields(record: type, answer: type[BaseModel]) -> None:
    # The client returns tables of these two, to edit and to send back; the client does not import
    # pydantic, which checks them here. All other records are declared once, in the library.
    assert record.__annotations__.keys() == answer.model_fields.keys()
