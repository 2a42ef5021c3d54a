"""Hits as notebooks show them: short HTML, everything in it escaped.

Colours are those of the notebook, light or dark; only the mark of a hit has one of its own,
half transparent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

SHOWN_HITS = 20
AROUND = 90

_MARK = "background:rgba(46,160,110,.3);color:inherit;border-radius:2px;padding:0 1px"
_SOFT = "opacity:.7"
NUMBER = "text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"
TABLE = "color:inherit"
TEXT = "text-align:left;overflow-wrap:anywhere"


def marked(passage: str, start: int, end: int) -> str:
    """Code points ``start:end`` of a passage, marked, with a little of it on both sides."""
    before = _ends(passage[:start].split(), last=True)
    after = _ends(passage[end:].split(), last=False)
    gap = " " if passage[:start][-1:].isspace() else ""
    then = " " if passage[end : end + 1].isspace() else ""
    span = " ".join(passage[start:end].split())
    return (
        f'<bdi>{escape(before)}{gap}<mark style="{_MARK}">{escape(span)}</mark>'
        f"{then}{escape(after)}</bdi>"
    )


def plain(text: str) -> str:
    """A text of any direction."""
    return f"<bdi>{escape(text)}</bdi>"


def with_facts(shown: str, facts: Sequence[str]) -> str:
    """A hit, given as HTML, with plain texts in small print below it."""
    small = " · ".join(map(plain, facts))
    return f'<div>{shown}<br><small style="{_SOFT}">{small}</small></div>'


def listing(caption: str, rows: Sequence[Mapping[str, str]], total: int) -> str:
    """A table of the first of ``total`` hits, below its caption; caption and cells are HTML."""
    columns = list(rows[0]) if rows else []
    head = "".join(f'<th scope="col" style="{_style(name)}">{name}</th>' for name in columns)
    cells = (
        "".join(f'<td style="{_style(name)}">{row[name]}</td>' for name in columns) for row in rows
    )
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    table = f'<table style="{TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    more = total - len(rows)
    rest = f'<p style="{_SOFT}">and {more:,} more</p>' if more > 0 else ""
    return f'<div><p style="{_SOFT}">{caption}</p>{table if rows else ""}{rest}</div>'


def _style(column: str) -> str:
    return NUMBER if column in ("cosine", "prob.") else TEXT


def _ends(words: Sequence[str], last: bool) -> str:
    """The last or the first words of a text, as many as fit."""
    kept: list[str] = []
    size = 0
    for word in reversed(words) if last else words:
        size += len(word) + 1
        if size > AROUND:
            kept.append("…")
            break
        kept.append(word)
    return " ".join(reversed(kept) if last else kept)
