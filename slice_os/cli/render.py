"""Renders a hit for people: the span, highlighted in its context."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import category, east_asian_width

import click
import orjson

from slice_os.hits.bands import rounded_down
from slice_os.tables.table import paired, shown

if TYPE_CHECKING:
    from slice_os.hits.hit import Context, Hit
    from slice_os.ingest.readers import BadRecord

CONTEXT_CHARACTERS = 160
INDENT = " " * 5
_COLOURS = {"probable": "green", "unsure": "yellow", "unlikely": "bright_black"}


def render(hit: Hit, number: int, with_phrase: bool = False, whole: bool = False) -> str:
    """Lines that fit the terminal: rank, place, scores and metadata, then the context.

    The span is coloured; where there are no colours, as in a pipe, it is between ``>>`` and
    ``<<``. A pipe gets the context on one line. The ``whole`` context keeps its own lines.
    """
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    head = [
        f"{number:>3}  {styled(f'{printable(hit.doc_id)}:{hit.start}-{hit.end}', bold=True)}",
        *([styled("✓ accepted", fg="green")] if hit.label else []),
        *([styled("✕ rejected", fg="red")] if hit.label is False else []),
        *([] if hit.topic is None else [styled(printable(hit.topic), bold=True)]),
        *([styled(printable(f"“{hit.phrase}”"), bold=True)] if with_phrase else []),
        f"cosine {hit.cosine:.3f}",
        *([] if hit.count == 1 else [f"{hit.count} times"]),
        *([] if hit.bm25 is None else [f"bm25 {hit.bm25:.2f}", f"score {hit.score:.3f}"]),
        *([] if hit.probability is None else [f"probability {rounded_down(hit.probability)}"]),
        *([] if hit.band is None else [styled(hit.band, fg=_COLOURS[hit.band])]),
        *(styled(printable(reason), fg="yellow") for reason in hit.reasons),
        *(styled(printable(paired(match)), dim=True) for match in hit.matches),
        *(
            styled(printable(f"{key}={shown(key, one)}"), dim=True)
            for key, one in hit.metadata.items()
        ),
    ]
    context = in_context(hit.passage, hit.start, hit.end, whole, struck=hit.label is False)
    return "\n".join([*_filled(head, width), *context, ""])


def styled(text: str, **style: Any) -> str:
    """The text in colours, if standard output shows them."""
    return click.style(text, **style) if _has_colours() else text


def _has_colours() -> bool:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain


def _filled(parts: Sequence[str], width: int | None) -> list[str]:
    """Parts on as few lines as they fit on."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]}  {part}"
        if width is None or _cells(click.unstyle(longer)) <= width:
            lines[-1] = longer
        else:
            lines.append(INDENT + part)
    return lines


def in_context(
    context: Context, begin: int, end: int, whole: bool = False, struck: bool = False
) -> list[str]:
    """The lines of a context, or of what is near in it, with the words between offsets marked.

    Offsets are those of the document.
    """
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    start, end = begin - context.start, end - context.start
    reach = len(context.text) if whole else CONTEXT_CHARACTERS
    left = max(0, start - reach)
    right = min(len(context.text), end + reach)
    before = ("…" if left else "") + context.text[left:start]
    words = context.text[start:end]
    after = context.text[end:right] + ("…" if right < len(context.text) else "")
    span = words if _has_colours() else f">>{words}<<"
    text = before + span + after
    text = "\n".join(map(printable, text.split("\n"))) if whole else printable(text)
    first, last = len(before), len(before) + len(span)
    lines = []
    for begin, stop in _wrapped(text, width and width - len(INDENT)):
        inner, outer = (min(max(edge, begin), stop) for edge in (first, last))
        marked = text[inner:outer]
        if marked and _has_colours():
            # A style that is False would send the code that ends it.
            style = {"fg": "red", "strikethrough": True} if struck else {"fg": "green"}
            marked = click.style(marked, bold=True, underline=not struck or None, **style)
        lines.append(f"{INDENT}{text[begin:inner]}{marked}{text[outer:stop]}")
    return lines


def _wrapped(text: str, width: int | None) -> Iterator[tuple[int, int]]:
    """Start and end of lines of so many cells, broken at blanks if possible."""
    begin = 0
    while begin < len(text):
        line = text.find("\n", begin)
        line = len(text) if line < 0 else line
        stop = line if width is None else begin
        cells = 0
        while stop < line and (cells := cells + _cells(text[stop])) <= max(width or 0, 2):
            stop += 1
        if stop < line and text[stop] != " " and (blank := text.rfind(" ", begin + 1, stop)) > 0:
            stop = blank
        yield begin, stop
        begin = stop
        while begin < len(text) and text[begin] in " \n":
            begin += 1


def _cells(text: str) -> int:
    """Width of a text on a terminal."""
    return sum(
        0 if category(character) in ("Mn", "Me") else 1 + (east_asian_width(character) in "WF")
        for character in text
    )


def wants_json(as_json: bool | None) -> bool:
    """Whether to print JSON: as the option says, by default unless a terminal shows it."""
    return not sys.stdout.isatty() if as_json is None else as_json


def show(value: Any, text: str, as_json: bool | None = None, indent: bool = False) -> None:
    """Print a value as JSON, or the text that people read instead."""
    if wants_json(as_json):
        echo_json(value, indent)
    else:
        click.echo(text)


def echo_json(value: Any, indent: bool = False) -> None:
    """Print a value as JSON, bytes as they are; characters that a terminal obeys are escaped."""
    option = orjson.OPT_SERIALIZE_NUMPY | (orjson.OPT_INDENT_2 if indent else 0)
    raw = value if isinstance(value, bytes) else orjson.dumps(value, str, option)
    text = raw.decode().rstrip("\n")
    if sys.stdout.isatty():
        text = "".join(
            each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text
        )
    click.echo(text)


def complaint(record: BadRecord) -> str:
    """One line that says by file and line why a record cannot be used."""
    line = f":{record.line}" if record.line else ""
    return printable(f"slice-os: {_near(record.source)}{line}: {record.reason}")


def _near(path: str) -> str:
    """A path below the current folder without that folder."""
    try:
        return path.removeprefix(f"{Path.cwd().as_posix().rstrip('/')}/")
    except OSError:  # the current folder is gone
        return path


def printable(text: str) -> str:
    """Text on one line; control characters are replaced, so that a terminal cannot obey them."""
    blanked = "".join(" " if character.isspace() else character for character in text)
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in blanked)
