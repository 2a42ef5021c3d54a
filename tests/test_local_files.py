"""The files of a local store: what deleting leaves in them, and who may read them."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from slice_os import Document, LocalStore, StoreError
from slice_os.cli import cli
from slice_os.query.options import SearchOptions
from slice_os.search.run import mine, search
from slice_os.stores.local import compaction
from slice_os.stores.local import store as local

from .test_local_store import CARD, child, documents, fill, full, line, part_of, query

SECRET = "Xylophonist Quetzalcoatl"


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore.create(tmp_path / "store", CARD, 128)


def size(store: LocalStore) -> int:
    return sum(path.stat().st_size for path in store.folder.glob("*.?*"))


def contents(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


def answers(store: LocalStore) -> list[tuple[str, int, int, str, float]]:
    hits = [
        *search(store, query("number"), SearchOptions(top_k=50)),
        *mine(store, query("here"), threshold=0.3),
    ]
    return [(hit.doc_id, hit.start, hit.end, hit.text, hit.cosine) for hit in hits]


class TestDeleted:
    def test_text_is_gone_at_once_and_the_rest_after_compaction(self, store: LocalStore) -> None:
        fill(store, [*documents(30), Document("secret", SECRET, {"owner": SECRET[::-1]})])
        (part,) = (one for one in store.stored_documents() if one.document.id == "secret")
        vectors = part.passages[0].vectors
        raw = np.rint(vectors / np.abs(vectors).max(axis=1, keepdims=True) * 127).astype(np.int8)
        assert raw.tobytes() in contents(store.folder)
        with store.writer() as writer:
            writer.delete(["secret"])
        store.close()
        assert SECRET.encode() not in contents(store.folder)
        LocalStore.open(store.folder).compact()
        for trace in (SECRET, SECRET[::-1], "xylophonist", "quetzalcoatl"):
            assert trace.encode() not in contents(store.folder), trace
        assert raw.tobytes() not in contents(store.folder)

    def test_documents_do_not_make_a_store_grow(self, store: LocalStore) -> None:
        fill(store, documents(40))
        once = size(store)
        for _ in range(8):
            fill(store, documents(40))
        assert size(store) < 2 * once

    def test_rows_below_a_quarter_stay_until_compaction(self, store: LocalStore) -> None:
        fill(store, documents(20))
        before = (store.folder / "vectors.i8").stat().st_size
        with store.writer() as writer:
            writer.delete(["doc 3"])
        assert (store.folder / "vectors.i8").stat().st_size == before
        expected = answers(store)
        result = CliRunner().invoke(cli, ["store", "compact", "--store", str(store.folder)])
        assert (result.exit_code, "MB before" in result.stderr) == (0, True)
        assert not (store.folder / "vectors.i8").exists()
        assert (store.folder / "vectors-1.i8").stat().st_size < before
        assert answers(store) == expected
        assert store.verify() == []
        fill(store, [Document("new", "a new number")])
        assert store.info().documents == 20

    def test_everything(self, store: LocalStore) -> None:
        fill(store, documents(5))
        with store.writer() as writer:
            writer.delete([f"doc {n}" for n in range(5)])
        assert answers(store) == []
        fill(store, documents(3))
        assert store.info().documents == 3
        assert answers(store)

    def test_is_for_folders(self) -> None:
        result = CliRunner().invoke(
            cli, ["store", "compact", "--store", "http://localhost:1/calls"]
        )
        assert result.exit_code == 2
        assert "_forcemerge" in result.output


class TestCompaction:
    @pytest.mark.slow
    def test_leaves_readers_their_files(
        self, store: LocalStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(local, "SCAN_PASSAGES", 2)
        fill(store, documents(20))
        reader = LocalStore.open(store.folder)
        expected = answers(reader)
        hits = mine(reader, query("here"), threshold=0.3)
        begun = [next(hits)]
        candidates = reader.rank(query("number"), 1)
        for _ in range(2):
            fill(store, documents(20)[:10])
            store.compact()
        assert len(candidates.load(candidates.keys)) == len(candidates.keys)
        begun += hits
        found = [(hit.doc_id, hit.start, hit.end, hit.text, hit.cosine) for hit in begun]
        assert found == expected[-len(found) :]
        assert len(answers(reader)) == len(expected)

    def test_between_the_steps_of_a_question(
        self, store: LocalStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fill(store, documents(20))
        reader = LocalStore.open(store.folder)
        files = reader._files

        def compact_first(*arguments: object) -> object:
            monkeypatch.undo()
            store.compact()
            return files(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(reader, "_files", compact_first)
        assert answers(reader) == answers(store)

    @pytest.mark.parametrize("step", ["_copy", "sync", "delete_others", "VACUUM", "wal_checkpoint"])
    def test_survives_a_kill(self, store: LocalStore, step: str) -> None:
        fill(store, documents(20))
        expected = answers(store)
        killed = """
            from slice_os.stores.local import compaction, store as local
            from slice_os.stores.local.arrays import Arrays

            step = sys.argv[2]

            def die(*_):
                os.kill(os.getpid(), signal.SIGKILL)

            class Watched:
                def __init__(self, connection):
                    self.connection = connection
                def __getattr__(self, name):
                    return getattr(self.connection, name)
                def __enter__(self):
                    return self.connection.__enter__()
                def __exit__(self, *error):
                    return self.connection.__exit__(*error)
                def execute(self, statement, *values):
                    if step in statement:
                        die()
                    return self.connection.execute(statement, *values)

            connect = local.connect
            local.connect = lambda *given: Watched(connect(*given))
            for owner in (compaction, Arrays):
                if hasattr(owner, step):
                    setattr(owner, step, die)
            store.compact()
        """
        with child(killed, store.folder, step) as process:
            assert process.wait(500) == -signal.SIGKILL
        assert answers(LocalStore.open(store.folder)) == expected
        fill(store, [Document("next", "the next number")])
        assert len(list(store.folder.glob("vectors*"))) == 1
        assert store.verify() == []
        assert store.info().documents == 21

    def test_on_a_full_disk_leaves_the_store_as_it_was(
        self, store: LocalStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fill(store, documents(20))
        expected = answers(store)

        monkeypatch.setattr("slice_os.stores.local.arrays.ArrayFile.sync", full)
        with pytest.raises(StoreError, match="the disk is full; make room"):
            store.compact()
        monkeypatch.undo()
        assert answers(store) == expected
        assert [path.name for path in store.folder.glob("vectors*")] == ["vectors.i8"]

    def test_by_itself_is_tried_again_if_the_disk_is_full(
        self, store: LocalStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fill(store, documents(10))

        monkeypatch.setattr(compaction, "_copy", full)
        fill(store, documents(10))
        assert store.info().documents == 10
        assert (store.folder / "vectors.i8").exists()
        monkeypatch.undo()
        fill(store, [Document("next", "the next number")])
        assert not (store.folder / "vectors.i8").exists()


def test_the_size_of_a_store_is_that_of_its_files(store: LocalStore) -> None:
    fill(store, documents(3))
    with store.writer():
        pass
    assert store.info().size_bytes == sum(path.stat().st_size for path in store.folder.iterdir())


class TestPermissions:
    def test_of_a_new_store_are_its_owners(self, store: LocalStore) -> None:
        fill(store, documents(3))
        fill(store, documents(3))
        assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
        modes = {stat.S_IMODE(path.stat().st_mode) for path in store.folder.iterdir()}
        assert modes == {0o600}

    def test_of_new_files_are_those_of_the_database(self, store: LocalStore) -> None:
        fill(store, documents(3))
        for path in store.folder.iterdir():
            path.chmod(0o640)
        store.compact()
        fill(store, [Document("next", "the next number")])
        modes = {stat.S_IMODE(path.stat().st_mode) for path in store.folder.iterdir()}
        assert modes == {0o640}


class TestLinks:
    @pytest.mark.parametrize("name", ["norms.f32", "vectors-1.i8", "writer.lock", "store.sqlite"])
    def test_nothing_is_written_through_one(
        self, store: LocalStore, tmp_path: Path, name: str
    ) -> None:
        fill(store, documents(3))
        (other := tmp_path / "other").write_bytes(SECRET.encode() * 100)
        place = store.folder / name
        if name == "store.sqlite":
            place.rename(other)
        place.unlink(missing_ok=True)
        place.symlink_to(other)
        before = other.read_bytes()
        for write in (lambda: fill(store, documents(4)), store.compact, store.verify):
            with pytest.raises(StoreError, match=f"{name}: is a link"):
                write()
        assert other.read_bytes() == before

    def test_no_store_is_made_through_one(self, tmp_path: Path) -> None:
        (folder := tmp_path / "store").mkdir()
        (folder / "store.sqlite").symlink_to(tmp_path / "other")
        with pytest.raises(StoreError, match="is a link"):
            LocalStore.create(folder, CARD, 128)
        assert not (tmp_path / "other").exists()

    def test_topics_and_labels_may_be_links(self, store: LocalStore, tmp_path: Path) -> None:
        (store.folder / "topics").symlink_to(tmp_path)
        (store.folder / "labels.jsonl").symlink_to(tmp_path / "labels.jsonl")
        fill(store, documents(3))


@contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """The folder, mounted so that it cannot be written."""
    with tempfile.TemporaryDirectory() as place:
        mount = ["mount", "--bind", str(folder), place]
        if subprocess.run(mount, check=False, capture_output=True).returncode:
            pytest.skip("needs the right to mount a folder read-only")
        try:
            subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
            yield Path(place)
        finally:
            subprocess.run(["umount", "--lazy", place], check=True)


class TestReadOnly:
    def test_stores_are_searched(self, store: LocalStore) -> None:
        fill(store, documents(10))
        expected = answers(store)
        store.close()
        before = sorted(path.name for path in store.folder.iterdir())
        with read_only(store.folder) as mounted:
            reader = LocalStore.open(mounted)
            assert answers(reader) == expected
            assert reader.info().documents == 10
            with pytest.raises(StoreError, match="cannot be written"), reader.writer():
                pass
            with pytest.raises(StoreError, match="cannot be written"):
                reader.compact()
            checked = CliRunner().invoke(cli, ["store", "check", "--store", str(mounted)])
            assert (checked.exit_code, "everything is as it was" in checked.stderr) == (0, True)
            writable = LocalStore.open(store.folder)
            fill(writable, [Document("new", "a new number here")])
            writable.close()
            assert reader.info().documents == 11
            assert "new" in {hit[0] for hit in answers(reader)}
            reader.close()
        assert sorted(path.name for path in store.folder.iterdir()) == before

    def test_stores_of_a_killed_writer(self, store: LocalStore) -> None:
        killed = """
            with store.writer() as writer:
                for n in range(5):
                    writer.write(part_of(Document(f"doc {n}", f"number {n} is here. " * 9), n))
                os.kill(os.getpid(), signal.SIGKILL)
        """
        store.close()
        with child(killed, store.folder) as process:
            assert process.wait(500) == -signal.SIGKILL
        assert (store.folder / "store.sqlite-wal").stat().st_size
        with read_only(store.folder) as mounted:
            assert LocalStore.open(mounted).info().documents == 5
        (store.folder / "store.sqlite-shm").unlink()
        with (
            read_only(store.folder) as mounted,
            pytest.raises(StoreError, match="did not close it; run `slice-os store info`"),
        ):
            LocalStore.open(mounted)

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs two users")
    @pytest.mark.parametrize("writing", [False, True])
    def test_stores_of_another_user(self, writing: bool) -> None:
        with tempfile.TemporaryDirectory() as place:
            Path(place).chmod(0o755)
            store = LocalStore.create(Path(place, "store"), CARD, 128)
            fill(store, documents(10))
            for path in [store.folder, *store.folder.iterdir()]:
                path.chmod(0o755)
            reading = """
                from tests.test_local_store import query

                def ask(store):
                    candidates = store.rank(query("number"), 1)
                    return len(candidates.load(candidates.keys)), store.info().documents

                ask(store)  # so that the other user need not read Python's modules
                store.close()
                os.setuid(65534)
                print(*ask(open_store(sys.argv[1])), flush=True)
            """
            if not writing:
                store.close()
                with child(reading, store.folder) as process:
                    assert line(process).split()[1] == "10"
                return
            with store.writer() as writer:
                writer.write(part_of(Document("new", "the new number")))
                with child(reading, store.folder) as process:
                    assert line(process).split()[1] in ("10", "11")
