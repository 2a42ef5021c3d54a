"""Damaged local stores: named in one line, found by verify, and repaired."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from slice_os import Document, LocalStore, StoreError
from slice_os.cli import cli
from slice_os.hits.hit import Hit
from slice_os.query.options import SearchOptions
from slice_os.search.run import mine, search
from slice_os.stores.local import compaction
from slice_os.stores.local.files import Database
from slice_os.stores.local.writer import LocalWriter

from .soak import damage
from .test_local_store import CARD, documents, fill, part_of, query


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store = LocalStore.create(tmp_path / "store", CARD, 128)
    fill(store, documents(12, lang="en"))
    store.close()
    return tmp_path / "store"


@pytest.fixture
def half_compacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store whose compaction ended before its commit."""
    store = LocalStore.create(tmp_path / "store", CARD, 128)
    fill(store, [Document(f"doc {n}", "a number and a number") for n in range(4)])
    with store.writer() as writer:
        writer.delete(["doc 0"])

    def end(*_: object) -> None:
        raise InterruptedError

    monkeypatch.setattr(compaction, "seal_state", end)
    with pytest.raises(StoreError):
        store.compact()
    monkeypatch.undo()
    store.close()
    return store.folder


def execute(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "store.sqlite", isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def flip(file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


def answers(folder: Path) -> list[tuple[Any, ...]]:
    store = LocalStore.open(folder)
    found: list[Hit] = [*search(store, query("number"), SearchOptions(top_k=50))]
    found += mine(store, query("number"), threshold=0.3)
    store.close()
    return [(hit.doc_id, hit.start, hit.end, hit.text, hit.cosine, hit.bm25) for hit in found]


def verify(folder: Path, *options: str) -> tuple[int, list[dict[str, Any]], str]:
    result = CliRunner().invoke(
        cli, ["store", "check", "--store", str(folder), *options], standalone_mode=False
    )
    assert not result.exception
    lines = [orjson.loads(line) for line in result.stdout.splitlines()]
    return result.return_value, lines, result.stderr


class TestDamage:
    @pytest.mark.parametrize("name", ["vectors.i8", "scales.f32", "words.u32", "norms.f32"])
    def test_of_a_file_is_named_and_repaired(self, folder: Path, name: str) -> None:
        before = answers(folder)
        flip(folder / name, 30)
        with pytest.raises(StoreError, match=rf"rows \d+-.*{name}.*store check --repair") as caught:
            answers(folder)
        assert "\n" not in str(caught.value)
        status, faults, told = verify(folder)
        assert (status, [fault["document"] is None for fault in faults]) == (1, [False])
        assert "use --repair" in told
        text = CliRunner().invoke(cli, ["store", "check", "--store", str(folder), "--text"]).stdout
        assert text == "{where}: {problem} (document {document})\n".format_map(faults[0])
        status, _, told = verify(folder, "--repair")
        (lost,) = (int(fault["document"].removeprefix("doc ")) for fault in faults)
        assert f"ingest them again: doc {lost}\n" in told
        assert status == 1
        assert verify(folder)[0] == 0
        assert [hit[:5] for hit in answers(folder)] != []
        store = LocalStore.open(folder)
        assert store.info().documents == 11
        with store.writer() as writer:
            writer.write(part_of(documents(12, lang="en")[lost], seed=lost))
        assert sorted(answers(folder)) == sorted(before)

    @pytest.mark.parametrize(
        ("statement", "message"),
        [
            ("UPDATE documents SET text = replace(text, 'number', 'lumber')", "documents"),
            ("UPDATE passages SET start = start + 1", "row .* of the passages"),
            ("UPDATE passages SET first_piece = first_piece + 1", "not in the|not as they"),
            ("UPDATE passages SET n_terms = n_terms + 1", "not as they were"),
            ("UPDATE passages SET n_words = 'many'", "something else"),
            ("DELETE FROM passages WHERE id = 3", "has 23 of 24 passages"),
            ("UPDATE settings SET value = 0 WHERE name = 'pieces'", "not in the .* 0 pieces"),
            ("UPDATE settings SET value = 'x' WHERE name = 'pieces'", "lack a count"),
            ("DELETE FROM settings WHERE name = 'generation'", "lack a count"),
        ],
    )
    def test_of_the_database_is_one_line(self, folder: Path, statement: str, message: str) -> None:
        execute(folder, statement)
        with pytest.raises(StoreError, match=message) as caught:
            answers(folder)
        assert "\n" not in str(caught.value)
        assert verify(folder)[0] == 1

    @pytest.mark.parametrize("column", ["text", "metadata"])
    def test_of_a_document_is_told_to_who_reads_it(self, folder: Path, column: str) -> None:
        execute(folder, f"UPDATE documents SET {column} = substr({column}, 2) WHERE id = 2")
        store = LocalStore.open(folder)
        for read in (store.document_text, store.document_metadata):
            assert read("doc 0") is not None
            with pytest.raises(StoreError, match="row 2 of the documents is not as it was written"):
                read("doc 1")

    def test_of_the_counts_does_not_cut_the_files(self, folder: Path) -> None:
        before = answers(folder)
        execute(folder, "UPDATE settings SET value = 0 WHERE name IN ('pieces', 'words')")
        store = LocalStore.open(folder)
        with pytest.raises(StoreError, match=r"passages use .* of 0"), store.writer():
            pass
        status, faults, _ = verify(folder, "--repair")
        assert (status, faults != []) == (0, True)
        assert answers(folder) == before

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE labels SET value = 'fr'",
            "DELETE FROM passage_labels WHERE passage = 1",
            "UPDATE passage_terms_content SET c0 = 'other' WHERE id = 2",
            "DELETE FROM passage_terms WHERE rowid = 4",
            "UPDATE settings SET value = 7 WHERE name = 'generation'",
        ],
    )
    def test_of_what_is_derived_is_repaired_without_loss(
        self, folder: Path, statement: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = answers(folder)
        execute(folder, statement)
        found = verify(folder)
        assert found[0] == 1
        with monkeypatch.context() as patch:
            patch.setattr("os.access", lambda *_, **__: False)
            assert verify(folder) == found
        assert verify(folder, "--repair")[0] == 0
        assert verify(folder)[0] == 0
        assert answers(folder) == before
        store = LocalStore.open(folder)
        assert len(store.rank(query("x", where={"lang": ["en"]}), 1).keys) == 24

    def test_reads_sources_again_after_a_repair(self, folder: Path) -> None:
        store = LocalStore.open(folder)
        with store.writer() as writer:
            writer.finish_source("one", "read")
        store.close()
        execute(folder, "UPDATE documents SET text = 'x' WHERE id = 2")
        verify(folder, "--repair")
        assert LocalStore.open(folder).source_signatures(["one"]) != {"one": "read"}

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE sources SET signature = 'Read'",
            "UPDATE sources SET source = 'two'",
            "UPDATE sources SET signature = CAST(signature AS BLOB)",
            "DELETE FROM sources",
            "UPDATE settings SET value = 7 WHERE name = 'revision'",
            "UPDATE settings SET value = 7 WHERE name = 'sources'",
            "UPDATE settings SET value = 'x' WHERE name = 'sources'",
        ],
    )
    def test_of_notes_is_found_and_repaired(self, folder: Path, statement: str) -> None:
        store = LocalStore.open(folder)
        with store.writer() as writer:
            for name in ("zero", "one", "zero"):
                writer.finish_source(name, "read")
            writer.forget_source("zero")
        store.close()
        assert verify(folder)[0] == 0
        execute(folder, statement)
        assert verify(folder)[0] == 1
        assert verify(folder, "--repair")[0] == 0
        assert verify(folder)[0] == 0

    def test_of_notes_is_told_to_a_writer(self, folder: Path) -> None:
        store = LocalStore.open(folder)
        with store.writer() as writer:
            writer.finish_source("one", "read")
        execute(folder, "UPDATE settings SET value = 'x' WHERE name = 'sources'")
        message = "settings lack the checksum of its sources.*store check --repair"
        with pytest.raises(StoreError, match=message), store.writer() as writer:
            writer.finish_source("two", "read")

    def test_a_store_without_checksums_of_notes_gets_them(self, folder: Path) -> None:
        execute(folder, "DELETE FROM settings WHERE name IN ('sources', 'state')")
        execute(folder, "INSERT INTO sources VALUES ('one', 'read')")
        assert verify(folder)[0] == 0
        store = LocalStore.open(folder)
        with store.writer() as writer:
            writer.finish_source("two", "read")
        store.close()
        assert verify(folder)[0] == 0
        execute(folder, "UPDATE sources SET signature = 'Read'")
        assert verify(folder)[0] == 1

    def test_of_a_type_is_named_and_repaired(self, folder: Path) -> None:
        execute(folder, "UPDATE documents SET doc_id = CAST(doc_id AS BLOB) WHERE id = 2")
        assert [fault["document"] for fault in verify(folder)[1]] == ["doc 1"]
        assert "ingest them again: doc 1\n" in verify(folder, "--repair")[2]
        assert verify(folder)[0] == 0

    @pytest.mark.parametrize("short", [False, True])
    def test_after_half_a_compaction_leaves_the_other_documents(
        self, half_compacted: Path, short: bool
    ) -> None:
        before = answers(half_compacted)
        if short:
            (half_compacted / "words-1.u32").write_bytes(b"")
        assert verify(half_compacted)[0] == 0
        execute(half_compacted, "UPDATE documents SET source = 'x' WHERE doc_id = 'doc 3'")
        assert "ingest them again: doc 3\n" in verify(half_compacted, "--repair")[2]
        assert verify(half_compacted)[0] == 0
        left = {hit[:5] for hit in answers(half_compacted)}
        assert left == {hit[:5] for hit in before if hit[0] != "doc 3"} != set()

    @pytest.mark.parametrize(
        "change",
        [
            "DELETE FROM settings WHERE name = 'generation'",
            "UPDATE settings SET value = '?' WHERE name = 'generation'",
            "UPDATE settings SET value = 1 WHERE name = 'generation'",
        ],
    )
    def test_of_the_generation_finds_the_files_that_fit(
        self, half_compacted: Path, change: str
    ) -> None:
        before = {hit[:5] for hit in answers(half_compacted)}
        execute(half_compacted, change)
        assert {fault["document"] for fault in verify(half_compacted, "--repair")[1]} == {None}
        assert verify(half_compacted)[0] == 0
        assert {hit[:5] for hit in answers(half_compacted)} == before

    @pytest.mark.parametrize(
        ("change", "statement"),
        [
            (lambda writer: writer.delete(["doc 1", "doc 2"]), "DELETE FROM passage_terms"),
            (lambda writer: writer.delete(["doc 1", "doc 2"]), "DELETE FROM passages"),
            (lambda writer: writer.assign(["doc 1"], "elsewhere"), "UPDATE documents"),
            (lambda writer: writer.finish_source("file", "state"), "REPLACE INTO sources"),
        ],
    )
    def test_is_not_left_by_an_interrupted_change(
        self,
        folder: Path,
        change: Callable[[LocalWriter], object],
        statement: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        before = answers(folder)
        execute = Database.execute

        def interrupt(self: Database, asked: str, *values: Any) -> sqlite3.Cursor:
            done = execute(self, asked, *values)
            if asked.startswith(statement):
                raise KeyboardInterrupt
            return done

        with LocalStore.open(folder).writer() as writer:
            monkeypatch.setattr(Database, "execute", interrupt)
            with pytest.raises(KeyboardInterrupt):
                change(writer)
            monkeypatch.undo()
        assert verify(folder)[0] == 0
        assert answers(folder) == before

    def test_that_other_damage_hides_is_not_sealed(self, folder: Path) -> None:
        execute(
            folder,
            "UPDATE labels SET value = CAST(x'ff' AS TEXT)",
            "UPDATE passages SET start = start + 1 WHERE id = 20",
        )
        with pytest.raises(StoreError, match=r"cannot be repaired.*\(passage 20 is not as it was"):
            LocalStore.open(folder).verify(repair=True)
        assert verify(folder)[0] == 1

    def test_beyond_repair_says_so(self, folder: Path) -> None:
        database = folder / "store.sqlite"
        content = bytearray(database.read_bytes())
        content[4096 * 2 :] = b"\xff" * (len(content) - 4096 * 2)
        database.write_bytes(content)
        result = CliRunner().invoke(cli, ["store", "check", "--repair", "--store", str(folder)])
        assert isinstance(result.exception, StoreError)
        assert "\n" not in str(result.exception)

    @pytest.mark.slow
    def test_of_any_kind_is_never_silent(self) -> None:
        ends, bad = damage.run(40, first=100_000)
        assert bad == []
        assert ends["refused"] > 0
