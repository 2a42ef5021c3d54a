"""A local store on a disk that becomes full: one line says so, and nothing complete is lost."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from slice_os import Document, StoreError
from slice_os.stores.local import LocalStore
from tests.soak.full_disk import ROOM, disk, resize, used

from .command_line import Run
from .test_hit_files import HIT
from .test_local_store import CARD, documents, fill, part_of

FULL = "the disk is full; make room, then try again"
TEXTS = {"number 0 is here. ", *(document.text for document in documents(40))}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that is a disk of its own."""
    try:
        with disk(tmp_path / "s"):
            yield tmp_path / "s"
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs Linux and the right to mount")


def sound(folder: Path) -> LocalStore:
    """The store, with room again; it must verify, and hold whole documents only."""
    resize(folder, ROOM)
    store = LocalStore.open(folder)
    assert store.verify() == []
    for entry in store.list_documents():
        assert store.document_text(entry.id) in TEXTS
    return store


@pytest.mark.parametrize("free", range(0, 160, 16))
def test_writing_to_it(folder: Path, free: int) -> None:
    store = LocalStore.create(folder, CARD, 128)
    fill(store, documents(3))
    store.close()
    resize(folder, used(folder) + free * 1024)
    with pytest.raises(StoreError, match=FULL) as caught:
        fill(LocalStore.open(folder), documents(400))
    assert str(folder) in str(caught.value)
    store = sound(folder)
    fill(store, documents(40))
    assert store.info().documents >= 40


@pytest.mark.parametrize("free", range(0, 200, 20))
def test_compacting_it(folder: Path, free: int) -> None:
    store = LocalStore.create(folder, CARD, 128)
    fill(store, documents(40))
    with store.writer() as writer:
        writer.delete(["doc 1", "doc 2", "doc 3"])
    store.close()
    before = used(folder)
    resize(folder, before + free * 1024)
    # With enough room, nothing is said.
    with suppress(StoreError) if free >= 60 else pytest.raises(StoreError, match=FULL):
        LocalStore.open(folder).compact()
    store = sound(folder)
    store.compact()
    assert store.verify() == []
    assert store.info().documents == 37


@pytest.mark.parametrize("size", [4, 32, 60, 72])
def test_creating_on_it(folder: Path, size: int) -> None:
    resize(folder, size * 1024)
    with pytest.raises(StoreError, match=FULL):
        fill(LocalStore.create(folder, CARD, 128), documents(40))
    resize(folder, ROOM)
    store = LocalStore.create(folder, CARD, 128)
    fill(store, documents(40))
    assert store.verify() == []


def test_after_an_error_the_writer_writes_no_more(folder: Path) -> None:
    """SQLite may have rolled back what the counts of the writer include."""
    store = LocalStore.create(folder, CARD, 128)
    fill(store, documents(3))
    resize(folder, used(folder) + 20_000)
    with pytest.raises(StoreError, match=FULL):
        write_on(store)
    assert sound(folder).find_documents(["next"]) == {}


# The first of a workbook is full while its rows wait, the others while it is packed.
@pytest.mark.parametrize(
    ("ending", "size"),
    [("csv", 8), ("jsonl", 8), ("parquet", 8), ("xlsx", 8), ("xlsx", 1_400), ("xlsx", 3_200)],
)
def test_writing_hits_to_it(folder: Path, command_line: Run, ending: str, size: int) -> None:
    (folder.parent / "hits.jsonl").write_bytes(2_000 * (HIT.to_json() + b"\n"))
    resize(folder, size * 1024)
    out = folder / f"hits.{ending}"
    told = command_line("report", folder.parent / "hits.jsonl", "-o", out)
    assert told == (1, "", f"slice-os: {out}: {FULL}\n")
    assert list(folder.iterdir()) == []


def write_on(store: LocalStore) -> None:
    """Write until the disk is full, and then once more, with room."""
    with store.writer() as writer:
        with suppress(StoreError):
            for n in range(1_000):
                writer.write(part_of(Document(f"long {n}", "number 0 is here. ")))
                writer.finish_source("s" * 10_000, str(n))
        resize(store.folder, ROOM)
        writer.write(part_of(Document("next", "number 0 is here. ")))
