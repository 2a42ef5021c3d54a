"""HTML; offsets count the extracted text."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from itertools import islice
from typing import BinaryIO, NamedTuple

from slice_os.errors import InputError
from slice_os.ingest.readers.decoding import SAMPLE, UTF8, decoded, encoding_marked
from slice_os.ingest.readers.reader import (
    UNREADABLE,
    DocumentStream,
    ReadOptions,
    Turn,
    encodable,
    extracted,
    needs,
    shortened,
)
from slice_os.text.documents import Scalar

HIDDEN = "hidden words left out"
QUOTED = "quoted"
"""The field ``part`` of what others wrote before, and the field of in how many quotations it is."""

_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset "  # noqa: SIM905
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main "
    "menu nav ol optgroup option p plaintext pre search section summary table tbody td tfoot th "
    "thead tr ul xmp".split()
)
# What is shown apart from the words around it, on the same line.
_APART = frozenset(
    "audio button canvas embed iframe img input label meter mtd object output progress rt select "  # noqa: SIM905
    "svg text textarea video".split()
)
# What is shown apart if there is nothing between two of a kind.
_ENTRIES = ("a", "code")
# A raised link is the number of a note.
_NOTES = ("a", "sup"), ("sup", "a")
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
_PREFORMATTED = frozenset(("listing", "plaintext", "pre", "textarea", "xmp"))
_UNSEEN = frozenset(
    "annotation annotation-xml audio canvas datalist defs desc iframe metadata noembed "  # noqa: SIM905
    "noframes noscript script style symbol template title video".split()
)
_HIDDEN = re.compile(r"\bopacity\s*:\s*0(?:\.0*)?%?\s*(?:;|!|$)", re.I)
_CLIPPED = re.compile(r"\boverflow\s*:\s*hidden", re.I)
_FLAT = re.compile(r"(?:^|[;\s])(?:max-)?height\s*:\s*(?:0(?!\.?\d*[1-9])|1px)", re.I)
_VISIBILITY = re.compile(r"\bvisibility\s*:\s*(?:(?P<none>hidden|collapse)|visible)", re.I)
_FONT_SIZE = re.compile(
    r"\bfont-size\s*:\s*(?:(?P<none>0(?:\.0*)?(?![\d.])|1p[xt]\b)|[^;\s])", re.I
)
# A letter that the lines of its paragraph flow around, which begins their first word.
_INITIAL = re.compile(r" [“\"‘«„]?[^\W\d_] ")
_BLOCK_DISPLAYS = ("block", "flex", "grid", "list-item", "table")
_PLACED = re.compile(r"(?:^|;)\s*(?:float\s*:\s*[lr]|position\s*:\s*[af])", re.I)
_LINES_STYLE = re.compile(r"white-space\s*:\s*(?:pre|break-spaces)", re.I)
# The attributes that decide whether and how an element is shown.
_SHOWING = frozenset(("aria-hidden", "class", "hidden", "id", "open", "shadowrootmode", "style"))
_TELLING = ("input", "optgroup", "option")
# Of what is in it, one is shown.
_CHOICES = ("switch", "epub:switch")
_ON_SCREENS = ("", "all", "screen", "only screen")
_BLANK = re.compile(r"\n{3,}")
_WORDLESS = frozenset("checkbox color file hidden image password radio range".split())  # noqa: SIM905
_QUOTES = re.compile(r"\b(?:gmail_quote|yahoo_quoted|protonmail_quote|tutanota_quote)\b")
_DECLARED = re.compile(
    rb"""<(?:meta[^<>]{0,200}?charset|\?xml\s[^<>]{0,200}?encoding)\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})""",
    re.I,
)
# A page of XML may have a prefix before all names, and entities of its own.
_PREFIX = re.compile(r"<(\w+):html[\s>]")
_ENTITIES = re.compile(r"\s*(?:<\?xml[^<>]*>\s*)?<!DOCTYPE[^<>\[]*\[(.*?)\]\s*>", re.S | re.I)
_ENTITY = re.compile(r"<!ENTITY\s+(\w+)\s+[\"']([^\"'<&%]{1,200})[\"']\s*>")
_DEEPEST = 1_000
# Longer styles are none that come again.
_LONGEST_STYLE = 1 << 13
LONGEST_TITLE = 300
TITLE = "title"
"""The metadata field of the title of a page or book."""


def read_html(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield one document of a page's visible text, with the heading above each paragraph."""
    counts: Counter[str] = Counter()
    metadata: dict[str, Scalar] = {}

    def sections(content: BinaryIO) -> list[Turn]:
        return html_sections(content.read(), options.encoding, counts=counts, metadata=metadata)

    return extracted(source, stream, sections, counts, metadata=metadata)


