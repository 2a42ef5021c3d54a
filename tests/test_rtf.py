"""Every word of an RTF file that is seen is in its text, or a line counts what was left out."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os.ingest.formats import reader_named
from slice_os.ingest.readers import BadRecord, ReadOptions
from slice_os.ingest.readers.reader import ReadNote
from slice_os.text.documents import Document

FONTS = (
    r"{\fonttbl{\f0\fswiss\fcharset0 Arial;}{\f1\fcharset204{\*\fname A;}B;}"
    r"{\f2\fnil\fcharset128 MS Mincho;}{\f3\fcharset134 SimSun{\*\falt Other};}"
    r"{\f4\fcharset2\fprq2 Symbol;}{\f5\fcharset2 Wingdings 2;}}"
)


def read(rtf: str | bytes, **options: bool) -> tuple[str, dict[str, int], list[object]]:
    """The text of a file, what was left out, and the parts of its segments."""
    raw = rtf if isinstance(rtf, bytes) else rb"{\rtf1\ansi " + rtf.encode("latin-1") + b"}"
    found = list(reader_named("rtf").load()("s", io.BytesIO(raw), ReadOptions(**options)))  # type: ignore[arg-type]
    (document,) = (one for one in found if isinstance(one, Document))
    counts = [dict(one.counts) for one in found if isinstance(one, ReadNote)]
    parts = [one.fields.get("part") for one in document.segments]
    return document.text, (counts or [{}])[0], parts


# The end of a row of a table within another one.
NEST = r"{\*\nesttableprops\trowd\cellx9\nestrow}{\nonesttables\par}"


@pytest.mark.parametrize(
    ("rtf", "text"),
    [
        (r"One\par Two\line three\tab four", "One\nTwo\nthree\tfour"),
        ("One\r\n two\\\nThree", "One two\nThree"),
        (r"a\{b\}\\ \~\_\emdash\lquote x\rquote \-y", "a{b}\\ \xa0\u2011—‘x’\xady"),
        (r"\trowd One\cell Two\cell\row Three", "One\tTwo\t\nThree"),
        (rf"a\nestcell b\nestcell{NEST}c\nestcell{NEST}\cell\row d", "a\tb\t\nc\t\n\t\nd"),
        (r"\u8217'Caf\'e9 \u-10179 ?\u-8704 ?", "’Café 😀"),
        (r"{\uc0\u8364}5 {\uc2\u8364\'80\'80}6", "€5 €6"),
        (rf"{FONTS}\f1\'cf\'f0\'e8\'e2\'e5\'f2{{\f0 , \'e9}}", "Привет, é"),
        (rf"{FONTS}{{\f2\'83A\'83\'43}} \f3\'c4\'e3", "アイ 你"),
        (rf"{FONTS}{{\f4 b}}-ray {{\f4\u-3998\'3f}}{{\f4\'b3}}2 {{\f5\'fc}}b", "β-ray β≥2 üb"),
        (FONTS + r"\f2\'96\{\'95\\\'89\} x\{y\}", "本表厭 x{y}"),
        (r"\u8364\{5 \uc2\u8364\{\}6", "€5 €6"),
        (r"\ansicpg950 {\'b4\'fa\'b8\'d5}", "測試"),
        ("\\ansicpg936 \xc4\xe3\xba\xc3", "你好"),
        (r"\mac caf\'8e", "café"),
        (r"\ansicpg99999 caf\'e9", "café"),
        (r"{\upr{old}{\*\ud{\u20320?}}} new", "你 new"),
        (r"{\field{\*\fldinst HYPERLINK http://x}{\fldrslt{\ul a link}}} b", "a link b"),
        (r"{\listtext Article 1\tab}Fees{\*\pn\pntext{\pntxta .}}", "Article 1\tFees"),
        (r"{\mmath{\*\moMath{\mf{\mfPr{\mtype bar}}{\mnum x}{\mden y}}}}", "xy"),
        (r"{\pict\bin9 }}}}{{{{{ }ab{\*\bkmkstart name}c", "abc"),
        (r"{\loch\f2\*\cs7 The fox}", "The fox"),
        ("{\\stylesheet{\\s0 Normal;}}\n{\n\\*\\unknown gone}{\\info{\\title T}}{x}", "x"),
        (r"{\object\objemb{\result seen}}", "seen"),
        (r"{\*\shppict{\pict 0000}}{\nonshppict{\pict 00}}x", "x"),
        (r"caf\'zz\'e9 \ ", "caf'zzé"),
        (r"{\dropcapli2\dropcapt1{\fs60 O}\par}\pard nce\par upon", "Once\nupon"),
    ],
)
def test_what_is_seen_is_text(rtf: str, text: str) -> None:
    assert read(rtf)[:2] == (text, {})


def test_what_stands_beside_a_paragraph_follows_it() -> None:
    shape = r"{\shp{\*\shpinst{\sp{\sn shapeType}{\sv 202}}{\shptxt In a box\par}}{\shprslt old}}"
    art = r"{\shp{\*\shpinst{\sp{\sn gtextUNICODE}{\sv Art}}}}"
    old = r"{\*\do\dptxbx{\dptxbxtext Old box\par}}"
    note, end = r"{\super\chftn{\footnote\chftn  Note.}}", r"{\footnote\ftnalt End.}"
    text, counts, parts = read(rf"One{note} two{end}.\par Three{shape}{art}{old}\par Four")
    assert text == "One two.\nNote.\nEnd.\nThree\nIn a box\nArt\nOld box\nFour"
    boxes = ["text box"] * 3
    assert (counts, parts) == ({}, [None, "footnote", "endnote", None, *boxes, None])


def test_what_is_left_out_is_counted() -> None:
    hidden, deleted = r"{\v gone {\b too} }", r"{\deleted gone}\plain"
    comment = r"{\*\atnid A}{\*\atnauthor Ann}\chatn{\*\annotation{\*\atnref 1} gone}"
    edges = r"{\header Top\par}{\footerf Foot}{\headerl Top}"
    ole = r"{\object{\*\objdata 01050000}}"
    for code in (
        "FORMDROPDOWN",
        "{ FORMCHECKBOX }",
        "FORMTEXT",
        r"EQ \\f(1,2)",
        r" EQ \\f(1,2)",
        r"{\insrsid1 EQ \\f(1,2)}",
        "{ SEQ x}",
        "EQUAL",
    ):
        ole += rf"{{\field{{\*\fldinst {code}}}{{\fldrslt }}}}"
    text, counts, _ = read(rf"{edges}a{hidden}b{deleted} c{comment}{ole}\v0 d\v e\v0 f")
    assert text == "abcdf"
    assert counts == {
        "hidden texts left out": 2,
        "deletions left out": 1,
        "comments left out": 1,
        "embedded objects left out": 1,
        "formulas and readings in fields left out": 3,
        "boxes and lists of forms left out": 2,
        "headers left out": 1,
        "footers left out": 1,
    }


def test_page_edges_are_read_if_asked_for() -> None:
    text, counts, parts = read(r"Body{\footer Foot}{\header Top\par}", page_edges=True)
    assert (text, parts) == ("Top\nBody\nFoot", ["header", None, "footer"])
    assert counts == {"headers": 1, "footers": 1}


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbf{\\rtf1 x}", b" \r\n{\\rtf1 x", b"{\\rtf x}}}y"])
def test_a_file_may_be_damaged(raw: bytes) -> None:
    assert read(raw)[0] == "x"


def test_words_behind_the_end_are_counted() -> None:
    assert read(r"a}\par b c")[:2] == ("a", {"words behind the end left out": 3})


def test_bytes_that_are_no_letters_are_counted() -> None:
    text, counts, _ = read(rf"{FONTS}\f2 a \'81\'01 b")
    assert (text, counts) == ("a \ufffd\x01 b", {"characters that could not be read": 1})


WORD = st.from_regex(r"[a-z]{4,8}", fullmatch=True)
MAKERS: list[tuple[Callable[[str], str], bool]] = [
    (lambda word: f"{word} ", True),
    (lambda word: rf"{{\b\i {word}}} ", True),
    (lambda word: rf"{word}\par ", True),
    (lambda word: rf"{{\footnote {word}}}", True),
    (lambda word: rf"{{\shp{{\*\shpinst{{\shptxt {word}\par}}}}}}", True),
    (lambda word: "".join(rf"\u{ord(one)}?" for one in word) + " ", True),
    (lambda word: "".join(rf"\'{ord(one):02x}" for one in word) + " ", True),
    (lambda word: rf"{{\v {word}}} ", False),
    (lambda word: rf"{{\*\annotation {word}}}", False),
    (lambda word: rf"{{\header {word}}}", False),
]


@given(said=st.lists(st.tuples(WORD, st.sampled_from(MAKERS)), min_size=1, max_size=12))
def test_every_word_is_in_the_text_or_counted(
    said: list[tuple[str, tuple[Callable[[str], str], bool]]],
) -> None:
    text, counts, _ = read("seen " + "".join(make(word) for word, (make, _) in said))
    seen = ["seen", *(word for word, (_, is_seen) in said if is_seen)]
    assert sorted(re.findall(r"\w+", text)) == sorted(seen)
    assert bool(counts) == any(not is_seen for _, (_, is_seen) in said)


def test_other_files_are_told() -> None:
    (told,) = reader_named("rtf").load()("s", io.BytesIO(b"x {\\rtf1 y}"), ReadOptions())
    assert isinstance(told, BadRecord)
    assert told.reason == "not an RTF file"
