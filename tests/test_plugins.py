"""An installed package extends slice-os by entry points: `tests/toy_plugin` is one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def toy_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that `tests/toy_plugin` is installed in."""
    folder = tmp_path_factory.mktemp("toy")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(folder)]
    subprocess.run([*install, *options, str(REPOSITORY / "tests" / "toy_plugin")], check=True)
    return folder


@pytest.fixture
def python(toy_packages: Path, tmp_path: Path) -> Run:
    """Runs Python in an empty folder, where the toy package is installed."""
    paths = os.pathsep.join([str(REPOSITORY), str(toy_packages)])

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture
def slice_os(python: Run) -> Run:
    """Runs the command line, where the toy package is installed."""
    return lambda *arguments: python("-c", "from slice_os.cli import main; main()", *arguments)


class TestCommands:
    def test_the_help_lists_them_and_imports_none(self, slice_os: Run) -> None:
        shown = slice_os("--help")
        assert (shown.returncode, shown.stderr) == (0, "")
        ours, plugins = shown.stdout.split("\nPlugins ")
        assert "wave" not in ours
        lines = [line.strip() for line in plugins.splitlines()[:3]]
        package = "(toy-plugin 1.0)"
        assert sorted(lines) == [
            f"broken  Toy parts for slice-os. {package}",
            f"search  Not used: slice-os has this command. {package}",
            f"wave    Toy parts for slice-os. {package}",
        ]

    def test_one_runs(self, slice_os: Run, tmp_path: Path) -> None:
        (tmp_path / "ann.txt").write_text("End my plan.")
        assert slice_os("ingest", "ann.txt", "--store", "s", "--source", "x").returncode == 0
        waved = slice_os("wave", "--store", "s")
        assert (waved.returncode, waved.stdout, waved.stderr) == (0, "Hello, ann.txt!\n", "")
        assert "Greet every document in a store." in slice_os("wave", "--help").stdout

    def test_a_broken_one_is_told_in_a_line(self, slice_os: Run) -> None:
        done = slice_os("broken", "--help")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            "slice-os: slice_os.commands: 'broken' of toy-plugin 1.0 does not load: "
            "ModuleNotFoundError: No module named 'toy_plugin.missing'; "
            "update or uninstall the package\n"
        )

    def test_ours_wins(self, slice_os: Run) -> None:
        assert "PHRASE" in slice_os("search", "--help").stdout

    def test_a_mistyped_one_is_found(self, slice_os: Run) -> None:
        assert "Did you mean `slice-os wave`?" in slice_os("wav").stderr
