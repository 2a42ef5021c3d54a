from __future__ import annotations

import re
import signal
import sqlite3
import struct
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slice_os import (
    Corpus,
    Document,
    EncoderMismatchError,
    InputError,
    LocalStore,
    ModelCard,
    SpanEncoder,
    StoreError,
)
from slice_os.query.options import SearchOptions
from slice_os.search.run import mine, search
from slice_os.spans.passages import DocumentPart
from slice_os.stores.protocol import NewStore, Store
from slice_os.stores.registry import create_store, open_store, store_exists
from slice_os.threads import CHECKPOINT
from tests.store_contract.document_contract import CARD
from tests.store_contract.document_contract import best_cosines as brute_force
from tests.store_contract.document_contract import random_part as part_of
from tests.store_contract.document_contract import random_query as query

from .strategies import hard_texts


def fill(store: Store, documents: Iterable[Document]) -> dict[str, DocumentPart]:
    parts = {document.id: part_of(document, seed) for seed, document in enumerate(documents)}
    with store.writer() as writer:
        for part in parts.values():
            writer.write(part)
    return parts


@pytest.fixture
def store(tmp_path: Path) -> Store:
    create_store(tmp_path / "store", NewStore(CARD, 128))
    return open_store(tmp_path / "store", CARD)


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def documents(count: int, **metadata: str) -> list[Document]:
    return [
        Document(f"doc {n}", f"number {n} is here. " * (1 + n % 4), metadata) for n in range(count)
    ]


