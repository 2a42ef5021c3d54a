"""Topic files: TOML that people write, with a table that learning writes."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from slice_os.errors import InputError
from slice_os.tables.replacing import replacing
from slice_os.topics.table import learned_table, read_table
from slice_os.topics.topic import Learned, Topic

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_NAME_LINE = re.compile(r"^name\s*=[^\n]*(?:\n|\Z)", re.MULTILINE)
_LEARNED = re.compile(r"^\[learned\][^\n]*\n(?:(?!\[)[^\n]*(?:\n|\Z))*", re.MULTILINE)


def read_topic(path: str | Path) -> Topic:
    """Read and check a topic file.

    Raises:
        InputError: if it is missing or not TOML, or a key is unknown or has a value that cannot
            be used.
    """
    topic, problems = examine(Path(path))
    if topic is None or problems:
        raise InputError(f"{path}: {problems[0]}")
    return topic


def read_topics(paths: Sequence[str | Path]) -> list[Topic]:
    """The topics of files and folders.

    Raises:
        InputError: as `read_topic`; or if there is no file, or two topics have one name.
    """
    topics, problems = usable_topics(paths)
    if problems:
        raise InputError(problems[0])
    return topics


def usable_topics(paths: Sequence[str | Path]) -> tuple[list[Topic], list[str]]:
    """The topics of files and folders, and one line for each file that cannot be used.

    Raises an `InputError` if there is no file.
    """
    homes: dict[str, Path] = {}
    topics, problems = [], []
    for path in topic_files(paths):
        topic, wrong = examine(path)
        if topic is not None and not wrong and topic.name in homes:
            wrong = [f"{homes[topic.name]} also has topic {topic.name!r}"]
        if topic is None or wrong:
            problems.append(f"{path}: {wrong[0]}")
        else:
            homes[topic.name] = path
            topics.append(topic)
    return topics, problems


def topic_files(paths: Sequence[str | Path]) -> list[Path]:
    """Topic files, and those in folders, by name.

    Raises an `InputError` if a path does not exist, or a folder has no topic file.
    """
    found = []
    for path in map(Path, paths):
        if not path.exists():
            raise InputError(f"{path}: no such topic file or folder")
        inside = files_in(path) if path.is_dir() else [path]
        if not inside:
            raise InputError(f"{path}: no topic file (*.toml) in this folder")
        found += inside
    return found


def files_in(folder: Path) -> list[Path]:
    """The topic files in a folder and those below it, by name; without those being written."""
    return sorted(path for path in folder.rglob("*.toml") if not path.name.startswith("."))


def examine(path: Path) -> tuple[Topic | None, list[str]]:
    """A topic as far as its file can be used, and everything that is wrong with the file."""
    try:
        return parse_topic(path.read_bytes(), path.stem)
    except OSError as error:
        return None, [str(error.strerror)]


def parse_topic(content: bytes, name: str) -> tuple[Topic | None, list[str]]:
    """A topic as far as the content of a file can be used, and everything that is wrong with it.

    The name is for a file that gives none.
    """
    try:
        table = tomllib.loads(content.decode("utf-8"))
    except ValueError as error:
        return None, [f"not valid TOML ({error})"]
    return read_table(table, name)


def with_learned(text: str, learned: Learned) -> str:
    """The text of a topic file with another ``[learned]`` table; all else stays as it is.

    Raises an `InputError` if its table cannot be replaced alone.
    """
    table = learned_table(learned)
    written = _LEARNED.sub("", text).rstrip("\n") + f"\n\n{table}"
    if not _says(written, {**tomllib.loads(text), **tomllib.loads(table)}):
        raise InputError("its [learned] table cannot be replaced; delete it from the file first")
    return written


def with_name(text: str, name: str) -> str:
    """The text of a topic file with another name; all else stays as it is.

    Raises an `InputError` if its name cannot be replaced alone.
    """
    line = f"name = {orjson.dumps(name).decode()}\n"
    given = _NAME_LINE.search(text)
    written = line + text if given is None else text.replace(given[0], line, 1)
    if not _says(written, {**tomllib.loads(text), "name": name}):
        raise InputError("its name cannot be replaced; edit the file")
    return written


def _says(text: str, table: Mapping[str, Any]) -> bool:
    """Whether a text is the TOML of a table."""
    try:
        return tomllib.loads(text) == table
    except tomllib.TOMLDecodeError:
        return False


def write_learned(path: Path, learned: Learned) -> None:
    """Replace the ``[learned]`` table of a topic file; comments and all else stay.

    Raises an `InputError` if the file cannot be written.
    """
    try:
        written = with_learned(path.read_bytes().decode("utf-8"), learned)
        with replacing(path) as part:
            part.write_bytes(written.encode())
    except (InputError, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