def html_sections(
    page: bytes | str,
    encoding: str | None = None,
    *,
    counts: Counter[str] | None = None,
    metadata: dict[str, Scalar] | None = None,
    of_mail: bool = False,
    sheet: Callable[[str], str] = lambda _: "",
) -> list[Turn]:
    """The paragraphs of a page, each with the heading above it; a line break stays one.

    Its encoding is by default that of its byte order mark, or the one that it declares, or else as
    detected. What is left out is added to the counts, and its title to the metadata. In mail, the
    paragraphs that a program marks as those of the message before have the field `QUOTED`. Style
    sheets beside the page are found by their addresses.
    """
    etree = needs("lxml.etree")
    if isinstance(page, bytes):
        named = page.decode(encoding, "replace") if encoding else None
        page = decoded(page, encoding_declared(page)) if named is None else named
    counts = Counter() if counts is None else counts
    counts += Counter({UNREADABLE: page.count("\ufffd")})
    # The library would leave out the rest of a page behind bytes that it cannot decode.
    raw = _without_cdata(_of_html(page)).encode(UTF8, "replace")
    # Without a tree, which takes time quadratic in the attributes of an element.
    paragraphs = _Paragraphs(counts, of_mail, sheet)
    parser = etree.HTMLParser(encoding=UTF8, target=paragraphs, no_network=True)
    for start in range(0, len(raw), SAMPLE):
        parser.feed(raw[start : start + SAMPLE])
        # Each end tag is looked for in all elements around it.
        if len(paragraphs.open) > _DEEPEST + 1:
            raise InputError(f"elements within elements, more than {_DEEPEST:,} deep")
    # The library finds no page where there is no element, nor words.
    with suppress(etree.XMLSyntaxError):
        parser.close()
    if metadata is not None and paragraphs.title:
        metadata[TITLE] = shortened(encodable(paragraphs.title), LONGEST_TITLE)
    return paragraphs.close()


def encoding_declared(page: bytes) -> str | None:
    """The encoding that a page without a byte order mark declares."""
    found = None if encoding_marked(page) else _DECLARED.search(page[:2048])
    name = found[1].decode().lower() if found else None
    # A declaration that can be read is not in UTF-16.
    return UTF8 if name in ("utf-16", "utf-16le", "utf-16be") else name


def _of_html(page: str) -> str:
    """A page without what only XML has: a prefix of all names, and its own entities."""
    if ":html" in page and (prefix := _PREFIX.search(page, 0, SAMPLE)):
        page = re.sub(f"(</?){prefix[1]}:", r"\1", page)
    if own := _ENTITIES.match(page, 0, SAMPLE):
        known = dict(_ENTITY.findall(own[1]))
        page = re.sub(r"&(\w+);", lambda one: known.get(one[1], one[0]), page[own.end() :])
    return page


def _without_cdata(page: str) -> str:
    """A page whose sections of plain characters, which are XML, are written as HTML has them."""
    first, *rest = page.split("<![CDATA[")
    parts = [first]
    for section in rest:
        inside, end, after = section.partition("]]>")
        parts += [escape(inside, quote=False), after] if end else ["<![CDATA[", section]
    return "".join(parts)


