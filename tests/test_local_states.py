"""A question sees one state of a local store; what is complete is committed by the clock."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from slice_os import Document, LocalStore, StoreError
from slice_os.hits.hit import Hit
from slice_os.query.options import SearchOptions
from slice_os.search.run import mine, search
from slice_os.spans.passages import DocumentPart
from slice_os.stores.local import store as local
from slice_os.stores.local.files import Database
from slice_os.stores.local.writer import LocalWriter

from .test_local_store import CARD, brute_force, documents, fill, part_of, query


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore.create(tmp_path / "store", CARD, 128)


def replace_all(store: LocalStore, count: int) -> None:
    fill(store, [Document(f"doc {n}", f"replaced {n} by others. " * 3) for n in range(count)])


def found(hits: list[Hit]) -> list[tuple[str, int, int, float, str]]:
    return [(hit.doc_id, hit.start, hit.end, hit.cosine, hit.passage.text) for hit in hits]


class TestOneState:
    def test_of_a_search(self, store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
        fill(store, documents(20))
        asked = query("number")
        before = found(list(search(store, asked, SearchOptions(top_k=20))))
        assert len(before) == 20
        rank = store.rank

        def rank_and_replace(*arguments: object) -> object:
            candidates = rank(*arguments)  # type: ignore[arg-type]
            replace_all(store, 20)
            return candidates

        monkeypatch.setattr(store, "rank", rank_and_replace)
        assert found(list(search(store, asked, SearchOptions(top_k=20)))) == before
        monkeypatch.undo()
        after = found(list(search(store, asked, SearchOptions(top_k=20))))
        assert after
        assert all("replaced" in text for *_, text in after)

    @pytest.mark.slow
    def test_of_a_whole_mine(self, store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(local, "SCAN_PASSAGES", 3)
        fill(store, documents(30))
        asked = query("number", "here")
        before = found(list(mine(store, asked, threshold=0.3)))
        hits = mine(store, asked, threshold=0.3)
        begun = [next(hits) for _ in range(2)]
        replace_all(store, 30)
        with store.writer() as writer:
            writer.delete([f"doc {n}" for n in range(10)])
        assert found([*begun, *hits]) == before

    def test_of_a_document_to_copy(
        self, store: LocalStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fill(store, documents(3))
        column = Database.column

        def column_and_replace(connection: Database, *asked: object) -> list[object]:
            found = column(connection, *asked)  # type: ignore[arg-type]
            replace_all(store, 3)
            return found

        monkeypatch.setattr(Database, "column", column_and_replace)
        first, *others = store.stored_documents()
        assert first.document.text == documents(1)[0].text
        assert [part.document.text.partition(" by")[0] for part in others] == [
            "replaced 1",
            "replaced 2",
        ]
        for part in (first, *others):
            assert part.passages[-1].end == len(part.document.text.rstrip(". "))

    @pytest.mark.slow
    def test_of_questions_on_other_threads(self, store: LocalStore) -> None:
        fill(store, documents(10))
        asked = query("number", "version")
        stop = threading.Event()

        def write() -> int:
            for revision in range(12):
                texts = (f"version {revision} of number {n}. " * 4 for n in range(10))
                fill(store, [Document(f"doc {n}", text) for n, text in enumerate(texts)])
            stop.set()
            return revision

        def ask() -> int:
            questions = 0
            while not (stop.is_set() and questions):
                candidates = store.rank(asked, 1)
                loaded = candidates.load(candidates.keys)
                assert len(loaded) == len(candidates.keys) > 0
                texts = {passage.text.partition(" of ")[0] for passage in loaded.values()}
                assert len({passage.doc_id for passage in loaded.values()}) == 10
                for column, key in enumerate(candidates.keys):
                    expected = brute_force(loaded[key].encoded, asked.phrases.vectors)
                    np.testing.assert_allclose(candidates.cosines[:, column], expected, atol=5e-5)
                assert texts
                questions += 1
            return questions

        with ThreadPoolExecutor(4) as executor:
            jobs = [executor.submit(write), *(executor.submit(ask) for _ in range(3))]
            assert all(job.result() for job in jobs)

    def test_ends_with_the_candidates(self, store: LocalStore) -> None:
        fill(store, documents(3))
        log = store.folder / "store.sqlite-wal"
        candidates = store.rank(query("number"), 1)
        fill(store, documents(5))
        assert len(candidates.load(candidates.keys)) == len(candidates.keys)
        del candidates
        store.close()
        assert not log.exists()


class TestTheClock:
    def test_commits_while_nothing_is_written(
        self, store: LocalStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("slice_os.stores.local.writer.COMMIT_SECONDS", 0.2)
        with store.writer() as writer:
            for document in documents(5):
                writer.write(part_of(document))
            wait_for(lambda: store.info().documents == 5)
            writer.delete(["doc 1"])
            wait_for(lambda: store.info().documents == 4)

    def test_commits_what_is_noted_about_sources(
        self, store: LocalStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("slice_os.stores.local.writer.COMMIT_SECONDS", 0.2)
        with store.writer() as writer:
            writer.write(part_of(Document("a", "one two", source="first")))
            wait_for(lambda: store.document_ids("first") == {"a"})
            writer.assign(["a", "unknown"], "second")
            wait_for(lambda: store.document_ids("second") == {"a"})
            writer.finish_source("second", "read")
            wait_for(lambda: store.source_signatures(["second"]) == {"second": "read"})
            writer.forget_source("second")
            wait_for(lambda: store.source_signatures(["second"]) == {})
        assert store.verify() == []

    def test_leaves_out_what_is_not_complete(
        self, store: LocalStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("slice_os.stores.local.writer.COMMIT_SECONDS", 0.0)
        with store.writer() as writer:
            monkeypatch.setattr("slice_os.stores.local.writer.COMMIT_SECONDS", 60)
            writer.write(part_of(Document("whole", "It is complete.")))
            begun = part_of(Document("begun", "a part of it " * 9))
            writer.write(DocumentPart(begun.document, begun.passages[:1], last=False))
            assert store.document_text("whole") == "It is complete."
            monkeypatch.setattr("slice_os.stores.local.writer.COMMIT_SECONDS", 0.0)
            looks: list[None] = []
            commit_if_due = LocalWriter._commit_if_due
            monkeypatch.setattr(
                LocalWriter, "_commit_if_due", lambda self: looks.append(commit_if_due(self))
            )
            wait_for(lambda: looks)
            assert store.info().documents == 1
            writer.write(DocumentPart(begun.document, begun.passages[1:], last=True))
            assert store.info().documents == 2

    def test_reports_a_commit_that_failed(
        self, store: LocalStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tried = threading.Event()

        def full(*_: object) -> None:
            tried.set()
            raise OSError(28, "No space left on device")

        with pytest.raises(StoreError, match="the disk is full"), store.writer() as writer:  # noqa: PT012
            writer.write(part_of(Document("a", "one two")))
            monkeypatch.setattr("slice_os.stores.local.arrays.Arrays.sync", full)
            monkeypatch.setattr("slice_os.stores.local.writer.COMMIT_SECONDS", 0.0)
            assert tried.wait(60)
            monkeypatch.undo()
            writer.write(part_of(Document("b", "three four")))
        fill(store, documents(2))
        assert store.document_text("doc 1")


def wait_for(condition: object) -> None:
    deadline = time.monotonic() + 60
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.05)
