"""`slice-os doctor` on this machine and on local stores."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from slice_os import Corpus, Document, SpanEncoder
from slice_os.cli.doctor import doctor
from slice_os.doctor import machine

CPU_INFO = """processor\t: 0
model name\t: A CPU
flags\t\t: fpu avx2 amx_bf16
processor\t: 1
model name\t: A CPU
flags\t\t: fpu avx2 amx_bf16
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "ROUNDS", 1)
    monkeypatch.delenv("SLICE_OS_STORE", raising=False)


@pytest.fixture
def store(encoder: SpanEncoder, tmp_path: Path) -> Path:
    with Corpus(tmp_path / "a.slice", encoder) as corpus:
        corpus.add([Document("a", "Either party may end this agreement.")])
    return tmp_path / "a.slice"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(doctor, [*map(str, arguments)], standalone_mode=False)


def checks(result: Result) -> dict[str, dict[str, Any]]:
    report = orjson.loads(result.stdout)
    assert report["usable"] == (result.return_value == 0)
    return {check["name"]: check for check in report["checks"]}


def test_every_installed_engine_is_timed() -> None:
    result = run("--json")
    assert result.return_value == 0
    found = checks(result)
    assert found["cpu"]["cores"] >= 1
    assert "CPU" in found["onnxruntime"]["providers"]
    assert found["onnxruntime speed"]["tokens_per_second"] > 0
    assert ("openvino speed" in found) == bool(importlib.util.find_spec("openvino"))


def test_text_has_a_line_for_each_check() -> None:
    lines = run("--engine", "onnxruntime", "--text").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["cpu", "onnxruntime", "onnxruntime", "openvino"]


def test_features_come_from_the_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(CPU_INFO, encoding="utf-8")
    monkeypatch.setattr(machine, "CPU_INFO", tmp_path / "cpuinfo")
    cpu = next(machine.machine_checks())
    assert (cpu.facts["model"], cpu.facts["features"]) == ("A CPU", ["avx2", "amx_bf16"])
    monkeypatch.setattr(machine, "CPU_INFO", tmp_path / "none")
    assert next(machine.machine_checks()).facts["features"] is None


def test_an_engine_that_is_missing_fails_only_if_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    result = run("--json")
    assert result.return_value == 0
    assert "pip install 'slice-os[openvino]'" in checks(result)["openvino"]["finding"]
    result = run("--json", "--engine", "openvino")
    assert result.return_value == 1
    assert "slice-os: openvino: not installed; pip install 'slice-os[openvino]'" in result.stderr


def test_a_provider_that_is_missing_fails() -> None:
    result = run("--provider", "Abacus", "--engine", "onnxruntime", "--json")
    assert result.return_value == 1
    assert "no execution provider 'Abacus'" in checks(result)["onnxruntime speed"]["finding"]


def test_a_local_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLICE_OS_STORE", str(store))
    result = run("--json", "--engine", "onnxruntime")
    assert result.return_value == 0
    assert checks(result)["store"]["documents"] == 1


def test_no_store_fails(tmp_path: Path) -> None:
    result = run("--store", tmp_path / "none", "--engine", "onnxruntime", "--json")
    assert result.return_value == 1
    assert "no store here" in result.stderr