class _Element(NamedTuple):
    """An open element: its display, and whether it parts its text from other words."""

    is_unseen: bool = False
    is_hidden: bool = False
    is_invisible: bool = False
    is_tiny: bool = False
    keeps_lines: bool = False
    quotes: int = 0
    is_block: bool = False
    is_apart: bool = False
    parts_all: bool = False
    is_shown: bool = True
    is_choice: bool = False
    is_head: bool = False


class _Paragraphs:
    """Gathers the visible text of a page, and its title; ``open`` are the elements around it."""

    def __init__(self, counts: Counter[str], of_mail: bool, sheet: Callable[[str], str]) -> None:
        self._found: list[Turn] = []
        self._words: list[str] = []
        self._pictures: list[str] = []
        self._fields: dict[str, Scalar] = {}
        self._counts = counts
        self._of_mail = of_mail
        self._sheet = sheet
        self.open = [_Element()]
        self._styles = Styles()
        # Most elements of a page are like others.
        self._known: dict[object, _Element] = {}
        self._showing = _SHOWING if of_mail else _SHOWING - {"class", "id"}
        self._kept: list[str] | None = None
        self._begun = self._ended = ""
        self._height: str | None = None
        self._says = self._has_formulas = False
        self.title = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        outer, said = self.open[-1], None
        if not self._showing.isdisjoint(attributes):
            said = tuple(map(attributes.get, _SHOWING))
        element = self._known.get((outer, tag, said))
        if element is None:
            element = self._known[outer, tag, said] = self._within(outer, tag, attributes)
        if outer.is_choice and self._says:
            element = element._replace(is_hidden=True, is_shown=False)
        self._says &= not element.is_choice
        touches = (tag == self._ended and tag in _ENTRIES) or (self._begun, tag) in _NOTES
        if tag == "tspan" and "x" in attributes:
            # Letters of a line may be placed by themselves.
            touches = "dy" in attributes or attributes.get("y") != self._height
            self._height = attributes.get("y")
        if element.is_block:
            self._end_paragraph()
        elif element.is_apart or touches:
            self._words.append(" ")
        elif tag == "br" and element.is_shown:
            self._words.append("\n")
        if tag == "iframe" and "srcdoc" in attributes and outer.is_shown:
            self._end_paragraph()
            page = attributes["srcdoc"]
            self._found += html_sections(page, counts=self._counts, of_mail=self._of_mail)
        self._begun, self._ended = tag, ""
        if tag == "link" and attributes.get("rel", "").lower() == "stylesheet":
            self._add(self._sheet(attributes.get("href", "")) if _is_on_screens(attributes) else "")
        is_sheet = tag == "style" and not outer.is_unseen and _is_on_screens(attributes)
        self._kept = [] if is_sheet or tag == TITLE else None
        self.open.append(element)
        if tag == "img" and element.is_shown:
            self._pictures.append(attributes.get("alt", ""))
        elif tag in _TELLING and (shown := _shown(tag, attributes)):
            self.data(shown)

    def end(self, tag: str) -> None:
        """An element ends."""
        element = self.open[-1]
        if element.is_block:
            text = self._end_paragraph()
            if text and tag in _HEADINGS:
                self._fields = {"heading": _in_line(text)}
        elif element.is_apart:
            self._words.append(" ")
        self._begun, self._ended = "", tag
        if len(self.open) > 1:
            self.open.pop()
        if self._kept is None:
            return
        kept, self._kept = "".join(self._kept), None
        if tag == "style":
            self._add(kept)
        # Pictures have titles, too, but not in the head of the page.
        elif tag == TITLE and self.open[-1].is_head:
            self.title = self.title or _in_line(kept)

    def _add(self, sheet: str) -> None:
        if self._styles.add(sheet):
            self._showing = _SHOWING
            self._known.clear()

    def data(self, text: str) -> None:
        """Text, in parts of any length."""
        goes_on = self._ended and self._ended not in _APART and text[:1].islower()
        if goes_on and _INITIAL.fullmatch("".join(self._words[-3:])):
            self._words.pop()
        self._begun = self._ended = ""
        element = self.open[-1]
        if self._kept is not None:
            self._kept.append(text)
        elif element.is_shown:
            kept = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
            self._words.append(kept if element.keeps_lines else kept.replace("\n", " "))
            self._says = self._says or not kept.isspace()
        elif not element.is_unseen and (words := text.split()):
            self._counts[HIDDEN] += len(words)

    def close(self) -> list[Turn]:
        """The page ends."""
        self._end_paragraph()
        return self._found

    def _within(self, outer: _Element, tag: str, attributes: Mapping[str, str]) -> _Element:
        style, display = attributes.get("style", ""), self._styles.display(tag, attributes)
        self._has_formulas |= tag == "math"
        # KaTeX writes a formula twice.
        is_again = self._has_formulas and "katex-html" in attributes.get("class", "")
        is_unseen = is_again or (tag in _UNSEEN and "shadowrootmode" not in attributes)
        is_hidden = "hidden" in attributes or (tag == "dialog" and "open" not in attributes)
        is_quote = tag == "blockquote" and "border:none" not in style.replace(" ", "")
        is_quote |= bool(_QUOTES.search(attributes.get("class", "")))
        is_short = len(tag) + len(style) + len(display) < _LONGEST_STYLE
        made = _within if is_short else _within.__wrapped__
        return made(outer, tag, style, display, is_unseen, is_hidden, is_quote and self._of_mail)

    def _end_paragraph(self) -> str:
        if not self._words and not self._pictures:
            return ""
        element, text = self.open[-1], "".join(self._words)
        self._words.clear()
        tidy = str.rstrip if element.keeps_lines else _in_line
        if "\n" in text:
            lines = map(tidy, text.split("\n"))
            text = _BLANK.sub("\n\n", "\n".join(lines)).strip("\n")
        else:
            text = tidy(text)
        # Pictures by themselves say what they show.
        if self._pictures and not text:
            text = _in_line(" ".join(self._pictures))
        self._pictures.clear()
        if text:
            fields = self._fields | {QUOTED: element.quotes} if element.quotes else self._fields
            self._found.append(Turn(text, fields=fields))
        return text