class TestDocuments:
    def test_that_are_deleted_leave_no_rows(self, store: Store) -> None:
        fill(store, documents(5))
        with store.writer() as writer:
            writer.delete(["doc 1", "doc 3"])
        connection = sqlite3.connect(Path(store.info().location) / "store.sqlite")
        for table in ("passages", "passage_terms"):
            (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
            assert rows == store.info().passages

    def test_that_are_incomplete_are_dropped(self, store: Store) -> None:
        fill(store, [Document("a", "the former text")])
        with pytest.raises(RuntimeError), store.writer() as writer:  # noqa: PT012
            writer.write(part_of(Document("b", "complete")))
            begun = part_of(Document("a", "the new text " * 9))
            writer.write(DocumentPart(begun.document, begun.passages[:1], last=False))
            raise RuntimeError
        assert store.document_text("a") == "the former text"
        assert store.document_text("b") == "complete"
        fill(store, [Document("c", "and on it goes")])
        candidates = store.rank(query("former"), 10)
        assert candidates.bm25[0].argmax() == candidates.keys.index(min(candidates.keys))
        assert store.info().documents == 3

    @settings(max_examples=25)
    @given(texts=st.lists(hard_texts(8), max_size=4))
    def test_of_any_text_come_back(
        self, tmp_path_factory: pytest.TempPathFactory, texts: list[str]
    ) -> None:
        folder = tmp_path_factory.mktemp("any") / "store"
        create_store(folder, NewStore(CARD, 128))
        store = open_store(folder)
        parts = fill(store, [Document(f"\0{n}", text) for n, text in enumerate(texts)])
        for number, text in enumerate(texts):
            assert store.document_text(f"\0{number}") == text
        candidates = store.rank(query("word", "取消"), 10)
        for found in candidates.load(candidates.keys).values():
            text, encoded = texts[int(found.doc_id[1:])], found.encoded
            assert text[encoded.start : encoded.end] == found.text
            (given_,) = (p for p in parts[found.doc_id].passages if p.start == encoded.start)
            np.testing.assert_array_equal(encoded.words, given_.words)
            np.testing.assert_allclose(encoded.vectors, given_.vectors, atol=0.02)
        store.close()


class TestScores:
    @pytest.mark.parametrize("chunk", [2, 100, 20_000])
    def test_are_exact(self, store: Store, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("slice_os.stores.local.snapshot.CHUNK_PIECES", chunk)
        monkeypatch.setattr("slice_os.stores.local.snapshot.PHRASES_AT_ONCE", 2)
        parts = fill(store, documents(40))
        with store.writer() as writer:
            writer.delete([f"doc {n}" for n in (0, 7, 8, 21, 39)])
        asked = query("number", "here", "zero")
        candidates = store.rank(asked, 1)
        found = candidates.load(candidates.keys)
        assert len(candidates.keys) == store.info().passages == len(found)
        for column, key in enumerate(candidates.keys):
            stored = found[key]
            expected = brute_force(stored.encoded, asked.phrases.vectors)
            np.testing.assert_allclose(candidates.cosines[:, column], expected, atol=5e-5)
            (original,) = [
                p for p in parts[stored.doc_id].passages if p.start == stored.encoded.start
            ]
            unquantised = brute_force(original, asked.phrases.vectors)
            np.testing.assert_allclose(candidates.cosines[:, column], unquantised, atol=0.01)

    def test_of_a_scan_are_those_of_the_ranking(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("slice_os.stores.local.store.SCAN_PASSAGES", 3)
        fill(store, documents(30))
        asked = query("number", "zero")
        ranked = store.rank(asked, 1)
        above = np.flatnonzero((ranked.cosines >= 0.7).any(axis=0))
        assert 3 < len(above) < len(ranked.keys)
        swept = list(store.scan(asked, 0.7, exhaustive=True))
        assert [key for each in swept for key in each.keys] == [ranked.keys[c] for c in above]
        np.testing.assert_array_equal(
            np.concatenate([each.bm25 for each in swept], axis=1), ranked.bm25[:, above]
        )

    def test_of_a_scan_count_as_at_the_threshold_within_the_error_of_products(
        self, store: Store
    ) -> None:
        fill(store, documents(30))
        asked = query("number")
        ranked = store.rank(asked, 1)
        best = int(ranked.cosines[0].argmax())
        above = float(ranked.cosines[0, best]) + 2e-5
        (found,) = store.scan(asked, above, exhaustive=True)
        assert list(found.keys) == [ranked.keys[best]]
        assert found.cosines[0, 0] == np.float32(above)
        assert not list(store.scan(asked, above + 1e-3, exhaustive=True))

    def test_near_a_threshold_are_those_of_exact_spans(self, store: Store) -> None:
        fill(store, documents(30))
        asked = query("number", "zero")
        for hit in search(store, asked, SearchOptions(top_k=100))[::4]:
            for least in (hit.cosine, float(np.nextafter(np.float32(hit.cosine), np.float32(2)))):
                mined = mine(store, asked, threshold=least)
                found = search(store, asked, SearchOptions(top_k=100, threshold=least))
                assert {(one.doc_id, one.passage.start) for one in mined} == {
                    (one.doc_id, one.passage.start) for one in found
                }
                page = search(store, asked, SearchOptions(top_k=5, offset=2, threshold=least))
                assert list(page) == list(found)[2:7]

    def test_by_bm25_need_a_term(self, store: Store) -> None:
        fill(
            store,
            [
                Document("en", "We cancelled the plan."),
                Document("zh", "我想取消订阅。"),
                Document("no", "Nothing of the kind."),
                Document("at", "Write to a.b@c.org, at 3,000 feet"),
                *documents(5),
            ],
        )

        def found(phrase: str) -> set[str]:
            candidates = store.rank(query(phrase), 1)
            hits = [candidates.keys[i] for i in np.flatnonzero(candidates.bm25[0])]
            assert candidates.bm25_best[0] == candidates.bm25[0].max(initial=0)
            return {passage.doc_id for passage in candidates.load(hits).values()}

        assert found("cancel plans") == {"en"}
        assert found("取消") == {"zh"}
        assert found("a.b@c.org") == {"at"}
        assert found("3,000") == {"at"}
        assert found("zebra 😀") == set()
        assert found('" OR * NEAR( kind') == {"no"}
        assert found("plan " * 3 + " ".join(f"w{n}" for n in range(2_000))) == {"en"}


def test_filters_admit(store: Store) -> None:
    odd = {'we"ird.$[0]\\': "x=y", "": "empty", "ключ": "значение", "a\nb": "c\0d"}
    fill(
        store,
        [
            Document("a", "one", {"n": 5, "f": 0.5, "ok": True}),
            Document("b", "one", {"n": 50, "f": -1e-9, "ok": False}),
            Document("c", "one", {"n": "5", "ok": "true"}),
            Document("d", "one", odd),
            Document("e", "one"),
        ],
    )
    for where, ids in (
        ({"n": ["5"]}, "ac"),
        ({"f": ["0.5"]}, "a"),
        ({"f": ["-1e-9"]}, "b"),
        ({"ok": ["true"]}, "ac"),
        ({"ok": ["false"]}, "b"),
        ({"ok": ["1"]}, ""),
        *(({name: [value]}, "d") for name, value in odd.items()),
    ):
        candidates = store.rank(query("one", where=where), 1)
        found = candidates.load(candidates.keys).values()
        assert {passage.doc_id for passage in found} == set(ids), where


class TestOpening:
    def test_no_store(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        for place in (tmp_path / "none", tmp_path, tmp_path / "file"):
            assert not store_exists(place)
            with pytest.raises(StoreError, match="no store here; make one with"):
                open_store(place)

    def test_no_place_for_a_store(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        with pytest.raises(StoreError, match="file: cannot be used as a store folder"):
            create_store(tmp_path / "file", NewStore(CARD, 128))
        with pytest.raises(StoreError, match="cannot be used as a store folder"):
            create_store(tmp_path / "file" / "below", NewStore(CARD, 128))
        with pytest.raises(StoreError, match=r"holds other files \(file"):
            create_store(tmp_path, NewStore(CARD, 128))

    def test_another_encoder(self, store: Store) -> None:
        card = ModelCard(**{**{f: getattr(CARD, f) for f in CARD.__slots__}, "encoder_id": "ff"})
        with pytest.raises(EncoderMismatchError, match=r"random fp32 \(0123456789abcdef\), not by"):
            open_store(store.info().location, card)

    def test_another_encoder_of_a_corpus(self, store: Store, encoder: SpanEncoder) -> None:
        corpus = Corpus(store.info().location, encoder)
        for ask in (
            lambda: corpus.search("x"),
            lambda: corpus.add([Document("a", "x")]),
            lambda: corpus.mine("x"),
        ):
            with pytest.raises(EncoderMismatchError):
                ask()

    @pytest.mark.parametrize(
        ("statement", "message"),
        [
            ("UPDATE settings SET value = 9 WHERE name = 'schema_version'", "version 9, .*upgrade"),
            ("UPDATE settings SET value = 2 WHERE name = 'schema_version'", "version 2, .*again"),
            ("DROP TABLE settings", "no store here"),
            ("DROP TABLE documents", "no such table"),
            ("DELETE FROM settings", "damaged"),
        ],
    )
    def test_a_foreign_or_damaged_database(
        self, store: Store, statement: str, message: str
    ) -> None:
        folder = Path(store.info().location)
        store.close()
        with sqlite3.connect(folder / "store.sqlite") as connection:
            connection.execute(statement)
        connection.close()
        with pytest.raises(StoreError, match=message) as caught:
            open_store(folder).info()
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        "statements",
        [
            [
                "ALTER TABLE settings RENAME TO kept",
                "CREATE VIEW settings AS WITH RECURSIVE endless(n) AS "
                "(SELECT 1 UNION ALL SELECT n + 1 FROM endless) SELECT n AS name, n AS value "
                "FROM endless",
            ],
            ["CREATE TRIGGER x AFTER INSERT ON documents BEGIN DELETE FROM documents; END"],
            ["ALTER TABLE sources ADD x AS (hex(zeroblob(400000000)))"],
            ["CREATE TABLE x (y CHECK (y GLOB '*a*a*b'))"],
            ["CREATE VIRTUAL TABLE x USING fts5 (y, content = passages)"],
        ],
    )
    def test_a_database_that_runs_something_is_refused(
        self, store: Store, statements: list[str]
    ) -> None:
        folder = Path(store.info().location)
        store.close()
        with closing(sqlite3.connect(folder / "store.sqlite")) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
        with pytest.raises(StoreError, match=r"its database has .CREATE .*, which no store"):
            open_store(folder)

    def test_pages_without_an_end_end_at_a_checkpoint(self, store: Store) -> None:
        fill(store, documents(3))
        folder = Path(store.info().location)
        store.close()
        size = 4_096
        with closing(sqlite3.connect(folder / "store.sqlite")) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            statement = "SELECT rootpage FROM sqlite_master WHERE name = 'passages'"
            (root,) = connection.execute(statement).fetchone()
        raw = bytearray((folder / "store.sqlite").read_bytes())
        begin, last = (root - 1) * size, len(raw) // size
        leaf = raw[begin : begin + size]
        for level in range(4):
            # Hundreds of cells, each with the number of the next page.
            child, count = struct.pack(">I", last + level + 1), 500
            places = struct.pack(f">{count}H", *(size - 5 * cell for cell in range(1, count + 1)))
            head = b"\5\0\0" + struct.pack(">HHB", count, size - 5 * count, 0) + child
            page = (head + places).ljust(size - 5 * count, b"\0") + (child + b"\1") * count
            if level:
                raw += page
            else:
                raw[begin : begin + size] = page
        raw += leaf
        raw[28:32], raw[92:96] = struct.pack(">I", len(raw) // size), raw[24:28]
        (folder / "store.sqlite").write_bytes(raw)
        endless = open_store(folder)

        def stop() -> None:
            raise ended

        for ended in (LookupError(), KeyboardInterrupt()):
            before = CHECKPOINT.set(stop)
            with pytest.raises(type(ended)):
                endless.info()
            CHECKPOINT.reset(before)

    def test_a_journal_deletes_no_file_elsewhere(self, store: Store, tmp_path: Path) -> None:
        folder, other = Path(store.info().location), tmp_path / "other"
        store.close()
        other.write_text("precious")
        name, page = bytes(other), 4_096
        magic = bytes.fromhex("d9d505f920a163d7")
        pages = (folder / "store.sqlite").stat().st_size // page
        head = magic + struct.pack(">IIIII", 0, 0, pages, 512, page)
        tail = struct.pack(">II", len(name), sum(name)) + magic
        record = struct.pack(">I", (1 << 30) // page + 1) + name + tail
        (folder / "store.sqlite-journal").write_bytes(head.ljust(512, b"\0") + record)
        with pytest.raises(StoreError, match=r"store\.sqlite-journal: is no file of a store"):
            open_store(folder)
        assert other.read_text() == "precious"
        (folder / "store.sqlite-journal").write_bytes(b"short")
        open_store(folder).close()

    def test_a_file_that_is_not_a_database(self, tmp_path: Path) -> None:
        (tmp_path / "store.sqlite").write_bytes(b"something else " * 100)
        with pytest.raises(StoreError, match="not a database"):
            open_store(tmp_path)

    @pytest.mark.parametrize("name", ["vectors.i8", "scales.f32", "words.u32", "norms.f32"])
    @pytest.mark.parametrize("missing", [True, False])
    def test_a_file_that_is_cut_short(self, store: Store, name: str, missing: bool) -> None:
        fill(store, documents(3))
        file = Path(store.info().location) / name
        if missing:
            file.unlink()
        else:
            file.write_bytes(file.read_bytes()[:-1])
        reader = open_store(store.info().location)
        with pytest.raises(StoreError, match=f"{name}: has .* bytes instead of .*; .*damaged"):
            reader.rank(query("x"), 1)
        with pytest.raises(StoreError, match="damaged"), reader.writer():
            pass

    def test_a_full_disk_is_one_line(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        fill(store, documents(2))

        no_space = pytest.raises(StoreError, match="the disk is full; make room")
        with no_space, store.writer() as writer:
            writer.write(part_of(Document("kept", "kept")))
            monkeypatch.setattr("slice_os.stores.local.arrays.ArrayFile.append", full)
            writer.write(part_of(Document("lost", "lost")))
        assert store.document_text("kept") == "kept"
        assert store.document_text("lost") is None

    @pytest.mark.parametrize("pieces", [7, 1_025])
    def test_passages_of_an_impossible_size(self, tmp_path: Path, pieces: int) -> None:
        with pytest.raises(InputError, match="8 to 1,024 word pieces"):
            Corpus(tmp_path / "s", max_pieces=pieces)


CHILD = """
    import itertools, os, signal, sys
    from pathlib import Path
    import slice_os.stores.local.writer
    from slice_os import Document
    from slice_os.stores.registry import open_store
    from tests.test_local_store import part_of

    slice_os.stores.local.writer.COMMIT_SECONDS = 0
    store = open_store(sys.argv[1])
"""


@contextmanager
def child(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process that runs the code with a store open, killed at the end."""
    script = textwrap.dedent(CHILD) + textwrap.dedent(code)
    with subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=Path(__file__).parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


class TestProcesses:
    def test_a_second_writer_is_refused(self, store: Store) -> None:
        waiting = """
            with store.writer():
                print("writing", flush=True)
                sys.stdin.readline()
        """
        refused = pytest.raises(StoreError, match="another process is writing")
        with store.writer(), refused, open_store(store.info().location).writer():
            pass
        with child(waiting, store.info().location) as process:
            assert line(process) == "writing\n"
            with pytest.raises(StoreError, match="another process is writing"), store.writer():
                pass
        fill(store, documents(1))  # the lock went with the process

    def test_that_make_one_store_at_once_share_it(self, tmp_path: Path) -> None:
        def make(number: int) -> LocalStore:
            return LocalStore.create(tmp_path / "store", CARD, 128)

        with ThreadPoolExecutor(4) as executor:
            first, *_ = executor.map(make, range(4))
        with first.writer() as writer:
            writer.write(part_of(Document("a", "one two")))
            second = make(5)
            with pytest.raises(StoreError, match="another process is writing"), second.writer():
                pass
        assert second.document_text("a") == "one two"
        with pytest.raises(EncoderMismatchError):
            LocalStore.create(tmp_path / "store", replace(CARD, encoder_id="ff"), 128)

    def test_readers_see_whole_documents_while_one_writes(self, store: Store) -> None:
        writing = """
            with store.writer() as writer:
                for n in itertools.count():
                    document = Document(str(n % 20), f"version {n} of it. " * 10)
                    writer.write(part_of(document, n))
                    print(n, flush=True)
        """
        phrases = query("version", "it").phrases.vectors
        with child(writing, store.info().location) as process:
            for _ in range(10):
                assert line(process)
                candidates = store.rank(query("version", "it"), 10)
                loaded = candidates.load(candidates.keys)
                assert loaded
                for column, key in enumerate(candidates.keys):
                    if key in loaded:  # else it was replaced meanwhile
                        expected = brute_force(loaded[key].encoded, phrases)
                        np.testing.assert_allclose(
                            candidates.cosines[:, column], expected, atol=5e-5
                        )
                texts: dict[str, set[str]] = {}
                for passage in loaded.values():
                    texts.setdefault(passage.doc_id, set()).add(passage.text)
                for doc_id, passages in texts.items():
                    versions = {re.findall(r"\d+", text)[0] for text in passages}
                    assert len(versions) == 1, doc_id
                assert store.info().size_bytes > 0

    @pytest.mark.parametrize("after", [1, 5, 12])
    def test_a_killed_writer_leaves_whole_documents(self, store: Store, after: int) -> None:
        killed = """
            with store.writer() as writer:
                for n in range(int(sys.argv[2])):
                    writer.write(part_of(Document(f"doc {n}", f"number {n} is here. " * 9), n))
                begun = part_of(Document("doc 0", "cut off " * 40), 99)
                for passage in begun.passages:
                    writer.write(type(begun)(begun.document, (passage,), last=False))
                for file in writer._arrays.by_piece:
                    file.sync()
                os.kill(os.getpid(), signal.SIGKILL)
        """
        with child(killed, store.info().location, after) as process:
            assert process.wait(60) == -signal.SIGKILL
        folder = Path(store.info().location)
        assert store.info().documents == after
        grown = (folder / "vectors.i8").stat().st_size
        fill(store, [Document("next", "the next one")])
        assert (folder / "vectors.i8").stat().st_size < grown
        candidates = store.rank(query("number"), 1)
        for column, (key, passage) in enumerate(candidates.load(candidates.keys).items()):
            assert key == candidates.keys[column]
            expected = brute_force(passage.encoded, query("number").phrases.vectors)
            np.testing.assert_allclose(candidates.cosines[:, column], expected, atol=5e-5)
