"""Comments at hits in a copy of a Word file."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from slice_os.errors import imported
from slice_os.originals.finding import Original
from slice_os.originals.marks import AUTHOR, Mark
from slice_os.text.documents import Document, Extent

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_TEXT, _HYPHEN = f"{_WORD}t", f"{_WORD}noBreakHyphen"
_RUN, _STYLE = f"{_WORD}r", f"{_WORD}rPr"
# What was moved away, and pictures of text boxes for old versions of Word.
_UNREAD = {
    f"{_WORD}moveFrom",
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
}
# Their words are in other parts of the file, which have no comments.
_ASIDE = ("header", "footer", "footnote", "endnote")
_PRESERVE = "{http://www.w3.org/XML/1998/namespace}space"
_CONTEXT = 200


def write_comments(
    original: Original, document: Document, marks: Sequence[Mark], path: Path
) -> int:
    """Write a copy with a comment at each mark; returns how many have a place.

    Words of footnotes, headers and footers have none.
    """
    docx = imported("docx", "this format", "documents")
    file = docx.Document(io.BytesIO(original.content()))
    body = file.element.body
    characters = list(_characters(body))
    squeezed = "".join(character for character, _, _ in characters)
    aside = [one for one in document.segments if one.fields.get("part") in _ASIDE]
    places = [
        None if any(map(mark.overlaps, aside)) else _place(mark, document.text, squeezed)
        for mark in marks
    ]
    edges = {edge for place in places if place for edge in (place.start, place.end)}
    # The last one first: what is before it stays where it was.
    for edge in sorted(edges & set(range(1, len(characters))), reverse=True):
        _part(characters[edge - 1][1], *characters[edge][1:])
    located = [element for _, element, _ in _characters(body)]
    for mark, place in zip(marks, places, strict=True):
        if place:
            ends = located[place.start], located[place.end - 1]
            runs = [docx.text.run.Run(_outermost(end.getparent()), file) for end in ends]
            file.add_comment(runs, mark.note, AUTHOR, "S")
    file.save(path)
    return sum(place is not None for place in places)


def _characters(body: Any) -> Iterator[tuple[str, Any, int]]:
    """The characters but blanks, each with its element and its position in that."""
    for element in body.iter(_TEXT, _HYPHEN):
        if not any(above.tag in _UNREAD for above in element.iterancestors()):
            text = "-" if element.tag == _HYPHEN else element.text or ""
            yield from (
                (character, element, at)
                for at, character in enumerate(text)
                if not character.isspace()
            )


def _place(mark: Mark, text: str, body: str) -> Extent | None:
    """Where the words of a mark are among the characters; None if they are not there.

    Of several such places it is the one with the most of the same words around it.
    """
    start, end = mark.extent.start, mark.extent.end
    words = _squeezed(mark.text)
    before = _squeezed(text[max(0, start - _CONTEXT) : start])[::-1]
    after = _squeezed(text[end : end + _CONTEXT])
    expected = len(_squeezed(text[:start]))

    def likeness(at: int) -> tuple[int, int]:
        left = body[max(0, at - _CONTEXT) : at][::-1]
        right = body[at + len(words) : at + len(words) + _CONTEXT]
        return _shared(before, left) + _shared(after, right), -abs(at - expected)

    at = max(_occurrences(words, body), key=likeness, default=-1)
    return None if at < 0 else Extent(at, at + len(words))


def _shared(one: str, other: str) -> int:
    """Number of characters that two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _occurrences(words: str, body: str) -> Iterator[int]:
    at = body.find(words)
    while at >= 0:
        yield at
        at = body.find(words, at + 1)


def _part(former: Any, element: Any, at: int) -> None:
    """Let a new run begin at a character, if the one before it is of the same run."""
    run = element.getparent()
    if former.getparent() is not run:
        return
    moved = [element, *element.itersiblings()]
    if at:
        moved[0] = deepcopy(element)
        moved[0].text, element.text = element.text[at:], element.text[:at]
        for part in (moved[0], element):
            part.set(_PRESERVE, "preserve")
    new = run.makeelement(_RUN)
    style = run.find(_STYLE)
    new.extend([*([] if style is None else [deepcopy(style)]), *moved])
    run.addnext(new)


def _outermost(run: Any) -> Any:
    """The run itself, or the one that has its text box, in which no comment can begin."""
    return next(reversed([run, *run.iterancestors(_RUN)]))
