"""Topics as the text of TOML files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

import orjson

from slice_os.topics.table import topic_table
from slice_os.topics.topic import Learned, Topic

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def topic_text(topic: Topic) -> str:
    """A topic as the text of a file that `read_topic` reads as the same topic.

    Raises:
        InputError: if its conditions are none that a file can have.
    """
    table = topic_table(topic)
    learned = table.pop("learned", {})
    text = "".join(f"{line}\n" for line in _lines(table))
    return f"{text}\n{learned_table(topic.learned)}" if learned else text


def learned_table(learned: Learned) -> str:
    """The ``[learned]`` table as TOML."""
    table = topic_table(Topic("", (), learned=learned)).get("learned", {})
    return "".join(f"{line}\n" for line in ("[learned]", *_lines(table)))


def _lines(table: Mapping[str, Any]) -> Iterator[str]:
    for name, value in table.items():
        if isinstance(value, list):
            yield f"{name} = ["
            yield from (f"  {_string(item)}," for item in value)
            yield "]"
        elif name == "date" and _is_date(value):
            yield f"{name} = {value}"
        else:
            yield f"{name} = {_value(value)}"


def _value(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(name)} = {_value(each)}" for name, each in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _string(value) if isinstance(value, str) else repr(value)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _string(name)


def _string(text: str) -> str:
    return orjson.dumps(text).decode().replace("\x7f", "\\u007f")


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
