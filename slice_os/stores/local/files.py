"""The folder of a local store: its SQLite schema and its settings."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
from xxhash import xxh3_64_hexdigest

from slice_os.encoder.model_folder import ModelCard
from slice_os.errors import ModelError, StoreError
from slice_os.stores.local.terms import PASSAGE_TERMS
from slice_os.tables.replacing import make_folder, sync_folder
from slice_os.threads import CHECKPOINT

DATABASE = "store.sqlite"
# Stores of another version are refused: their documents have to be ingested again.
SCHEMA_VERSION = 3
FIXED = ("schema_version", "encoder", "max_pieces")
# Least size of the file through which SQLite's processes share memory.
SHARED_MEMORY = 32_768
# The end of a journal that names another one, which SQLite deletes, whatever file it is.
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
# Of SQLite's machine, between checkpoints.
_STEPS = 1_000_000
_ENDED: ContextVar[BaseException | None] = ContextVar("slice_os_ended", default=None)
# Tables and indices that compute nothing.
_PLAIN = re.compile(
    r"CREATE (?:TABLE|(?:UNIQUE )?INDEX) (?:(?!\b(?:AS|CHECK)\b)[\w\s,()'\"])*", re.IGNORECASE
)
# Of its other files; topics and labels may lie beside them, and be links.
_SUFFIXES = (".i8", ".f32", ".u32", ".lock")


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Settings of a store, which never change."""

    encoder: ModelCard
    max_pieces: int


@dataclass(frozen=True, slots=True)
class StoreState:
    """The counts of one state of a store.

    The revision is commits so far, the generation that of the array files; see `Arrays`. Words and
    pieces are their rows.
    """

    revision: int
    generation: int
    documents: int
    passages: int
    words: int
    pieces: int


STATE = tuple(field.name for field in fields(StoreState))
COUNTS = STATE[2:]
# Settings with the checksum of all sources, and with that of the state and of this one.
SOURCES, STATE_CHECKSUM = "sources", "state"


class Database(sqlite3.Connection):
    """A connection to the database of the store in a folder, for any thread, one at a time.

    The stamp is that of the store when it was opened; see `ReadConnections`.
    """

    folder: Path
    stamp: tuple[int, ...] | None = None

    def row(self, statement: str, *values: object) -> Any:
        """The first row that a statement selects; None if there is none."""
        return self.execute(statement, values).fetchone()

    def column(self, statement: str, *values: object) -> list[Any]:
        """The one column of what a statement selects."""
        return [value for (value,) in self.execute(statement, values)]


def create(folder: Path, settings: StoreSettings) -> None:
    """Make an empty store that only its owner may read, unless another process has just made one.

    Raises a `StoreError` if the folder is a file, cannot be created, or contains other files.
    """
    with errors_explained(folder):
        make_folder(folder, mode=0o700)
        others = [path.name for path in folder.iterdir() if not path.name.startswith(DATABASE)]
        if exists(folder):  # looked for last: the others may be its own
            return
        if others:
            raise StoreError(f"{folder}: holds other files ({others[0]}, …); use an empty folder")
        refuse_links(folder)
        # SQLite's other files, and the array files, get the permissions of this one.
        (folder / DATABASE).touch(mode=0o600)
        with closing(connect(folder)) as connection:
            # Lets many processes read while one writes; stays with the file.
            connection.execute("PRAGMA journal_mode = WAL")
            with transaction(connection):
                if not _has_settings(connection):
                    _fill(connection, settings)
        sync_folder(folder)


def _fill(connection: Database, settings: StoreSettings) -> None:
    schema = (files(__package__) / "schema.sql").read_text("utf-8")
    for statement in (*schema.strip().split(";\n"), PASSAGE_TERMS):
        connection.execute(statement)
    values = {
        "schema_version": str(SCHEMA_VERSION),
        "encoder": orjson.dumps(asdict(settings.encoder)).decode(),
        "max_pieces": str(settings.max_pieces),
    }
    values |= dict.fromkeys(STATE, "0")
    stored = values | {"checksum": _checksum(values, FIXED)}
    connection.executemany("INSERT INTO settings VALUES (?, ?)", stored.items())
    seal_state(connection)


def connect(folder: Path, mode: str = "rw") -> Database:
    """Connect to the store's database.

    The mode is ``rw``, or what SQLite's URIs offer for folders that cannot be written.

    Raises a `StoreError` if somebody else has made more of the database than a store has.
    """
    journal = folder / f"{DATABASE}-journal"
    if journal.is_file():
        with journal.open("rb") as stream:
            stream.seek(max(0, journal.stat().st_size - len(_NAMES_ANOTHER)))
            if stream.read(len(_NAMES_ANOTHER)) == _NAMES_ANOTHER:
                raise StoreError(f"{journal}: is no file of a store; delete it to trust the others")
    connection = sqlite3.connect(
        f"{(folder / DATABASE).absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=30,
        factory=Database,
    )
    connection.folder = folder
    # Pages that lead to one another have rows without an end.
    connection.set_progress_handler(_go_on, _STEPS)
    # With less, the last commits could be lost with the power.
    for pragma in ("synchronous = FULL", "secure_delete = ON", "cell_size_check = ON"):
        connection.execute(f"PRAGMA {pragma}")
    try:
        _check_schema(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _go_on() -> bool:
    """Whether a statement ends here: by the error of its checkpoint, which SQLite would lose."""
    try:
        CHECKPOINT.get()()
    except BaseException as error:
        _ENDED.set(error)
        return True
    return False


def _check_schema(connection: Database) -> None:
    """Refuse views, triggers and computed columns, which could run for good or change answers."""
    for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"):
        if sql != PASSAGE_TERMS and not _PLAIN.fullmatch(str(sql)):
            told = " ".join(str(sql)[:60].split())
            raise StoreError(f"{connection.folder}: its database has {told!r}, which no store has")


@contextmanager
def copied(connection: Database) -> Iterator[Database]:
    """A copy of the database to write to, which is gone at the end."""
    with closing(sqlite3.connect("", isolation_level=None, factory=Database)) as copy:
        connection.backup(copy)
        copy.folder = connection.folder
        yield copy


def exists(folder: Path) -> bool:
    """Whether the folder holds a completely created store.

    Raises a `StoreError` if its database cannot be read.
    """
    with errors_explained(folder):
        if not (folder / DATABASE).is_file():
            return False
        with closing(connect(folder, reading_mode(folder))) as connection:
            return _has_settings(connection)


def refuse_links(folder: Path) -> None:
    """Refuse to write, by a `StoreError`, where a file of the store is a link to another one."""
    with errors_explained(folder):
        for path in folder.iterdir():
            own = path.name.startswith(DATABASE) or path.suffix in _SUFFIXES
            if own and path.is_symlink():
                raise StoreError(f"{path}: is a link; put the file itself there to write")


def reading_mode(folder: Path) -> str:
    """The mode of a connection for reading; see `connect`.

    Raises a `StoreError` if the folder cannot be written, and has commits that must be moved first.
    """
    if os.access(folder, os.W_OK):
        return "rw"
    if not has_log(folder):
        return "ro&immutable=1"
    if not (folder / f"{DATABASE}-shm").exists():
        raise StoreError(
            f"{folder}: cannot be written, and its last writer did not close it; run "
            "`slice-os store info` once where it can be written"
        )
    return "ro"


def has_log(folder: Path) -> bool:
    """Whether commits are in SQLite's log: the store is open, or was not closed."""
    try:
        return (folder / f"{DATABASE}-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def read_settings(connection: Database) -> StoreSettings:
    """The settings of the store.

    Raises a `StoreError` if another version made it, or if it is damaged.
    """
    values = dict(connection.execute("SELECT name, value FROM settings"))
    folder = connection.folder
    damaged = StoreError(f"{folder}: its settings are damaged; ingest again into a new store")
    if not values.keys() >= set(FIXED):
        raise damaged
    version = str(values["schema_version"])
    if version != str(SCHEMA_VERSION) and version.isdecimal():
        raise StoreError(
            f"{folder}: store has schema version {version}, this slice-os reads {SCHEMA_VERSION}; "
            "upgrade slice-os, or ingest again into a new store"
        )
    if values.get("checksum") != _checksum(values, FIXED):
        raise damaged
    try:
        card = ModelCard.from_fields(orjson.loads(values["encoder"]))
        return StoreSettings(card, int(values["max_pieces"]))
    except (TypeError, ValueError, KeyError, ModelError):
        raise damaged from None


def read_state(connection: Database) -> StoreState:
    """The counts of the state that the connection sees.

    Raises a `StoreError` if the settings are damaged.
    """
    values = dict(connection.execute("SELECT name, value FROM settings"))
    try:
        return StoreState(**{name: int(values[name]) for name in STATE})
    except (KeyError, TypeError, ValueError):
        raise damage(connection.folder, "its settings lack a count") from None


def seal_state(connection: Database) -> None:
    """Note the checksum of the counts, which have changed."""
    _, found = _state_checksums(connection)
    connection.execute("REPLACE INTO settings VALUES (?, ?)", (STATE_CHECKSUM, found))


def damaged_state(connection: Database) -> bool:
    """Whether the counts differ from their checksum; a store may be too old to have one."""
    noted, found = _state_checksums(connection)
    return noted is not None and noted != found


def _state_checksums(connection: Database) -> tuple[str | None, str]:
    """The checksum of the counts as it was noted, and as it is."""
    values = dict(connection.execute("SELECT name, value FROM settings"))
    return values.get(STATE_CHECKSUM), _checksum(values, (*STATE, SOURCES))


def used_counts(connection: Database) -> dict[str, int]:
    """The `COUNTS` of a store, from its documents and the last rows that its passages refer to."""
    counts = connection.row(
        "SELECT (SELECT count(id) FROM documents), count(*), ifnull(max(first_word + n_words), 0), "
        "ifnull(max(first_piece + n_pieces), 0) FROM passages"
    )
    return dict(zip(COUNTS, counts, strict=True))


def damage(folder: Path, what: str) -> StoreError:
    """The error that says what of a store is damaged, and what to do."""
    return StoreError(
        f"{folder}: {what}; the store is damaged, "
        f"run `slice-os store check --repair --store {folder}`"
    )


@contextmanager
def transaction(connection: Database) -> Iterator[None]:
    """Commit everything in the block, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield


@contextmanager
def errors_explained(folder: Path) -> Iterator[None]:
    """Turn errors of SQLite and the file system into one line about the store.

    Raises a `StoreError`, naming the folder and what went wrong; or the error of a checkpoint
    that ended a statement.
    """
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        if reason == "interrupted":
            ended = _ENDED.get() or KeyboardInterrupt()  # lost if it came before the checkpoint
            _ENDED.set(None)
            raise ended from None
        # Where SQLite cannot enlarge the memory that processes share, it says "disk I/O error".
        full = reason == "disk I/O error" and shutil.disk_usage(folder).free < SHARED_MEMORY
        if full or reason == "database or disk is full":
            raise _disk_full(folder) from error
        # Only damage has this class itself; so has text that is not UTF-8, by its message.
        if type(error) is sqlite3.DatabaseError or "decode" in reason:
            raise damage(folder, f"database error: {reason}") from error
        raise StoreError(f"{folder}: database error: {reason}") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _disk_full(folder) from error
        why = error.strerror or error
        raise StoreError(f"{folder}: cannot be used as a store folder ({why})") from error


def _has_settings(connection: Database) -> bool:
    return bool(connection.row("SELECT 1 FROM sqlite_master WHERE name = 'settings'"))


def folder_size(folder: Path) -> int:
    """Total size of the files in a store's folder, in bytes; SQLite may delete some meanwhile."""
    size = 0
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            size += path.stat().st_size
    return size


def _disk_full(folder: Path) -> StoreError:
    return StoreError(f"{folder}: the disk is full; make room, then try again")


def _checksum(values: Mapping[str, str], names: Iterable[str]) -> str:
    chosen = "\0".join(str(values.get(name)) for name in names)
    return xxh3_64_hexdigest(chosen.encode("utf-8", "surrogatepass"))
