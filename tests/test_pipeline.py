from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from slice_os import Corpus, Document, InputError, SpanEncoder
from slice_os.ingest.pipeline import IngestSummary
from slice_os.ingest.readers import BadRecord, ReadOptions
from slice_os.query.query import Phrases, Query
from slice_os.stores.registry import open_store

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def corpus(encoder: SpanEncoder) -> Corpus:
    return Corpus("store", encoder)


def write_jsonl(name: str, *records: Any) -> None:
    lines = [r if isinstance(r, bytes) else orjson.dumps(r) for r in records]
    Path(name).write_bytes(b"\n".join([*lines, b""]))


def record(number: int, text: str | None = None) -> dict[str, Any]:
    return {
        "id": f"r{number}",
        "text": text or f"This is record {number}. It is short.",
        "n": number,
    }


def letters(name: str = "store/dead-letters.jsonl") -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in Path(name).read_bytes().splitlines()]


def contents(place: str = "store") -> dict[str, Any]:
    """Everything in a store, by document."""
    store = open_store(place)
    everything = Query(Phrases(("x",), np.full((1, 384), 384**-0.5, np.float32)))
    held: dict[str, Any] = {}
    candidates = store.rank(everything, 1)
    for passage in candidates.load(candidates.keys).values():
        encoded = passage.encoded
        place_and_vectors = (
            encoded.start,
            encoded.end,
            encoded.words.tolist(),
            encoded.vectors.tolist(),
            dict(encoded.metadata),
        )
        held.setdefault(passage.doc_id, []).append(place_and_vectors)
    for doc_id, passages in held.items():
        stored = store.find_documents([doc_id])[doc_id]
        place_of = Path(stored.source).name
        passages.append((store.document_text(doc_id), place_of, stored.fingerprint))
    store.close()
    return held


def counts(summary: IngestSummary) -> dict[str, int]:
    """The counts that are not zero."""
    names = ("documents", "documents_unchanged", "documents_deleted", "bad_records", "sources")
    return {name: getattr(summary, name) for name in names if getattr(summary, name)}


class TestRunningAgain:
    def test_does_nothing_if_nothing_changed(self, corpus: Corpus) -> None:
        write_jsonl("a.jsonl", record(1), record(2))
        Path("b.txt").write_text("A text. It is here.")
        assert counts(corpus.ingest(["."])) == {"documents": 3, "sources": 2}
        before, size = contents(), Path("store/vectors.i8").stat().st_size
        again = corpus.ingest(["."])
        assert counts(again) == {}
        assert again.sources_unchanged == 2
        assert again.bytes == Path("a.jsonl").stat().st_size + Path("b.txt").stat().st_size
        assert contents() == before
        assert Path("store/vectors.i8").stat().st_size == size

    def test_reads_touched_files_but_keeps_unchanged_documents(self, corpus: Corpus) -> None:
        write_jsonl("a.jsonl", record(1), record(2))
        corpus.ingest(["a.jsonl"])
        os.utime("a.jsonl", (1, 1))
        assert counts(corpus.ingest(["a.jsonl"])) == {"documents_unchanged": 2, "sources": 1}
        assert corpus.ingest(["a.jsonl"]).sources_unchanged == 1

    def test_replaces_adds_and_deletes(self, corpus: Corpus) -> None:
        write_jsonl("a.jsonl", *map(record, range(5)))
        Path("b.txt").write_text("Old text.")
        corpus.ingest(["a.jsonl", "b.txt"])
        write_jsonl("a.jsonl", record(0), record(2, "Changed."), record(3), record(4), record(9))
        Path("b.txt").write_text("New text, and longer.")
        summary = corpus.ingest(["a.jsonl", "b.txt"])
        assert counts(summary) == {
            "documents": 3,
            "documents_unchanged": 3,
            "documents_deleted": 1,
            "sources": 2,
        }
        assert set(contents()) == {"r0", "r2", "r3", "r4", "r9", "b.txt"}
        assert corpus.text("r2") == "Changed."
        assert corpus.text("b.txt") == "New text, and longer."
        with pytest.raises(InputError, match="no document 'r1'"):
            corpus.text("r1")

    def test_counts_changed_metadata_as_a_change(self, corpus: Corpus) -> None:
        write_jsonl("a.jsonl", record(1))
        corpus.ingest(["a.jsonl"])
        write_jsonl("a.jsonl", record(1) | {"n": 77})
        assert counts(corpus.ingest(["a.jsonl"])) == {"documents": 1, "sources": 1}
        assert corpus.search("record", where={"n": 77})

    def test_reads_again_if_options_change(self, corpus: Corpus) -> None:
        write_jsonl("a.jsonl", record(1))
        corpus.ingest(["a.jsonl"], read_as="text")
        assert set(contents()) == {"a.jsonl"}
        corpus.ingest(["a.jsonl"])
        assert set(contents()) == {"r1"}
        corpus.ingest(["a.jsonl"], options=ReadOptions(id_field="n"))
        assert set(contents()) == {"1"}

    def test_keeps_unchanged_documents_of_standard_input(
        self, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for expected in ({"documents": 1, "sources": 1}, {"documents_unchanged": 1, "sources": 1}):
            raw = io.BytesIO(orjson.dumps(record(1)) + b"\n")
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(raw))
            assert counts(corpus.ingest(["-"], read_as="jsonl")) == expected


