"""A part of the suite in other environments: the oldest dependencies, and the bare wheel."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from .test_packaging import wheel

__all__ = ["wheel"]

REPOSITORY = Path(__file__).parents[1]
TOOLS = ["pytest>=8.3", "hypothesis>=6.100", "packaging>=24.0"]
# Text, vectors, spans, both ends of a store, the commands: whatever a base install does, but for
# slow tests, which are about signals and sizes. With the highest versions, which the suite has
# anyway, what may miss a package of the developers.
TESTS = {
    "highest": ["encoder", "corpus", "cli"],
    "lowest-direct": ["words", "spans", "passages", "encoder", "local_store", "corpus", "cli"],
}

pytestmark = [pytest.mark.slow, pytest.mark.release, pytest.mark.timeout(1_200)]


@pytest.mark.parametrize(
    "resolution", ["highest", pytest.param("lowest-direct", marks=pytest.mark.large)]
)
def test_the_wheel_passes_without_development_packages(
    resolution: str, wheel: Path, tmp_path: Path
) -> None:
    if find_spec("uv") is None:
        pytest.skip("needs uv: `make test-all` installs it")
    environment = tmp_path / "environment"
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    install = [*uv, "pip", "install", "--quiet", "--python", environment]
    done = subprocess.run(
        [*install, "--resolution", resolution, wheel, *TOOLS], capture_output=True, text=True
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [""])[-1]
        if os.environ.get("CI") == "true":
            pytest.fail(f"uv could not install the wheel: {reason}", pytrace=False)
        pytest.skip(f"uv could not install the wheel, is there a network? {reason}")
    # Only the tests are on the path: the package is that of the wheel.
    (tmp_path / "tests").symlink_to(REPOSITORY / "tests")
    for name in ("demo", "benchmarks", "docs", "README.md", "pyproject.toml"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    files = [f"tests/test_{name}.py" for name in TESTS[resolution]]
    # Neither the path of the checkout nor what the parallel run is told.
    outer = ("CI", "PYTHONPATH", "PYTEST")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(outer)}
    done = subprocess.run(
        [environment / "bin" / "python", "-m", "pytest", "-q", "-m", "not slow", *files],
        cwd=tmp_path,
        env=clean,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr
