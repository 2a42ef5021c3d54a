"""Hits as files."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import tempfile
import zipfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from slice_os import Hits
from tests.soak.full_disk import disk, resize


def test_hits_are_files_in_every_format(client: TestClient) -> None:
    hits = client.post("/search", json={"phrases": "cancel my plan"}).json()["hits"]
    answered = [{**hit, "label": number == 0} for number, hit in enumerate(hits[:2])]
    marked = client.post("/export", params={"format": "csv"}, json={"hits": answered}).text
    labels = [row["label"] for row in csv.DictReader(io.StringIO(marked.lstrip("\ufeff")))]
    assert labels == ["✓", "✕"][: len(hits)]
    answers = {
        kind: client.post("/export", params={"format": kind}, json={"hits": hits})
        for kind in ("jsonl", "csv", "xlsx", "parquet", "html")
    }
    assert {answer.status_code for answer in answers.values()} == {200}
    assert [hit.to_dict() for hit in Hits.from_jsonl(answers["jsonl"].content)] == hits
    rows = list(csv.DictReader(io.StringIO(answers["csv"].content.decode("utf-8-sig"))))
    assert [row["doc_id"] for row in rows] == [hit["doc_id"] for hit in hits]
    assert zipfile.is_zipfile(io.BytesIO(answers["xlsx"].content))
    disposition = answers["xlsx"].headers["Content-Disposition"]
    assert disposition == 'attachment; filename="hits.xlsx"'


@pytest.mark.parametrize("kind", ["labelstudio.json", "prodigy.jsonl", "jsonld", "qdpx"])
def test_hits_are_files_for_other_tools(client: TestClient, kind: str) -> None:
    hits = client.post("/search", json={"phrases": "cancel my plan"}).json()["hits"]
    answer = client.post("/export", params={"format": kind}, json={"hits": hits})
    assert answer.status_code == 200
    content = answer.content
    if kind == "qdpx":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            content = archive.read("project.qde")
    assert all(hit["text"] in content.decode() for hit in hits)
    if kind != "jsonld":
        moved = [{**hits[0], "text": "elsewhere"}]
        answer = client.post("/export", params={"format": kind}, json={"hits": moved})
        assert answer.status_code == 400


@pytest.mark.parametrize("kind", ["jsonl", "csv", "xlsx", "parquet"])
def test_a_full_disk_is_told(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    (hit,) = client.post("/search", json={"phrases": "cancel my plan", "top_k": 1}).json()["hits"]
    with ExitStack() as stack:
        try:
            stack.enter_context(disk(tmp_path / "full"))
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("needs Linux and the right to mount")
        resize(tmp_path / "full", 4_096)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "full"))
        (tmp_path / "full" / "all").write_bytes(b"a")
        answer = client.post("/export", params={"format": kind}, json={"hits": [hit]})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "disk_full")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"text": "\ud800"}, (400, "bad_input")),
        ({"start": 10**30}, (400, "bad_input")),
        ({"probability": 1e308}, (400, "bad_input")),
        ({"cosine": float("nan")}, (422, "invalid_request")),  # which is no JSON
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["jsonl", "html", "jsonld"])
def test_what_no_file_can_hold_is_refused(
    client: TestClient, kind: str, change: dict[str, object], told: tuple[int, str]
) -> None:
    (hit,) = client.post("/search", json={"phrases": "cancel my plan", "top_k": 1}).json()["hits"]
    content = json.dumps({"hits": [hit | change]})
    headers = {"Content-Type": "application/json"}
    answer = client.post("/export", params={"format": kind}, content=content, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == told


@pytest.mark.parametrize(
    ("kind", "hits", "status"), [("doc", [], 422), ("csv", [{"text": "a"}], 400), ("csv", [3], 422)]
)
def test_what_is_no_hit_is_refused(
    client: TestClient, kind: str, hits: list[object], status: int
) -> None:
    answer = client.post("/export", params={"format": kind}, json={"hits": hits})
    assert answer.status_code == status


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_tables_of_very_many_cells_are_refused(client: TestClient, kind: str) -> None:
    (hit,) = client.post("/search", json={"phrases": "cancel my plan", "top_k": 1}).json()["hits"]
    hits = [
        hit | {"metadata": {f"{row} {column}": 1 for column in range(900)}} for row in range(50)
    ]
    answer = client.post("/export", params={"format": kind}, json={"hits": hits})
    assert answer.status_code == 400
    assert "50 hits by 45,000 fields" in answer.json()["error"]["message"]
    lines = client.post("/export", params={"format": "jsonl"}, json={"hits": hits})
    assert lines.status_code == 200
