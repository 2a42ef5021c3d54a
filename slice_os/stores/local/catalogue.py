"""What a local store lists: its documents and their sources."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from slice_os.stores.protocol import DocumentEntry, SourceEntry

PAGE = 10_000


def documents_of(connection: sqlite3.Connection, sources: Iterable[str]) -> set[str]:
    """Ids of the documents that came from one of the sources."""
    statement = "SELECT doc_id FROM documents WHERE source = ?"
    return {doc_id for source in sources for (doc_id,) in connection.execute(statement, (source,))}


def source_signatures(connection: sqlite3.Connection, sources: Iterable[str]) -> dict[str, str]:
    """The signatures under which sources were last read; those never read are missing."""
    statement = "SELECT source, signature FROM sources WHERE source = ?"
    return dict(row for source in sources for row in connection.execute(statement, (source,)))


def documents_after(connection: sqlite3.Connection, doc_id: str) -> list[DocumentEntry]:
    """The next documents by id, up to `PAGE` of them."""
    rows = connection.execute(
        "SELECT doc_id, source, (SELECT count(*) FROM passages WHERE document = documents.id) "
        "FROM documents WHERE doc_id > ? ORDER BY doc_id LIMIT ?",
        (doc_id, PAGE),
    )
    return [DocumentEntry(*row) for row in rows]


def sources(connection: sqlite3.Connection) -> list[SourceEntry]:
    """All sources that have documents, by name."""
    rows = connection.execute(
        "SELECT source, count(*) FROM documents GROUP BY source ORDER BY source"
    )
    return [SourceEntry(*row) for row in rows]
