"""Topic files: TOML that people write, and the table in it that learning writes."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import date
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any

import orjson

from slice_os.errors import InputError
from slice_os.filters import Condition, parse_where
from slice_os.search_options import UNITS
from slice_os.topics.topic import Learned, Topic

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CUTS = ("threshold", "min_probability", "precision")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_LEARNED = re.compile(r"^\[learned\][^\n]*\n(?:(?!\[)[^\n]*(?:\n|\Z))*", re.MULTILINE)

Table = Mapping[str, Any]


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
    homes: dict[str, Path] = {}
    topics = []
    for path in topic_files(paths):
        topic = read_topic(path)
        if topic.name in homes:
            raise InputError(f"{path}: {homes[topic.name]} also has topic {topic.name!r}")
        homes[topic.name] = path
        topics.append(topic)
    return topics


def topic_files(paths: Sequence[str | Path]) -> list[Path]:
    """Topic files, and those in folders, by name.

    Raises:
        InputError: if a path does not exist, or a folder has no topic file.
    """
    found = []
    for path in map(Path, paths):
        if not path.exists():
            raise InputError(f"{path}: no such topic file or folder")
        inside = sorted(path.rglob("*.toml")) if path.is_dir() else [path]
        if not inside:
            raise InputError(f"{path}: no topic file (*.toml) in this folder")
        found += inside
    return found


def examine(path: Path) -> tuple[Topic | None, list[str]]:
    """A topic as far as its file can be used, and everything that is wrong with the file."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else f"not valid TOML ({error})"
        return None, [str(why)]
    problems: list[str] = []
    values = _checked(table, _KEYS, "", problems)
    given = [name for name in CUTS if name in values]
    if len(given) > 1:
        problems.append(f"{' and '.join(given)}: give one of them")
    if isinstance(learned := table.get("learned"), dict):
        values["learned"] = Learned(**_checked(learned, _LEARNED_KEYS, "learned.", problems))
    values.setdefault("name", path.stem)
    if not _NAME.fullmatch(values["name"]):
        problems.append(f"name {values['name']!r}: give letters, digits, - and _ only")
    if not values.get("phrases") and not any(text.startswith("phrases") for text in problems):
        problems.append("phrases is empty; give at least one")
    return Topic(phrases=values.pop("phrases", ()), **values), problems


def with_learned(text: str, learned: Learned) -> str:
    """The text of a topic file with another ``[learned]`` table; all else stays as it is.

    Raises:
        InputError: if the file is written so that only its table could not be replaced.
    """
    table = learned_table(learned)
    rest = _LEARNED.sub("", text).rstrip("\n")
    written = f"{rest}\n\n{table}"
    try:
        kept = {**tomllib.loads(text), "learned": tomllib.loads(table)["learned"]}
        same = tomllib.loads(written) == kept
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise InputError("its [learned] table cannot be replaced; delete it from the file first")
    return written


def learned_table(learned: Learned) -> str:
    """The ``[learned]`` table as TOML."""
    return "".join(f"{line}\n" for line in ("[learned]", *_lines(learned)))


def write_learned(path: Path, learned: Learned) -> None:
    """Replace the ``[learned]`` table of a topic file; comments and all else stay.

    Raises:
        InputError: if the file cannot be written.
    """
    try:
        written = with_learned(path.read_bytes().decode("utf-8"), learned)
        beside = path.with_name(f".{path.name}.new")
        beside.write_bytes(written.encode())
        beside.replace(path)
    except (InputError, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None


def _lines(learned: Learned) -> Iterator[str]:
    standard = Learned()
    for name in (each.name for each in fields(Learned)):
        value = getattr(learned, name)
        if value == getattr(standard, name):
            continue
        if isinstance(value, tuple):
            yield f"{name} = ["
            yield from (f"  {_string(item)}," for item in value)
            yield "]"
        else:
            yield f"{name} = {value}"


def _string(text: str) -> str:
    return orjson.dumps(text).decode().replace("\x7f", "\\u007f")


def _checked(
    table: Table, keys: Mapping[str, Callable[[Any], Any]], prefix: str, problems: list[str]
) -> dict[str, Any]:
    """The values of a table that can be used."""
    values = {}
    for name, value in table.items():
        if name not in keys:
            close = get_close_matches(name, keys, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(keys)}"
            problems.append(f"unknown key {prefix}{name}; {hint}")
            continue
        try:
            values[name] = keys[name](value)
        except InputError as error:
            problems.append(f"{prefix}{name}: {error}")
    return values


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{value!r} is no string; put it between quotation marks")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InputError(f"{value!r} is no list; put it between brackets")
    for item in value:
        if not _text(item).strip():
            raise InputError("one of the texts is empty; write it or delete it")
    return tuple(value)


def _number(least: float, most: float) -> Callable[[Any], float]:
    def check(value: Any) -> float:
        if type(value) not in (int, float) or not least <= value <= most:
            raise InputError(f"{value!r}: give a number from {least:g} to {most:g}")
        return float(value)

    return check


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise InputError(f"{value!r}: give a whole number")
    return value


def _weight(value: Any) -> float:
    if type(value) not in (int, float) or not isfinite(value):
        raise InputError(f"{value!r}: give a number")
    return float(value)


def _unit(value: Any) -> str:
    if value not in UNITS:
        raise InputError(f"{value!r}: give {', '.join(UNITS[:-1])} or {UNITS[-1]}")
    return str(value)


def _where(value: Any) -> tuple[Condition, ...]:
    if not isinstance(value, dict):
        raise InputError(f'{value!r}: give fields and their values, as where = {{domain = "bank"}}')
    return parse_where(value)


def _day(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else _text(value)


def _table(value: Any) -> Learned:
    if not isinstance(value, dict):
        raise InputError(f"{value!r} is no table; write [learned]")
    return Learned()


_KEYS: dict[str, Callable[[Any], Any]] = {
    "name": _text,
    "description": _text,
    "phrases": _texts,
    "counter_phrases": _texts,
    "where": _where,
    "threshold": _number(-1, 1),
    "min_probability": _number(0, 1),
    "precision": _number(0, 1),
    "unit": _unit,
    "must_match": _texts,
    "must_not_match": _texts,
    "learned": _table,
}
_LEARNED_KEYS: dict[str, Callable[[Any], Any]] = {
    "threshold": _number(-1, 1),
    "phrases": _texts,
    "counter_phrases": _texts,
    "offset": _weight,
    "scale": _weight,
    "labels": _count,
    "right": _count,
    "date": _day,
}
