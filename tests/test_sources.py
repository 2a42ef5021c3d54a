"""PATH arguments become sources; unreadable records are reported and kept."""

from __future__ import annotations

import errno
import inspect
import json
import os
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from slice_os.errors import InputError
from slice_os.ingest.deadletters import DeadLetters
from slice_os.ingest.readers import BadRecord
from slice_os.ingest.sources import Source, find_sources, skipped_line

from .builders import read_all, write


class TestSources:
    def test_folder_at_every_depth_sorted_without_unknown_files(self, folder: Path) -> None:
        known = ("b.txt", "a.MD", "sub/deep/c.jsonl", "sub/d.ndjson", "e.csv", "f.vtt", "g.srt")
        for path in (
            *known,
            ".hidden.txt",
            "~$open.docx",
            ".git/config.txt",
            "picture.png",
            "sub/noext",
        ):
            write(f"calls/{path}", "x")
        sources = find_sources(["./calls/"])
        assert [(source.ids, source.format) for source in sources] == [
            ("a.MD", "text"),
            ("b.txt", "text"),
            ("e.csv", "csv"),
            ("f.vtt", "vtt"),
            ("g.srt", "srt"),
            ("sub/d.ndjson", "jsonl"),
            ("sub/deep/c.jsonl", "jsonl"),
        ]
        assert [source.name for source in sources] == [
            str(folder / "calls" / source.ids) for source in sources
        ]
        assert sources.skipped == {".png": 1, "without extension": 1}

    def test_pattern(self, folder: Path) -> None:
        for path in ("calls/1.jsonl", "calls/x/y/2.jsonl", "calls/3.txt", "calls/x/.h.jsonl"):
            write(path, "x")
        ids = [source.ids for source in find_sources(["calls/**/*.jsonl"])]
        assert ids == ["1.jsonl", "x/y/2.jsonl"]
        pattern = folder / "calls" / "*.txt"
        assert [source.path for source in find_sources([pattern])] == [folder / "calls/3.txt"]

    def test_a_file_named_like_a_pattern(self, folder: Path) -> None:
        write("a[1].txt", "x")
        write("a1.txt", "x")
        assert [source.ids for source in find_sources(["a[1].txt"])] == ["a[1].txt"]

    def test_each_source_once(self, folder: Path) -> None:
        write("calls/a.txt", "x")
        write("calls/b.txt", "x")
        sources = find_sources(["calls/b.txt", "calls", "./calls//b.txt", "calls/../calls/*.txt"])
        assert [source.ids for source in sources] == ["b.txt", "a.txt"]

    def test_standard_input(self) -> None:
        assert list(find_sources(["-"])) == [Source("stdin", None, "text")]
        assert list(find_sources(["-"], "jsonl")) == [Source("stdin", None, "jsonl")]

    def test_format_for_unknown_extensions(self, folder: Path) -> None:
        write("log/a.log", "x")
        with pytest.raises(InputError, match=r"log/a.log: unknown extension '.log'.*--format text"):
            find_sources(["log/a.log"])
        with pytest.raises(InputError, match=r"log: nothing to read here; 1 file skipped: 1 .log"):
            find_sources(["log"])
        for argument in ("log", "log/a.log", "log/*"):
            (source,) = find_sources([argument], "text")
            assert (source.ids, source.format) == ("a.log", "text")

    @pytest.mark.parametrize(
        "path", ["absent.txt", "absent/", "absent/*.txt", "", "a\0b", "x" * 5_000]
    )
    def test_nothing_there(self, folder: Path, path: str) -> None:
        write("good.txt", "x")
        with pytest.raises(InputError, match="no such file") as error:
            find_sources(["good.txt", path])
        assert "\n" not in str(error.value)

    def test_empty_folder(self, folder: Path) -> None:
        (folder / "none").mkdir()
        with pytest.raises(InputError, match="none: nothing to read"):
            find_sources(["none"])

    def test_links_to_folders_do_not_loop(self, folder: Path) -> None:
        write("calls/a.txt", "x")
        (folder / "calls/loop").symlink_to(folder / "calls")
        sources = find_sources(["calls"])
        assert [source.ids for source in sources] == ["a.txt"]
        assert sources.skipped == {"linked folder": 1}

    def test_patterns_do_not_follow_links_to_folders(self, folder: Path) -> None:
        write("calls/deep/a.txt", "x")
        for name in ("one", "other"):
            Path(f"calls/{name}").symlink_to(folder / "calls")
        for pattern in ("calls/**/*.txt", "calls/**", "**/deep/**/*.txt", "**/d*/", "calls/*/"):
            assert [source.path for source in find_sources([pattern])] == [Path("calls/deep/a.txt")]

    def test_any_depth(self, folder: Path) -> None:
        write(f"calls/{'a/' * 200}a.txt", "x")
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(len(inspect.stack(0)) + 150)
        try:
            assert [source.ids[-7:] for source in find_sources(["calls"])] == ["a/a.txt"]
        finally:
            sys.setrecursionlimit(limit)

    def test_a_file_that_cannot_be_examined(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write("calls/a.txt", "x")
        examine = Path.stat

        def stat(path: Path, **options: bool) -> os.stat_result:
            if path.name == "a.txt":
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return examine(path, **options)

        monkeypatch.setattr(Path, "stat", stat)
        assert [source.ids for source in find_sources(["calls"])] == ["a.txt"]

    def test_special_files_in_a_folder_are_skipped(self, folder: Path) -> None:
        write("calls/a.txt", "x")
        os.mkfifo(folder / "calls/b.txt")
        sources = find_sources(["calls"])
        assert [source.ids for source in sources] == ["a.txt"]
        assert sources.skipped == {"special file": 1}

    @pytest.mark.parametrize("paths", [["calls"], ["calls/*.txt"], ["calls/**/*.txt"]])
    def test_links_to_files_outside_are_followed_only_if_asked(
        self, folder: Path, paths: list[str]
    ) -> None:
        write("calls/a.txt", "x")
        write("secret.txt", "y")
        (folder / "calls/in.txt").symlink_to("a.txt")
        (folder / "calls/out.txt").symlink_to(folder / "secret.txt")
        (folder / "calls/up.txt").symlink_to("../secret.txt")
        sources = find_sources([*paths, "secret.txt"])
        assert [source.ids for source in sources] == ["a.txt", "secret.txt"]
        assert sources.skipped == {"link that leads out of the folder": 2}
        assert skipped_line(sources.skipped) == (
            "2 files skipped: 2 link that leads out of the folder"
        )
        followed = find_sources(paths, follow_links=True)
        assert [source.ids for source in followed] == ["a.txt", "out.txt"]

    def test_a_pattern_does_not_lead_out_through_a_linked_folder(self, folder: Path) -> None:
        write("calls/a.txt", "x")
        write("away/b.txt", "y")
        (folder / "calls/away").symlink_to(folder / "away")
        for pattern in ("calls/*", "calls/**"):
            assert [source.ids for source in find_sources([pattern])] == ["a.txt"]
        with pytest.raises(InputError, match="1 link that leads out of the folder"):
            find_sources(["calls/*/*.txt"])

    @pytest.mark.usefixtures("folder")
    def test_what_is_no_file_is_refused_in_one_line(self) -> None:
        os.mkfifo("pipe.txt")
        listening = socket.socket(socket.AF_UNIX)
        listening.bind("socket.txt")
        Path("link.txt").symlink_to("pipe.txt")
        for path in ("pipe.txt", "socket.txt", "link.txt", "/dev/zero", "/dev/tty"):
            for read_as in (None, "text"):
                with pytest.raises(InputError, match=f"{path}: a pipe, a socket or a device"):
                    find_sources([path], read_as)
        listening.close()

    @pytest.mark.skipif(sys.platform != "linux", reason="file names there are always Unicode")
    def test_a_name_that_is_not_utf8(self, folder: Path) -> None:
        Path(os.fsdecode(b"caf\xe9.txt")).write_text("hello")
        (source,) = find_sources([folder])
        (document,), bad = read_all(source)
        assert not bad
        assert document.id.endswith(r"caf\udce9.txt")
        assert document.id.encode()


class TestUnreadable:
    def test_a_dangling_link_is_reported_and_reading_continues(self, folder: Path) -> None:
        write("calls/b.txt", "hello")
        (folder / "calls/a.txt").symlink_to(folder / "gone")
        first, second = (read_all(source) for source in find_sources(["calls"]))
        name = str(folder / "calls/a.txt")
        assert first == ([], [BadRecord(name, None, first[1][0].reason, "")])
        assert "No such file" in first[1][0].reason
        assert second[0][0].text == "hello"

    def test_folder_in_place_of_a_file(self, folder: Path) -> None:
        _, (bad,) = read_all(Source("x", folder, "jsonl"))
        assert bad.line is None
        assert "directory" in bad.reason

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
    def test_no_permission(self, folder: Path) -> None:
        write("calls/a.txt", "x")
        write("calls/closed/b.txt", "x")
        write("calls/c.txt", "x")
        (folder / "calls/a.txt").chmod(0)
        (folder / "calls/closed").chmod(0)
        try:
            reports = {source.ids: read_all(source) for source in find_sources(["calls"])}
        finally:
            (folder / "calls/closed").chmod(0o700)
        assert set(reports) == {"a.txt", "c.txt", "closed"}
        assert "Permission denied" in reports["a.txt"][1][0].reason
        assert "Permission denied" in reports["closed"][1][0].reason
        assert reports["c.txt"][0][0].text == "x"


class TestDeadLetters:
    def test_no_bad_record_makes_no_file(self, tmp_path: Path) -> None:
        with DeadLetters(tmp_path / "dead.jsonl") as letters:
            assert letters.count == 0
        assert list(tmp_path.iterdir()) == []

    def test_records_are_flushed_and_appended(self, tmp_path: Path) -> None:
        path = tmp_path / "dead.jsonl"
        record = BadRecord("a.jsonl", 3, "not valid JSON", "{\u2028\ud800 é")
        with DeadLetters(path) as letters:
            letters.write(record)
            assert len(path.read_bytes().splitlines()) == 1
            letters.write(BadRecord("b.txt", None, "empty", ""))
            assert letters.count == 2
        lines = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
        assert [line["line"] for line in lines] == [3, None]
        assert set(lines[0]) == {"source", "line", "reason", "record", "time"}
        assert lines[0]["record"] == record.record
        assert lines[0]["time"].endswith("+00:00")

    def test_a_record_that_the_file_has_is_counted_only(self, tmp_path: Path) -> None:
        path = tmp_path / "dead.jsonl"
        record = BadRecord("a.jsonl", 3, "not valid JSON", "{\u2028\ud800 é")
        for _ in range(2):
            with DeadLetters(path) as letters:
                for _ in range(3):
                    letters.write(record)
                assert letters.count == 3
        with DeadLetters(path) as letters:
            letters.write(replace(record, line=4))
        assert [json.loads(line)["line"] for line in path.read_bytes().splitlines()] == [3, 4]

    def test_a_record_is_shortened(self, tmp_path: Path) -> None:
        path = tmp_path / "dead.jsonl"
        with DeadLetters(path) as letters:
            letters.write(BadRecord("a" * 90_000, 1, "b" * 90_000, "c" * 90_000))
        line = json.loads(path.read_bytes())
        assert path.stat().st_size < 40_000
        assert line["record"].endswith("c… (90,000 characters in all)")

    def test_a_line_without_an_end_is_ended(self, tmp_path: Path) -> None:
        path = tmp_path / "dead.jsonl"
        path.write_bytes(b"not ours\n[1]\n{}\n" + b'{"source": "a.js')
        with DeadLetters(path) as letters:
            letters.write(BadRecord("a", 1, "empty", ""))
        assert json.loads(path.read_bytes().splitlines()[-1])["source"] == "a"

    def test_links_are_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "other").write_text("precious")
        (tmp_path / "dead.jsonl").symlink_to(tmp_path / "other")
        with (
            DeadLetters(tmp_path / "dead.jsonl") as letters,
            pytest.raises(InputError, match=r"dead\.jsonl: cannot write .* \(it is a link\)"),
        ):
            letters.write(BadRecord("a", 1, "empty", ""))
        assert (tmp_path / "other").read_text() == "precious"

    def test_are_for_their_owner_alone(self, tmp_path: Path) -> None:
        with DeadLetters(tmp_path / "dead.jsonl") as letters:
            letters.write(BadRecord("a", 1, "empty", ""))
        assert (tmp_path / "dead.jsonl").stat().st_mode & 0o777 == 0o600

    def test_a_device(self) -> None:
        with DeadLetters(Path(os.devnull)) as letters:
            letters.write(BadRecord("a", 1, "empty", ""))

    @pytest.mark.skipif(os.name != "posix", reason="needs limits")
    def test_a_line_that_has_no_room(self, tmp_path: Path) -> None:
        import resource

        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        try:
            with (
                DeadLetters(tmp_path / "dead.jsonl") as letters,
                pytest.raises(InputError, match=r"dead\.jsonl: cannot write dead letters"),
            ):
                letters.write(BadRecord("a", 1, "empty", "x" * 100))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    def test_file_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with (
            DeadLetters(tmp_path / "file" / "dead.jsonl") as letters,
            pytest.raises(InputError, match=r"dead\.jsonl: cannot write dead letters"),
        ):
            letters.write(BadRecord("a", 1, "empty", ""))
