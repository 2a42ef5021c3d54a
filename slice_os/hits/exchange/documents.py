"""Hits gathered by document, with the texts that other tools need beside them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TypeAlias

from slice_os.errors import InputError
from slice_os.hits.hit import Hit, counting
from slice_os.text.documents import Extent
from slice_os.threads import checkpoint

TextOf: TypeAlias = Callable[[str], str]
"""Gives the text of a document by its id, such as `Corpus.text`."""


@dataclass(frozen=True, slots=True)
class Given(Extent):
    """A hit as another tool gets it, to know on the way back what people removed.

    Attributes:
        topic: of the hit, or its phrase.
        passage: around the hit.
        span: the words that were compared, if the hit is wider.
    """

    topic: str
    passage: Extent
    span: Extent | None = None

    @classmethod
    def of(cls, hit: Hit) -> Given:
        """The places of a hit."""
        passage = Extent(hit.passage.start, hit.passage.end)
        return cls(hit.start, hit.end, hit.group, passage, hit.span)


@dataclass(frozen=True, slots=True)
class HitDocument:
    """A document's text, and its hits by position."""

    id: str
    text: str
    hits: tuple[Hit, ...]

    @property
    def counting(self) -> tuple[Hit, ...]:
        """Those that nobody rejected, as spans of the document."""
        return tuple(counting(self.hits))

    @property
    def given(self) -> list[Given]:
        """The places of its hits."""
        return [Given.of(hit) for hit in self.hits]


class HitDocuments:
    """Hits by document, in a temporary file; memory holds those of one document."""

    def __init__(self, table: sqlite3.Connection, text_of: TextOf | None) -> None:
        self._table, self._text_of = table, text_of

    def groups(self) -> list[str]:
        """The topics and phrases of the hits, by name."""
        rows = self._table.execute("SELECT DISTINCT name FROM hit ORDER BY name")
        return [name for (name,) in rows]

    def hits(self) -> Iterator[Hit]:
        """All hits, by document and position."""
        rows = self._table.execute("SELECT hit FROM hit ORDER BY doc_id, start_, end_, rowid")
        return (Hit.from_json(line) for (line,) in rows)

    def by_id(self) -> Iterator[tuple[str, tuple[Hit, ...]]]:
        """The ids of documents, and their hits by position."""
        groups = groupby(self.hits(), key=attrgetter("doc_id"))
        return ((doc_id, tuple(hits)) for doc_id, hits in groups)

    def __iter__(self) -> Iterator[HitDocument]:
        """The documents, by id.

        Raises an `InputError` if a text is not known, or does not have a hit's words at its place.
        """
        if self._text_of is None:
            raise InputError("this format holds whole documents; give the store that they are in")
        for doc_id, own in self.by_id():
            checkpoint()
            text = self._text_of(doc_id)
            for hit in own:
                if text[hit.start : hit.end] != hit.text:
                    raise InputError(
                        f"{doc_id}:{hit.start}-{hit.end}: the document no longer has the words of "
                        "the hit there; search again"
                    )
            yield HitDocument(doc_id, text, own)


@contextmanager
def by_document(hits: Iterable[Hit], text_of: TextOf | None) -> Iterator[HitDocuments]:
    """Gather hits, which come in any order."""
    with _told(), closing(sqlite3.connect("")) as table:  # a temporary file, nobody else sees it
        table.execute("CREATE TABLE hit (doc_id TEXT, start_ INT, end_ INT, name TEXT, hit BLOB)")
        rows = ((one.doc_id, one.start, one.end, one.group, one.to_json()) for one in hits)
        table.executemany("INSERT INTO hit VALUES (?, ?, ?, ?, ?)", rows)
        yield HitDocuments(table, text_of)


@contextmanager
def _told() -> Iterator[None]:
    """What happens to a temporary file, in a line."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise InputError(f"a temporary file cannot be written ({error}); make room") from None


class TextSpool:
    """Texts by document, in a temporary file, for what reads each of them only once."""

    def __init__(self) -> None:
        self._table = sqlite3.connect("")
        self._table.execute("CREATE TABLE text (doc_id TEXT PRIMARY KEY, text TEXT)")

    def add(self, doc_id: str, text: str) -> None:
        """Keep a text.

        Raises an `InputError` if the document has another one already.
        """
        with _told():
            self._table.execute("INSERT OR IGNORE INTO text VALUES (?, ?)", (doc_id, text))
        if self(doc_id) != text:
            raise InputError(
                f"{doc_id}: two documents have this id; this format has one text for each, so "
                "search them one after the other"
            )

    def __call__(self, doc_id: str) -> str:
        """The text of a document that was added."""
        query = "SELECT text FROM text WHERE doc_id = ?"
        found: tuple[str] = self._table.execute(query, (doc_id,)).fetchone()
        return found[0]
