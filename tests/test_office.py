"""Office files: every word that a person sees is in the text, or counted."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os.ingest.formats import reader_named
from slice_os.ingest.readers import BadRecord, ReadNote, ReadOptions
from slice_os.text.documents import Document

from .many_formats import OTHER, SAYING, pdf, xlsx, zipped
from .office_files import (
    cell,
    chart,
    diagram,
    document,
    frame,
    office,
    paragraph,
    row,
    run,
    shape,
    sheets,
    slide,
    slides,
)

pytest.importorskip("lxml")


@dataclass
class Read:
    """What a file yields."""

    documents: list[Document] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    bad: list[str] = field(default_factory=list)
    packed: list[str] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        """The words of all documents, in order."""
        return sorted(word for one in self.documents for word in one.text.split())

    @property
    def text(self) -> str:
        (found,) = self.documents
        return found.text

    def parts(self) -> list[tuple[str, object]]:
        (found,) = self.documents
        return [(found.text[one.start : one.end], one.fields.get("part")) for one in found.segments]


def read(kind: str, content: bytes, **options: Any) -> Read:
    found = Read()
    for one in reader_named(kind).load()("s", io.BytesIO(content), ReadOptions(**options)):
        if isinstance(one, Document):
            found.documents.append(one)
        elif isinstance(one, ReadNote):
            found.counts |= dict(one.counts)
        elif isinstance(one, BadRecord):
            found.bad.append(one.reason)
        else:
            found.packed.append(one.path)
    return found


def page() -> EmailMessage:
    message = EmailMessage()
    message.set_content("<p>Saved café</p>", subtype="html", charset="latin-1")
    return message


CHUNKS = [
    ("c.html", b"<html><body><h1>Ending</h1><p>In a chunk</p></body></html>", "Ending\nIn a chunk"),
    ("c.htm", b"In a <b>chunk</b>", "In a chunk"),
    ("c.txt", "First\n< second".encode("utf-16"), "First\n< second"),
    ("c.txt", b"Agent: Hello\nCustomer: Hi\n", "Agent: Hello\nCustomer: Hi"),
    ("c.rtf", rb"{\rtf1 In a chunk}", "In a chunk"),
    ("c.mht", page().as_bytes(), "Saved café"),
    ("c.dat", b"<p>In a chunk</p>", "In a chunk"),
    ("c.docx", office("docx", document(paragraph(run("In a chunk")))), "In a chunk"),
]


class TestWord:
    @pytest.mark.parametrize(("name", "content", "text"), CHUNKS, ids=[one[0] for one in CHUNKS])
    def test_chunks_of_other_formats_are_where_they_stand(
        self, name: str, content: bytes, text: str
    ) -> None:
        body = document(
            paragraph(run("Before")), '<w:altChunk r:id="r1"/>', paragraph(run("After"))
        )
        relations = {"word/document.xml": [("aFChunk", f"word/{name}")]}
        found = read("docx", office("docx", body, {f"word/{name}": content}, relations))
        assert found.text == f"Before\n{text}\nAfter"
        assert found.counts == {}

    def test_damaged_styles_cost_no_words(self) -> None:
        styles = {"word/styles.xml": b"<w:styles><oops"}
        relations = {"word/document.xml": [("styles", "word/styles.xml")]}
        found = read("docx", office("docx", document(paragraph(run(SAYING))), styles, relations))
        told = "damaged styles, so that headings and hidden texts are unknown"
        assert (found.text, found.counts) == (SAYING, {told: 1})

    @pytest.mark.parametrize(
        ("parts", "told"),
        [
            ({"word/c.bin": b"\x00\x01"}, "no text in it; chunks left out: 1"),
            ({"word/c.bin": pdf(SAYING)}, "no text in it; chunks left out: 1"),
            ({}, "no text in it; missing parts: 1, chunks left out: 1"),
        ],
    )
    def test_a_chunk_that_cannot_be_read_is_counted(
        self, parts: dict[str, bytes], told: str
    ) -> None:
        relations = {"word/document.xml": [("aFChunk", "word/c.bin")]}
        found = read("docx", office("docx", document('<w:altChunk r:id="r1"/>'), parts, relations))
        assert found.bad == [told]

    @pytest.mark.parametrize(
        ("drawn", "kind", "part", "expected"),
        [
            ('<dgm:relIds r:dm="r1"/>', "diagramData", diagram("One", "Two"), "One\nTwo"),
            ('<c:chart r:id="r1"/>', "chart", chart("Why", "Calls", "Lost", "Late"), None),
            (
                '<cx:chart r:id="r1"/>',
                "chartEx",
                "<cx:chartSpace><cx:chartData><cx:strDim><cx:lvl><cx:pt>Late</cx:pt></cx:lvl>"
                "</cx:strDim><cx:numDim><cx:lvl><cx:pt>42</cx:pt></cx:lvl></cx:numDim>"
                "</cx:chartData><cx:chart><cx:title><cx:tx><cx:txData><cx:v>Why</cx:v>"
                "</cx:txData></cx:tx></cx:title></cx:chart></cx:chartSpace>",
                "Late\nWhy",
            ),
        ],
        ids=["SmartArt", "chart", "newer chart"],
    )
    def test_what_is_drawn_says_its_words(
        self, drawn: str, kind: str, part: str, expected: str | None
    ) -> None:
        body = document(paragraph(run("Before"), f"<w:r><w:drawing>{drawn}</w:drawing></w:r>"))
        relations = {"word/document.xml": [(kind, "word/part.xml")]}
        found = read("docx", office("docx", body, {"word/part.xml": part}, relations))
        name = "SmartArt" if "dgm" in drawn else "chart"
        text = expected or "Why\nCalls\nLost\nLate"
        assert found.parts() == [("Before", None), (text, name)]

    def test_alternate_content_is_said_once_and_by_the_first_that_says_it(self) -> None:
        def box(text: str) -> str:
            return f"<w:txbxContent>{paragraph(run(text))}</w:txbxContent>"

        both = f"""<w:r><mc:AlternateContent><mc:Choice><w:drawing>{box("New")}</w:drawing>
            </mc:Choice><mc:Fallback><w:pict>{box("New")}</w:pict></mc:Fallback>
            </mc:AlternateContent></w:r>"""
        old = f"""<w:r><mc:AlternateContent><mc:Choice><w:drawing/></mc:Choice>
            <mc:Fallback><w:pict>{box("Old")}</w:pict></mc:Fallback></mc:AlternateContent></w:r>"""
        inline = (
            f"<mc:AlternateContent><mc:Choice>{run('inline')}</mc:Choice></mc:AlternateContent>"
        )
        art = '<w:r><w:pict><v:shape><v:textpath string="Art"/></v:shape></w:pict></w:r>'
        found = read("docx", office("docx", document(paragraph(inline, both, old, art))))
        boxes = [(text, "text box") for text in ("New", "Old", "Art")]
        assert found.parts() == [("inline", None), *boxes]

    @pytest.mark.parametrize(
        ("between", "text"),
        [
            ("<w:br/>", "one\ntwo"),
            ('<w:br w:type="page"/>', "one\ntwo"),
            ('<w:br w:type="column"/>', "one\ntwo"),
            ("<w:cr/>", "one\ntwo"),
            ("<w:tab/>", "one\ttwo"),
            ("<w:ptab/>", "one\ttwo"),
            ("<w:noBreakHyphen/>", "one-two"),
            ("<w:softHyphen/>", "onetwo"),
            ("<w:lastRenderedPageBreak/>", "onetwo"),
            ('<w:sym w:char="2192"/>', "one→two"),
            ('<w:sym w:font="Symbol" w:char="F06D"/>', "oneμtwo"),
            ('<w:sym w:font="Wingdings" w:char="00FE"/>', "one☑two"),
            ('<w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr><w:t>\uf06d</w:t>', "oneμtwo"),
            ("<w:t>\uf06d</w:t>", "one\uf06dtwo"),
            ('<w:sym w:font="Wingdings" w:char="F020"/>', "one\uf020two"),
            ("<w:instrText>PAGE</w:instrText>", "onetwo"),
        ],
    )
    def test_words_neither_stick_together_nor_split(self, between: str, text: str) -> None:
        body = document(paragraph(run("one"), f"<w:r>{between}</w:r>", run("two")))
        assert read("docx", office("docx", body)).text == text

    @pytest.mark.parametrize(
        ("kind", "text"), [("drop", "One\ntwo"), ("margin", "One\ntwo"), ("none", "O\nne\ntwo")]
    )
    def test_a_large_initial_begins_the_next_paragraph(self, kind: str, text: str) -> None:
        initial = paragraph(run("O"), properties=f'<w:framePr w:dropCap="{kind}" w:lines="3"/>')
        body = document(initial, paragraph(run("ne")), paragraph(run("two")))
        assert read("docx", office("docx", body)).text == text

    def test_a_paragraph_whose_end_is_deleted_does_not_go_on_in_a_table(self) -> None:
        gone = paragraph(run("Before"), properties="<w:rPr><w:del/></w:rPr>")
        table = f"<w:tbl><w:tr><w:tc>{paragraph(run('cell'))}</w:tc></w:tr></w:tbl>"
        body = document(gone, "<w:bookmarkEnd/>", table, paragraph(run("After")))
        assert read("docx", office("docx", body)).text == "Before\ncell\nAfter"

    def test_a_paragraph_whose_end_is_deleted_goes_on_in_the_next(self) -> None:
        gone = "<w:rPr><w:del/></w:rPr>"
        moved = "<w:rPr><w:moveFrom/></w:rPr>"
        box = f"<w:pict><w:txbxContent>{paragraph(run('In a box'))}</w:txbxContent></w:pict>"
        body = document(
            paragraph(run("can"), f"<w:r>{box}</w:r>", properties=gone),
            paragraph("<w:del><w:r><w:delText>not</w:delText></w:r></w:del>", properties=moved),
            paragraph(run("cel it")),
            paragraph(run("Next")),
        )
        found = read("docx", office("docx", body))
        assert found.text == "cancel it\nIn a box\nNext"
        assert found.counts == {"deletions left out": 1, "text boxes": 1}

    def test_hidden_text_is_counted(self) -> None:
        off = run("seen", '<w:vanish w:val="0"/>')
        body = document(paragraph(run("gone", "<w:vanish/>"), off))
        found = read("docx", office("docx", body))
        assert (found.text, found.counts) == ("seen", {"hidden texts left out": 1})

    def test_text_that_a_style_hides_is_counted(self) -> None:
        styles = """<w:styles><w:style w:styleId="Top"><w:rPr><w:vanish/></w:rPr></w:style>
            <w:style w:styleId="On"><w:rPr><w:vanish w:val="0"/></w:rPr></w:style></w:styles>"""
        body = document(
            paragraph(run("Top of form"), properties='<w:pStyle w:val="Top"/>'),
            paragraph(
                run("gone", '<w:rStyle w:val="Top"/>'), run("seen", '<w:rStyle w:val="On"/>')
            ),
        )
        relations = {"word/document.xml": [("styles", "word/styles.xml")]}
        found = read("docx", office("docx", body, {"word/styles.xml": styles}, relations))
        assert (found.text, found.counts) == ("seen", {"hidden texts left out": 2})

    def test_styles_hide_what_the_styles_that_they_are_based_on_do(self) -> None:
        def style(name: str, base: str = "", says: str = "") -> str:
            based = f'<w:basedOn w:val="{base}"/>' if base else ""
            return f'<w:style w:styleId="{name}">{based}<w:rPr>{says}</w:rPr></w:style>'

        on, off = "<w:vanish/>", '<w:vanish w:val="0"/>'
        styles = [style("C", "B"), style("B", "A"), style("A", "C", on), style("D", "B", off)]
        styles += [style("E", "F"), style("F", "E"), style("G", "D")]
        body = document(
            paragraph(
                run("gone"),
                run("A", off),
                run("B", '<w:rStyle w:val="C"/>'),
                properties='<w:pStyle w:val="C"/>',
            ),
            *(
                paragraph(run(name, f'<w:rStyle w:val="{name}"/>'), run(f"-{name}"))
                for name in "BDEG"
            ),
        )
        parts = {"word/styles.xml": f"<w:styles>{''.join(styles)}</w:styles>"}
        relations = {"word/document.xml": [("styles", "word/styles.xml")]}
        found = read("docx", office("docx", body, parts, relations))
        # Two styles that both hide a run show it.
        assert found.text == "AB\n-B\nD-D\nE-E\nG-G"
        assert found.counts == {"hidden texts left out": 2}

    @pytest.mark.parametrize(
        ("inside", "text"),
        [
            ("<w:r><w:ruby><w:rt>" + run("kan") + "</w:rt></w:ruby></w:r>", "(kan)"),
            ('<w:r><w:sym w:char="zz"/><w:sym w:char="2713"/></w:r>', "✓"),
            (f"<w:f><w:num>{run('a')}</w:num><w:den>{run('b')}</w:den></w:f>", "a/b"),
        ],
    )
    def test_odd_elements_cost_no_others(self, inside: str, text: str) -> None:
        body = document(paragraph(inside), paragraph(run("seen")))
        assert read("docx", office("docx", body)).text == f"{text}\nseen"

    def test_fields_of_old_forms_show_their_state(self) -> None:
        fields = (
            "<w:checkBox><w:checked/></w:checkBox>",
            '<w:checkBox><w:default w:val="1"/><w:checked w:val="0"/></w:checkBox>',
            '<w:ddList><w:result w:val="1"/><w:listEntry w:val="Never"/>'
            '<w:listEntry w:val="Always"/></w:ddList>',
            '<w:ddList><w:result w:val="damaged"/><w:listEntry w:val="Never"/></w:ddList>',
        )
        begin, end = (
            '<w:r><w:fldChar w:fldCharType="begin">',
            '<w:fldChar w:fldCharType="end"/></w:r>',
        )
        runs = (f"{begin}<w:ffData>{one}</w:ffData></w:fldChar>{end}" for one in fields)
        assert read("docx", office("docx", document(paragraph(*runs)))).text == "☒☐Always"

    def test_fields_within_the_codes_of_others_are_not_seen(self) -> None:
        def field(code: str, result: str) -> str:
            begin, separate, end = (
                f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'
                for kind in ("begin", "separate", "end")
            )
            return f"{begin}{code}{separate}{result}{end}"

        title = field(run("IF ") + field("", run("M")) + run(' = "M"'), run("Mr"))
        later = field("", run("A list")).removesuffix('<w:r><w:fldChar w:fldCharType="end"/></w:r>')
        text = document(paragraph(run("Dear "), title, run(" Lee")), paragraph(later))
        assert read("docx", office("docx", text)).text == "Dear Mr Lee\nA list"
        code = "<w:r><w:instrText> EQ \\o(a,b)</w:instrText></w:r>"
        shown = read("docx", office("docx", document(paragraph(field(code, ""), run("x")))))
        assert shown.counts == {"formulas and readings in fields left out": 1}

    def test_words_of_numbers_are_counted(self) -> None:
        levels = "".join(
            f'<w:lvl w:ilvl="{level}"><w:lvlText w:val="{text}"/></w:lvl>'
            for level, text in enumerate(["Article %1", "(%2)"])
        )
        number = '<w:num w:numId="7"><w:abstractNumId w:val="3"/></w:num>'
        by_style = '<w:numPr><w:numId w:val="7"/></w:numPr>'
        style = f'<w:style w:styleId="h"><w:pPr>{by_style}</w:pPr></w:style>'
        parts = {
            "word/n.xml": f"<w:numbering><w:abstractNum w:abstractNumId='3'>{levels}"
            f"</w:abstractNum>{number}</w:numbering>",
            "word/s.xml": f"<w:styles>{style}</w:styles>",
        }
        body = document(
            paragraph(run(SAYING), properties='<w:pStyle w:val="h"/>'),
            paragraph(
                run(OTHER), properties=by_style.replace("<w:numId", '<w:ilvl w:val="1"/><w:numId')
            ),
            paragraph(run(OTHER), properties=by_style),
        )
        relations = {"word/document.xml": [("numbering", "word/n.xml"), ("styles", "word/s.xml")]}
        found = read("docx", office("docx", body, parts, relations))
        assert found.counts == {"words of numbers left out": 2}

    @pytest.mark.parametrize("strict", [False, True])
    @pytest.mark.parametrize("name", ["word/document.xml", "word/document2.xml"])
    def test_other_kinds_of_the_format_are_read(self, strict: bool, name: str) -> None:
        body = document(
            paragraph(run("Ending"), properties='<w:pStyle w:val="berschrift1"/>'),
            paragraph(run(SAYING)),
        )
        style = '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
        parts = {"word/styles.xml": f"<w:styles>{style}</w:styles>"}
        lost = [("styles", "word/styles.xml"), ("image", "NULL"), ("image", "word/gone.png")]
        content = office("docx", body, parts, {name: lost}, strict=strict, name=name)
        assert [
            one.path for one in reader_named("zip").load()("s", io.BytesIO(content), ReadOptions())
        ]
        (found,) = read("docx", content).documents
        assert found.text == f"Ending\n{SAYING}"
        assert found.segments[1].fields == {"heading": "Ending"}

    def test_relations_that_are_damaged_hide_no_words(self) -> None:
        files = {"[Content_Types].xml": b"<Types/>", "_rels/.rels": b"CORRUPTED"}
        space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
        body = f"<w:p {space}><w:r><w:t>{SAYING}</w:t></w:r></w:p>"
        content = zipped({**files, "word/document.xml": f"<x>{body}</x>".encode()})
        assert read("docx", content).text == SAYING

    @pytest.mark.parametrize("kind", ["header", "comments", "numbering"])
    def test_damaged_parts_cost_no_others(self, kind: str) -> None:
        relations = {"word/document.xml": [(kind, "word/own.xml")]}
        body = document(paragraph(run(SAYING)))
        found = read("docx", office("docx", body, {"word/own.xml": b"<w:oops"}, relations))
        assert found.text == SAYING
        assert set(found.counts) == {"damaged parts left out"}

    def test_a_damaged_slide_costs_no_other(self) -> None:
        pages = (slide(shape(text)) for text in ("One", "lost", "Two"))
        found = read("pptx", slides(*pages, parts={"ppt/s2.xml": b"<oops"}))
        assert (found.text, found.counts) == ("One\nTwo", {"damaged parts left out": 1})

    def test_no_address_of_an_object_is_shown(self) -> None:
        (told,) = read("docx", zipped({"a": b"b"})).bad
        assert "0x" not in told

    def test_files_within_are_read_or_counted(self) -> None:
        relations = {
            "word/document.xml": [("package", "word/in.xlsx"), ("oleObject", "word/in.bin")]
        }
        parts = {"word/in.xlsx": xlsx((SAYING,)), "word/in.bin": b"\xd0\xcf"}
        found = read("docx", office("docx", document(paragraph(run(OTHER))), parts, relations))
        assert found.packed == ["word/in.xlsx"]
        assert found.counts == {"embedded objects left out": 1}


class TestPowerPoint:
    def test_everything_on_a_slide_is_read(self) -> None:
        table = "".join(
            f"<a:tc><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"
            for text in ("Fee", "42")
        )
        alternate = f"<mc:AlternateContent><mc:Choice>{shape('New')}</mc:Choice><mc:Fallback>"
        content = slides(
            slide(
                shape("How to<a:t/>", "end it"),
                f"<p:grpSp><p:grpSp>{shape('Grouped')}</p:grpSp></p:grpSp>",
                f"{alternate}{shape('New')}</mc:Fallback></mc:AlternateContent>",
                frame(f"<a:tbl><a:tr>{table}</a:tr></a:tbl>"),
                frame('<c:chart r:id="r1"/>'),
                frame('<dgm:relIds r:dm="r2"/>'),
                shape("Secret", hidden=True),
            ),
            slide(shape("Not shown"), shown=False),
            parts={
                "ppt/chart.xml": chart("Why", "Calls", "Lost", "Lost"),
                "ppt/data.xml": diagram("Step"),
                "ppt/notes.xml": slide(shape("Said"), shape("7", place="sldNum"), kind="notes"),
                "ppt/comments.xml": "<p:cmLst><p:cm/><p:cm/></p:cmLst>",
            },
            relations={
                "ppt/s1.xml": [
                    ("chart", "ppt/chart.xml"),
                    ("diagramData", "ppt/data.xml"),
                    ("notesSlide", "ppt/notes.xml"),
                    ("comments", "ppt/comments.xml"),
                ]
            },
        )
        found = read("pptx", content)
        lines = "How to|end it|Grouped|New|Fee\t42|Why|Calls|Lost|Step|Said|Not shown"
        assert found.text.split("\n") == lines.split("|")
        assert found.counts == {
            "hidden shapes left out": 1,
            "hidden slides": 1,
            "comments left out": 2,
        }

    def test_texts_of_layouts_are_those_of_page_edges(self) -> None:
        content = slides(
            slide(shape(SAYING)),
            slide(shape(OTHER)),
            parts={
                "ppt/layout.xml": slide(shape("Click here", place="title"), kind="sldLayout"),
                "ppt/master.xml": slide(shape("Confidential"), kind="sldMaster"),
            },
            relations={
                "ppt/s1.xml": [("slideLayout", "ppt/layout.xml")],
                "ppt/s2.xml": [("slideLayout", "ppt/layout.xml")],
                "ppt/layout.xml": [("slideMaster", "ppt/master.xml")],
            },
        )
        found = read("pptx", content)
        assert found.text == f"{SAYING}\n{OTHER}"
        assert found.counts == {"texts of layouts left out": 1}
        assert read("pptx", content, page_edges=True).text == f"Confidential\n{found.text}"

    def test_a_chart_that_is_missing_is_counted(self) -> None:
        found = read("pptx", slides(slide(shape(SAYING), frame('<c:chart r:id="r1"/>'))))
        assert (found.text, found.counts) == (SAYING, {"missing parts": 1})

    def test_a_line_break_and_escapes_are_characters(self) -> None:
        broken = shape("my_x0009_card</a:t></a:r><a:br/><a:r><a:t>is")
        assert read("pptx", slides(slide(broken))).text == "my\tcard\vis"


class TestExcel:
    @pytest.mark.parametrize(
        ("stored", "text"),
        [
            ("to_x000D_\ncancel", "to\ncancel"),
            ("_x005F_x000D_", "_x000D_"),
            ("a_x0009_b_x000A_c", "a\tb\nc"),
            ("_xD83D__xDE00_", "😀"),
            ("_x00zz_ _x41_", "_x00zz_ _x41_"),
        ],
    )
    @pytest.mark.parametrize("kind", ["s", "inlineStr", "str"])
    def test_escapes_are_characters(self, stored: str, text: str, kind: str) -> None:
        value = cell(0, "s") if kind == "s" else cell(stored, kind)
        content = sheets(f"<s:sheetData>{row(value)}</s:sheetData>", strings=[stored])
        assert read("xlsx", content).text == text

    STYLES = """<s:styleSheet><s:numFmts><s:numFmt numFmtId="164" formatCode="[h]:mm:ss"/>
        <s:numFmt numFmtId="165" formatCode="dd/mm/yyyy"/></s:numFmts><s:cellXfs>
        <s:xf numFmtId="0"/><s:xf numFmtId="164"/><s:xf numFmtId="165"/><s:xf numFmtId="20"/>
        </s:cellXfs></s:styleSheet>"""

    @pytest.mark.parametrize(
        ("stored", "style", "since", "text"),
        [
            ("1.5", 1, 0, "36:00:00"),
            ("0.0000115856481481", 1, 0, "0:00:01.001"),
            ("46083", 2, 0, "2026-03-02T00:00:00"),
            ("46083", 2, 1, "2030-03-03T00:00:00"),
            ("0.5", 3, 0, "12:00:00"),
            ("0.5", 0, 0, "0.5"),
            ("1e300", 2, 0, "1e+300"),
            ("7", 99, 0, "7"),
        ],
    )
    def test_dates_and_durations_are_shown_as_such(
        self, stored: str, style: int, since: int, text: str
    ) -> None:
        pytest.importorskip("openpyxl")
        content = sheets(
            f"<s:sheetData>{row(cell(stored, 'n', style))}</s:sheetData>",
            parts={"xl/styles.xml": self.STYLES},
            properties=f'<s:workbookPr date1904="{since}"/>',
        )
        assert read("xlsx", content).text == text

    def test_damaged_cells_cost_no_others(self) -> None:
        cells = cell("oops", "n"), cell("x", "s"), '<s:c s="z"><s:v>3</s:v></s:c>', cell("seen")
        found = read("xlsx", sheets(f"<s:sheetData>{row(*cells)}</s:sheetData>"))
        assert (found.text, found.counts) == ("oops\t3\tseen", {"cells without their text": 1})

    def test_damaged_numbers_of_rows_and_columns_cost_no_cells(self) -> None:
        columns = '<s:cols><s:col min="a" max="9" hidden="0"/><s:col min="a" hidden="1"/></s:cols>'
        rows = row(cell("one")).replace("<s:row", '<s:row r="x"') + row(cell("two"))
        rows += row(cell("three")).replace("<s:c ", '<s:c r="ABCD1" ')
        found = read("xlsx", sheets(f"{columns}<s:sheetData>{rows}</s:sheetData>"))
        assert (found.text, found.counts) == ("one\ntwo\nthree", {})

    def test_cells_of_columns_without_a_name_are_counted(self) -> None:
        head, cells = row(cell("id"), cell("text")), row(*map(cell, ("1", "seen", "a", "b")))
        found = read("xlsx", sheets(f"<s:sheetData>{head}{cells}</s:sheetData>"))
        assert found.text == "seen"
        assert found.counts == {"cells of columns without a name left out": 2}

    def test_damaged_styles_cost_no_words(self) -> None:
        rich = cell("rich").replace("<s:t>", "<s:r><s:t>").replace("</s:t>", "</s:t></s:r>")
        content = sheets(
            f"<s:sheetData>{row(cell(SAYING), cell(46083, 'n', 2), rich)}</s:sheetData>",
            parts={"xl/styles.xml": b"<styleSheet><oops"},
        )
        found = read("xlsx", content)
        assert found.text == f"{SAYING}\t46083\trich"
        assert found.counts == {"damaged styles, so that dates are numbers": 1}

    def test_formulas_without_a_value_are_counted(self) -> None:
        without = "<s:c><s:f>A1</s:f></s:c><s:c><s:f>A1</s:f><s:v/></s:c>"
        empty = '<s:c t="str"><s:f>A1</s:f><s:v></s:v></s:c>'
        content = sheets(f"<s:sheetData>{row(cell('a'), without, empty)}</s:sheetData>")
        found = read("xlsx", content)
        assert (found.text, found.counts) == ("a", {"formulas without a stored value": 2})

    def test_what_is_hidden_is_counted(self) -> None:
        first = "<s:cols><s:col min='2' max='4' hidden='1'/></s:cols><s:sheetData>"
        rows = row(cell("a"), cell("b"), cell("c")) + row(cell("d"), hidden=True) + row(cell("e"))
        edges = "<s:oddHeader>&amp;CTop</s:oddHeader><s:oddFooter>&amp;P</s:oddFooter>"
        end = f"</s:sheetData><s:headerFooter>{edges}</s:headerFooter>"
        states = ["visible", "hidden", "veryHidden"]
        other = f"<s:sheetData>{row(cell('x'))}</s:sheetData>"
        found = read("xlsx", sheets(first + rows + end, other, other, states=states))
        assert found.text == "a\ne"
        assert found.counts == {
            "hidden columns left out": 2,
            "hidden rows left out": 1,
            "hidden sheets left out": 2,
            "headers and footers left out": 1,
        }

    def test_hidden_columns_that_options_name_are_read(self) -> None:
        hidden = "<s:cols><s:col min='1' max='2' hidden='1'/></s:cols>"
        rows = row(cell("id"), cell("n"), cell("text")) + row(cell("7"), cell("1"), cell(SAYING))
        found = read("xlsx", sheets(f"{hidden}<s:sheetData>{rows}</s:sheetData>"))
        (one,) = found.documents
        assert (one.id, one.text, one.metadata) == ("7", SAYING, {"sheet": "Sheet1"})
        assert found.counts == {"hidden columns left out": 1}

    def test_boxes_are_read_and_charts_repeat_no_cells(self) -> None:
        said = "<xdr:txBody><a:p><a:r><a:t>Boxed</a:t></a:r></a:p></xdr:txBody>"
        graphic = '<xdr:graphicFrame><c:chart r:id="r1"/></xdr:graphicFrame>'
        comments = "<s:commentList><s:comment/></s:commentList>"
        content = sheets(
            f"<s:sheetData>{row(cell('Lost'))}</s:sheetData>",
            parts={
                "xl/d.xml": f"<xdr:wsDr><xdr:sp>{said}</xdr:sp>{graphic}</xdr:wsDr>",
                "xl/c.xml": chart("Why", "Calls", "Lost"),
                "xl/comments.xml": f"<s:comments>{comments}</s:comments>",
            },
            relations={
                "xl/s1.xml": [("drawing", "xl/d.xml"), ("comments", "xl/comments.xml")],
                "xl/d.xml": [("chart", "xl/c.xml")],
            },
        )
        found = read("xlsx", content)
        assert (found.text, found.counts) == ("Lost\nBoxed\nWhy", {"comments left out": 1})

    def test_a_binary_workbook_says_so(self) -> None:
        content = office("xlsx", "<s:x/>", name="xl/workbook.bin")
        assert read("xlsx", content).bad == ["a binary workbook; save it as .xlsx"]


class Words:
    """Words that occur once each; every one is seen, or counts as left out."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.seen: list[str] = []
        self.counts: Counter[str] = Counter()

    def new(self, left_out: str = "") -> str:
        word = f"wörd{len(self.seen) + self.counts.total()}q"
        if left_out:
            self.counts[left_out] += 1
        else:
            self.seen.append(word)
        return word

    def one_of(self, *makers: Callable[[], str]) -> str:
        return self.draw(st.sampled_from(makers))()

    def some(self, maker: Callable[[], str], most: int = 3) -> list[str]:
        return [maker() for _ in range(self.draw(st.integers(1, most)))]

    def check(self, kind: str, content: bytes) -> None:
        """Every word is in the text once, by itself, or counted; nothing else is."""
        found = read(kind, content)
        assert found.words == sorted(self.seen)
        if self.seen:
            left = {one: times for one, times in found.counts.items() if "left out" in one}
            assert (left, found.bad) == (self.counts, [])
        else:
            (told,) = found.bad
            assert all(f"{one}: {times}" in told for one, times in self.counts.items())


