"""What a source is called, and what becomes of the documents that came from it before."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from slice_os import Corpus, Document, InputError, SpanEncoder
from slice_os.ingest.pipeline import IngestSummary
from slice_os.ingest.readers import ReadOptions
from slice_os.stores.local import LocalStore

Pipe = Callable[..., IngestSummary]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture
def corpus(encoder: SpanEncoder, tmp_path: Path) -> Corpus:
    return Corpus(tmp_path / "store", encoder)


@pytest.fixture
def pipe(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> Pipe:
    """Pipes a text into `Corpus.ingest`."""

    def pipe(text: str, read_as: str = "text", **options: str) -> IngestSummary:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return corpus.ingest(["-"], read_as=read_as, **options)  # type: ignore[arg-type]

    return pipe


def write(**texts: str) -> None:
    """Write files; a double underscore stands for a slash, and each is a .txt."""
    for name, text in texts.items():
        path = Path(f"{name.replace('__', '/')}.txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def stored(corpus: Corpus) -> dict[str, str]:
    """Texts by document id."""
    return {doc_id: corpus.text(doc_id) for doc_id in corpus}


def lines(*texts: str) -> str:
    return "".join(orjson.dumps({"text": text}).decode() + "\n" for text in texts)


class TestPaths:
    def test_the_way_to_type_them_does_not_matter(
        self, corpus: Corpus, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(calls__a="One.", calls__sub__b="Two.")
        corpus.ingest(["calls"])
        Path("link").symlink_to("calls")
        for path in (
            "./calls/",
            folder / "calls",
            "calls/sub/../../calls",
            "link",
            "calls/**/*.txt",
        ):
            assert corpus.ingest([path]).sources_unchanged == 2, path
        monkeypatch.chdir("calls")
        assert corpus.ingest(["."]).sources_unchanged == 2
        assert stored(corpus) == {"a.txt": "One.", "sub/b.txt": "Two."}

    def test_folders_of_one_name_are_two_sources(
        self, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(x__calls__a="One.", y__calls__b="Two.")
        for place in ("x", "../y"):
            monkeypatch.chdir(place)
            assert corpus.ingest(["calls"]).documents == 1
        assert set(stored(corpus)) == {"a.txt", "b.txt"}

    def test_an_id_that_two_files_have_is_refused_with_advice(self, corpus: Corpus) -> None:
        write(x__a="One.", y__a="Two.")
        told = []
        assert corpus.ingest(["x", "y"], complain=told.append).documents == 1
        assert "came before" in told[0].reason
        assert "--id-prefix" in told[0].reason
        assert corpus.ingest(["y"], complain=told.append).documents == 0
        assert "is taken by" in told[1].reason
        assert "--id-prefix" in told[1].reason
        assert corpus.ingest(["y"], id_prefix="y/").documents == 1
        assert stored(corpus) == {"a.txt": "One.", "y/a.txt": "Two."}

    def test_a_changed_file_keeps_its_id_wherever_it_is_typed(
        self, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(calls__sub__b="Two.")
        corpus.ingest(["calls"])
        write(calls__sub__b="Two, and more.")
        corpus.ingest(["calls/sub"])
        assert stored(corpus) == {"sub/b.txt": "Two, and more."}

    def test_so_does_one_with_bad_records(self, corpus: Corpus) -> None:
        Path("calls/sub").mkdir(parents=True)
        Path("calls/sub/b.jsonl").write_text(lines("One.") + "broken\n")
        assert corpus.ingest(["calls"]).bad_records == 1
        Path("calls/sub/b.jsonl").write_text(lines("One.", "Two."))
        corpus.ingest(["calls/sub/b.jsonl"])
        assert stored(corpus) == {"sub/b.jsonl#1": "One.", "sub/b.jsonl#2": "Two."}


class TestPipes:
    def test_add(self, corpus: Corpus, pipe: Pipe) -> None:
        for text in ("First batch.", "Second batch."):
            assert pipe(text).documents == 1
        assert sorted(stored(corpus).values()) == ["First batch.", "Second batch."]
        again = pipe("First batch.")
        assert (again.documents, again.documents_unchanged) == (0, 1)

    def test_records_without_ids_add(self, corpus: Corpus, pipe: Pipe) -> None:
        pipe(lines("One.", "Two."), "jsonl")
        pipe(lines("Three."), "jsonl")
        pipe(lines("Yes.", "Yes."), "jsonl")
        assert sorted(stored(corpus).values()) == ["One.", "Three.", "Two.", "Yes.", "Yes."]

    def test_records_with_ids_update(self, corpus: Corpus, pipe: Pipe) -> None:
        pipe('{"id": "a", "text": "Old."}\n{"id": "b", "text": "Other."}\n', "jsonl")
        pipe('{"id": "a", "text": "New."}\n', "jsonl")
        assert stored(corpus) == {"a": "New.", "b": "Other."}

    def test_leave_the_documents_of_a_file(self, corpus: Corpus, pipe: Pipe) -> None:
        Path("a.jsonl").write_text('{"id": "a", "text": "In a file."}\n')
        corpus.ingest(["a.jsonl"])
        assert pipe('{"id": "a", "text": "Piped."}\n', "jsonl").bad_records == 1
        assert stored(corpus) == {"a": "In a file."}

    def test_with_a_name_replace(self, corpus: Corpus, pipe: Pipe) -> None:
        pipe(lines("Kept."), "jsonl")
        pipe(lines("One.", "Two."), "jsonl", source="crm")
        assert pipe(lines("One."), "jsonl", source="crm").documents_deleted == 1
        pipe(lines("Others."), "jsonl", source="crm/other")
        assert sorted(stored(corpus).values()) == ["Kept.", "One.", "Others."]
        assert stored(corpus)["crm#1"] == "One."

    def test_a_named_pipe_of_the_shell_adds_too(self, corpus: Corpus) -> None:
        for text in ("One.", "Two."):
            read, write = os.pipe()
            os.write(write, text.encode())
            os.close(write)
            assert corpus.ingest([f"/dev/fd/{read}"], read_as="text").documents == 1
            os.close(read)
        assert sorted(stored(corpus).values()) == ["One.", "Two."]


class TestNames:
    def test_files_that_move_keep_their_documents(self, corpus: Corpus) -> None:
        write(x__a="One.", x__sub__b="Two.")
        corpus.ingest(["x"], source="calls")
        Path("x").rename("y")
        assert corpus.ingest(["y"], source="calls").sources_unchanged == 2
        write(y__a="Changed.")
        corpus.ingest(["y"], source="calls")
        assert stored(corpus) == {"a.txt": "Changed.", "sub/b.txt": "Two."}
        assert [entry.name for entry in corpus.sources()] == ["calls/a.txt", "calls/sub/b.txt"]

    def test_that_change_leave_the_store_sound(self, corpus: Corpus) -> None:
        write(calls__a="One.")
        corpus.ingest(["calls"])
        corpus.ingest(["calls"], source="crm")
        assert corpus.search("one")[0].doc_id == "a.txt"
        store = corpus.store
        assert isinstance(store, LocalStore)
        assert store.verify() == []

    def test_may_be_given_later(self, corpus: Corpus) -> None:
        write(calls__sub__a="One.")
        corpus.ingest(["calls"])
        summary = corpus.ingest(["calls/sub"], source="crm")
        assert (summary.documents, summary.documents_unchanged) == (0, 1)
        assert stored(corpus) == {"sub/a.txt": "One."}
        assert [entry.name for entry in corpus.sources()] == ["crm/a.txt"]

    def test_are_not_taken_for_paths(self, corpus: Corpus) -> None:
        write(calls__a="One.")
        corpus.ingest(["calls"], source="calls")
        write(calls__a="Other.")
        assert corpus.ingest(["calls"]).bad_records == 1
        assert stored(corpus) == {"a.txt": "One."}

    def test_of_two_files_differ(self, corpus: Corpus) -> None:
        write(x__a="One.", y__a="Two.")
        with pytest.raises(InputError, match=r"y/a.txt: .*x/a.txt is calls/a.txt, too"):
            corpus.ingest(["x", "y"], source="calls")

    @pytest.mark.parametrize("name", ["", "-", "stdin", "/abs", "a//b", "a/", ".", "\ud800"])
    def test_what_is_no_name(self, corpus: Corpus, name: str) -> None:
        write(a="One.")
        with pytest.raises(InputError, match=r"no source can have the name|--source"):
            corpus.ingest(["a.txt"], source=name)


class TestPruning:
    def test_deletes_what_is_gone(self, corpus: Corpus) -> None:
        write(calls__a="One.", calls__sub__b="Two.", other__c="Three.")
        corpus.ingest(["calls", "other"])
        for path in ("calls/a.txt", "calls/sub/b.txt", "other/c.txt"):
            Path(path).unlink()
        write(calls__d="Four.")
        assert corpus.ingest(["calls"]).documents_deleted == 0
        summary = corpus.ingest(["calls"], prune=True)
        assert (summary.sources_pruned, summary.documents_deleted) == (2, 2)
        assert set(stored(corpus)) == {"c.txt", "d.txt"}
        write(calls__a="One.")
        assert corpus.ingest(["calls"], prune=True).documents == 1

    def test_keeps_what_is_there_but_not_read(self, corpus: Corpus) -> None:
        write(calls__a="One.", calls__b="Two.")
        corpus.ingest(["calls"])
        Path("calls/b.txt").rename("calls/.b.txt")
        Path("calls/.b.txt").rename("calls/b.txt")
        assert corpus.ingest(["calls/a*.txt"], prune=True).sources_pruned == 0
        assert set(stored(corpus)) == {"a.txt", "b.txt"}

    def test_keeps_what_moved(self, corpus: Corpus) -> None:
        for name in ("a", "b"):
            Path(f"{name}.jsonl").write_text(f'{{"id": "{name}", "text": "Text {name}."}}\n')
        corpus.ingest(["."])
        Path("a.jsonl").rename("z.jsonl")
        summary = corpus.ingest(["."], prune=True)
        assert (summary.documents_deleted, summary.documents_unchanged) == (0, 1)
        assert set(stored(corpus)) == {"a", "b"}

    def test_keeps_names_that_are_not_utf8(self, corpus: Corpus) -> None:
        Path(os.fsdecode(b"caf\xe9.txt")).write_text("One.")
        write(b="Two.")
        corpus.ingest(["."])
        assert corpus.ingest(["."], prune=True).sources_pruned == 0

    def test_of_a_named_source(self, corpus: Corpus) -> None:
        write(x__a="One.", x__b="Two.", y__a="Three.")
        corpus.ingest(["x"], source="calls")
        corpus.ingest(["y"], id_prefix="y/")
        Path("x/a.txt").unlink()
        Path("x").rename("z")
        assert corpus.ingest(["z"], source="calls", prune=True).sources_pruned == 1
        assert set(stored(corpus)) == {"b.txt", "y/a.txt"}

    def test_needs_a_folder_and_all_of_it(self, corpus: Corpus) -> None:
        write(a="One.", b="Two.")
        with pytest.raises(InputError, match="--prune needs a folder"):
            corpus.ingest(["a.txt"], prune=True)
        with pytest.raises(InputError, match="without --part"):
            corpus.ingest(["."], prune=True, part="1/2")


class TestChanges:
    def test_of_the_same_size_and_time_are_found_by_the_checksum(self, corpus: Corpus) -> None:
        write(a="Old text.")
        corpus.ingest(["a.txt"])
        status = Path("a.txt").stat()
        assert corpus.ingest(["a.txt"], checksum=True).sources_unchanged == 1
        write(a="New text.")
        os.utime("a.txt", ns=(status.st_atime_ns, status.st_mtime_ns))
        assert corpus.ingest(["a.txt"]).sources_unchanged == 1
        assert corpus.ingest(["a.txt"], checksum=True).documents == 1
        assert stored(corpus) == {"a.txt": "New text."}

    def test_of_the_time_alone_are_none_to_the_checksum(self, corpus: Corpus) -> None:
        write(a="A text.")
        corpus.ingest(["a.txt"])
        os.utime("a.txt", (1, 1))
        assert corpus.ingest(["a.txt"], checksum=True).sources_unchanged == 1
        assert corpus.ingest(["a.txt"]).documents_unchanged == 1

    def test_by_deleting_are_taken_back(self, corpus: Corpus) -> None:
        Path("a.jsonl").write_text(lines("One.", "Two."))
        write(b="Three.")
        corpus.ingest(["."])
        assert corpus.delete(["a.jsonl#1", "none"]) == 1
        summary = corpus.ingest(["."])
        assert (summary.documents, summary.documents_unchanged) == (1, 1)
        assert summary.sources_unchanged == 1
        assert len(corpus) == 3

    def test_an_interrupted_move_is_made_up_for(self, corpus: Corpus) -> None:
        for name in ("a", "b", "c"):
            Path(f"{name}.jsonl").write_text(f'{{"id": "{name}", "text": "Text {name}."}}\n')
        corpus.ingest(["."])
        Path("b.jsonl").write_text(Path("b.jsonl").read_text() + Path("a.jsonl").read_text())
        Path("a.jsonl").write_text('{"id": "new", "text": "Text new."}\n')
        corpus.ingest(["."])
        corpus.ingest(["."])
        assert set(stored(corpus)) == {"a", "b", "c", "new"}


class TestContents:
    def test_are_listed(self, corpus: Corpus, folder: Path) -> None:
        write(calls__b="One. " * 200, calls__a="Two.")
        corpus.ingest(["calls"])
        corpus.add([Document("x", "By a program.")])
        assert [(entry.id, entry.source, entry.passages > 1) for entry in corpus.documents()] == [
            ("a.txt", str(folder / "calls/a.txt"), False),
            ("b.txt", str(folder / "calls/b.txt"), True),
            ("x", "", False),
        ]
        assert [(entry.name, entry.documents) for entry in corpus.sources()] == [
            ("", 1),
            (str(folder / "calls/a.txt"), 1),
            (str(folder / "calls/b.txt"), 1),
        ]

    def test_behave_like_a_collection_of_ids(
        self, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("slice_os.stores.local.store.LISTED_DOCUMENTS", 2)
        corpus.add(Document(f"d{number}", "Some words.") for number in range(5))
        assert len(corpus) == 5
        assert list(corpus) == ["d0", "d1", "d2", "d3", "d4"]
        assert "d3" in corpus
        assert "d5" not in corpus
        assert 3 not in corpus
        corpus.delete(list(corpus))
        assert len(corpus) == 0
        assert corpus

    def test_have_a_repr_without_a_password(self, encoder: SpanEncoder) -> None:
        assert repr(Corpus("calls.slice", encoder)) == "Corpus('calls.slice')"
        shown = repr(Corpus("https://ann:s3cret@host:9200/calls"))
        assert shown == "Corpus('https://ann:…@host:9200/calls')"
        assert repr(Corpus("http://ann@host:9200/i")) == "Corpus('http://ann@host:9200/i')"

    @pytest.mark.parametrize("wrong", ["a text", b"bytes", {"id": "x"}, Document("a", "b")])
    def test_take_a_list_of_documents(self, corpus: Corpus, wrong: object) -> None:
        with pytest.raises(InputError, match=r'give \[Document\("an id", "the text"\)\]'):
            corpus.add(wrong)  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"not a document"):
            corpus.add([3])  # type: ignore[list-item]

    def test_documents_say_what_to_pass(self) -> None:
        with pytest.raises(InputError, match="the id of a document is a string, not 1"):
            Document(1, "text")  # type: ignore[arg-type]
        with pytest.raises(InputError, match="the text of a document is a string, not None"):
            Document("1", None)  # type: ignore[arg-type]


class TestSkippedFiles:
    def test_are_counted_by_extension(self, corpus: Corpus) -> None:
        write(calls__a="One.")
        for name in ("b.xyz", "sub/c.XYZ", "d.qqq", "e", ".hidden.xyz"):
            path = Path("calls") / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"?")
        summary = corpus.ingest(["calls"])
        assert summary.skipped == {".qqq": 1, ".xyz": 2, "without extension": 1}
        assert corpus.ingest(["calls"]).skipped == summary.skipped

    def test_are_divided_among_the_parts(self, corpus: Corpus) -> None:
        write(calls__a="One.")
        for number in range(9):
            Path(f"calls/{number}.xyz").write_bytes(b"?")
        parts = [corpus.ingest(["calls"], part=part) for part in ("1/2", "2/2")]
        assert sum(part.skipped.get(".xyz", 0) for part in parts) == 9
        assert all(part.skipped for part in parts)

    def test_do_not_count_the_store(self, encoder: SpanEncoder) -> None:
        write(a="One.")
        with Corpus("store", encoder) as corpus:
            for _ in range(2):
                assert corpus.ingest(["."]).skipped == {}
            assert corpus.ingest(["."], options=ReadOptions(id_field="x")).skipped == {}
