"""Cues of WebVTT and SubRip become segments; a broken cue is reported by line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os.ingest.sources import Source
from slice_os.text.documents import Document, Segment

from .builders import Read, read_all

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

    @pytest.mark.parametrize("line_end", ["\n", "\r\n"])
    def test_sbv(self, read_file: Read, line_end: str) -> None:
        content = (
            "0:00:01.000,0:00:02.500\nI want to\ncancel, 1:00\n\n1:00:03.000,1:00:04.000\nWhy?\n"
        )
        (document,), bad = read_file("a.sbv", content.replace("\n", line_end))
        assert (document.text, bad) == ("I want to\ncancel, 1:00\nWhy?", [])
        assert document.segments == (
            Segment(0, 22, None, 1.0, 2.5),
            Segment(23, 27, None, 3603.0, 3604.0),
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

    def test_marks_of_other_formats_are_no_words(self, read_file: Read) -> None:
        cues = "1\n00:00:01 --> 00:00:02,5\n{\\an8}{y:i}One\\NTwo\n", "2\n0:3 --> 0:4\n{c}\n"
        (document,), bad = read_file("a.srt", "\n".join(cues))
        assert (document.text, bad) == ("One\nTwo\n{c}", [])

    def test_how_to_read_a_word_does_not_stick_to_it(self, read_file: Read) -> None:
        cue = "00:01.000 --> 00:02.000\n<ruby>今日<rt>kyou</rt></ruby>は<ruby.a>晴<rt>hare"
        (document,), bad = read_file("a.vtt", f"WEBVTT\n\n{cue}")
        assert (document.text, bad) == ("今日(kyou)は晴(hare", [])

    @pytest.mark.parametrize("name", ["a.vtt", "a.srt"])
    @pytest.mark.parametrize("between", ["\n", "\n \n", "\n\n", "\n\n\n"])
    @pytest.mark.parametrize("numbers", [["", "", ""], ["1\n", "2\n", "3\n"]])
    def test_cues_that_stick_together(
        self, read_file: Read, name: str, between: str, numbers: list[str]
    ) -> None:
        texts = ["I want to", "cancel\n42", "my plan"]
        cues = [
            f"{number}00:00:0{n}.000-->00:00:0{n + 1}.000\n{text}"
            for n, (number, text) in enumerate(zip(numbers, texts, strict=True))
        ]
        head = "WEBVTT\n" if name == "a.vtt" else ""
        (document,), bad = read_file(name, head + between.join(cues))
        assert bad == []
        assert document.text == "I want to\ncancel\n42\nmy plan"
        assert [one.start_time for one in document.segments] == [0, 1, 2]

    def test_an_empty_line_within_a_cue(self, read_file: Read) -> None:
        content = (
            "1\n\n00:00:01,000 --> 00:00:02,000\n\nHi\n\n2\n00:00:02,000 --> 00:00:03,000\nyou"
        )
        (document,), bad = read_file("a.srt", content)
        assert (document.text, bad) == ("Hi\nyou", [])

    def test_a_cue_that_sticks_to_a_note(self, read_file: Read) -> None:
        content = "WEBVTT\nKind: captions\n\nNOTE x\n00:01.000 --> 00:02.000\nI want<br>to cancel\n"
        (document,), bad = read_file("a.vtt", content)
        assert (document.text, bad) == ("I want\nto cancel", [])

    def test_cues_of_teams_for_programs(self, read_file: Read) -> None:
        cue = '{"speakerName": "Ann", "spokenText": "Cancel it.", "spokenLanguage": "en"}'
        (document,), _ = read_file("a.vtt", f"WEBVTT\n\n00:01.000 --> 00:02.000\n{cue}\n")
        assert (document.text, document.segments[0].speaker) == ("Cancel it.", "Ann")

    @pytest.mark.parametrize(
        ("cues", "text"),
        [
            (["a b", "a b\nc d", "c d\ne f", "e f"], "a b c d e f"),
            (["a\nb", "a\nb\nc", "b\nc\nd"], "a b c d"),
            (["I", "I want", "I want to", "I want to go"], "I want to go"),
            (["a", "a\nb", "b", "b\nc", "c", "c\nc\nd"], "a b c c d"),
            # Two people may say the same.
            (["Yes.", "Yes.", "No.", "No."], "Yes.\nYes.\nNo.\nNo."),
            (["No.", "No.\nI said no.", "Oh.\nFine."], "No.\nNo.\nI said no.\nOh.\nFine."),
        ],
    )
    def test_rolling_captions_are_said_once(
        self, read_file: Read, cues: list[str], text: str
    ) -> None:
        content = "\n\n".join(
            f"{n}\n00:00:0{n},000 --> 00:00:0{n + 1},000\n{cue}" for n, cue in enumerate(cues, 1)
        )
        (document,), _ = read_file("a.srt", content)
        assert document.text == text

    def test_automatic_captions(self, read_file: Read) -> None:
        content = (
            "WEBVTT\nKind: captions\n\n00:00.469 --> 00:03.169 align:start position:0%\n \n"
            "hello<00:01.469><c> I</c><00:01.620><c> want</c>\n\n"
            "00:03.169 --> 00:03.179 align:start position:0%\nhello I want\n \n\n"
            "00:03.179 --> 00:06.169 align:start position:0%\nhello I want\nto<00:04.5><c> go</c>\n"
        )
        (document,), (note,) = read_file("a.vtt", content)
        assert document.text == "hello I want to go"
        assert document.segments == (
            Segment(0, 12, None, 0.469, 3.169),
            Segment(13, 18, None, 3.179, 6.169),
        )
        assert note.reason == "caption lines shown again, read once: 2"

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
