"""Pages of PDF files: their text, and which character of the page each code point is.

PDFium knows one thread at a time, in all files together, so hold `PDFIUM` while you use it.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import c_double
from functools import partial
from itertools import chain, pairwise
from math import cos, degrees, hypot, sin
from statistics import median
from threading import RLock
from typing import Any, NamedTuple, TypeAlias
from unicodedata import normalize

from slice_os.errors import ENCRYPTED, InputError, imported
from slice_os.text.pdf_annotations import RAW, Annotation, Box, annotations_of

PDFIUM = RLock()

_HYPHEN, _CARRIAGE_RETURN = 2, 13
_SAMPLE = 16
_LEAST_SAMPLED = 32
# Characters without Unicode, some of which are no letters.
_UNMAPPED = re.compile("[x?](?:[x? ]*[x?])?")
_LEAST_RUN, _LEAST_SHARE = 4, 0.1
_MARKED = re.compile("[.?x]+")
_LOST = "\ufffd"
_FIRST_PRINTED = 32
_MOST_SLANTED = 5
# In heights of the letters on either side.
_MOST_RAISED, _MOST_OVERLAP, _LEAST_SPACE, _MOST_SPACE = 0.5, 0.3, 0.12, 1

# Words whose letters stand apart, by their letters and spaces.
_SPREAD = re.compile("(?<!a)aa?(?: aa?){4,}(?!a)")
_LEAST_SINGLE, _BETWEEN_WORDS = 0.7, 1.7
# In heights; spaces between words that are single letters are wider, if there are no others.
_MOST_SPREAD, _MOST_SPREAD_ALONE = 0.5, 0.22

# Accents that are drawn over letters, as TeX does, and what makes one character of both.
_COMBINING = "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327\u0328"
_ACCENTS = dict(zip("`´ˆ˜¯˘˙¨˚˝ˇ¸˛", _COMBINING, strict=True))
_DOTLESS = {"ı": "i", "ȷ": "j"}

# Hebrew and Arabic letters, but not digits; and the end of a ligature before its beginning.
_LEFTWARDS = re.compile(r"[\u0590-\u065f\u066e-\u06ef\u06fa-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]{2,}")
_LIGATURE = re.compile("[\u0622\u0623\u0625\u0627]\u0644")

_LINE = re.compile(r"^[^\S\n]*(\S).*$", re.M)

# A letter over the height of several lines, which it is the first letter of.
_INITIAL = re.compile(r"(?<!\w)[“\"‘«]?([A-ZÀ-ÖØ-Þ])\n?")
# In the usual size of letters.
_LEAST_INITIAL, _MOST_UNUSUAL, _MOST_INITIALS = 1.6, 0.3, 30
# These are words by themselves, unless they begin such a word, or another one of the page.
_WORDS = "A", "I"
_BEGUN = frozenset("after all also although an and any as at if in is it its".split())  # noqa: SIM905
_REST = re.compile(r"[^\S\n]*([^\W\d_]+)")

_WORD_END, _LINE_END = re.compile(r"\s"), re.compile("\n")
_AT_END = sys.maxsize, "\n"
_Placed: TypeAlias = "tuple[int, Box]"
"""A character by its place in the text, and its box."""

UNREAD = "pages whose words cannot be read"
BROKEN = "words with letters that cannot be read"
DOUBTFUL = "pages whose words may be others"
OUTSIDE = "words outside of the page left out"


@contextmanager
def open_pdf(content: bytes) -> Iterator[Any]:
    """The ``pypdfium2.PdfDocument`` of a file's bytes; no other thread has PDFium meanwhile.

    Raises:
        MissingExtraError: without the library.
        InputError: if the file needs a password.
        PdfiumError: if it is damaged.
    """
    pdfium = imported("pypdfium2", "this format", "documents")
    with PDFIUM:
        try:
            document = pdfium.PdfDocument(content)
        except pdfium.PdfiumError as error:
            if error.err_code == RAW.FPDF_ERR_PASSWORD:
                raise InputError(ENCRYPTED) from None
            raise
        with document:
            document.init_forms()
            yield document


class PageText(NamedTuple):
    """The text of a page, and how often something is left out of it, by its kind.

    Each code point has an index: that of PDFium's character, for
    ``page.get_textpage().get_charbox(index)``, or ``-1 - number`` for one of an annotation.
    """

    text: str
    indices: list[int]
    left_out: Mapping[str, int]


def page_text(page: Any) -> PageText:
    """Read a page of `open_pdf`, with the values of fields where they are seen, and notes last.

    A line ends in a newline. What PDFium gives as one character for a hyphen at the end of a line
    is a hyphen and a newline here, of the same index. Characters whose font does not say which
    letters they are, are left out if they are no letters, and told if they may be others; single
    ones in a word become U+FFFD.

    The ``page`` segments of a document hold these texts: the code point ``at`` of a document is
    code point ``at - segment.start`` of its page.
    """
    text_page = page.get_textpage()
    codes = [RAW.FPDFText_GetUnicode(text_page, at) for at in range(text_page.count_chars())]
    known = {code: _letter(code) for code in set(codes)}
    letters = [known[code] for code in codes]
    for at, shown in _wrongly_ended(codes, text_page):
        letters[at] = shown
    for at in _spread(letters, text_page):
        letters[at] = ""
    # PDFium has letters of higher planes, such as those of formulas, in two halves.
    for at, (high, low) in enumerate(pairwise(codes)):
        if 0xD800 <= high < 0xDC00 <= low < 0xE000:
            letters[at : at + 2] = chr(0x10000 + ((high - 0xD800) << 10) + low - 0xDC00), ""
    for accent, at, whole in _accented(letters, text_page):
        letters[accent], letters[at] = "", whole
    found, left_out = annotations_of(page)
    is_unmapped = partial(RAW.FPDFText_HasUnicodeMapError, text_page)
    for at, shown in _unread(codes, is_unmapped, left_out).items():
        letters[at] = shown
    outside = list(_outside(letters, page.get_bbox(), text_page))
    left_out += Counter({OUTSIDE: len("".join(letters[at] for at in outside).split())})
    for at in outside:
        letters[at] = ""
    text, indices = "".join(letters), [at for at, one in enumerate(letters) for _ in one]
    text, indices = _leftwards(text, indices, text_page)
    text, indices = _from_first_line(text, indices, page.get_rotation(), text_page)
    text, indices = _with_initials(text, indices, text_page)
    if found:
        text, indices = _with_annotations(text, indices, found, text_page)
    text_page.close()
    return PageText(text, indices, left_out)


def is_dynamic_form(document: Any) -> bool:
    """Whether a file is an XFA form, whose pages only ask to wait for Adobe Reader."""
    return bool(document.get_formtype() == RAW.FORMTYPE_XFA_FULL)


def has_image(page: Any) -> bool:
    """Whether a page shows a picture, as a scan does."""
    return any(page.get_objects(filter=[RAW.FPDF_PAGEOBJ_IMAGE]))


def _letter(code: int) -> str:
    if code in (0, _CARRIAGE_RETURN):
        return ""
    if code == _HYPHEN:
        return "-\n"
    # A damaged file has lone surrogates, and numbers that are no characters.
    return "?" if 0xD800 <= code < 0xE000 else chr(code) if code <= sys.maxunicode else "\ufffd"


def _unread(
    codes: Sequence[int], is_unmapped: Callable[[int], int], left_out: Counter[str]
) -> dict[int, str]:
    """What to show of characters that are no letters, since their font does not say which ones."""
    hyphens = (at for at, code in enumerate(codes) if code == _HYPHEN)
    if not any(map(_is_no_letter, set(codes))) and not any(
        is_unmapped(at) == 1 for at in chain(range(0, len(codes), _SAMPLE), hyphens)
    ):
        return {}
    marks = "".join(_mark(code, is_unmapped(at) == 1) for at, code in enumerate(codes))
    unread: dict[int, str] = {}
    for run in _UNMAPPED.finditer(marks):
        strange = run[0].count("x")
        if strange >= _LEAST_SHARE * len(run[0].replace(" ", "")) and len(run[0]) >= _LEAST_RUN:
            unread.update(dict.fromkeys(range(*run.span()), ""))
    if unread:
        left_out[UNREAD] = 1
    elif 2 * marks.count("?") > len(marks):
        left_out[DOUBTFUL] = 1
    for word in _MARKED.finditer(marks) if "x" in marks else ():
        lost = [at for at in range(*word.span()) if marks[at] == "x" and at not in unread]
        if lost and not _is_sign(codes, lost, word.span()):
            left_out[BROKEN] += 1
            unread.update(dict.fromkeys(lost, _LOST))
    return unread


def _is_sign(codes: Sequence[int], lost: Sequence[int], word: tuple[int, int]) -> bool:
    """Whether what is lost of a word is none of its letters, but a bullet or an arrow."""
    start, end = word
    at_edge = lost[0] in (start, end - 1) and codes[lost[0]] >= _FIRST_PRINTED
    return len(lost) == 1 and (at_edge or end - start == 1)


def _wrongly_ended(codes: Sequence[int], text_page: Any) -> Iterator[tuple[int, str]]:
    """What to show in place of ends of lines between letters that are side by side.

    If more of a page is covered from top to bottom than from left to right, as in a list with page
    numbers, PDFium takes letters that are drawn one by one for lines of their own. It also ends a
    line behind the raised number of a note.
    """
    for at, code in enumerate(codes[:-1]):
        if code == _CARRIAGE_RETURN and 0 < at < len(codes) - 2:
            if (gap := _gap(at - 1, at + 2, text_page)) is not None:
                yield at + 1, " " if gap > _LEAST_SPACE else ""
        elif code == _HYPHEN and _gap(at, at + 1, text_page) is not None:
            yield at, "-"


def _accented(letters: Sequence[str], text_page: Any) -> Iterator[tuple[int, int, str]]:
    """The accents that are drawn over a letter beside them, that letter, and what both are."""
    for at, one in enumerate(letters) if not _ACCENTS.keys().isdisjoint(letters) else ():
        for other in (at + 1, at - 1) if one in _ACCENTS else ():
            letter = letters[other] if 0 <= other < len(letters) else ""
            whole = normalize("NFC", _DOTLESS.get(letter, letter) + _ACCENTS[one])
            left, _, right, _ = text_page.get_charbox(at)
            begin, _, end, _ = text_page.get_charbox(other) if letter.isalpha() else (0, 0, 0, 0)
            over = min(right, end) - max(left, begin)
            if len(whole) == 1 and 2 * over > min(right - left, end - begin) > 0:
                yield at, other, whole
                break


def _outside(letters: Sequence[str], page: Box, text_page: Any) -> Iterator[int]:
    """The letters that a page does not show, such as those of its neighbours that it is cut from.

    White space is where the letter before it is. ``page`` is left, bottom, right and top.
    """
    left, bottom, right, top = page
    count = partial(RAW.FPDFText_GetBoundedText, text_page)
    shown = count(left, top, right, bottom, None, 0)
    if not (left < right and bottom < top) or shown == count(-1e9, 1e9, 1e9, -1e9, None, 0):
        return
    is_outside = False
    for at, one in enumerate(letters):
        if one.strip():
            begin, low, end, high = text_page.get_charbox(at)
            is_outside = end < left or begin > right or high < bottom or low > top
        if is_outside:
            yield at


def _spread(letters: Sequence[str], text_page: Any) -> Iterator[int]:
    """The spaces that PDFium puts between letters of a word, such as a title, that are apart.

    They are narrower than those between its words.
    """
    kinds = {one: "a" if one.isalpha() else " " if one == " " else "." for one in set(letters)}
    marks = "".join(map(kinds.__getitem__, letters))
    for run in _SPREAD.finditer(marks):
        parts = run[0].split(" ")
        if sum(len(part) == 1 for part in parts) < _LEAST_SINGLE * len(parts):
            continue
        spaces = [at for at in range(*run.span()) if marks[at] == " "]
        made = [at for at in spaces if RAW.FPDFText_IsGenerated(text_page, at) == 1]
        gaps = [(at, gap) for at in made if (gap := _gap(at - 1, at + 1, text_page))]
        within = _BETWEEN_WORDS * min((gap for _, gap in gaps), default=0.0)
        narrow = [at for at, gap in gaps if gap < within]
        most = _MOST_SPREAD if len(narrow) < len(gaps) else _MOST_SPREAD_ALONE
        yield from narrow if within < _BETWEEN_WORDS * most else ()


def _gap(at: int, other: int, text_page: Any) -> float | None:
    """How far a letter is from the next one on its line, in their height; None if it isn't."""
    along, across = _way(at, other, text_page)
    length, own = _extent(at, text_page)
    height = max(own, _extent(other, text_page)[1])
    is_beside = (
        abs(across) < _MOST_RAISED * height
        and -_MOST_OVERLAP * height < along - length < _MOST_SPACE * height
    )
    return (along - length) / height if is_beside else None


