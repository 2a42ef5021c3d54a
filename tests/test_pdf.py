"""PDF files: what fields, notes and attachments show is in the text, or counted."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os.ingest.formats import reader_named
from slice_os.ingest.readers import ReadNote, ReadOptions
from slice_os.ingest.readers.reader import PackedFile
from slice_os.ingest.reading import read_stream
from slice_os.text.documents import Document

from .many_formats import OTHER, SAYING, pdf, pdf_of

pytest.importorskip("pypdfium2")

# Objects of each file: 5 is a font with letters, 6 one without; others follow.
_FONT = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
_NO_UNICODE = """<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/Identity-H/DescendantFonts[
    <</Type/Font/Subtype/CIDFontType2/BaseFont/A/DW 600
    /CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>
    /FontDescriptor<</Type/FontDescriptor/FontName/A/Flags 4/FontBBox[0 0 1000 1000]
    /ItalicAngle 0/Ascent 900/Descent -200/CapHeight 700/StemV 80>>>>]>>"""


def stream(content: str, head: str = "") -> str:
    return f"<<{head}/Length {len(content)}>>\nstream\n{content}\nendstream"


def page(
    content: str, annotations: Sequence[str] = (), others: Sequence[str] = (), catalog: str = ""
) -> bytes:
    """A page of text operators; annotations are objects 7 and so on, the others follow."""
    numbers = [f"{7 + at} 0 R" for at in range(len(annotations))]
    fields = " ".join(
        number for number, one in zip(numbers, annotations, strict=True) if "/Widget" in one
    )
    return pdf_of(
        [
            f"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[{fields}]/DA(/F 12 Tf)>>{catalog}>>",
            "<</Type/Pages/Kids[3 0 R]/Count 1>>",
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R"
            f"/Resources<</Font<</F 5 0 R/G 6 0 R>>>>/Annots[{' '.join(numbers)}]>>",
            stream(content),
            _FONT,
            _NO_UNICODE,
            *annotations,
            *others,
        ]
    )


def plain(content: str, font: str = _FONT, more: str = "", *others: str) -> bytes:
    """A page without annotations; its other font is H, and other objects are 7 and so on."""
    return pdf_of(
        [
            "<</Type/Catalog/Pages 2 0 R>>",
            "<</Type/Pages/Kids[3 0 R]/Count 1>>",
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R{more}"
            "/Resources<</Font<</F 5 0 R/H 6 0 R>>>>>>",
            stream(content),
            _FONT,
            font,
            *others,
        ]
    )


def said(text: str, left: int, height: int, font: str = "F") -> str:
    words = f"<{text}>" if font == "G" else f"({text})"
    return f"BT /{font} 12 Tf {left} {height} Td {words} Tj ET "


def sized(text: str, left: int, height: int, size: int) -> str:
    return f"BT /F {size} Tf {left} {height} Td ({text}) Tj ET "


def field(kind: str, value: str, left: int, height: int, more: str = "") -> str:
    own = (
        f"/T({value.encode().hex()}-{left}){value}/Rect[{left} {height} {left + 100} {height + 14}]"
    )
    return f"<</Type/Annot/Subtype/Widget/FT/{kind}{own}{more}>>"


def note(subtype: str, more: str, left: int = 400, height: int = 400) -> str:
    return (
        f"<</Type/Annot/Subtype/{subtype}/Rect[{left} {height} {left + 99} {height + 14}]{more}>>"
    )


def read(content: bytes) -> tuple[str, dict[str, int], list[str]]:
    """The text, what is counted, and the names of files within."""
    text, counts, packed = "", {}, []
    for one in reader_named("pdf").load()("s", io.BytesIO(content), ReadOptions()):
        if isinstance(one, Document):
            text = one.text
        elif isinstance(one, ReadNote):
            counts = dict(one.counts)
        elif isinstance(one, PackedFile):
            packed.append(one.path)
        else:
            text = one.reason
    return text, counts, packed


@pytest.mark.parametrize(
    ("initial", "rest", "whole"),
    [
        ("T", "he contract", "The contract"),
        ("T", "HE CONTRACT", "THE CONTRACT"),
        ('"W', "e cancel", '"We cancel'),
        ("I", "n all", "In all"),
        ("A", "nother plan", "Another plan"),  # a word that the page has
        ("A", "contract", "A contract"),
        ("A", " contract", "A contract"),
        ("Q", "What is a contract?", None),  # a label
        ("T", "term of a contract", None),  # a letter of a glossary
        ("The", "contract", None),
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_large_initials_begin_their_lines(
    initial: str, rest: str, whole: str | None, order: int
) -> None:
    widths = {"A": 0.85, "I": 0.28, "Q": 0.78, "T": 0.61, '"': 0.36, "W": 0.94, "h": 0.5, "e": 0.5}
    left = 75 + round(46 * sum(map(widths.__getitem__, initial)))
    lines = [(rest, left, 700), ("that another party may end", left, 686)]
    lines += [("at any time, and sooner", 72, 662), ("if both have said so.", 72, 648)]
    drawn = [sized(initial, 72, 676, 46), "".join(sized(*one, 12) for one in lines)]
    found = " ".join(read(plain("".join(drawn[::order])))[0].split())
    if whole:
        others = "that another party may end at any time, and sooner if both have said so."
        assert found == f"{whole} {others}"
    elif order < 0:
        assert found.endswith(f"said so. {initial}")


def test_an_initial_may_be_higher_than_the_lines_beside_it() -> None:
    font = (
        f"<</Type/Font/Subtype/TrueType/BaseFont/A/FirstChar 32/LastChar 122/Widths[{'500 ' * 91}]"
        "/Encoding/WinAnsiEncoding/FontDescriptor<</Type/FontDescriptor/FontName/A/Flags 32"
        "/FontBBox[-166 -225 1000 931]/Ascent 0/Descent 0>>>>"
    )
    first, second = sized("nce upon a time, in", 97, 746, 12), sized("a far land", 97, 732, 12)
    drawn = first + sized("O", 57, 732, 40) + second
    found = read(plain(drawn.replace("/F", "/H"), font))[0]
    assert found.split() == ["Once", "upon", "a", "time,", "in", "a", "far", "land"]


def test_an_initial_is_not_in_the_line_at_its_foot() -> None:
    lines = [("he contract may be", 110, 700), ("ended by either", 110, 686), ("party", 110, 672)]
    first, second, third = (sized(*one, 12) for one in lines)
    found = read(plain(first + second + sized("T", 72, 672, 52) + third))[0]
    assert found.split() == ["The", "contract", "may", "be", "ended", "by", "either", "party"]


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        (r"[(M)-27(\250)444(uller f)-20(\250)440(ur caf)-100(\264)440(e)] TJ", "Müller für café"),
        (r"[(Age)440(\210)110(ncia)] TJ", "Agência"),
        (r"(caf) Tj 17 0 Td (e) Tj 1.5 0 Td (\264) Tj", "café"),
        (r"(use `x` and \264y\264 now, 5\250 x) Tj", "use `x` and ´y´ now, 5¨ x"),
    ],
)
def test_accents_over_letters_are_theirs(drawn: str, text: str) -> None:
    assert read(plain(f"BT /F 12 Tf 72 700 Td {drawn} ET"))[0] == text


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        ("(DCBA) Tj", "أريد"),
        ("/Span<</ActualText<FEFF062F>>>BDC (D) Tj EMC (CBA) Tj", "أريد"),  # as Chromium does
        ("(EF) Tj 30 0 Td (DZA) Tj", "ألاد ٢٥"),  # a ligature of two letters
        ("(EF) Tj", "٢٥"),
    ],
)
def test_words_from_right_to_left_begin_on_the_right(drawn: str, text: str) -> None:
    letters = "".join(
        f"<{code}><{one.encode('utf-16-be').hex()}>"
        for code, one in zip("41 42 43 44 45 46 5a".split(), [*"أريد٢٥", "لا"], strict=True)  # noqa: SIM905
    )
    known = (
        "begincmap 1 begincodespacerange <00><ff> endcodespacerange "
        f"7 beginbfchar {letters} endbfchar endcmap"
    )
    font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 7 0 R>>"
    shown = plain(f"BT /H 12 Tf 72 700 Td {drawn} ET", font, "", stream(known))
    assert read(shown)[0] == text


LABELS = said("Name:", 72, 700) + said("Why:", 72, 680) + said("I agree", 120, 660)


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (field("Tx", "/V(Ann Lee)", 110, 697), "Name: Ann Lee\nWhy:\nI agree"),
        (field("Tx", "/V(It broke)", 110, 677), "Name:\nWhy: It broke\nI agree"),
        (field("Tx", "/V(a\\rb)", 110, 677), "Name:\nWhy: a\nb\nI agree"),
        (field("Tx", "/V(Below)", 72, 600), "Name:\nWhy:\nI agree\nBelow"),
        (field("Tx", "/V(Above)", 72, 750), "Above\nName:\nWhy:\nI agree"),
        (
            field("Ch", "/Opt[[(1)(One)][(2)(Two)]]/V(2)/Ff 131072", 110, 677),
            "Name:\nWhy: Two\nI agree",
        ),
        (field("Ch", "/Opt[(1)(2)]/V[(1)(2)]/Ff 2097152", 110, 677), "Name:\nWhy: 1\n2\nI agree"),
        (field("Ch", "/Opt[(1)]/V(Own)/Ff 393216", 110, 677), "Name:\nWhy: Own\nI agree"),
        (field("Btn", "/V/Yes/AS/Yes/AP<</N<</Yes 8 0 R>>>>", 0, 657), "Name:\nWhy:\n☒ I agree"),
        (field("Btn", "/V/Off/AS/Off/AP<</N<</Yes 8 0 R>>>>", 0, 657), "Name:\nWhy:\nI agree"),
        (field("Tx", "/V(Ann)", 110, 697, "/F 2"), "Name:\nWhy:\nI agree"),
        (field("Tx", "/V(Ann)/Ff 8192", 110, 697), "Name:\nWhy:\nI agree"),
    ],
)
def test_a_field_has_its_value_where_it_is_seen(annotation: str, text: str) -> None:
    drawn = stream("", "/Type/XObject/Subtype/Form/BBox[0 0 9 9]")
    assert read(page(LABELS, [annotation], [drawn])) == (text, {}, [])


def test_notes_that_are_seen_are_read_and_others_counted() -> None:
    drawn = "/AP<</N 13 0 R>>"
    content = page(
        said(SAYING, 72, 700),
        [
            note("FreeText", "/Contents(Seen)"),
            note("FreeText", "/RC(<body><p>Seen &amp; <b>styled</b></p></body>)"),
            note("Text", "/Contents(By a click)"),
            note("Highlight", "/Contents(By another)/QuadPoints[0 0 1 0 0 1 1 1]"),
            note("Stamp", drawn),
            note("Link", "/Contents(Not shown)"),
        ],
        [stream(said("Paid", 0, 0), "/Type/XObject/Subtype/Form/BBox[0 0 99 14]")],
    )
    text, counts, _ = read(content)
    assert " ".join(text.split()) == f"{SAYING} Seen Seen & styled"
    assert counts == {"comments left out": 2, "buttons, signatures and stamps left out": 1}


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize(
    ("written", "name"), [("(in.txt)", "in.txt"), ("<FEFFD800002E007400780074>", "\ufffd.txt")]
)
def test_attached_files_are_documents(written: str, name: str, pinned: bool) -> None:
    file = f"<</Type/Filespec/F(in.txt)/UF{written}/EF<</F {{}} 0 R>>>>"
    holder = note("FileAttachment", f"/FS {file.format(8)}") if pinned else note("Link", "")
    names = "" if pinned else f"/Names<</EmbeddedFiles<</Names[(in) {file.format(8)}]>>>>"
    content = page(said(OTHER, 72, 700), [holder], [stream(SAYING)], names)
    found = list(read_stream("s", "pdf", io.BytesIO(content), ReadOptions()))
    texts = [(one.id, one.text) for one in found if isinstance(one, Document)]
    assert texts == [("s", OTHER), (f"s/{name}", SAYING)]


def test_a_damaged_page_costs_no_other() -> None:
    content = pdf(OTHER, "lost", SAYING).replace(b"4 0 R 6 0 R", b"4 0 R 99 0 R")
    text, counts, _ = read(content)
    assert (text, counts) == (f"{OTHER}\n{SAYING}", {"damaged pages left out": 1})
    lost = content.replace(b"4 0 R 99 0 R 8 0 R", b"97 0 R 98 0 R 99 0 R")
    (bad,) = read_stream("s", "pdf", io.BytesIO(lost), ReadOptions())
    assert bad.reason == "no text in it; damaged pages left out: 3"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("box", "text", "left_out"),
    [
        ("MediaBox[0 0 612 792]", "Seen\ntoo\nnot seen", 1),
        ("MediaBox[0 0 612 792]/CropBox[0 459 612 792]", "Seen\ntoo", 3),
        ("MediaBox[-99 0 612 792]/CropBox[612 792 0 0]/Rotate 90", "Seen\ntoo\nnot seen", 1),
        ("MediaBox[-99 0 612 792]/CropBox[700 0 800 9]", "Seen\ntoo\nnot seen\ngone", 0),
    ],
)
def test_what_a_page_is_cut_from_is_counted(box: str, text: str, left_out: int) -> None:
    lines = (said("Seen", 72, 710), said("too", 72, 460), said("not seen", 72, 446))
    content = page("".join((*lines, said("gone", -90, 600))))
    found, counts, _ = read(content.replace(b"MediaBox[0 0 612 792]", box.encode()))
    assert found.strip() == text
    assert counts == ({"words outside of the page left out": left_out} if left_out else {})


def test_files_that_are_only_associated_are_counted() -> None:
    file = "<</Type/Filespec/AFRelationship/Data/F(in.txt)/EF<</F {} 0 R>>>>"
    files = [stream(SAYING, "/Type /EmbeddedFile"), stream(SAYING, "/Type/EmbeddedFile")]
    names = f"/AF[{file.format(8)}]/Names<</EmbeddedFiles<</Names[(in) {file.format(9)}]>>>>"
    for holder, times in ((note("Link", ""), 1), (note("FileAttachment", "/FS 10 0 R"), 2)):
        content = page(said(OTHER, 72, 700), [holder], [*files, file.format(9)], names)
        _, counts, packed = read(content)
        assert counts == {"associated or deleted files perhaps left out": 1}
        assert len(packed) == times


def test_a_cover_without_words_is_no_bad_record() -> None:
    file = "<</Type/Filespec/F(in.txt)/EF<</F 7 0 R>>>>"
    names = f"/Collection<</View/D>>/Names<</EmbeddedFiles<</Names[(in) {file}]>>>>"
    (found,) = read_stream(
        "s", "pdf", io.BytesIO(page("", [], [stream(SAYING)], names)), ReadOptions()
    )
    assert isinstance(found, Document)
    assert (found.id, found.text) == ("s/in.txt", SAYING)


LINES = ["Either party may end this", "agreement at any time by a", "notice to the other one."]
UPRIGHT, LEFT, DOWN, RIGHT = "1 0 0 1", "0 1 -1 0", "-1 0 0 -1", "0 -1 1 0"


@pytest.mark.parametrize(
    ("matrix", "turned"), list(product([UPRIGHT, LEFT, DOWN, RIGHT], [0, 90, 180, 270]))
)
def test_lines_that_run_in_any_direction_are_in_their_order(matrix: str, turned: int) -> None:
    shown = " T* ".join(f"({line}) Tj" for line in LINES)
    content = f"BT /F 12 Tf 14 TL 1 0 0 1 72 750 Tm ({OTHER}) Tj ET "
    content += f"BT /F 12 Tf 14 TL {matrix} 300 400 Tm {shown} ET "
    text, counts, _ = read(plain(content, more=f"/Rotate {turned}"))
    assert "\n".join(LINES) in text
    assert OTHER in text
    assert counts == {}


_LEFT = ["Either party may end", "this agreement with", "notice of one month."]
_RIGHT = ["All fees are due at", "once, and are not re-", "funded at the end."]


def test_columns_hyphens_and_letters_that_are_drawn_apart() -> None:
    columns = "".join(
        said(line, left, 700 - 14 * at)
        for left, lines in ((72, _LEFT), (320, _RIGHT))
        for at, line in enumerate(lines)
    )
    assert read(plain(columns))[0].split("\n") == [*_LEFT, *_RIGHT]
    kerned = "BT /F 12 Tf 72 700 Td [(I)-300(want)-300(to)-300(can)20(cel)] TJ ET"
    assert read(plain(kerned))[0] == "I want to cancel"
    apart = "".join(said(letter, 72 + 7 * at, 700) for at, letter in enumerate("cancel"))
    assert read(plain(apart))[0] == "cancel"


def test_letters_that_are_drawn_one_by_one_make_words_on_a_page_with_gaps() -> None:
    def spelt(words: str, left: int, height: int, matrix: str = UPRIGHT) -> str:
        letters = " 7.2 0 Td ".join(f"({letter}) Tj" for letter in words)
        return f"BT /H 12 Tf {matrix} {left} {height} Tm {letters} ET "

    font = "<</Type/Font/Subtype/Type1/BaseFont/Courier/Encoding/WinAnsiEncoding>>"
    lines = [("Fees", "3"), ("Non-payment", "12"), ("Notice of default", "14")]
    rows = "".join(
        spelt(words, 72, 700 - 13 * at) + spelt(number, 500, 700 - 13 * at)
        for at, (words, number) in enumerate(lines)
    )
    assert read(plain(rows, font))[0] == "\n".join("\n".join(line) for line in lines)
    noted = "BT /H 12 Tf 72 700 Td (due) Tj /H 7 Tf 5 Ts (2) Tj /H 12 Tf 0 Ts ( at once) Tj ET"
    assert read(plain(noted, font))[0] == "due2 at once"
    turned = "".join(spelt(line, 300 - 14 * at, 700, RIGHT) for at, line in enumerate(LINES))
    assert read(plain(turned, font))[0].split("\n") == LINES


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ("3 Tc (Terms of service) Tj", "Terms of service"),
        ("2 Tc (AGREEMENT) Tj", "AGREEMENT"),
        ("[(T)-250(e)-250(r)-250(m)-250(s)-800(o)-250(f)-800(u)-250(s)-250(e)] TJ", "Terms of use"),
        ("[(a)-350(b)-350(c)-350(d)-350(e)-350(f)] TJ", "a b c d e f"),
        ("[(a)-900(b)-900(c)-900(d)-900(e)-900(f)] TJ", "a b c d e f"),
        ("[(I)-300(am)-300(in)-300(a)-300(go)-300(to)-300(it)] TJ", "I am in a go to it"),
        ("(A G R E E M E N T) Tj", "A G R E E M E N T"),
    ],
)
def test_words_whose_letters_are_apart_are_words(shown: str, text: str) -> None:
    assert read(plain(f"BT /F 12 Tf 72 700 Td {shown} ET"))[0] == text


def test_a_layer_of_recognised_text_is_read() -> None:
    scan = "q 600 0 0 780 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID a EI Q "
    layer = f"BT 3 Tr /F 12 Tf 72 700 Td ({SAYING}) Tj ET"
    assert read(plain(scan + layer)) == (SAYING, {}, [])


_MAP = """begincmap 1 begincodespacerange <00><ff> endcodespacerange 4 beginbfchar <01> <00660069>
<02> <FB02> <03> <00660066006C> <04> <D835DC99> endbfchar
1 beginbfrange <20><7e><0020> endbfrange endcmap"""
_NAMED = (
    f"<</Type/Font/Subtype/Type1/BaseFont/A/FirstChar 1/LastChar 126/Widths[{'600 ' * 126}]"
    "/Encoding<</Differences[1/fi/f_l/ffl/f_f_i 46/g9]>>/FontDescriptor<</Type/FontDescriptor"
    "/FontName/A/Flags 32/FontBBox[0 0 999 999]/ItalicAngle 0/Ascent 900/Descent -200"
    "/CapHeight 700/StemV 80>>>>"
)
MAPPED = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 7 0 R>>"
LOST = "words with letters that cannot be read"


@pytest.mark.parametrize(
    ("font", "shown", "text", "counts"),
    [
        (MAPPED, r"\001nal \002oor ba\003e", "final floor baffle", {}),
        (MAPPED, r"let \004 be \004\004", "let 𝒙 be 𝒙𝒙", {}),
        (_NAMED, r"\001nal ba\003e", "final baffle", {}),
        (_NAMED, r"the \002oor", "the \ufffdoor", {LOST: 1}),
        (_NAMED, r"an o\004ce and sta\004", "an o\ufffdce and sta\ufffd", {LOST: 2}),
        (_NAMED, r"on \004\002 floor", "on \ufffd\ufffd floor", {LOST: 1}),
    ],
)
def test_ligatures_are_letters_or_told(
    font: str, shown: str, text: str, counts: dict[str, int]
) -> None:
    content = f"BT /H 12 Tf 72 700 Td ({shown}) Tj ET"
    assert read(plain(content, font, "", stream(_MAP))) == (text, counts, [])


@pytest.mark.parametrize("sign", [r"\004", r"\002"])
def test_a_sign_by_itself_is_no_word(sign: str) -> None:
    content = f"BT /H 12 Tf 72 700 Td ({sign} first) Tj ET"
    assert read(plain(content, _NAMED))[1] == {}


SHIFTED = "".join(f"{ord(letter) - 29:04x}" for letter in SAYING)
UNREAD = "pages whose words cannot be read"


@pytest.mark.parametrize(
    ("content", "text", "counts"),
    [
        (said(SHIFTED, 72, 700, "G"), "no text in it; 1 of 1 pages have words that cannot", {}),
        (said(OTHER, 72, 700) + said(SHIFTED, 72, 650, "G"), OTHER, {UNREAD: 1}),
        (said("00010002000300040005", 72, 700, "G") + said("x", 9, 9), "x", {UNREAD: 1}),
        (said(OTHER, 72, 700), OTHER, {}),
        (said("0041006e006e", 72, 700, "G"), "Ann", {"pages whose words may be others": 1}),
    ],
)
def test_characters_without_letters_are_told(
    content: str, text: str, counts: dict[str, int]
) -> None:
    found, told, _ = read(page(content))
    assert found.strip().startswith(text)
    assert told == counts
    assert all(letter.isprintable() or letter == "\n" for letter in found)


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(20, 700)), max_size=9))
def test_every_value_is_read_once_and_parts_no_words(places: list[tuple[int, int]]) -> None:
    label = "Whatever it takes"
    lines = "".join(said(label, 90, height) for height in range(30, 700, 90))
    fields = [field("Tx", f"/V(value{at})", *place) for at, place in enumerate(places)]
    text, counts, _ = read(page(lines, fields))
    words = text.split()
    assert sorted(word for word in words if word.startswith("value")) == [
        f"value{at}" for at in range(len(places))
    ]
    assert [word for word in words if not word.startswith("value")] == label.split() * 8
    assert counts == {}


def test_options_that_a_list_shows_are_counted() -> None:
    listed = field("Ch", "/Opt[(1)(2)(3)]/V(2)", 110, 677)
    assert read(page(LABELS, [listed])) == (
        "Name:\nWhy: 2\nI agree",
        {"options that are not chosen left out": 2},
        [],
    )