class WordFile(Words):
    """A Word file of anything that holds words."""

    def content(self) -> bytes:
        self.parts: dict[str, str | bytes] = {}
        self.relations: list[tuple[str, str]] = []
        self.notes: list[str] = []
        body = document(*self.some(self.block, 5))
        notes = "".join(self.notes)
        self.part("footnotes", f"<w:footnotes>{notes}</w:footnotes>")
        if self.draw(st.booleans()):
            edge = paragraph(run(self.new("headers left out")))
            self.part("header", f"<w:hdr>{edge}</w:hdr>")
        comments = "<w:comment/>" * self.draw(st.integers(0, 2))
        self.counts += Counter({"comments left out": comments.count("comment")})
        self.part("comments", f"<w:comments>{comments}</w:comments>")
        strict = self.draw(st.booleans())
        return office(
            "docx", body, self.parts, {"word/document.xml": self.relations}, strict=strict
        )

    def part(self, kind: str, content: str | bytes, end: str = "xml") -> str:
        name = f"word/p{len(self.relations)}.{end}"
        self.relations.append((kind, name))
        self.parts[name] = content
        return f"r{len(self.relations)}"

    def block(self) -> str:
        return self.one_of(self.paragraph, self.paragraph, self.table, self.control, self.chunk)

    def paragraph(self) -> str:
        goes_on = self.draw(st.booleans())
        runs = [*self.some(self.piece), run(" ")]
        return paragraph(*runs, properties="<w:rPr><w:del/></w:rPr>" if goes_on else "")

    def table(self) -> str:
        def cell() -> str:
            return f"<w:tc>{''.join(self.some(self.block, 2))}<w:p/></w:tc>"

        return f"<w:tbl><w:tr>{''.join(self.some(cell))}</w:tr></w:tbl>"

    def control(self) -> str:
        return f"<w:sdt><w:sdtContent>{self.block()}</w:sdtContent></w:sdt>"

    def chunk(self) -> str:
        page = f"<p>{self.new()}</p><div>{self.new()}</div>".encode()
        return f'<w:altChunk r:id="{self.part("aFChunk", page, "html")}"/>'

    def piece(self) -> str:
        pieces = self.plain, self.split, self.broken, self.inserted, self.linked
        gone = self.deleted, self.hidden
        beside = self.box, self.note, self.smart_art, self.chart
        return run(" ") + self.one_of(*pieces, *gone, *beside)

    def plain(self) -> str:
        return run(self.new())

    def split(self) -> str:
        word = self.new()
        return f"{run(word[:2])}<w:proofErr/>{run(word[2:], '<w:b/>')}"

    def broken(self) -> str:
        sign = self.draw(st.sampled_from(["br", 'br w:type="page"', "cr", "tab", "ptab"]))
        return f"{self.plain()}<w:r><w:{sign}/></w:r>{self.plain()}"

    def inserted(self) -> str:
        return f"<w:ins>{self.plain()}</w:ins>"

    def linked(self) -> str:
        return f"<w:hyperlink><w:smartTag>{self.plain()}</w:smartTag></w:hyperlink>"

    def deleted(self) -> str:
        text = f"<w:delText>{self.new('deletions left out')}</w:delText>"
        return f"<w:del><w:r>{text}</w:r></w:del>"

    def hidden(self) -> str:
        return run(self.new("hidden texts left out"), "<w:vanish/>")

    def box(self) -> str:
        within = f"<w:txbxContent>{self.plain_paragraph()}</w:txbxContent>"
        choice = f"<mc:Choice><w:drawing>{within}</w:drawing></mc:Choice>"
        choice = self.draw(st.sampled_from([choice, "<mc:Choice><w:drawing/></mc:Choice>", ""]))
        old = f"<mc:Fallback><w:pict>{within}</w:pict></mc:Fallback>"
        return f"<w:r><mc:AlternateContent>{choice}{old}</mc:AlternateContent></w:r>"

    def plain_paragraph(self) -> str:
        return paragraph(self.plain())

    def note(self) -> str:
        number = len(self.notes)
        self.notes.append(f'<w:footnote w:id="{number}">{self.plain_paragraph()}</w:footnote>')
        return f'<w:r><w:footnoteReference w:id="{number}"/></w:r>'

    def smart_art(self) -> str:
        data = self.part("diagramData", diagram(self.new(), self.new()))
        return f'<w:r><w:drawing><dgm:relIds r:dm="{data}"/></w:drawing></w:r>'

    def chart(self) -> str:
        part = self.part("chart", chart(self.new(), self.new(), self.new()))
        return f'<w:r><w:drawing><c:chart r:id="{part}"/></w:drawing></w:r>'


