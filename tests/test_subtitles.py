"""Cues of WebVTT and SubRip become segments; a broken cue is reported by line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os.ingest.readers import BadRecord, ReadOptions
from slice_os.ingest.reading import read
from slice_os.ingest.sources import Source, find_sources
from slice_os.text.documents import Document, Segment

Read = Callable[..., tuple[list[Document], list[BadRecord]]]


def read_all(source: Source) -> tuple[list[Document], list[BadRecord]]:
    found = list(read(source, ReadOptions()))
    return (
        [item for item in found if isinstance(item, Document)],
        [item for item in found if isinstance(item, BadRecord)],
    )


@pytest.fixture
def read_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Write a file and read it as a PATH argument."""
    monkeypatch.chdir(tmp_path)

    def run(path: str, content: str) -> tuple[list[Document], list[BadRecord]]:
        Path(path).write_bytes(content.encode())
        (source,) = find_sources([path])
        return read_all(replace(source, name=source.ids))

    return run


VTT = """\
\ufeffWEBVTT - a call
Kind: captions

STYLE
::cue { color: red }

REGION
id:left

NOTE nobody
sees this

1
00:01.000 --> 00:02.500 align:start
<v Ann Lee>Hello &amp; <i>welcome</i></v>

01:00:03.000 --> 01:00:04.000
<v.loud Bob>I want to
<00:00:03.500><c.red>cancel</c>, 1 < 2 &lt;b&gt;

broken --> line
lost?

01:00:05.000 --> 01:00:06.000
nobody in particular

NOTE
"""


class TestSubtitles:
    @pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
    def test_webvtt(self, read_file: Read, line_end: str) -> None:
        (document,), (bad,) = read_file("a.vtt", VTT.replace("\n", line_end))
        assert document == Document(
            "a.vtt",
            "Hello & welcome\nI want to\ncancel, 1 < 2 <b>\nnobody in particular",
            segments=(
                Segment(0, 15, "Ann Lee", 1.0, 2.5),
                Segment(16, 43, "Bob", 3603.0, 3604.0),
                Segment(44, 64, None, 3605.0, 3606.0),
            ),
            source="a.vtt",
        )
        assert (bad.line, bad.record) == (21, "broken --> line\nlost?")
        assert "malformed cue" in bad.reason

    def test_srt(self, read_file: Read) -> None:
        content = (
            "\ufeff1\r\n00:00:01,000 --> 00:00:02,250\r\n{\\an8}<font color='red'>Hello</font>\r\n"
            "there\r\n\r\n\r\n2\r\n00:00:03,5 --> 00:00:04.000 X1:1\r\nNOTE: all good\r\n\r\n"
            "3\r\n00:00:05,000 --> 00:00:06,000\r\n\r\n"
        )
        (document,), bad = read_file("a.srt", content)
        assert bad == []
        assert document.text == "Hello\nthere\nNOTE: all good"
        assert document.segments == (
            Segment(0, 11, None, 1.0, 2.25),
            Segment(12, 26, None, 3.5, 4.0),
        )

    def test_two_voices_in_a_cue(self, read_file: Read) -> None:
        content = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v A>Hi</v>\n<v B>Hello</v>\n"
        (document,), _ = read_file("a.vtt", content)
        assert document.text == "Hi\nHello"
        assert document.segments == (Segment(0, 2, "A", 1, 2), Segment(3, 8, "B", 1, 2))

    def test_a_cue_right_below_the_header(self, read_file: Read) -> None:
        (document,), bad = read_file("a.vtt", "WEBVTT\n00:01.000 --> 00:02.000\nHi\n")
        assert (document.text, bad) == ("Hi", [])

    @pytest.mark.parametrize(
        ("cue", "reason"),
        [
            ("text without time", "no line with START --> END"),
            ("1\n2\n00:00:01.000 --> 00:00:02.000\nx", "no line with START --> END"),
            ("00:00:01.000 -> 00:00:02.000\nx", "no line with START --> END"),
            ("00:00:02.000 --> 00:00:01.000\nx", "ends before it starts"),
        ],
    )
    @pytest.mark.parametrize("name", ["a.vtt", "a.srt"])
    def test_malformed_cue(self, read_file: Read, name: str, cue: str, reason: str) -> None:
        top = "WEBVTT\n\n" if name == "a.vtt" else "\n\n"
        good = "00:00:01.000 --> 00:00:02.000\ngood"
        (document,), (bad,) = read_file(name, f"{top}{good}\n\n{cue}\n\n{good}\n")
        assert document.text == "good\ngood"
        assert (bad.line, bad.record) == (6, cue)
        assert reason in bad.reason

    def test_not_webvtt(self, read_file: Read) -> None:
        documents, (bad,) = read_file("a.vtt", "\n1\n00:00:01,000 --> 00:00:02,000\nHi\n")
        assert documents == []
        assert (bad.line, "first line is not WEBVTT" in bad.reason) == (2, True)

    def test_no_words(self, read_file: Read) -> None:
        documents, (bad,) = read_file("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n<i></i>\n")
        assert (documents, bad.reason) == ([], "no cue with text")

    @given(st.text(st.sampled_from("<>v&#;{}\\ \n\r-:.,0123456789ab/")))
    def test_any_payload_is_read_or_reported(
        self, tmp_path_factory: pytest.TempPathFactory, payload: str
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "any.vtt"
        path.write_bytes(f"WEBVTT\n\n00:01.000 --> 00:02.000\n{payload}".encode())
        documents, bad = read_all(Source("any.vtt", path, "vtt"))
        assert documents or bad
