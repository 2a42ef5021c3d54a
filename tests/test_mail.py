"""Every word of a message is in a text, or a line counts what was left out."""

from __future__ import annotations

import io
import mailbox
import re
import struct
from base64 import b64encode
from collections.abc import Callable
from email.message import Message
from email.mime.multipart import MIMEMultipart
from email.mime.nonmultipart import MIMENonMultipart
from functools import partial
from html import escape
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os.errors import MissingExtraError
from slice_os.ingest.formats import reader_named
from slice_os.ingest.readers import (
    BadRecord,
    PackedFile,
    ReadNote,
    ReadOptions,
    SkippedFile,
    reader,
)
from slice_os.ingest.readers.letters import read_eml
from slice_os.ingest.reading import read_stream
from slice_os.text.documents import Document

from .builders import only, pair

pytest.importorskip("lxml")

HEAD = b"From: Ann <ann@example.org>\nSubject: Plan\n"
QUOTED = {"part": "quoted", "from": "(quoted)"}


def read(raw: bytes | str, kind: str = "eml", **options: str) -> list[Document | BadRecord]:
    content = raw.encode() if isinstance(raw, str) else raw
    return list(read_stream("m", kind, io.BytesIO(content), ReadOptions(**options)))


def mail(rest: bytes | str, **options: str) -> list[Document | BadRecord]:
    return read(HEAD + (rest.encode() if isinstance(rest, str) else rest), **options)


def body(rest: bytes | str, **options: str) -> str:
    """The text of the message's own document."""
    (text,) = (text for name, text in texts(mail(rest, **options)).items() if name == "m")
    return text.removeprefix("Plan\n")


def texts(found: list[Document | BadRecord]) -> dict[str, str]:
    return {one.id: one.text for one in found if isinstance(one, Document)}


def parts(kind: str, *inside: str, boundary: str = '"B"', delimiter: str = "B") -> str:
    head = f"Content-Type: multipart/{kind}; boundary={boundary}\n\n"
    return head + "".join(f"--{delimiter}\n{one}\n" for one in inside) + f"--{delimiter}--\n"


MESSAGE = b64encode(b"Subject: a\n\nb").decode()
PLAIN = "Content-Type: text/plain; charset=utf-8\n\n"
HTML = "Content-Type: text/html; charset=utf-8\n\n"
ATTACHED = 'Content-Type: text/plain\nContent-Disposition: attachment; filename="a.txt"\n\nattached'


def within(boundary: str) -> Callable[..., str]:
    return lambda kind, *inside: parts(kind, *inside, boundary=boundary, delimiter=boundary)


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ([f"{PLAIN}[banner]", within("C")("alternative", f"{PLAIN}a", f"{HTML}a")], "[banner]\na"),
        ([f"{HTML}<i>[banner]</i>", f"{PLAIN}hello"], "[banner]\nhello"),
        ([within("C")("related", f"{HTML}hi"), f"{PLAIN}footer"], "hi\nfooter"),
        ([within("C")("mixed", f"{PLAIN}a"), within("D")("mixed", f"{HTML}b")], "a\nb"),
        ([f"{PLAIN}same words", f"{HTML}<p>same words</p>"], "same words"),
    ],
)
def test_all_texts_of_a_message_are_read(inside: list[str], text: str) -> None:
    assert body(parts("mixed", *inside)) == text


@pytest.mark.parametrize(
    ("kind", "sent", "text"),
    [
        (
            "text/plain; format=flowed; delsp=yes",
            "I can \ncel it \nnow.\n> a \n> b",
            "I cancel itnow.\n> a \n> b",
        ),
        ("text/plain; format=flowed", "I can \ncel", "I can \ncel"),
        ("text/enriched", "<bold>I</bold> can <<x>cel", "I can <<x>cel"),
        ("text/rtf", r"{\rtf1\ansi I {\b can}cel\par}", "I cancel"),
        (
            "text/plain; charset=cp1252\nContent-Transfer-Encoding: quoted-printable",
            "I can= \t\ncel=2E",
            "I cancel.",
        ),
        ("text/enriched", "<color><param>red</param>I</color> can", "I can"),
        ("text/richtext", "I can<nl>cel", "I can\ncel"),
    ],
)
def test_text_in_other_forms_is_read_as_it_is_seen(kind: str, sent: str, text: str) -> None:
    assert body(f"Content-Type: {kind}\n\n{sent}") == text


@pytest.mark.parametrize(
    ("boundary", "delimiter"),
    [
        ("----=_Part_1", "----=_Part_1"),
        ('"<--- 1 --->"', "<--- 1 --->"),
        ("<x@y>", "<x@y>"),
        ('"a b"', "a b"),
        ('"other"', "B"),
        ('""', "B"),
        ("B;", "B"),
        ("=?utf-8?Q?B?=", "B"),
    ],
)
def test_a_boundary_may_be_odd(boundary: str, delimiter: str) -> None:
    rest = parts("mixed", f"{PLAIN}one", f"{HTML}<p>two", boundary=boundary, delimiter=delimiter)
    assert body(rest) == "one\ntwo"


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("times", [1, 2])
def test_parts_within_parts_may_have_the_same_boundary(line_end: str, times: int) -> None:
    inside = parts("alternative", f"{PLAIN}one two", f"{HTML}<p>one two</p>")
    rest = parts("mixed", *([inside] * times), f"{PLAIN}three") + "behind\n"
    document = only(Document, read((HEAD.decode() + rest).replace("\n", line_end)))
    assert document.text.split() == ["Plan", *(["one", "two"] * times), "three", "behind"]


def test_parts_behind_an_end_need_no_header_and_may_follow_other_lines() -> None:
    end = "--x\nFrom: y\n--B\n\nhello\n--B\nContent-Type: text/plain\n\nbye\n"
    rest = parts("mixed", f"{PLAIN}one") + end
    assert body(rest) == "one\nhello\nbye"
    notes = [one.counts for one in mail(rest) if isinstance(one, ReadNote)]
    assert notes == [{"words outside of all parts left out": 3}]


def test_parts_behind_an_end_behind_an_end_are_counted_in_the_end() -> None:
    """Each of them takes as long as the rest of the message."""
    words = [f"w{n}" for n in range(160)]
    rest = "".join(f"{within(one)('mixed', PLAIN + one)}--{one}\n" for one in words)
    assert body(rest) == "\n".join(words[:5])
    (note,) = (one for one in mail(rest) if isinstance(one, ReadNote))
    assert list(note.counts) == ["words outside of all parts left out"]


def test_fields_of_the_header_may_come_again() -> None:
    head = "Subject: One\nTo: a@b.c\nSubject:\nSubject: Two\nSubject: One\nTo: d@e.f\n"
    dates = "Date: Sun, 01 Mar 2026\nDate: Mon, 02 Mar 2026 09:14:05 +0000\nDate: no\nDate:\n"
    document = only(Document, read(f"{head}{dates}\nwords"))
    assert document.text == "One\nTwo\nwords"
    assert document.metadata == {
        "subject": "One Two",
        "to": "a@b.c, d@e.f",
        "date": "2026-03-02T09:14:05+00:00",
    }
    document = only(Document, read("Subject: of several\x0bwords\n on two lines\n\nwords"))
    assert document.metadata["subject"] == "of several words on two lines"
    document = only(Document, read("Date: no\nDate: never\n\nwords"))
    assert document.metadata == {"date": "never"}


def test_parts_without_any_boundary_are_plain_text() -> None:
    assert body("Content-Type: multipart/mixed\n\nPlease cancel.") == "Please cancel."


@pytest.mark.parametrize(
    ("versions", "text", "left_out"),
    [
        (
            ["See the HTML part, please", "<p>You get money back"],
            "You get money back\nSee the HTML part, please",
            0,
        ),
        (["one two three", "<p>one two three four"], "one two three four", 0),
        (["one two three four", "<p>one two three"], "one two three four", 0),
        (["one two three extra", "<p>one two three four"], "one two three four", 1),
        (
            ["one https://a.org/x two", "<p>one <a href='https://a.org/x'>two</a> three"],
            "one two three",
            0,
        ),
        (["one", ""], "one", 0),
        ([" \n", "<p>one"], "one", 0),
    ],
)
def test_the_version_that_says_more_is_read(versions: list[str], text: str, left_out: int) -> None:
    plain, page = versions
    rest = parts("alternative", f"{PLAIN}{plain}", f"{HTML}{page}")
    assert body(rest) == text
    notes = [one.counts for one in mail(rest) if isinstance(one, ReadNote)]
    assert notes == ([{"words of another version left out": left_out}] if left_out else [])


@pytest.mark.parametrize(
    "rest",
    [
        parts(
            "signed",
            within("C")("mixed", f"{PLAIN}text", ATTACHED),
            "Content-Type: application/pgp-signature\n\nx",
        ),
        parts("mixed", within("C")("mixed", f"{PLAIN}text", ATTACHED), f"{PLAIN}footer"),
        parts("alternative", f"{PLAIN}text", within("C")("mixed", f"{HTML}text", ATTACHED)),
        parts("related", f"{HTML}text", ATTACHED),
        parts("mixed", ATTACHED, f"{PLAIN}text"),
    ],
)
def test_attachments_are_read_wherever_they_are(rest: str) -> None:
    found = mail(rest)
    assert texts(found)["m"].startswith("Plan\ntext")
    assert texts(found)["m/a.txt"] == "attached"
    assert not [one for one in found if "without extension" in getattr(one, "kind", "")]


def test_messages_within_messages_are_read() -> None:
    raw = b"Subject: 9\n\ninnermost"
    for level in range(8, -1, -1):
        head = f"Subject: {level}\nContent-Type: multipart/mixed; boundary=B{level}\n\n".encode()
        mark = f"--B{level}".encode()
        raw = b"%s%s\n\ntext\n%s\nContent-Type: message/rfc822\n\n%s\n%s--" % (
            head,
            mark,
            mark,
            raw,
            mark,
        )
    found = read(raw)
    assert [one.text for one in found if isinstance(one, Document)] == [
        *(f"{level}\ntext" for level in range(9)),
        "9\ninnermost",
    ]


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("\nno header: here it is not", "no header: here it is not"),
        ("\nWhat is this?", "What is this?"),
        ("\nSubject: a\nContent-Type: multipart/mixed\n\nCafé", "a\nCafé"),
        (f"Content-Transfer-Encoding: base64\n\n{MESSAGE}", "a\nb"),
    ],
)
def test_a_message_may_be_none_or_encoded(inside: str, text: str) -> None:
    part = f"Content-Type: message/rfc822\n{inside}"
    assert text in texts(mail(parts("mixed", part))).values()


def test_every_line_of_a_calendar_is_read() -> None:
    said = "First\u2028line\nand one more\n\nthat is not folded"
    calendar = f"BEGIN:VEVENT\nDESCRIPTION:{said}\nCLASS:PUBLIC\nat all\nEND:VEVENT"
    assert body(f"Content-Type: text/calendar; charset=utf-8\n\n{calendar}") == said


def test_reports_and_calendars_are_text() -> None:
    invitation = (
        "BEGIN:VCALENDAR\nSUMMARY:Renewal\\, talk\nDESCRIPTION;LANGUAGE=en:We will can\n"
        ' cel\\nthe plan\nORGANIZER;CN="Bo, Ek":mailto:bo@example.org\nEND:VCALENDAR'
    )
    calendar = f"Content-Type: text/calendar\n\n{invitation}"
    said = "Renewal, talk\nWe will cancel\nthe plan\nBo, Ek"
    assert body(parts("alternative", f"{PLAIN}Come", calendar)) == f"Come\n{said}"
    assert body(calendar) == said
    attached = calendar.replace("\n\n", "\nContent-Disposition: attachment; filename=i.ics\n\n", 1)
    assert texts(mail(parts("mixed", f"{PLAIN}Come", attached)))["m/i.ics"] == said
    sent = attached.replace("text/calendar", "application/octet-stream").replace("i.ics", "I.ICS")
    assert texts(mail(parts("mixed", f"{PLAIN}Come", sent)))["m/I.ICS"] == said
    coded = sent.replace("I.ICS", f'"=?utf-8?b?{b64encode(b"i.ics").decode()}?="')
    assert texts(mail(parts("mixed", f"{PLAIN}Come", coded)))["m/i.ics"] == said
    version = sent.replace("Content-Disposition: attachment", "Content-Disposition: inline")
    assert body(parts("alternative", f"{PLAIN}Come", version)) == f"Come\n{said}"
    report = "Content-Type: message/delivery-status\n\nAction: failed\n\nStatus: mailbox is full"
    assert "mailbox is full" in body(parts("report", f"{PLAIN}Sorry", report))


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("head", ["", "Content-Transfer-Encoding: x-uuencode\n"])
def test_uuencoded_files_are_read(head: str, line_end: str) -> None:
    encoded = 'begin 644 a.txt\n"86)C\n!8___\n`\nend\n'
    found = mail(f"{head}\n{encoded}".replace("\n", line_end))
    assert "abc" in "".join(texts(found).values())


def test_what_a_list_puts_behind_encoded_text_is_read() -> None:
    encoded = b64encode("Café, please cancel.\n".encode()).decode()
    rest = f"{PLAIN[:-1]}Content-Transfer-Encoding: base64\n\n{encoded}\n____\nTo leave the list\n"
    assert body(rest) == "Café, please cancel.\n\n____\nTo leave the list"


def test_words_outside_of_the_parts_are_counted() -> None:
    rest = parts("mixed", f"{PLAIN}text").replace("--B\n", "Lost words\n--B\n") + "and more words\n"
    notes = [one.reason for one in mail(rest) if isinstance(one, ReadNote)]
    assert notes == ["words outside of all parts left out: 5"]
    usual = rest.replace("Lost words", "This is a multi-part message in MIME format.")
    assert "outside of all parts left out: 3" in "".join(
        one.reason for one in mail(usual) if isinstance(one, ReadNote)
    )


def tnef_part(level: int, kind: int, data: bytes) -> bytes:
    return struct.pack("<BII", level, kind, len(data)) + data + b"\0\0"


def winmail(whole: bytes) -> str:
    part = f"Content-Transfer-Encoding: base64\n\n{b64encode(whole).decode()}"
    return f'Content-Type: application/ms-tnef; name="winmail.dat"\n{part}\n'


def test_files_in_what_outlook_sends_as_winmail_dat_are_read() -> None:
    begin, name, data = (partial(tnef_part, 2, kind) for kind in (0x69002, 0x18010, 0x6800F))
    files = [
        begin(b"x"),
        data(b"Cancel it."),
        name(b"caf\xe9.txt\0"),
        begin(b"x"),
        name(b"a.ole\0"),
    ]
    wrapped = b"\x78\x9f\x3e\x22\1\0" + tnef_part(1, 0x2800C, b"Hi") + b"".join(files)
    for whole in (wrapped, wrapped + data(b"cut")[:11], wrapped[:-3]):
        message, note, file = mail(parts("mixed", "\nHello\n", winmail(whole)))
        assert texts([message, file]) == {"m": "Plan\nHello", "m/café.txt": "Cancel it."}
        assert isinstance(note, ReadNote)
        left_out = "texts in Outlook's own form left out", "attached objects left out"
        assert note.counts == dict.fromkeys(left_out, 1)


def test_many_attachments_of_one_name_are_told_apart() -> None:
    rest = parts("mixed", *([ATTACHED] * 20_000))
    function = reader_named("eml").load()
    found = list(function("m", io.BytesIO(HEAD + rest.encode()), ReadOptions()))
    packed = [one.source for one in found if isinstance(one, PackedFile)]
    assert packed[:3] == ["m/a.txt", "m/a-2.txt", "m/a-3.txt"]
    assert len(set(packed)) == 20_000
    (document,) = (one for one in found if isinstance(one, Document))
    assert str(document.metadata["attachments"]).endswith("characters in all)")


@pytest.mark.parametrize("name", ["/", "."])
def test_files_whose_names_are_those_of_folders_cost_no_message(name: str) -> None:
    own = (0x69002, b"x"), (0x18010, name.encode()), (0x6800F, b"{\\rtf1 Cancel it.}")
    file = b"".join(tnef_part(2, kind, data) for kind, data in own)
    outlook = winmail(b"\x78\x9f\x3e\x22\1\0" + 2 * file)
    message, _, *files = mail(parts("mixed", "\nHello\n", outlook))
    found = texts([message, *files])
    assert list(found) == ["m", "m/attachment", "m/attachment-2"]
    assert set(found.values()) == {"Plan\nHello", "Cancel it."}


@pytest.mark.parametrize(
    "more", ["; name*0*=utf-8''a; name*=b", "; charset*0*=u%00''a", '; x="\u20ac"']
)
def test_a_damaged_type_costs_no_words(more: str) -> None:
    inside = parts("mixed", f"Content-Type: text/plain{more}\n\nI cancel")
    outside = parts("mixed", f"{PLAIN}Hello", ATTACHED.replace('"a.txt"', f"a.txt{more}"))
    assert texts(mail(inside))["m"] == "Plan\nI cancel"
    assert texts(mail(outside))["m"] == "Plan\nHello"
    behind = outside.replace("multipart/mixed", f"multipart/mixed{more}")
    assert "attached" in " ".join(texts(mail(behind)).values())


def test_a_damaged_type_of_parts_without_their_boundary_costs_no_words() -> None:
    assert body(f"Content-Type: multipart/mix\xe9d\n\n--B\n{PLAIN}Hello\n--B--\n") == "Hello"


def test_parts_that_are_too_deep_are_told() -> None:
    deep = "Subject: a\nContent-Type: message/rfc822\n\n" * 200
    behind = parts("mixed", f"{PLAIN}one") + f"--B\n{deep}"
    for rest in (deep, behind, parts("mixed", deep, boundary="C")):
        bad = only(BadRecord, mail(rest))
        assert bad.reason == "parts within parts, more than 100 deep"


def test_a_boundary_may_be_in_encoded_parts() -> None:
    inside = b64encode(b"--B\nContent-Type: text/plain\n\ninside\n--B--\n").decode()
    head = "Content-Type: multipart/mixed; boundary=B\nContent-Transfer-Encoding: base64\n\n"
    assert body(f"{head}{inside}") == "inside"


