"""`slice-os doctor` on this machine and on local stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from slice_os import Corpus, Document, SpanEncoder
from slice_os import doctor as checking
from slice_os.cli import cli
from slice_os.encoder.integers import saturates

CPU_INFO = """processor\t: 0
model name\t: A CPU
flags\t\t: fpu avx2 amx_bf16
processor\t: 1
model name\t: A CPU
flags\t\t: fpu avx2 amx_bf16
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "ROUNDS", 1)
    monkeypatch.delenv("SLICE_OS_STORE", raising=False)


@pytest.fixture
def store(encoder: SpanEncoder, tmp_path: Path) -> Path:
    with Corpus(tmp_path / "a.slice", encoder) as corpus:
        corpus.add([Document("a", "Either party may end this agreement.")])
    return tmp_path / "a.slice"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["doctor", *map(str, arguments)], standalone_mode=False)


def checks(result: Result) -> dict[str, dict[str, Any]]:
    report = orjson.loads(result.stdout)
    assert report["usable"] == (result.return_value == 0)
    return {check["name"]: check for check in report["checks"]}


def test_the_engine_is_timed() -> None:
    result = run("--json")
    assert result.return_value == 0
    found = checks(result)
    assert found["cpu"]["cores"] >= 1
    assert found["integers"]["fast"] is not saturates()
    assert "CPU" in found["onnxruntime"]["providers"]
    assert found["speed"]["tokens_per_second"] > 0


def test_text_has_a_line_for_each_check() -> None:
    lines = run("--text").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["cpu", "integers", "onnxruntime", "speed"]


def test_features_come_from_the_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(CPU_INFO, encoding="utf-8")
    monkeypatch.setattr(checking, "CPU_INFO", tmp_path / "cpuinfo")
    cpu = next(checking.machine_checks())
    assert (cpu.facts["model"], cpu.facts["features"]) == ("A CPU", ["avx2", "amx_bf16"])
    monkeypatch.setattr(checking, "CPU_INFO", tmp_path / "none")
    assert next(checking.machine_checks()).facts["features"] is None


def test_a_provider_that_is_missing_fails() -> None:
    result = run("--provider", "Abacus", "--json")
    assert result.return_value == 1
    assert "no execution provider 'Abacus'" in checks(result)["speed"]["finding"]


def test_a_local_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLICE_OS_STORE", str(store))
    result = run("--json")
    assert result.return_value == 0
    assert checks(result)["store"]["documents"] == 1


def test_no_store_fails(tmp_path: Path) -> None:
    result = run("--store", tmp_path / "none", "--json")
    assert result.return_value == 1
    assert "no store here" in result.stderr
