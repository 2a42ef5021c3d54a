"""The words that a person sees on a page are in its text, apart as they are seen."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os import Corpus, SpanEncoder
from slice_os.ingest.readers import BadRecord, ReadNote, ReadOptions
from slice_os.ingest.readers.markup import Styles
from slice_os.ingest.reading import read_stream
from slice_os.text.documents import Document

pytest.importorskip("lxml")


def read(page: str) -> list[Document | BadRecord]:
    return list(read_stream("p", "html", io.BytesIO(page.encode()), ReadOptions()))


def text(page: str) -> str:
    (document,) = (one for one in read(page) if isinstance(one, Document))
    return document.text


def hidden(page: str) -> int:
    counts = [one.counts for one in read(page) if isinstance(one, ReadNote)]
    return counts[0]["hidden words left out"] if counts else 0


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>one\ntwo<br>three<br/>\nfour", "one two\nthree\nfour"),
        ("<p>one<br><br><br><br>two", "one\n\ntwo"),
        ("<h1>One<br>two</h1><p>three", "One\ntwo\nthree"),
        ("<pre>\n  one\n\n    two  \n</pre>three", "  one\n\n    two\nthree"),
        ("<pre>one<br>two\r\nthree</pre>", "one\ntwo\nthree"),
        ("<textarea>\none\n two</textarea>", "one\ntwo"),
        ("<p>a <span style='white-space: pre-wrap'>one\ntwo</span>", "a one\ntwo"),
        ("<xmp><b>one</b>\ntwo</xmp>", "<b>one</b>\ntwo"),
        ("<listing>one\n two</listing>", "one\n two"),
    ],
)
def test_lines_are_those_that_are_seen(page: str, expected: str) -> None:
    assert text(page) == expected


@pytest.mark.slow
def test_a_line_break_cuts_no_sentence(tmp_path: Path, encoder: SpanEncoder) -> None:
    lines = (
        "This note is about our agreement from last year. Either party may end the\n"
        "contract without any cause at the end of a month by giving the other\n"
        "party thirty days written notice, which has to be sent as a letter to the\n"
        "address that is named in the first paragraph of the agreement."
    )
    (page,) = read(f"<p>{lines}</p>".replace("\n", "<br>\n"))
    assert isinstance(page, Document)
    assert page.text == lines
    phrase = "either party may end the contract by giving notice"
    with Corpus(tmp_path / "store", encoder) as corpus:
        corpus.add([page, Document("plain", lines)])
        found = {hit.doc_id: (hit.start, hit.end) for hit in corpus.search(phrase, top_k=2)}
    assert found["p"] == found["plain"]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("<table><tr><td>one<td>two<tr><th>three", "one\ntwo\nthree"),
        ("<ul><li>one<li>two</ul>three", "one\ntwo\nthree"),
        ("<select><optgroup label=one><option>two<option>three</select>", "one\ntwo\nthree"),
        ("<label>one</label><label>two</label>three", "one two three"),
        ("<button>one</button><button>two</button>three", "one two three"),
        (
            "one<input value=two><input type=hidden value=no><input placeholder=three>",
            "one two three",
        ),
        ("one<img src=a alt=no>two", "one two"),
        ("<td><img src=a alt='one two'></td><td>three", "one two\nthree"),
        ("<a href=a>one</a><a href=b>two</a> <b>th</b>ree", "one two three"),
        ("<span style='display: inline-block'>one</span><span>two</span>", "one two"),
        ("<span style='display:block'>one</span><span>two</span>", "one\ntwo"),
        ("<p>one<p style='display:block;display:none'>two", "one"),
        (
            "<p><span style='float:left'>O</span>ne <i style='float:right'>two</i>three",
            "One two three",
        ),
        ("<p><span style='float:left'>A</span> one", "A one"),
        (
            "<i style='left:0;position: absolute'>one</i><i style='position:fixed'>two</i>",
            "one two",
        ),
        ("<p><i style='position:relative'>o</i>ne", "one"),
        ("one<a href=#n><sup>2</sup></a>, three<sup><a href=#n>4</a></sup>.", "one 2, three 4."),
        ("<a href=a>one</a> x<sup>2</sup> <a href=a>H<sup>+</sup></a>", "one x2 H+"),
        ("<p><span style='float:left'>“O</span>ne two", "“One two"),
        ("<select><option label='one'>two</option></select>", "one two"),
        ("<dl><dt>one<dd>two</dl><center>three</center>", "one\ntwo\nthree"),
        ("<svg><title>no</title><text>one</text><text>two</text></svg>", "one two"),
        ("<math><mi>one</mi> <annotation>no</annotation></math>", "one"),
        ("one<svg><path/></svg>two <math><mtd>1</mtd><mtd>2</mtd></math>", "one two 1 2"),
        ("<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math>", "1 2"),
        (
            "<svg><text><tspan x=0 dy=1>one</tspan><tspan x=0 dy=1>two</tspan></text></svg>",
            "one two",
        ),
        (
            "<svg><text><tspan x=0 y=0>o</tspan><tspan x=9 y=0>ne</tspan>"
            "<tspan x=0 y=9>t<tspan dy=1>wo</tspan></tspan></text></svg>",
            "one two",
        ),
        ("can\xadcel and can<wbr>cel", "can\xadcel and cancel"),
        ("(<a href=a>one</a>), <i>two</i>.", "(one), two."),
    ],
)
def test_words_of_neighbours_do_not_stick_together(cells: str, expected: str) -> None:
    assert text(cells) == expected


@pytest.mark.parametrize(
    "start",
    [
        "<p hidden>",
        "<p style='display:none'>",
        "<p style='color:red; DISPLAY : none !important'>",
        "<p style='visibility:hidden'>",
        "<p style='font-size:0px;line-height:0'>",
        "<p style='font-size:1px;color:#fff'>",
        "<p style='opacity:0'>",
        "<p style='display:none;mso-hide:all'>",
        "<p style='max-height:0px;overflow:hidden'>",
        "<p style='position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)'>",
        "<dialog>",
    ],
)
def test_what_is_hidden_is_no_text_and_counted(start: str) -> None:
    page = f"<div>seen</div>{start}not <b>seen</b><br></p></dialog><div>too</div>"
    assert text(page) == "seen\ntoo"
    assert hidden(page) == 2


@pytest.mark.parametrize(
    "sheet",
    [
        "<style media=print>{}</style>",
        "<style media='screen and (max-width: 9em)'>{}</style>",
        "<noscript><style>{}</style></noscript>",
    ],
)
def test_a_style_sheet_for_others_hides_nothing(sheet: str) -> None:
    page = f"{sheet.format('.wide { display: none }')}<p class=wide>seen"
    assert text(page) == "seen"
    assert not hidden(page)


HIDING_SHEET = """<style><!-- /* .seen { display: none } */
.preheader, p.tab, #menu { color: red; display: none !important } p.tab.on{display:block}
@media print { .seen { display: none } } .hidden { display: none }
@media (max-width: 9em) { .hidden { display: block } .seen { display: none } }
@media screen and (min-width: 9em) { .md\\:flex { display: flex } .seen { display: none } }
.seen:not(.a){display:none} .seen a{display:none}
--></style>"""


@pytest.mark.parametrize(
    "start",
    ["<div class='a preheader'>", "<p class=hidden>", "<div id=menu>", "<p class='tab off'>"],
)
def test_what_a_style_sheet_hides_is_no_text_and_counted(start: str) -> None:
    page = f"{HIDING_SHEET}<div>seen</div>{start}not <b>seen</b></p></div><div>too</div>"
    assert text(page) == "seen\ntoo"
    assert hidden(page) == 2


@pytest.mark.parametrize(
    "shown",
    [
        f"{HIDING_SHEET}<p class=seen>seen",
        f"{HIDING_SHEET}<div class=tab>seen",
        f"{HIDING_SHEET}<p class='tab on'>seen",
        f"{HIDING_SHEET}<p class=tab style='display:block'>seen",
        f"{HIDING_SHEET}<p class='hidden md:flex'>seen",
        "<style>body{display:none}</style><p>seen",
        "<style>.a{display:none} .a{display:block}</style><p class=a>seen",
        "<style>.a{display:none</style><p>seen",
        "<body hidden><p>seen</p>",
        "<body style='visibility:hidden'><p>seen</p>",
        "<td style='font-size:0'><p style='font-size:14px'>seen</p>",
        "<div style='visibility:hidden'><p style='visibility:visible'>seen</p></div>",
        "<p style='opacity:0.5; font-size:0.9em; height:0.5em; overflow:hidden'>seen",
        "<!--[if mso]>seen<![endif]--><a style='mso-hide:all'>seen</a>",
        "<dialog open>seen</dialog>",
        "<details><summary>seen</summary></details>",
        "<p aria-hidden=true>seen",
        "<iframe srcdoc='&lt;p&gt;seen'>old</iframe>",
    ],
)
def test_what_is_shown_within_is_text(shown: str) -> None:
    assert text(shown) == "seen"
    assert hidden(shown) == 0


@pytest.mark.parametrize(
    "page",
    [
        "<script>no</script>",
        "<style>no {}</style>",
        "<template><p>no</p></template>",
        "<noscript><p>no</p></noscript>",
        "<iframe>no</iframe>",
        "<template><iframe srcdoc='no'></iframe></template>",
        "<video>no</video>",
        "<!-- no -->",
        "<![if !mso]>",
        "<datalist><option>no</datalist>",
        "<head><title>no</title></head>",
    ],
)
def test_what_is_not_for_people_is_neither(page: str) -> None:
    assert text(f"{page}<p>seen") == "seen"
    assert hidden(f"{page}<p>seen") == 0


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>a <![CDATA[x < y & z > 0]]> b", "a x < y & z > 0 b"),
        ("<p><![CDATA[<b>one</b>]]></p>", "<b>one</b>"),
        ("<script>//<![CDATA[\nno < 1\n//]]></script><p>seen", "seen"),
        ("<p>one <![CDATA[two ]] three", "one"),
    ],
)
def test_plain_sections_of_xml_are_text(page: str, expected: str) -> None:
    assert text(page) == expected


@pytest.mark.parametrize(
    "page",
    [
        "<div style='display:flex'><span>one</span><span>two</span></div>",
        "<div style='display: inline-grid'><i>one</i><i>two</i></div>",
        "<style>.row{display:flex}</style><p class=row><b>one</b><b>two</b></p>",
        "<style>.cell{display:inline-block}</style><b class=cell>one</b><b class=cell>two</b>",
        "<style>.line{display:block}</style><b class=line>one</b><b class=line>two</b>",
        "<template shadowrootmode=open><p>one</p></template><p>two",
        "<select><option label='one'></option><option label='two'></select>",
        "<x:html xmlns:x='http://www.w3.org/1999/xhtml'><x:p>one</x:p><x:p>two</x:p></x:html>",
    ],
)
def test_what_styles_part_does_not_stick_together(page: str) -> None:
    assert text(page).split() == ["one", "two"]


@pytest.mark.parametrize(
    "page",
    [
        "<title>\nA  plan</title><p>seen",
        "<html><head><meta charset=utf-8><title>A plan</title></head><body><p>seen",
        "<svg><title>no</title></svg><p>seen<title>no</title>",
    ],
)
def test_the_title_of_a_page_is_metadata(page: str) -> None:
    (document,) = read(page)
    assert isinstance(document, Document)
    assert document.text == "seen"
    assert document.metadata == ({"title": "A plan"} if "plan" in page else {})


def test_what_an_editor_puts_in_the_head_is_text() -> None:
    assert text("<head><my-banner>one</my-banner><p>two</p></head><body>three") == "one\ntwo\nthree"


@pytest.mark.parametrize("tag", ["switch", "epub:switch"])
def test_one_of_the_forms_of_a_drawing_is_text_and_others_are_counted(tag: str) -> None:
    first = "<foreignObject><div>A long label</div></foreignObject>"
    page = f"before <svg><{tag}><g></g>{first}<text>A long…</text></{tag}></svg> after"
    assert text(page).split() == ["before", "A", "long", "label", "after"]
    assert hidden(page) == 2


@pytest.mark.parametrize("own", ["", "<span class=katex-mathml><math><mi>rate</mi></math></span>"])
def test_a_formula_of_katex_is_read_once(own: str) -> None:
    page = f"<p>A {own}<span class=katex-html aria-hidden=true>rate</span> of interest"
    assert text(page) == "A rate of interest"


@pytest.mark.parametrize("page", ["", " ", "<!-- a -->", "<!DOCTYPE html>", "<p hidden>a"])
def test_a_page_without_words_says_so(page: str) -> None:
    (bad,) = read(page)
    assert isinstance(bad, BadRecord)
    assert bad.reason.startswith(("empty", "no text in it"))


APART = ["p", "div", "li", "td", "h2", "option", "button", "label", "section", "pre"]
INLINE = ["b", "i", "span", "em", "font", "u"]
HIDING = ["hidden", "style='display:none'", "style='visibility:hidden'", "style='font-size:0'"]


@st.composite
def pages(draw: st.DrawFn) -> tuple[str, set[str], set[str]]:
    """A page, and the words in it that are seen and hidden, each of which is there once."""
    numbers = count()
    seen: set[str] = set()
    unseen: set[str] = set()

    def inside(depth: int, is_hidden: bool) -> Iterator[str]:
        for _ in range(draw(st.integers(1, 3))):
            kind = draw(
                st.sampled_from(
                    ["word", "word", "br", "cdata", *(["apart", "inline", "hidden"] * (depth > 0))]
                )
            )
            if kind == "br":
                yield "<br>"
            elif kind in ("word", "cdata"):
                word = f"w{next(numbers)}x"
                (unseen if is_hidden else seen).add(word)
                yield f" {word} " if kind == "word" else f" <![CDATA[{word}]]> "
            elif kind == "apart":
                tag = draw(st.sampled_from(APART))
                yield f"<{tag}>{''.join(inside(depth - 1, is_hidden)).strip()}</{tag}>"
            elif kind == "inline":
                tag = draw(st.sampled_from(INLINE))
                yield f" <{tag}>{''.join(inside(depth - 1, is_hidden))}</{tag}> "
            else:
                how = draw(st.sampled_from(HIDING))
                yield f"<div {how}>{''.join(inside(depth - 1, True))}</div>"

    page = "".join(inside(4, False))
    return f"<div>{page}</div>", seen, unseen


@given(pages())
def test_every_word_of_a_page_is_in_its_text_or_counted(
    made: tuple[str, set[str], set[str]],
) -> None:
    page, seen, unseen = made
    found = re.findall(
        r"\w+", " ".join(one.text for one in read(page) if isinstance(one, Document))
    )
    assert sorted(found) == sorted(seen)
    assert not seen or hidden(page) == len(unseen)


def test_only_a_sheet_with_rules_changes_what_is_known_of_elements() -> None:
    styles = Styles()
    assert [one for one in ("a{}", "b{display:none}", "c{}", "") if styles.add(one)] == [
        "b{display:none}"
    ]
