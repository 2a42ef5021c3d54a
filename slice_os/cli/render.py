"""Renders a hit for people: the span, highlighted in its context."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from slice_os.ingest.readers import BadRecord
    from slice_os.results import Hit

CONTEXT_CHARACTERS = 160


def render(hit: Hit, number: int) -> str:
    """Lines with terminal colours: rank, place, scores and metadata, then the context."""
    context = hit.context
    start, end = hit.start - context.start, hit.end - context.start
    left, right = (
        max(0, start - CONTEXT_CHARACTERS),
        min(len(context.text), end + CONTEXT_CHARACTERS),
    )
    before = ("…" if left else "") + context.text[left:start]
    after = context.text[end:right] + ("…" if right < len(context.text) else "")
    figures = f"cosine {hit.cosine:.3f}"
    if hit.bm25 is not None:
        figures += f"  bm25 {hit.bm25:.2f}  score {hit.score:.3f}"
    place = f"{printable(hit.doc_id)}:{hit.start}-{hit.end}"
    fields = "  ".join(
        f"{printable(str(key))}={printable(str(value))}" for key, value in hit.metadata.items()
    )
    head = f"{number:>3}  {click.style(place, bold=True)}  {figures}"
    if fields:
        head += f"  {click.style(fields, dim=True)}"
    span = click.style(printable(hit.text), fg="green", bold=True, underline=True)
    return f"{head}\n     {printable(before)}{span}{printable(after)}\n"


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
    return "".join(
        " "
        if character.isspace()
        else character
        if character.isprintable()
        else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )
