"""EPUB: every word of a book is in its text, in the order of reading, or a line counts it."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os.ingest.formats import reader_named
from slice_os.ingest.readers import BadRecord, ReadNote, ReadOptions
from slice_os.text.documents import Document

from .many_formats import zipped

pytest.importorskip("lxml")

ROOT = "<rootfiles><rootfile full-path='{}'/></rootfiles>"
XHTML = "application/xhtml+xml"
MISSING = "chapters that are missing"
LOCKED = "encrypted chapters left out"
OUTSIDE = "pages outside of the reading order left out"
PICTURES = "pictures in place of pages left out"


def page(inside: str, head: str = "<title/>") -> str:
    return (
        "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>"
        f"<head>{head}</head><body>{inside}</body></html>"
    )


def item(number: int, address: str, kind: str = XHTML, more: str = "") -> str:
    return f"<item id='i{number}' href='{address}' media-type='{kind}' {more}/>"


def book(
    files: Mapping[str, str | bytes],
    items: str | None = None,
    order: Sequence[int] | None = None,
    root: str = "b/book.opf",
    locked: Sequence[str] = (),
) -> bytes:
    """A book of files, which are items in their order unless others are given."""
    names = list(files)
    items = "".join(map(item, range(len(names)), names)) if items is None else items
    order = range(len(names)) if order is None else order
    spine = "".join(f"<itemref idref='i{number}'/>" for number in order)
    keys = "".join(f"<CipherReference URI='b/{name}'/>" for name in locked)
    package = (
        "<package><metadata xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:title>A book"
        f"</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    found = {
        "META-INF/container.xml": f"<container>{ROOT.format(root)}</container>",
        "META-INF/encryption.xml": f"<encryption>{keys}</encryption>",
        "b/book.opf": package,
    } | {f"b/{name}": content for name, content in files.items()}
    return zipped({k: v.encode() if isinstance(v, str) else v for k, v in found.items()})


def read(content: bytes) -> tuple[str, dict[str, int]]:
    """The text, or why there is none, and what is counted."""
    text, counts = "", {}
    for one in reader_named("epub").load()("s", io.BytesIO(content), ReadOptions()):
        if isinstance(one, Document):
            text = one.text
            assert one.metadata == {"title": "A book"}
        elif isinstance(one, ReadNote):
            counts = dict(one.counts)
        elif isinstance(one, BadRecord):
            text = one.reason
    return text, counts


ONE, TWO = page("<p>One</p>"), page("<p>Two</p>")
A = {"a.xhtml": ONE}
KEYS = "a.xhtml", "b.xhtml"
NOISE, JPEG = bytes(range(256)), b"\xff\xd8"
FALLBACK = item(0, "a.jpg", "image/jpeg", "fallback='i1'")
LINK = "<link rel='stylesheet' href='./s.css'/>"
SHEET = {
    "a.xhtml": page(f"{LINK}<i class='line'>One</i><i class='line'>Two</i><p class='ad'>no</p>"),
    "s.css": ".line { display: block } .ad { display: none }",
}
DRAWN = {"a.svg": "<svg><text>Drawn</text></svg>"}


@pytest.mark.parametrize(
    ("content", "text", "counts"),
    [
        (book({"a.xhtml": ONE, "b.xhtml": TWO}, order=[1, 0]), "Two\nOne", {}),
        (book(A, order=[7, 0]), "One", {}),
        (book(A, order=[0, 0]), "One", {}),
        (book({"a.xhtml": ONE, "b.xhtml": TWO}, order=[]), "One\nTwo", {}),
        (book({"a b.xhtml": ONE}, item(0, "a%20b.xhtml")), "One", {}),
        (book({"a%20b.xhtml": ONE}), "One", {}),
        (book(A, item(0, "a.xhtml#start")), "One", {}),
        (book(A, item(0, "a.xhtml") + item(1, "a.xhtml#part2"), [0, 1]), "One", {}),
        (book({"A.xhtml": ONE}, item(0, "/b/a.XHTML")), "One", {}),
        (book(A, root="/B/Book.opf"), "One", {}),
        (book(A, item(0, "no.xhtml") + item(1, "a.xhtml"), [0, 1]), "One", {MISSING: 1}),
        (book({"a.xhtml": ONE, "b.xhtml": TWO}, order=[1]), "Two", {OUTSIDE: 1}),
        (book(A, item(0, "a.xhtml") + item(1, "t", "x-dtbncx+xml")), "One", {}),
        (book(A, item(0, "a.xhtml") + item(1, "n", more="properties='nav'"), [0]), "One", {}),
        (
            book({"a.jpg": JPEG}, item(0, "a.jpg", "image/jpeg")),
            f"no text in it; {PICTURES}: 1",
            {},
        ),
        (book({"a.jpg": JPEG, "b.xhtml": ONE}, FALLBACK + item(1, "b.xhtml"), [0]), "One", {}),
        (book(SHEET, item(0, "a.xhtml")), "One\nTwo", {"hidden words left out": 1}),
        (book({**SHEET, "s.css": NOISE}, item(0, "a.xhtml")), "OneTwo\nno", {}),
        (book(DRAWN, item(0, "a.svg", "image/svg+xml")), "Drawn", {}),
        (book({"a.xhtml": NOISE, "b.xhtml": TWO}, locked=["a.xhtml", "f.otf"]), "Two", {LOCKED: 1}),
        (book({"a.xhtml": NOISE}, locked=KEYS), "encrypted; save it without a password", {}),
    ],
)
def test_chapters_are_found_or_told(content: bytes, text: str, counts: dict[str, int]) -> None:
    assert read(content) == (text, counts)


@pytest.mark.parametrize("lost", ["<div>" * 20_000 + "lost", "lost"])
def test_a_damaged_chapter_costs_no_others(lost: str) -> None:
    content = book({"a.xhtml": page("<p>One"), "b.xhtml": page(lost), "c.xhtml": page("<p>Two")})
    with zipfile.ZipFile(io.BytesIO(content)) as whole:
        entry = whole.getinfo("b/b.xhtml")
        at = entry.header_offset + 30 + len(entry.filename) + entry.compress_size // 2
    damaged = bytearray(content)
    damaged[at] ^= 0xFF if lost == "lost" else 0
    assert read(bytes(damaged)) == ("One\nTwo", {"damaged chapters left out": 1})


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (page("<p>One</p>").encode("utf-16"), "One"),
        (
            page("<p>Café</p>").replace("?>", " encoding='iso-8859-1'?>", 1).encode("latin-1"),
            "Café",
        ),
        (re.sub(r"<(/?)(?=\w)", r"<\1h:", ONE).replace("xmlns=", "xmlns:h="), "One"),
        (
            f'<!DOCTYPE html [\n<!ENTITY co "The Company">\n]>{page("<p>&co; &amp; you")}',
            "The Company & you",
        ),
        (
            page(
                "<div/><p>One<a id='x'/> word</p><iframe/><p>two</p>", "<script src='x'/><style/>"
            ),
            "One word\ntwo",
        ),
        (page("<img alt='A cover'/>"), "A cover"),
    ],
)
def test_chapters_of_xml_are_read_as_those_of_html(content: str | bytes, text: str) -> None:
    assert read(book({"a.xhtml": content})) == (text, {})


@given(st.lists(st.sampled_from(["read", "gone", "locked", "outside"])))
def test_every_word_of_a_book_is_in_its_text_or_its_chapter_counted(kinds: list[str]) -> None:
    kinds = ["read", *kinds]
    files = {
        f"{at}.xhtml": page(f"<p>w{at}x</p>") for at, kind in enumerate(kinds) if kind != "gone"
    }
    items = "".join(item(at, f"{at}.xhtml") for at in range(len(kinds)))
    order = [at for at, kind in enumerate(kinds) if kind != "outside"]
    locked = [f"{at}.xhtml" for at, kind in enumerate(kinds) if kind == "locked"]
    text, counts = read(book(files, items, order, locked=locked))
    assert text.split() == [f"w{at}x" for at, kind in enumerate(kinds) if kind == "read"]
    assert len(text.split()) + sum(counts.values()) == len(kinds)