def test_what_is_before_all_parts_is_counted_even_if_it_names_them() -> None:
    said = "A multi-part plan: " + "we cancel it. " * 30
    rest = parts("mixed", f"{PLAIN}text").replace("\n\n--B", f"\n\n{said}\n--B", 1)
    notes = [one.counts for one in mail(rest) if isinstance(one, ReadNote)]
    assert notes == [{"words outside of all parts left out": len(said.split())}]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_mailbox_is_its_messages(tmp_path: Path, line_end: str) -> None:
    box = mailbox.mbox(tmp_path / "box")
    bodies = ["first\n\nFrom here on\nFrom London at 10:30 in 2026\n", "second\n", "third"]
    for number, text in enumerate(bodies):
        message = Message()
        message["Subject"] = f"Plan {number}"
        message.set_payload(text)
        box.add(message)
    box.close()
    content = (tmp_path / "box").read_bytes().replace(b"\n", line_end.encode())
    found = read(content, "mbox")
    assert texts(found) == {
        f"m/{number}.eml": f"Plan {number - 1}\n{text.rstrip()}"
        for number, text in enumerate(bodies, 1)
    }
    assert {one.metadata["subject"] for one in found if isinstance(one, Document)} == {
        "Plan 0",
        "Plan 1",
        "Plan 2",
    }


DATED = "From a@b Mon Mar  2 09:14:05 2026\n"


@pytest.mark.parametrize(
    ("content", "subjects"),
    [
        pytest.param(
            "From \r\nSubject: a\r\n\r\nb\r\n\r\nFrom \r\nSubject: c\r\n\r\nd", "ac", id="bare"
        ),
        pytest.param(f"Subject: a\n\nb\n\n{DATED}Subject: c\n\nd", "ac", id="words before"),
        pytest.param(f"{DATED}Subject: a\n\nb\n{DATED}Subject: c\n\nd", "ac", id="no blank line"),
        pytest.param(f"{DATED}Subject: a\n\nb\n{DATED}is a line\n", "a", id="words like a border"),
    ],
)
def test_messages_of_a_mailbox_begin_as_programs_write_them(content: str, subjects: str) -> None:
    found = read(content, "mbox")
    assert [one.metadata["subject"] for one in found if isinstance(one, Document)] == [*subjects]


@pytest.mark.parametrize("content", ["", "From London with love, 2026\n", "Subject: a\n\nb"])
def test_a_mailbox_without_messages_says_so(content: str) -> None:
    bad = only(BadRecord, read(content, "mbox"))
    assert bad.reason.startswith("not a mailbox")


STYLES = "Content-Type: text/css\nContent-Location: {}\n\n.menu {{ display: none }}"
FRAME = "Content-Type: text/html\nContent-Location: cid:frame\n\n<p>In a frame"


@pytest.mark.parametrize("head", ["From: <Saved by Blink>\nSubject: The plan\n", ""])
def test_a_saved_page_is_its_words(head: str) -> None:
    page = f"{HTML}<title>x</title><blockquote>I cancel</blockquote><p>On 2 March Bo wrote:<p>No"
    saved = head + parts("related", page, STYLES.format("https://example.org/a.css"), FRAME)
    document, skipped = pair(Document, SkippedFile, read(saved, "mht"))
    assert document.text == "I cancel\nOn 2 March Bo wrote:\nNo\nIn a frame"
    assert document.metadata == ({"title": "The plan"} if head else {})
    assert not any(one.fields for one in document.segments)
    assert skipped.kind == ".css in m"
    bad = only(BadRecord, read("<p>I cancel", "mht"))
    assert bad.reason.startswith("not a saved page")


@pytest.mark.parametrize(
    ("address", "place", "seen"),
    [
        ("cid:a", "cid:a", "Cancel"),
        ("style/a.css", "https://example.org/x/style/a.css", "Cancel"),
        ("cid:b", "cid:a", "Menu\nCancel"),
        ("http://[b", "http://[b", "Menu\nCancel"),
        ("cid:a' media='print", "cid:a", "Menu\nCancel"),
    ],
)
def test_a_saved_page_has_the_styles_that_it_names(address: str, place: str, seen: str) -> None:
    head = "Content-Type: text/html\nContent-Location: https://example.org/x/\n\n"
    link = f"<link rel=stylesheet href='{address}'>"
    page = f"{head}{link}<p class=menu>Menu<p>Cancel"
    document = next(iter(read(parts("related", page, STYLES.format(place)), "mht")))
    assert isinstance(document, Document)
    assert document.text == seen


@pytest.mark.parametrize(
    "label",
    ["us-ascii", "iso-8859-1", "iso-8859-2", "cp1250", "x-unknown", "gb2312", "utf-8", None],
)
def test_valid_utf_8_goes_before_labels(label: str | None) -> None:
    text = "“Zażółć gęślą jaźń” — I don’t want it"
    head = "Content-Type: text/plain" + (f"; charset={label}" if label else "")
    assert body(f"{head}\n\n{text}") == text