class SlideFile(Words):
    """A presentation of anything that holds words."""

    def content(self) -> bytes:
        self.parts: dict[str, str | bytes] = {}
        self.relations: dict[str, list[tuple[str, str]]] = {}
        pages = self.some(self.page)
        return slides(*pages, parts=self.parts, relations=self.relations)

    def page(self) -> str:
        self.own = self.relations.setdefault(f"ppt/s{len(self.relations) + 1}.xml", [])
        if self.draw(st.booleans()):
            self.part("notesSlide", slide(shape(self.new()), kind="notes"))
        return slide(*self.some(self.shape), shown=self.draw(st.booleans()))

    def part(self, kind: str, content: str) -> str:
        name = f"ppt/p{len(self.parts)}.xml"
        self.own.append((kind, name))
        self.parts[name] = content
        return f"r{len(self.own)}"

    def shape(self) -> str:
        drawn = self.table, self.smart_art, self.chart
        return self.one_of(self.plain, self.hidden, self.group, self.alternate, *drawn)

    def plain(self) -> str:
        broken = f"{self.new()}</a:t></a:r><a:br/><a:fld><a:t>{self.new()}</a:t></a:fld><a:r><a:t>"
        return shape(broken, self.new(), place=self.draw(st.sampled_from(["", "title", "ftr"])))

    def hidden(self) -> str:
        return shape(self.new("hidden shapes left out"), hidden=True)

    def group(self) -> str:
        return f"<p:grpSp>{''.join(self.some(self.shape))}</p:grpSp>"

    def alternate(self) -> str:
        inner = self.plain()
        choice = f"<mc:Choice>{inner}</mc:Choice><mc:Fallback>{inner}</mc:Fallback>"
        return f"<mc:AlternateContent>{choice}</mc:AlternateContent>"

    def table(self) -> str:
        def cell() -> str:
            said = f"<a:p><a:r><a:t>{self.new()}</a:t></a:r></a:p>"
            return f"<a:tc><a:txBody>{said}</a:txBody></a:tc>"

        return frame(f"<a:tbl><a:tr>{''.join(self.some(cell))}</a:tr></a:tbl>")

    def smart_art(self) -> str:
        data = self.part("diagramData", diagram(self.new(), self.new()))
        return frame(f'<dgm:relIds r:dm="{data}"/>')

    def chart(self) -> str:
        part = self.part("chart", chart(self.new(), self.new(), self.new()))
        return frame(f'<c:chart r:id="{part}"/>')


