"""The original pages that a report shows, which whoever writes it draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Location:
    """Code points ``start:end`` of a document, and the words there."""

    doc_id: str
    start: int
    end: int
    text: str

    def __str__(self) -> str:
        return f"{self.doc_id}:{self.start}-{self.end}"


@dataclass(frozen=True, slots=True)
class Page:
    """A page with its hits.

    Attributes:
        name: of the document and page.
        width: of the picture, in pixels.
        height: likewise.
        image: its ``data:`` address.
        marks: hits, each with its boxes: left, top, right and bottom in pixels.
    """

    name: str
    width: int
    height: int
    image: str
    marks: tuple[tuple[Location, Sequence[tuple[float, float, float, float]]], ...]


@dataclass(frozen=True, slots=True)
class Pages:
    """Pages, and sentences that say which ones are missing, and why."""

    pages: tuple[Page, ...] = ()
    told: tuple[str, ...] = ()


DrawPages: TypeAlias = Callable[[Sequence[Location]], Pages]
"""Draws the pages of some places; those first that stand first."""