def _extent(at: int, text_page: Any) -> tuple[float, float]:
    """How long and how high a character is, along its line."""
    left, bottom, right, top = text_page.get_charbox(at, loose=True)
    angle = RAW.FPDFText_GetCharAngle(text_page, at)
    is_level = abs(cos(angle)) > abs(sin(angle))
    return (right - left, top - bottom) if is_level else (top - bottom, right - left)


def _way(at: int, other: int, text_page: Any) -> tuple[float, float]:
    """The way from a character to another one, along the line of the first, and down from it."""
    places = []
    for index in (at, other):
        x, y = c_double(), c_double()
        RAW.FPDFText_GetCharOrigin(text_page, index, x, y)
        places.append((x.value, y.value))
    (x0, y0), (x1, y1) = places
    angle = RAW.FPDFText_GetCharAngle(text_page, at)
    right, up = x1 - x0, y1 - y0
    return right * cos(angle) - up * sin(angle), -right * sin(angle) - up * cos(angle)


def _leftwards(text: str, indices: list[int], text_page: Any) -> tuple[str, list[int]]:
    """A text whose Hebrew and Arabic words begin on the right; PDFium has some in reverse.

    It also turns around the two letters of a ligature.
    """
    letters = list(text)
    for words in (_LEFTWARDS, _LIGATURE):
        for word in words.finditer("".join(letters)):
            start, end = word.span()
            along = _way(indices[start], indices[end - 1], text_page)[0]
            if along > 0 or (along == 0 and words is _LIGATURE):
                letters[start:end] = reversed(letters[start:end])
                indices[start:end] = reversed(indices[start:end])
    return "".join(letters), indices


