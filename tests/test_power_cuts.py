"""A local store after a power cut: what was acknowledged is there, whatever was not synced."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from slice_os import SpanEncoder
from tests.soak.disk import Disk, Event
from tests.soak.power_cuts import SERVICE, Cuts, cut_often


def after_cuts(before: Path, folder: Path, *events: Event) -> set[tuple[tuple[str, bytes], ...]]:
    """The contents that may be left in a folder after some events."""
    disk = Disk(before)
    for event in events:
        disk.do(event)
    found = set()
    for seed in range(200):
        left = folder / str(seed)
        left.mkdir()
        disk.cut(random.Random(seed), left)
        found.add(tuple((path.name, path.read_bytes()) for path in sorted(left.iterdir())))
    return found


def test_only_what_is_synced_is_certain(tmp_path: Path) -> None:
    before = tmp_path / "before"
    before.mkdir()
    (before / "old").write_bytes(b"old")
    create, write = Event("create", "new"), Event("write", "new", None, b"new")
    sync, sync_folder = Event("sync", "new"), Event("sync", ".")
    rename = Event("rename", "new", target="old")
    old, new, empty = (("old", b"old"),), ("new", b"new"), ("new", b"")

    def left(*events: Event) -> set[tuple[tuple[str, bytes], ...]]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        return after_cuts(before, folder, *events)

    assert {old, (empty, *old), (new, *old)} <= left(create, write)
    assert left(create, write, sync) == {old, (new, *old)}
    assert left(create, write, sync, sync_folder) == {(new, *old)}
    assert left(create, write, sync_folder) >= {(new, *old), (empty, *old)}
    # Whoever renames without syncing may find an empty file.
    assert (("old", b""),) in left(create, write, rename)
    assert left(create, write, sync, rename, sync_folder) == {(("old", b"new"),)}


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_what_is_acknowledged_survives(tmp_path: Path, encoder: SpanEncoder) -> None:
    bench = Cuts(tmp_path, encoder, ("ingest", "delete", SERVICE), files=2)
    report = cut_often(bench, 9, seed=0)
    assert report["bad"] == []