def _in_line(text: str) -> str:
    return " ".join(text.split())


@lru_cache(1_000)
def _within(
    outer: _Element, tag: str, style: str, display: str, unseen: bool, hidden: bool, quoted: bool
) -> _Element:
    """What an element is within another one, whose style it has unless its own says otherwise."""
    display = _display(style) or display
    hidden |= bool(_HIDDEN.search(style) or (_CLIPPED.search(style) and _FLAT.search(style)))
    hidden |= display == "none"
    invisible, tiny = _VISIBILITY.search(style), _FONT_SIZE.search(style)
    # Scripts show a page that is hidden as a whole.
    is_page = tag in ("html", "body")
    apart = tag in _APART or outer.parts_all or bool(_PLACED.search(style))
    inner = _Element(
        is_unseen=outer.is_unseen or unseen,
        is_hidden=outer.is_hidden or (hidden and not is_page),
        is_invisible=(
            outer.is_invisible if invisible is None or is_page else bool(invisible["none"])
        ),
        is_tiny=outer.is_tiny if tiny is None else bool(tiny["none"]),
        keeps_lines=(outer.keeps_lines or tag in _PREFORMATTED or bool(_LINES_STYLE.search(style))),
        quotes=outer.quotes + quoted,
        is_block=tag in _BLOCKS or display.startswith(_BLOCK_DISPLAYS),
        is_apart=apart or display.startswith("inline-"),
        parts_all=display.endswith(("flex", "grid")) or tag == "mfrac",
        is_choice=tag in _CHOICES,
        is_head=tag == "head",
    )
    return inner._replace(is_shown=not any(inner[:4]))


def _is_on_screens(attributes: Mapping[str, str]) -> bool:
    """Whether a style sheet is one of screens of any size."""
    return attributes.get("media", "").strip().lower() in _ON_SCREENS