@pytest.mark.parametrize(
    ("label", "encoding", "text"),
    [
        ("iso-8859-2", "iso-8859-2", "Zażółć gęślą jaźń"),
        ("koi8-r", "koi8-r", "Я хочу расторгнуть договор"),
        ("gb2312", "gb18030", "联通"),
        ("shift_jis", "cp932", "契約を解除したい"),
        ("utf-7", "utf-7", "Café, s'il vous plaît"),
        ("utf-16", "utf-16", "I want to cancel"),
        ("us-ascii", "iso-2022-jp", "契約を解除したい"),
        ("utf-8", "cp1252", "the café is closed"),
    ],
)
def test_labels_say_what_utf_8_is_not(label: str, encoding: str, text: str) -> None:
    head = f"Content-Type: text/plain; charset={label}\nContent-Transfer-Encoding: base64\n\n"
    assert body(head.encode() + b64encode(text.encode(encoding))) == text


@pytest.mark.parametrize("label", ["*=us-ascii'en'koi8-r", "*0=koi;\n charset*1=8-r"])
def test_a_label_may_be_in_parts_or_have_a_language(label: str) -> None:
    head = f"Content-Type: text/plain; charset{label}\n\n"
    assert body(head.encode() + "договор".encode("koi8-r")) == "договор"


@pytest.mark.parametrize(
    "label", ["", "; charset=us-ascii", "; charset=nonsense", "; charset=utf-8"]
)
def test_a_page_in_a_message_may_name_its_encoding_itself(label: str) -> None:
    page = '<meta charset="iso-8859-2"><p>Zażółć gęślą jaźń'.encode("iso-8859-2")
    assert body(f"Content-Type: text/html{label}\n\n".encode() + page) == "Zażółć gęślą jaźń"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("koi8-r", "Я хочу расторгнуть договор с первого марта."),
        ("cp1251", "Я хочу расторгнуть договор с первого марта."),
        ("iso-8859-2", "Dzień dobry, chciałbym rozwiązać umowę od marca."),
        ("cp1252", "Ich möchte den Vertrag kündigen, mit freundlichen Grüßen"),
        ("cp1252", "Réponse à votre demande"),
        ("cp1252", "La città è bella"),
        ("cp1252", "Il messaggio è vuoto."),
        ("cp1252", "¿Cuándo me van a devolver el dinero?"),
        ("cp1252", "Vi ventede i kø i over en time."),
        ("cp1250", "Bardzo dziękuję za szybką pomoc!"),
        ("iso-8859-7", "Καλημέρα, θέλω να ακυρώσω το συμβόλαιο."),
        ("cp1256", "مرحبا، أريد إلغاء العقد اعتبارا من أول مارس."),
        ("big5", "您好，我想從三月一日起解除合同。"),
        ("gb18030", "您好，我想从三月一日起解除合同。"),
        ("euc-jp", "契約を三月一日から解除したいです。"),
        ("euc-kr", "안녕하세요, 3월 1일부터 계약을 해지하고 싶습니다."),
    ],
)
@pytest.mark.parametrize("label", ["", "; charset=us-ascii", "; charset=utf-8"])
def test_letters_show_the_encoding_that_no_label_says(encoding: str, text: str, label: str) -> None:
    pytest.importorskip("chardet")
    assert body(f"Content-Type: text/plain{label}\n\n".encode() + text.encode(encoding)) == text


def test_a_short_subject_that_is_not_encoded_has_its_letters() -> None:
    assert only(Document, read("Subject: Größe\n\nwords".encode("cp1252"))).text == "Größe\nwords"


@pytest.mark.parametrize("label", ["", "; charset=utf-8", "; charset=iso-8859-1"])
def test_a_damaged_letter_costs_no_others(label: str) -> None:
    raw = "Ich möchte kündigen, schöne Grüße".encode().replace(b"digen", b"di\xffgen")
    document, note = pair(
        Document, ReadNote, read(f"Content-Type: text/plain{label}\n\n".encode() + raw)
    )
    assert document.text == "Ich möchte kündi\ufffdgen, schöne Grüße"
    assert note.counts == {"characters that could not be read": 1}


def test_letters_that_cannot_be_read_are_counted() -> None:
    _, note = pair(
        Document, ReadNote, mail(b"Content-Type: text/plain; charset=euc-jp\n\na\xff\xffb")
    )
    assert note.counts == {"characters that could not be read": 2}


def test_without_a_label_the_given_encoding_counts() -> None:
    assert (
        body("Content-Type: text/plain\n\nдоговор".encode("cp1251"), encoding="cp1251") == "договор"
    )


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "ascii"]
)
def test_a_file_may_have_any_unicode_encoding(encoding: str) -> None:
    letter = "From: Ann <ann@example.org>\r\nSubject: Plan\r\n\r\nI want to cancel.\r\n"
    assert texts(read(letter.encode(encoding))) == {"m": "Plan\nI want to cancel."}
    assert texts(read(f"\r\n\r\n{letter}".encode(encoding))) == {"m": "Plan\nI want to cancel."}