def _from_first_line(
    text: str, indices: list[int], turned: int, text_page: Any
) -> tuple[str, list[int]]:
    """A text whose lines begin with the first; PDFium has some that run downwards in reverse.

    The page is turned by degrees, clockwise.
    """

    def runs_down(line: re.Match[str]) -> bool:
        angle = degrees(RAW.FPDFText_GetCharAngle(text_page, indices[line.start(1)]))
        return abs((turned + angle) % 360 - 90) < _MOST_SLANTED

    def is_before(line: re.Match[str], other: re.Match[str]) -> bool:
        first = indices[line.start(1)]
        along, down = _way(first, indices[other.start(1)], text_page)
        return down < 0 and abs(along) < _way(first, indices[line.end() - 1], text_page)[0]

    groups = list[list[re.Match[str]]]()
    for line in _LINE.finditer(text):
        last = groups[-1][-1] if groups else None
        if last and runs_down(line) and runs_down(last) and is_before(last, line):
            groups[-1].append(line)
        else:
            groups.append([line])
    if all(len(group) == 1 for group in groups):
        return text, indices
    order, done = list[int](), 0
    for group in groups:
        for place, line in zip(group, reversed(group), strict=True):
            order += [*range(done, place.start()), *range(*line.span())]
            done = place.end()
    order += range(done, len(text))
    return "".join(text[at] for at in order), [indices[at] for at in order]


