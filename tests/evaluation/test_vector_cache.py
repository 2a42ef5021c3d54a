"""The cache of vectors: its size limit, what it deletes first, and its command."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from slice_os.cli import cli
from slice_os.evaluation.encoders.vector_cache import VectorCache

ENTRY = {"vectors": np.zeros(10_000, dtype=np.float32)}  # 40 kB


def fill(cache: VectorCache, keys: range) -> None:
    """Store entries; each is a second younger than the one before."""
    for key in keys:
        cache.store("model-mean", str(key), "model", ENTRY)
        os.utime(cache.folder / "model-mean" / f"{key}.npz", (key, key))


def keys_of(cache: VectorCache) -> set[int]:
    return {int(file.stem) for file in cache.folder.glob("*/*.npz")}


def test_an_entry_comes_back(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "new")
    assert cache.load("model-mean", "a") is None
    cache.store("model-mean", "a", "model", {"vectors": np.arange(3), "ids": np.ones((2, 2))})
    stored = cache.load("model-mean", "a")
    assert stored is not None
    np.testing.assert_array_equal(stored["vectors"], [0, 1, 2])
    assert stored["ids"].shape == (2, 2)
    file = tmp_path / "new" / "model-mean" / "a.npz"
    whole = file.read_bytes()
    for damaged in (b"", b"text", whole[:-30], whole.replace(bytes([2]), bytes([3]))):
        file.write_bytes(damaged)
        assert cache.load("model-mean", "a") is None


def test_what_was_used_least_recently_is_deleted_first(tmp_path: Path) -> None:
    fill(VectorCache(tmp_path), range(10))
    cache = VectorCache(tmp_path, limit=410_000)
    assert cache.load("model-mean", "0") is not None
    cache.store("model-mean", "10", "model", ENTRY)
    assert keys_of(cache) == {0, *range(3, 11)}
    assert sum(one.size_bytes for one in cache.usage()) <= cache.limit


def test_a_cache_below_its_limit_keeps_everything(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, limit=500_000)
    fill(cache, range(10))
    assert keys_of(cache) == set(range(10))


def test_stores_count_and_go_when_they_are_old(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, limit=115_000)
    for name, used in (("old", 1.0), ("new", None)):
        store = cache.stores / name
        store.mkdir(parents=True)
        (store / "vectors.i8").write_bytes(bytes(60_000))
        if used:
            os.utime(store, (used, used))
    (cache.stores / "new.lock").touch()
    fill(cache, range(1))
    assert {path.name for path in cache.stores.iterdir()} == {"new", "new.lock"}
    assert {one.encoder: one.entries for one in cache.usage()} == {"stores": 1, "model": 1}
    cache.empty()
    assert cache.usage() == []


def test_files_of_a_killed_process_are_deleted_when_they_are_old(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, limit=100_000)
    fill(cache, range(1))
    part = tmp_path / "model-mean" / ".half-written.npz"
    part.write_bytes(bytes(70_000))
    os.utime(part, (0, 0))
    cache.store("model-mean", "1", "model", ENTRY)
    assert keys_of(cache) == {0, 1}


def work(folder: Path, first: int) -> int:
    """Store and read beside other processes, in a cache that is always full."""
    cache = VectorCache(folder, limit=200_000)
    found = 0
    for key in range(first, first + 40):
        cache.store("model-mean", str(key % 50), "model", ENTRY)
        stored = cache.load("model-mean", str((key + 1) % 50))
        found += stored is not None and len(stored["vectors"]) == 10_000
    return found


def test_several_processes_share_it(tmp_path: Path) -> None:
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        for future in [executor.submit(work, tmp_path, first) for first in (0, 20)]:
            assert future.result() >= 0
    assert len(keys_of(VectorCache(tmp_path))) <= 7


def test_the_command_shows_and_empties_it(tmp_path: Path) -> None:
    fill(VectorCache(tmp_path), range(3))
    VectorCache(tmp_path).store("other-whole", "a", "other", ENTRY)

    def invoke(*arguments: str) -> str:
        command = ["eval", "cache", "--cache", str(tmp_path), *arguments]
        outcome = CliRunner().invoke(cli, command, catch_exceptions=False)
        assert outcome.exit_code == 0
        return outcome.output

    shown = invoke("--cache-limit", "2.5")
    assert shown.splitlines()[0] == f"{tmp_path}: limit 2.5 GB"
    assert "  model (model-mean): 3 entries, 0.000 GB" in shown
    assert "  other (other-whole): 1 entries" in shown
    assert "deleted: 4 entries" in invoke("--empty")
    assert not list(tmp_path.iterdir())
    assert invoke().endswith("0 entries, 0.000 GB\n")


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf", "much"])
def test_the_limit_is_a_number_of_gigabytes(limit: str) -> None:
    outcome = CliRunner().invoke(cli, ["eval", "cache"], env={"SLICE_OS_CACHE_LIMIT": limit})
    assert outcome.exit_code == 2
