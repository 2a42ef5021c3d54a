"""If a node lacks something, its tests skip, or fail under CI, and say why in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from . import runtime

REPOSITORY = Path(__file__).parents[2]


def run_without_maven(cache: Path, **environment: str) -> str:
    kept = {
        name: value for name, value in os.environ.items() if name not in ("CI", "OPENSEARCH_URL")
    }
    test = "tests/opensearch/test_node.py::test_node_has_the_knn_plugin"
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", test],
        cwd=REPOSITORY,
        env={**kept, "PATH": str(cache), "XDG_CACHE_HOME": str(cache), **environment},
        capture_output=True,
        text=True,
    )
    return answer.stdout


@pytest.fixture
def needs_jdk() -> None:
    try:
        runtime.find_jdk()
    except runtime.RuntimeMissingError as error:
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.usefixtures("needs_jdk")
def test_skips_without_maven(tmp_path: Path) -> None:
    output = run_without_maven(tmp_path)
    assert "1 skipped" in output
    assert "Maven (mvn) is not on the PATH: install it, or set OPENSEARCH_URL" in output


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.usefixtures("needs_jdk")
def test_fails_without_maven_under_ci(tmp_path: Path) -> None:
    output = run_without_maven(tmp_path, CI="true")
    assert "1 error" in output
    assert "Maven (mvn) is not on the PATH: install it, or set OPENSEARCH_URL" in output


def test_a_missing_jdk_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(runtime, "_JVM_FOLDERS", ())
    with pytest.raises(runtime.RuntimeMissingError) as caught:
        runtime.find_jdk()
    assert "no JDK 21 or newer found: install one" in str(caught.value)
    assert "\n" not in str(caught.value)