def authors(rest: str) -> list[tuple[str, object]]:
    """The first words of the parts of a message's text, and who wrote them."""
    (document,) = (one for one in mail(rest) if isinstance(one, Document))
    return [
        (document.text[one.start : one.end].split("\n")[0], one.fields.get("from"))
        for one in document.segments[1:]
    ]


LEE = "Bob Lee <bob@example.org>"


@pytest.mark.parametrize(
    "introduction",
    [
        f"On Mon, Mar 2, 2026 at 9:14 AM {LEE} wrote:",
        f"On Mon, Mar 2, 2026 at 9:14 AM {LEE}\nwrote:",
        f"On 2 Mar 2026, at 09:14, {LEE} wrote:",
        f"{LEE} wrote:",
        f"Am 02.03.2026 um 09:14 schrieb {LEE}:",
        f"Le lun. 2 mars 2026 à 09:14, {LEE} a écrit :",
        f"El 2/3/26 a las 9:14, {LEE} escribió:",
        f"Op 2 mrt. 2026 om 09:14 schreef {LEE}:",
    ],
)
def test_what_is_answered_is_of_who_wrote_it(introduction: str) -> None:
    found = authors(f"\nYes.\n\n{introduction}\n\n> Do you agree?\n> We do.\n\nI do.\n")
    assert found == [("Yes.", None), (introduction.split("\n")[0], LEE), ("I do.", None)]


@pytest.mark.parametrize(
    ("names", "rule"),
    [
        (("From", "Sent", "To", "Subject"), ""),
        (("*From:*", "*Sent:*", "*To:*", "*Subject:*"), ""),
        (("From", "Sent", "To", "Subject"), "-----Original Message-----\n"),
        (("From", "Date", "Subject", "To"), "---------- Forwarded message ---------\n"),
        (("Von", "Gesendet", "An", "Betreff"), ""),
        (("De", "Envoyé", "À", "Objet"), "________________________________\n"),
    ],
)
def test_what_follows_a_header_is_of_its_sender(names: tuple[str, ...], rule: str) -> None:
    values = (LEE, "Monday, March 2, 2026 9:14", "Ann", "Plan")
    header = "\n".join(
        f"{name if name.endswith('*') else f'{name}:'} {value}"
        for name, value in zip(names, values, strict=True)
    )
    found = authors(f"\nYes.\n\n{rule}{header}\n\nDo you agree?\n")
    assert found[0] == ("Yes.", None)
    assert found[-1][1] == LEE
    assert {author for _, author in found[1:]} <= {LEE, "(quoted)"}


@pytest.mark.parametrize(
    "rest",
    [
        "\nFrom: London\nTo: Paris\nDate: 3 March\n\nSee you.\n",
        "\nAs Shakespeare wrote:\nTo be or not to be.\n",
        "\nOn Monday I wrote:\nthe plan\n",
        "\nNote: this is -- very -- new\n",
        "\n*** This message originated outside of your organisation ***\n\nI cancel.\n",
        "\n-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nI cancel.\n",
    ],
)
def test_own_words_are_the_senders(rest: str) -> None:
    assert {author for _, author in authors(rest)} == {None}


@pytest.mark.parametrize(
    "page",
    [
        "<p>Yes.<blockquote type=cite>Do you agree?</blockquote><p>I do.",
        "<p>Yes.<div class='gmail_quote'>Do you agree?</div><p>I do.",
        "<p>Yes.<div class='yahoo_quoted'><div>Do you agree?</div></div><p>I do.",
    ],
)
def test_pages_mark_what_they_quote(page: str) -> None:
    expected = [("Yes.", None), ("Do you agree?", "(quoted)"), ("I do.", None)]
    assert authors(f"{HTML}{page}") == expected


@pytest.mark.parametrize("quote", ["blockquote type=cite", "div class=gmail_quote"])
def test_pages_say_whose_words_are_in_which_quotation(quote: str) -> None:
    end = f"</{quote.split()[0]}>"
    found = authors(
        f"{HTML}<p>Yes.<p>On 2 March 2026, {escape(LEE)} wrote:<{quote}><p>I do."
        f"<p>On 1 March 2026, Ann wrote:<{quote}><p>Do you?{end}<p>So do all.{end}<p>Good."
    )
    assert found == [
        ("Yes.", None),
        (f"On 2 March 2026, {LEE} wrote:", LEE),
        ("I do.", LEE),
        ("On 1 March 2026, Ann wrote:", "Ann"),
        ("Do you?", "Ann"),
        ("So do all.", LEE),
        ("Good.", None),
    ]