class TestBrokenRecords:
    def test_go_to_the_dead_letters_and_reading_continues(self, corpus: Corpus) -> None:
        write_jsonl("a.jsonl", record(1), b"no json", record(2), b'{"id": "x"}', b"[1]", record(3))
        Path("bad.txt").write_bytes(b"caf\xe9")
        Path("empty.txt").write_bytes(b"")
        told: list[BadRecord] = []
        summary = corpus.ingest(["."], complain=told.append)
        assert counts(summary) == {"documents": 3, "bad_records": 5, "sources": 3}
        assert set(contents()) == {"r1", "r2", "r3"}
        kept = letters()
        assert [(k["source"], k["line"]) for k in kept] == [(t.source, t.line) for t in told]
        assert [(Path(k["source"]).name, k["line"], k["record"]) for k in kept] == [
            ("a.jsonl", 2, "no json"),
            ("a.jsonl", 4, '{"id": "x"}'),
            ("a.jsonl", 5, "[1]"),
            ("bad.txt", 1, "caf\\xe9"),
            ("empty.txt", None, ""),
        ]
        assert all(k["reason"] and "\n" not in k["reason"] and k["time"] for k in kept)

    def test_are_read_again_and_delete_nothing(self, corpus: Corpus) -> None:
        write_jsonl("a.jsonl", record(1), record(2))
        corpus.ingest(["a.jsonl"])
        write_jsonl("a.jsonl", record(1), b'{"id": "r2", "text": ')
        for _ in range(2):
            assert counts(corpus.ingest(["a.jsonl"])) == {
                "documents_unchanged": 1,
                "bad_records": 1,
                "sources": 1,
            }
            assert set(contents()) == {"r1", "r2"}
        write_jsonl("a.jsonl", record(1))
        assert counts(corpus.ingest(["a.jsonl"]))["documents_deleted"] == 1

    def test_a_missing_source_deletes_nothing(self, corpus: Corpus) -> None:
        write_jsonl("a.jsonl", record(1))
        corpus.ingest(["a.jsonl"])
        Path("a.jsonl").unlink()
        Path("a.jsonl").symlink_to("nowhere")
        Path("b.txt").write_text("b")
        assert counts(corpus.ingest(["."]))["bad_records"] == 1
        assert set(contents()) == {"r1", "b.txt"}

    def test_the_dead_letters_are_not_read(self, corpus: Corpus) -> None:
        Path("a.jsonl").write_bytes(b"no json\n")
        for _ in range(3):
            assert corpus.ingest(["."]).bad_records == 1
        assert len(letters()) == 1
        for _ in range(2):
            assert corpus.ingest(["."], dead_letters="other.jsonl").bad_records < 9

    def test_dead_letters_that_cannot_be_written(self, corpus: Corpus) -> None:
        write_jsonl("a.jsonl", record(1), b"no json", record(2))
        with pytest.raises(InputError, match=r"a\.jsonl/x: cannot write dead letters"):
            corpus.ingest(["a.jsonl"], dead_letters="a.jsonl/x")
        assert counts(corpus.ingest(["a.jsonl"]))["bad_records"] == 1
        assert set(contents()) == {"r1", "r2"}


