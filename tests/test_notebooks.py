"""The example notebooks run, and show what they showed when they were written."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from slice_os import SpanEncoder
from slice_os.service import demo

from .conftest import Shared

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
KILOBYTE = 1_000


@pytest.fixture(scope="module")
def cache(shared: Shared, demo_store: Path, encoder: SpanEncoder) -> Path:
    """A cache with a store of the demo documents.

    It begins as a copy of the tests' store, so that no document is encoded a second time.
    """

    def make(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", str(folder))
            store = demo.demo_folder() / encoder.card.encoder_id
            shutil.copytree(demo_store, store)
            assert demo.demo_store() == store

    return shared("notebooks", make)


def kinds(outputs: list[Any]) -> list[str]:
    """What a cell shows: a stream, a result or an error, and the best form of it."""
    return [
        str(output.get("name") or next(iter(sorted(output.get("data", {})))))
        for output in outputs
        if output.get("name") != "stderr"  # where progress bars are
    ]


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_there_is_one_for_each_user() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["contact_centre", "contracts", "research"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_small_and_with_its_answers(path: Path) -> None:
    assert path.stat().st_size < 50 * KILOBYTE
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert sum(bool(cell.outputs) for cell in code_cells(notebook)) >= 5


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(
    path: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = shutil.copytree(cache, tmp_path / "cache")
    for name, folder in (("XDG_CACHE_HOME", own), ("HOME", own), ("IPYTHONDIR", tmp_path)):
        monkeypatch.setenv(name, str(folder))
    written = nbformat.read(path, as_version=4)
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=500, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    for cell, expected in zip(code_cells(notebook), code_cells(written), strict=True):
        assert {"text/html", "text/plain"} >= set(kinds(expected.outputs)) - {"stdout"}
        assert kinds(cell.outputs) == kinds(expected.outputs), cell.source