def _with_initials(text: str, indices: list[int], text_page: Any) -> tuple[str, list[int]]:
    """A text with large initials where they belong.

    PDFium has them in lines of their own, or before the first word of the line at their foot.
    """

    def size(at: int) -> float:
        RAW.FPDFText_GetMatrix(text_page, indices[at], matrix)
        font = RAW.FPDFText_GetFontSize(text_page, indices[at])
        return float(font * hypot(matrix.c, matrix.d))

    def is_large(one: re.Match[str]) -> bool:
        own, after = size(one.start(1)), one.end(1)
        is_in_title = text[after : after + 1].isalpha() and 2 * size(after) > own
        return own > _LEAST_INITIAL * usual and not is_in_title

    matrix = RAW.FS_MATRIX()
    found = list(_INITIAL.finditer(text))
    sampled = range(0, len(text), len(text) // _LEAST_SAMPLED + 1) if found else ()
    usual = median([size(at) for at in sampled if text[at].isalpha()] or [0])
    large = list(filter(is_large, found))
    if not large or len(large) > _MOST_INITIALS:
        return text, indices
    places = [rest for line in _LINE.finditer(text) if (rest := _REST.match(text, line.start()))]
    lines = [one for one in places if abs(size(one.start(1)) - usual) < _MOST_UNUSUAL * usual]
    moved: dict[int, list[tuple[str, int]]] = {}
    gone: set[int] = set()
    for one in large:
        last = one.end(1)
        _, _, right, top = text_page.get_charbox(indices[last - 1])
        within = _REST.match(text, last)
        for rest in [*lines, *([within] if within else [])]:
            begin = rest.start(1)
            left, low, _, high = text_page.get_charbox(indices[begin], loose=True)
            height = max(high - low, size(begin))
            is_beside = abs(left - right) < 2 * height and abs(top - (high + low) / 2) < height
            is_begun = rest[1][0].islower() or rest[1][1:].isupper()
            # As of a glossary; few words begin with a letter twice.
            is_repeated = rest[1][0].upper() == one[1]
            if not (is_beside and is_begun) or is_repeated or rest.start() in moved:
                continue
            is_word = _is_word(one[1], rest[1], text)
            if rest is within:
                gone.update(() if is_word else range(last, begin))
                break
            gap = [(" ", indices[last - 1])] if is_word and rest[0] == rest[1] else []
            moved[rest.start()] = [(text[at], indices[at]) for at in range(one.start(), last)] + gap
            is_alone = text[one.start() - 1 : one.start()] in ("", "\n")
            is_end = is_alone and last == len(text)
            gone.update(range(one.start() - is_end, one.end() if is_alone else last))
            break
    placed = list[tuple[str, int]]()
    for number, letter in enumerate(zip(text, indices, strict=True)):
        placed += moved.get(number, ())
        placed += [] if number in gone else [letter]
    return "".join(one for one, _ in placed), [index for _, index in placed]


def _is_word(initial: str, rest: str, text: str) -> bool:
    """Whether an initial is a word by itself, rather than one with the letters behind it."""
    joined = f"{initial}{rest}".lower()
    is_known = joined in _BEGUN or re.search(rf"\b{joined}\b", text.lower()) is not None
    return initial in _WORDS and not is_known


def _is_no_letter(code: int) -> bool:
    """Whether a code is a control character, for private use, or no character at all."""
    controls = code < 32 and code not in (0, _HYPHEN, 9, 10, _CARRIAGE_RETURN)
    private = 0x7F <= code < 0xA0 or 0xE000 <= code < 0xF900
    return controls or private or code == 0xFFFD or code > sys.maxunicode


def _mark(code: int, unmapped: bool) -> str:
    """A space, or a letter that is known (``.``), that may be another one (``?``), or none."""
    if _is_no_letter(code) or (unmapped and code < 32):
        return "x"
    return "?" if unmapped else " " if code in (10, _CARRIAGE_RETURN, 32) else "."


def _with_annotations(
    text: str, indices: list[int], found: Sequence[Annotation], text_page: Any
) -> tuple[str, list[int]]:
    """A text with values where they are seen, and notes at its end."""
    boxes: list[_Placed] = []
    if any(one.is_value for one in found):
        for at, index in enumerate(indices):
            if not text[at].isspace():
                left, bottom, right, top = text_page.get_charbox(index, loose=True)
                boxes.append((at, (left, top, right, bottom)))
    places = [_place(one.box, boxes, text) if one.is_value else _AT_END for one in found]
    pieces = _Pieces()
    done = 0
    for (at, gap), one in sorted(zip(places, found, strict=True), key=_order):
        until = max(done, min(at, len(text)))
        pieces.add(text[done:until], indices[done:until])
        pieces.add_apart(one, gap)
        done = until
    pieces.add(text[done:], indices[done:])
    return "".join(pieces.texts), pieces.indices


def _order(placed: tuple[tuple[int, str], Annotation]) -> tuple[int, float]:
    """By the place in the text; values at the same place from left to right."""
    (at, _), one = placed
    return at, one.box[0] if one.is_value else 0


class _Pieces:
    """The pieces of a text, and the indices of its code points."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.indices: list[int] = []
        self._gap = ""

    def add(self, text: str, indices: Sequence[int]) -> None:
        """Add a piece, with a gap before it if one of its neighbours stands apart."""
        if text:
            last = self.texts[-1] if self.texts else "\n"
            known = "\n", self._gap
            if self._gap and not (last.endswith(known) or text.startswith(known)):
                self.texts.append(self._gap)
                self.indices.append(self.indices[-1])
            self._gap = ""
            self.texts.append(text)
            self.indices += indices

    def add_apart(self, annotation: Annotation, gap: str) -> None:
        """Add the text of an annotation, with a gap on either side."""
        self._gap = gap
        self.add(annotation.text, [-1 - annotation.number] * len(annotation.text))
        self._gap = gap


def _place(field: Box, boxes: Sequence[_Placed], text: str) -> tuple[int, str]:
    """The place in a text where the value of a field goes, and the gap on either side.

    That is behind its label, or else before it. Without one on its line, it is below the line
    above.
    """
    left, top, right, bottom = field
    level = [
        (at, box)
        for at, box in boxes
        if min(top, box[1]) - max(bottom, box[3]) > (box[1] - box[3]) / 2
    ]
    before = _top_line([one for one in level if one[1][0] + one[1][2] < 2 * left])
    if before:
        at, _ = max(before, key=lambda one: one[1][2])
        return _end(_WORD_END, text, at + 1), " "
    after = _top_line([one for one in level if one[1][0] + one[1][2] > 2 * right])
    if after:
        at, _ = min(after, key=lambda one: one[1][0])
        return max(text.rfind(" ", 0, at), text.rfind("\n", 0, at)) + 1, " "
    above = [one for one in boxes if one[1][1] + one[1][3] > top + bottom]
    if not above:
        return 0, "\n"
    nearest = min((box for _, box in above), key=lambda box: box[3])
    at = max(at for at, box in above if box[1] + box[3] < 2 * nearest[1])
    return _end(_LINE_END, text, at), "\n"


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.search(text, at)
    return len(text) if found is None else found.start()


def _top_line(boxes: Sequence[_Placed]) -> list[_Placed]:
    """Those of the characters that are on the line at the top."""
    top, bottom = max(((box[1], box[3]) for _, box in boxes), default=(0.0, 0.0))
    return [one for one in boxes if one[1][1] > (top + bottom) / 2]
