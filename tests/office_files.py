"""Small Office files, written by their XML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias
from xml.sax.saxutils import quoteattr

from tests.many_formats import zipped

_OFFICE = "http://schemas.openxmlformats.org"
_STRICT = "http://purl.oclc.org/ooxml"
_SPACES = {
    "w": "wordprocessingml/2006/main",
    "a": "drawingml/2006/main",
    "p": "presentationml/2006/main",
    "s": "spreadsheetml/2006/main",
    "c": "drawingml/2006/chart",
    "dgm": "drawingml/2006/diagram",
    "xdr": "drawingml/2006/spreadsheetDrawing",
    "r": "officeDocument/2006/relationships",
    "mc": "markup-compatibility/2006",
}
_OTHERS = {
    "cx": "http://schemas.microsoft.com/office/drawing/2014/chartex",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    "v": "urn:schemas-microsoft-com:vml",
}
_MAIN = {"docx": "word/document.xml", "pptx": "ppt/presentation.xml", "xlsx": "xl/workbook.xml"}

Relations: TypeAlias = Mapping[str, Sequence[tuple[str, str]]]
"""For a part, the kinds and targets of its relations, whose ids are ``r1``, ``r2`` and so on."""


def office(
    kind: str,
    main: str,
    parts: Mapping[str, str | bytes] | None = None,
    relations: Relations | None = None,
    *,
    strict: bool = False,
    name: str = "",
) -> bytes:
    """A file of a main part and others, whose texts are elements of XML."""
    own = name or _MAIN[kind]
    relations = {"": [("officeDocument", own)], **(relations or {})}
    files = {"[Content_Types].xml": b"<Types/>"}
    for part, content in {own: main, **(parts or {})}.items():
        files[part] = content if isinstance(content, bytes) else _rooted(content, strict)
    for part, targets in relations.items():
        folder, _, last = part.rpartition("/")
        path = f"{folder}/_rels/{last}.rels" if folder else f"_rels/{last}.rels"
        files[path] = _relations(targets, strict)
    return zipped(files)


def _relations(targets: Sequence[tuple[str, str]], strict: bool) -> bytes:
    space = f"{_STRICT}/officeDocument/relationships" if strict else f"{_OFFICE}/{_SPACES['r']}"
    found = "".join(
        f'<Relationship Id="r{number}" Type="{space}/{kind}" Target={quoteattr("/" + target)}/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f"<Relationships>{found}</Relationships>".encode()


def _rooted(content: str, strict: bool) -> bytes:
    """An element with all prefixes that it may have."""
    spaces = {
        prefix: f"{_STRICT}/{path.replace('2006/', '')}" if strict else f"{_OFFICE}/{path}"
        for prefix, path in _SPACES.items()
    }
    declared = "".join(f' xmlns:{one}="{space}"' for one, space in (spaces | _OTHERS).items())
    head, mark, rest = content.partition(">")
    closed = head.endswith("/")
    return f"{head.removesuffix('/')}{declared}{'/' * closed}{mark}{rest}".encode()


def run(text: str, properties: str = "") -> str:
    """A run of Word."""
    props = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f'<w:r>{props}<w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*runs: str, properties: str = "") -> str:
    """A paragraph of Word."""
    return f"<w:p><w:pPr>{properties}</w:pPr>{''.join(runs)}</w:p>"


def document(*blocks: str) -> str:
    """The main part of a Word file."""
    return f"<w:document><w:body>{''.join(blocks)}<w:sectPr/></w:body></w:document>"


def shape(*lines: str, hidden: bool = False, place: str = "") -> str:
    """A shape of a slide; ``place`` makes it a placeholder of that type."""
    paragraphs = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in lines)
    mark = f'<p:ph type="{place}"/>' if place else ""
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="x" hidden="{int(hidden)}"/><p:cNvSpPr/>'
        f"<p:nvPr>{mark}</p:nvPr></p:nvSpPr><p:txBody><a:bodyPr/>{paragraphs}</p:txBody></p:sp>"
    )


def frame(graphic: str) -> str:
    """A table, chart or SmartArt of a slide."""
    return (
        "<p:graphicFrame><a:graphic><a:graphicData>"
        f"{graphic}</a:graphicData></a:graphic></p:graphicFrame>"
    )


def slide(*shapes: str, kind: str = "sld", shown: bool = True) -> str:
    """A slide, or another page with shapes, such as ``notes``."""
    tree = f"<p:cSld><p:spTree>{''.join(shapes)}</p:spTree></p:cSld>"
    return f'<p:{kind} show="{int(shown)}">{tree}</p:{kind}>'


def slides(
    *pages: str, parts: Mapping[str, str | bytes] | None = None, relations: Relations | None = None
) -> bytes:
    """A presentation of slides, which are ``ppt/s1.xml`` and so on."""
    ids = "".join(f'<p:sldId id="{256 + at}" r:id="r{at}"/>' for at in range(1, len(pages) + 1))
    names = [f"ppt/s{at}.xml" for at in range(1, len(pages) + 1)]
    main = f"<p:presentation><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>"
    own = {"ppt/presentation.xml": [("slide", name) for name in names]}
    found = dict(zip(names, pages, strict=True))
    return office("pptx", main, {**found, **(parts or {})}, {**own, **(relations or {})})


def diagram(*texts: str) -> str:
    """The data of SmartArt."""
    points = "".join(
        f"<dgm:pt><dgm:t><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>"
        for text in texts
    )
    return f"<dgm:dataModel><dgm:ptLst>{points}</dgm:ptLst></dgm:dataModel>"


def chart(title: str, series: str, *categories: str) -> str:
    """A chart with values, whose title is written, and whose other words are those of cells."""
    cells = "".join(f"<c:pt><c:v>{text}</c:v></c:pt>" for text in categories)
    return (
        "<c:chartSpace><c:chart><c:title><c:tx><c:rich>"
        f"<a:p><a:r><a:t>{title}</a:t></a:r></a:p></c:rich></c:tx></c:title>"
        "<c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:f>Sheet1!$B$1</c:f><c:strCache>"
        f"<c:pt><c:v>{series}</c:v></c:pt></c:strCache></c:strRef></c:tx>"
        f"<c:cat><c:strRef><c:strCache>{cells}</c:strCache></c:strRef></c:cat>"
        "<c:val><c:numRef><c:numCache><c:formatCode>General</c:formatCode>"
        "<c:pt><c:v>42.5</c:v></c:pt></c:numCache></c:numRef></c:val>"
        "</c:ser></c:barChart></c:plotArea></c:chart></c:chartSpace>"
    )


def sheets(
    *data: str,
    states: Sequence[str] = (),
    strings: Sequence[str] = (),
    parts: Mapping[str, str | bytes] | None = None,
    relations: Relations | None = None,
    properties: str = "",
) -> bytes:
    """A workbook of sheets, which are ``xl/s1.xml`` and so on; ``r1`` and ``r2`` are its own."""
    names = [f"xl/s{at}.xml" for at in range(1, len(data) + 1)]
    states = [*states, *["visible"] * (len(data) - len(states))]
    listed = "".join(
        f'<s:sheet name="Sheet{at}" state="{state}" r:id="r{at + 2}"/>'
        for at, state in enumerate(states, 1)
    )
    main = f"<s:workbook>{properties}<s:sheets>{listed}</s:sheets></s:workbook>"
    own = [("sharedStrings", "xl/strings.xml"), ("styles", "xl/styles.xml")]
    own += [("worksheet", name) for name in names]
    texts = "".join(f"<s:si><s:t>{text}</s:t></s:si>" for text in strings)
    found = {
        name: f"<s:worksheet>{one}</s:worksheet>" for name, one in zip(names, data, strict=True)
    }
    found |= {"xl/strings.xml": f"<s:sst>{texts}</s:sst>", "xl/styles.xml": "<s:styleSheet/>"}
    all_relations = {"xl/workbook.xml": own, **(relations or {})}
    return office("xlsx", main, {**found, **(parts or {})}, all_relations)


def row(*cells: str, hidden: bool = False) -> str:
    """A row of cells."""
    return f'<s:row hidden="{int(hidden)}">{"".join(cells)}</s:row>'


def cell(text: object, kind: str = "inlineStr", style: int = 0) -> str:
    """A cell with a text, or with a stored value of another kind."""
    value = f"<s:is><s:t>{text}</s:t></s:is>" if kind == "inlineStr" else f"<s:v>{text}</s:v>"
    return f'<s:c t="{kind}" s="{style}">{value}</s:c>'
