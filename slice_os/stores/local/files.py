"""The folder of a local store: its SQLite schema and its vector files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import orjson

from slice_os.errors import StoreError
from slice_os.model import ModelCard
from slice_os.stores.local.arrays import ArrayFile

SCHEMA_VERSION = 2
DATABASE = "store.sqlite"

_SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources (
    source TEXT PRIMARY KEY,
    signature TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    doc_id TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL
);
CREATE INDEX documents_source ON documents (source);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents (id),
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    first_word INTEGER NOT NULL,
    n_words INTEGER NOT NULL,
    first_piece INTEGER NOT NULL,
    n_pieces INTEGER NOT NULL,
    n_terms INTEGER NOT NULL,
    metadata TEXT NOT NULL
);
CREATE INDEX passages_document ON passages (document);
CREATE TABLE labels (
    id INTEGER PRIMARY KEY,
    field TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (field, value)
);
CREATE TABLE passage_labels (
    label INTEGER NOT NULL REFERENCES labels (id),
    passage INTEGER NOT NULL REFERENCES passages (id),
    PRIMARY KEY (label, passage)
) WITHOUT ROWID;
CREATE INDEX passage_labels_passage ON passage_labels (passage);
CREATE VIRTUAL TABLE passage_terms USING fts5 (
    text, tokenize = 'porter ascii tokenchars _'
);
"""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """What a store was made with; never changes."""

    encoder: ModelCard
    max_pieces: int


class Arrays:
    """The vector files: token vectors, their scales, words and span norms.

    A word is a row of start and end code point in the document, first piece in the passage and
    one past the last. Its norms are those of the spans that begin with it.
    """

    def __init__(self, folder: Path, settings: StoreSettings) -> None:
        self.vectors = ArrayFile(folder / "vectors.i8", np.int8, settings.encoder.dimension)
        self.scales = ArrayFile(folder / "scales.f32", np.float32)
        self.words = ArrayFile(folder / "words.u32", np.uint32, 4)
        self.norms = ArrayFile(folder / "norms.f32", np.float32, settings.encoder.max_words)

    @property
    def by_piece(self) -> tuple[ArrayFile, ArrayFile]:
        """The files with one row per token vector."""
        return self.vectors, self.scales

    @property
    def by_word(self) -> tuple[ArrayFile, ArrayFile]:
        """The files with one row per word."""
        return self.words, self.norms

    def truncate(self, words: int, pieces: int) -> None:
        """Remove the rows that no passage refers to, left by an interrupted writer."""
        for file in self.by_piece:
            file.truncate(pieces)
        for file in self.by_word:
            file.truncate(words)

    def sync(self) -> None:
        """Flush everything appended to the disk."""
        for file in (*self.by_piece, *self.by_word):
            file.sync()

    def close(self) -> None:
        """Close the files for appending."""
        for file in (*self.by_piece, *self.by_word):
            file.close()


def create(folder: Path, settings: StoreSettings) -> None:
    """Make an empty store.

    Raises:
        StoreError: if the folder is a file, cannot be created, or contains other files.
    """
    values = {
        "schema_version": SCHEMA_VERSION,
        "encoder": orjson.dumps(asdict(settings.encoder)).decode(),
        "max_pieces": settings.max_pieces,
        "revision": 0,
        "words": 0,
        "pieces": 0,
    }
    with errors_explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        others = [path.name for path in folder.iterdir() if not path.name.startswith(DATABASE)]
        if others:
            raise StoreError(f"{folder}: holds other files ({others[0]}, …); use an empty folder")
        with closing(connect(folder)) as connection:
            # Lets many processes read while one writes; stays with the file.
            connection.execute("PRAGMA journal_mode = WAL")
            with transaction(connection):
                for statement in _SCHEMA.strip().split(";\n"):
                    connection.execute(statement)
                connection.executemany("INSERT INTO settings VALUES (?, ?)", values.items())


def connect(folder: Path) -> sqlite3.Connection:
    """A connection to the store's database, for any thread, one at a time."""
    connection = sqlite3.connect(
        folder / DATABASE, isolation_level=None, check_same_thread=False, timeout=30
    )
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def exists(folder: Path) -> bool:
    """Whether the folder holds a completely created store.

    Raises:
        StoreError: if its database cannot be read.
    """
    with errors_explained(folder):
        if not (folder / DATABASE).is_file():
            return False
        with closing(connect(folder)) as connection:
            found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'settings'")
            return found.fetchone() is not None


def read_settings(connection: sqlite3.Connection, folder: Path) -> StoreSettings:
    """What the store was made with.

    Raises:
        StoreError: if another version made it, or if it is damaged.
    """
    values = dict(connection.execute("SELECT name, value FROM settings"))
    if not values.keys() >= {"schema_version", "encoder", "max_pieces"}:
        raise StoreError(f"{folder}: its settings are damaged; ingest again into a new store")
    version = int(values["schema_version"])
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"{folder}: store has schema version {version}, this slice-os reads {SCHEMA_VERSION}; "
            "upgrade slice-os, or ingest again into a new store"
        )
    return StoreSettings(
        ModelCard.from_fields(orjson.loads(values["encoder"])), int(values["max_pieces"])
    )


@contextmanager
def transaction(connection: sqlite3.Connection, mode: str = "IMMEDIATE") -> Iterator[None]:
    """Commit everything in the block, or nothing."""
    connection.execute(f"BEGIN {mode}")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def errors_explained(folder: Path) -> Iterator[None]:
    """Turn errors of SQLite and the file system into one line about the store.

    Raises:
        StoreError: naming the folder and what went wrong.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{folder}: database error: {error}") from error
    except OSError as error:
        reason = error.strerror or error
        raise StoreError(f"{folder}: cannot be used as a store folder ({reason})") from error


def folder_size(folder: Path) -> int:
    """Total size of the files in a store's folder, in bytes; SQLite may delete some meanwhile."""
    size = 0
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            size += path.stat().st_size
    return size