class TestIds:
    def test_that_repeat_keep_the_first_document(self, corpus: Corpus) -> None:
        write_jsonl("a.jsonl", record(1, "First."), record(1, "Second."), record(2))
        write_jsonl("b.jsonl", record(2, "Third."))
        assert corpus.ingest(["a.jsonl", "b.jsonl"]).bad_records == 2
        assert corpus.text("r1") == "First."
        assert [k["reason"] for k in letters()] == [
            f"id 'r1' came before, in {Path('a.jsonl').resolve()}; "
            "choose another --id-field, or join such records by --group-by",
            f"id 'r2' came before, in {Path('a.jsonl').resolve()}; "
            "ingest one of them with --id-prefix",
        ]
        assert [k["record"] for k in letters()] == ["Second.", "Third."]

    def test_of_another_existing_file_are_refused(self, corpus: Corpus) -> None:
        write_jsonl("a.jsonl", record(1, "First."))
        corpus.ingest(["a.jsonl"])
        write_jsonl("b.jsonl", record(1, "Second."))
        for paths in (["b.jsonl"], ["a.jsonl", "b.jsonl"]):
            assert corpus.ingest(paths).bad_records == 1
            assert corpus.text("r1") == "First."
        assert letters()[0]["reason"] == (
            f"id 'r1' is taken by {Path('a.jsonl').resolve()}; give the ids of one of them a "
            "prefix (--id-prefix), or delete that document"
        )
        assert corpus.ingest(["b.jsonl"], id_prefix="b/").documents == 1
        assert set(contents()) == {"r1", "b/r1"}

    def test_follow_a_renamed_file(self, corpus: Corpus) -> None:
        write_jsonl("a.jsonl", record(1), record(2))
        corpus.ingest(["a.jsonl"])
        Path("a.jsonl").rename("b.jsonl")
        assert counts(corpus.ingest(["b.jsonl"])) == {"documents_unchanged": 2, "sources": 1}
        write_jsonl("b.jsonl", record(2))
        assert counts(corpus.ingest(["b.jsonl"]))["documents_deleted"] == 1
        assert set(contents()) == {"r2"}

    @pytest.mark.parametrize("paths", [["a.jsonl", "b.jsonl"], ["b.jsonl", "a.jsonl"]])
    def test_may_move_from_one_file_to_another(self, corpus: Corpus, paths: list[str]) -> None:
        write_jsonl("a.jsonl", record(1), record(2))
        write_jsonl("b.jsonl", record(3))
        corpus.ingest(paths)
        write_jsonl("a.jsonl", record(1))
        write_jsonl("b.jsonl", record(3), record(2))
        corpus.ingest(paths)
        assert corpus.ingest(paths).bad_records == 0
        assert set(contents()) == {"r1", "r2", "r3"}

    def test_added_by_a_program_are_replaced_by_a_file(self, corpus: Corpus) -> None:
        corpus.add([Document("r1", "By a program.")])
        write_jsonl("a.jsonl", record(1, "By a file."))
        assert counts(corpus.ingest(["a.jsonl"])) == {"documents": 1, "sources": 1}
        assert corpus.text("r1") == "By a file."


def many() -> list[str]:
    """Files with short and long documents; the long one is encoded in several parts."""
    sentence = "The supplier shall deliver the goods number {} on the agreed date. "
    write_jsonl("a.jsonl", *(record(n, sentence.format(n) * 3) for n in range(30)))
    Path("b.txt").write_text("".join(sentence.format(n) for n in range(60)))
    write_jsonl("c.jsonl", *(record(n, sentence.format(n)) for n in range(100, 120)))
    return ["a.jsonl", "b.txt", "c.jsonl"]


@pytest.fixture(scope="module")
def in_one_go(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("whole"))
        Corpus("whole", encoder).ingest(many())
        return contents("whole")


class TestInterruption:
    @pytest.fixture(autouse=True)
    def small_steps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("slice_os.encoder.span_encoder.POOL_PIECES", 200)
        monkeypatch.setattr("slice_os.ingest.passages.PART_PIECES", 300)

    @pytest.mark.parametrize("calls", [1, 5, 33, 38, 50])
    def test_resumes_after_an_interrupt(
        self, corpus: Corpus, in_one_go: dict[str, Any], calls: int
    ) -> None:
        seen: list[IngestSummary] = []

        def stop(summary: IngestSummary) -> None:
            seen.append(summary)
            if len(seen) == calls:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            corpus.ingest(many(), progress=stop)
        kept = contents()
        assert len(kept) >= seen[-1].documents - 1
        assert all(kept[doc_id] == in_one_go[doc_id] for doc_id in kept)
        summary = corpus.ingest(many())
        assert summary.documents == len(in_one_go) - len(kept)
        assert contents() == in_one_go

    @pytest.mark.parametrize("documents", [2, 31, 40])
    def test_resumes_after_a_kill_without_losing_commits(
        self, corpus: Corpus, in_one_go: dict[str, Any], documents: int
    ) -> None:
        code = """
            import os, signal, sys
            import slice_os.encoder.span_encoder, slice_os.ingest.passages
            import slice_os.stores.local.writer
            from slice_os import Corpus

            slice_os.encoder.span_encoder.POOL_PIECES = 200
            slice_os.ingest.passages.PART_PIECES = 300
            slice_os.stores.local.writer.COMMIT_SECONDS = 0

            def stop(summary):
                if summary.documents == int(sys.argv[1]):
                    os.kill(os.getpid(), signal.SIGKILL)

            Corpus("store").ingest(sys.argv[2:], progress=stop)
        """
        command = [sys.executable, "-c", textwrap.dedent(code), str(documents), *many()]
        repository = str(Path(__file__).parents[1])
        killed = subprocess.run(command, check=False, env=os.environ | {"PYTHONPATH": repository})
        assert killed.returncode == -signal.SIGKILL
        kept = contents()
        assert len(kept) == documents
        assert all(kept[doc_id] == in_one_go[doc_id] for doc_id in kept)
        summary = corpus.ingest(many())
        assert summary.documents == len(in_one_go) - documents
        assert contents() == in_one_go

    def test_progress_only_grows(self, corpus: Corpus) -> None:
        seen: list[IngestSummary] = []
        paths = many()
        last = corpus.ingest(paths, progress=seen.append)
        for name in ("sources", "documents", "pieces", "bytes", "seconds"):
            values = [getattr(summary, name) for summary in [*seen, last]]
            assert values == sorted(values), name
        assert last.bytes == sum(Path(path).stat().st_size for path in paths)