def test_what_is_marked_twice_is_of_who_wrote_it() -> None:
    quotation = "<div class=gmail_quote><blockquote class=gmail_quote>Do you agree?"
    assert authors(f"{HTML}<p>{escape(LEE)} wrote:{quotation}")[-1] == ("Do you agree?", LEE)


def test_the_introduction_may_be_marked_as_what_it_introduces() -> None:
    found = authors(f"\nYes.\n\n> On 2 Mar 2026, at 09:14, {LEE} wrote:\n> \n> Do you agree?\n")
    assert found == [("Yes.", None), (f"> On 2 Mar 2026, at 09:14, {LEE} wrote:", LEE)]


def test_quoted_lines_stay_as_they_are() -> None:
    document = only(Document, mail("\nI agree.\n\n> Either party may end the contract.\n"))
    assert document.text == "Plan\nI agree.\n\n> Either party may end the contract."
    assert [dict(one.fields) for one in document.segments] == [{}, {}, QUOTED]


@given(st.lists(st.text(st.sampled_from("w>From :2026\n"), max_size=60), min_size=1))
def test_every_line_of_a_mailbox_is_in_a_message(bodies: list[str]) -> None:
    bodies = [f"begin\n{text.rstrip()}" for text in bodies]
    marked = "\n\n".join(
        "From a Mon Mar  2 09:14:05 2026\nSubject: s\n\n" + re.sub("(?m)^(>*From )", r">\1", text)
        for text in bodies
    )
    found = read(marked, "mbox")
    assert list(texts(found).values()) == [f"s\n{text.rstrip()}" for text in bodies]


@st.composite
def trees(draw: st.DrawFn, depth: int = 3) -> tuple[Message, frozenset[str]]:
    """A message of parts, and the words in it, each of which is there once."""
    number = draw(st.shared(st.builds(count), key="numbers"))
    kinds = ["plain", "html", "calendar", "attached", "image"]
    kind = draw(st.sampled_from(kinds + (["mixed", "alternative", "message"] if depth else [])))
    if kind in ("mixed", "alternative"):
        inside = draw(st.lists(trees(depth=depth - 1), min_size=1, max_size=3))
        whole = MIMEMultipart(
            draw(st.sampled_from(["mixed", "related", "x"])) if kind == "mixed" else kind
        )
        for part, _ in inside:
            whole.attach(part)
        return whole, frozenset().union(*(found for _, found in inside))
    if kind == "message":
        message, found = draw(trees(depth=depth - 1))
        message["Subject"] = subject = f"w{next(number)}x"
        part = MIMENonMultipart("message", "rfc822")
        part.set_payload([message])
        return part, found | {subject}
    found = frozenset(f"w{next(number)}x" for _ in range(draw(st.integers(1, 4))))
    text = " ".join(sorted(found))
    if kind == "image":
        return leaf("image", "png", "x"), frozenset()
    if kind == "calendar":
        return leaf("text", "calendar", f"BEGIN:VCALENDAR\nSUMMARY:{text}"), found
    part = leaf("text", "html" if kind == "html" else "plain", text)
    if kind == "attached":
        part.add_header(
            "Content-Disposition",
            "attachment",
            filename=draw(st.sampled_from(["a.txt", "b", "c.log"])),
        )
    return part, found


def leaf(main: str, sub: str, text: str) -> Message:
    part = MIMENonMultipart(main, sub)
    part.set_payload(text)
    return part


@given(trees())
def test_every_word_of_a_message_is_in_a_text_or_counted(
    made: tuple[Message, frozenset[str]],
) -> None:
    message, expected = made
    message["From"] = "ann@example.org"
    found = read(message.as_bytes())
    assert not [one for one in found if type(one) is BadRecord]
    there = re.findall(r"w\d+x", "\n".join(texts(found).values()))
    counted = sum(sum(one.counts.values()) for one in found if isinstance(one, ReadNote))
    assert len(there) == len(set(there))
    assert set(there) <= expected
    assert len(expected - set(there)) == counted


def test_without_the_extra_plain_versions_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(module: str, purpose: str, extra: str) -> None:
        raise MissingExtraError(purpose, extra)

    monkeypatch.setattr(reader, "imported", missing)
    both = HEAD.decode() + parts(
        "alternative", f"{PLAIN}I want to stop", f"{HTML}<p>I want to stop"
    )
    document, told = pair(
        Document, ReadNote, read_eml("m", io.BytesIO(both.encode()), ReadOptions())
    )
    assert document.text == "Plan\nI want to stop"
    assert told.counts == {"parts in HTML left out, which the extra documents reads": 1}
    page = both.replace("text/plain", "text/html").encode()
    refused = next(iter(read_eml("m", io.BytesIO(page), ReadOptions())))
    assert isinstance(refused, BadRecord)
    assert "pip install 'slice-os[documents]'" in refused.reason