class SheetFile(Words):
    """A workbook of rows, of which some are hidden."""

    def content(self) -> bytes:
        self.strings: list[str] = []
        states = [self.draw(st.sampled_from(["visible", "hidden"])) for _ in range(2)]
        data = [self.sheet(state == "hidden") for state in states]
        return sheets(*data, states=states, strings=self.strings)

    def sheet(self, hidden: bool) -> str:
        if hidden:
            kept = len(self.seen)
            rows = row(self.text())
            del self.seen[kept:]
            self.counts["hidden sheets left out"] += 1
        else:
            rows = "".join(self.some(self.row))
        return f"<s:sheetData>{rows}</s:sheetData>"

    def row(self) -> str:
        if self.draw(st.booleans()):
            return row(cell(self.new("hidden rows left out")), hidden=True)
        return row(*self.some(self.text))

    def text(self) -> str:
        word = self.new()
        kind = self.draw(st.sampled_from(["s", "inlineStr", "str"]))
        if kind != "s":
            return cell(f"_x000D_{word}_x000A_", kind)
        parts = (
            f"{word[:2]}</s:t></s:r><s:r><s:t>{word[2:]}</s:t></s:r><s:rPh><s:t>no</s:t></s:rPh>"
        )
        self.strings.append(f"</s:t><s:r><s:t>{parts}<s:t>")
        return cell(len(self.strings) - 1, "s")


@pytest.mark.parametrize(
    ("kind", "file"), [("docx", WordFile), ("pptx", SlideFile), ("xlsx", SheetFile)]
)
def test_every_word_is_read_or_counted(kind: str, file: type[Any]) -> None:
    @given(st.data())
    def each(data: st.DataObject) -> None:
        made = file(data.draw)
        made.check(kind, made.content())

    each()