def _shown(tag: str, attributes: Mapping[str, str]) -> str:
    """The words that an element shows itself: what a field or a button has, or a group's name."""
    if tag != "input":
        label = attributes.get("label", "")
        return f"{label} " if label else ""
    has_words = attributes.get("type", "text").lower() not in _WORDLESS
    return attributes.get("value") or attributes.get("placeholder", "") if has_words else ""


def _display(style: str) -> str:
    """How a style displays an element, by its last word on it; empty if it says nothing."""
    said = _DISPLAY.findall(style)
    return said[-1].lower() if said else ""


# Programs write style sheets as comments, for browsers that know none.
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
_SELECTOR = re.compile(r"(?:[A-Za-z][\w-]*)?(?:[.#](?:[\w-]|\\.)+)*")
_NAME = re.compile(r"[.#]?(?:[\w-]|\\.)+")
_WIDE = re.compile(
    r"@media\b(?:(?!max-|print|\bnot\b).){0,99}\bmin-width(?:(?!max-|print).){0,99}", re.I | re.S
)
_MOST_RULES = 1_000
_DISPLAY = re.compile(r"(?:^|[;\s])display\s*:\s*([a-z-]{1,20})", re.I)


class _Rule(NamedTuple):
    """How much a selector says, its place, and how it displays elements."""

    weight: tuple[int, int, int]
    place: int
    display: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Styles:
    """What the style sheets of a page say about how elements are displayed."""

    _rules: defaultdict[str, list[_Rule]] = field(default_factory=lambda: defaultdict(list))

    def add(self, sheet: str) -> bool:
        """Add a style sheet, and tell whether it displays elements."""
        place = sum(map(len, self._rules.values()))
        found = _rules(sheet) if len(sheet) < _LONGEST_STYLE else _rules.__wrapped__(sheet)
        added = found[: _MOST_RULES - place]
        for number, rule in enumerate(added, place):
            self._rules[max(rule.names, key=_rarity)].append(rule._replace(place=number))
        return bool(added)

    def display(self, tag: str, attributes: Mapping[str, str]) -> str:
        """What the rule that says most about an element sets; empty without one."""
        if not self._rules:
            return ""
        names = {tag, f"#{attributes.get('id', '')}"}
        names |= {f".{name}" for name in attributes.get("class", "").split()}
        rules = [
            rule for name in names for rule in self._rules.get(name, ()) if rule.names <= names
        ]
        return max(rules).display if rules else ""


@lru_cache(20)
def _rules(sheet: str) -> tuple[_Rule, ...]:
    """The first rules of a style sheet; many pages have the same."""
    return tuple(islice(_each_rule(sheet), _MOST_RULES))


def _each_rule(sheet: str) -> Iterator[_Rule]:
    """The rules of a style sheet on how elements are displayed."""
    for selectors, style in _blocks(_COMMENT.sub(" ", sheet)):
        display = _display(style)
        for found in re.finditer("[^,]+", selectors) if display else ():
            names = frozenset(name.replace("\\", "") for name in _NAME.findall(found[0]))
            if names and _SELECTOR.fullmatch(found[0].strip()):
                ids = sum(name.startswith("#") for name in names)
                classes = sum(name.startswith(".") for name in names)
                weight = ids, classes, len(names) - ids - classes
                yield _Rule(weight, 0, display, names)


def _rarity(name: str) -> tuple[bool, bool]:
    return name.startswith("#"), name.startswith(".")


def _blocks(sheet: str) -> Iterator[tuple[str, str]]:
    """Selectors and styles; what is in a block of another one depends on a condition.

    What is hidden but on a wide screen is shown.
    """
    around = list[str]()
    before = ""
    for part in re.split(r"([{}])", sheet):
        if part == "{":
            around.append(before)
        elif part == "}":
            around[-1:] = []
        elif around and not around[-1].startswith("@"):
            is_wide = len(around) == 2 and _WIDE.fullmatch(around[0]) and _display(part) != "none"
            if len(around) == 1 or is_wide:
                yield around[-1], part
        before = part.rpartition(";")[2].strip()
