"""Topic files: TOML that people write, with a table that learning writes.

What slice-os writes has a checksum in a comment, so that damage is told. People may edit it all the
same: a file that is not as it was written is used, and the line that tells it says how to end that.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from xxhash import xxh3_64_hexdigest

from slice_os.errors import InputError
from slice_os.tables.replacing import replacing
from slice_os.topics.table import read_table, toml_item, topic_table, topic_text
from slice_os.topics.topic import Learned, Topic

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LONGEST_FILE = 1 << 20
"""Bytes of a topic file."""

# Reading a key takes the square of its parts in time and memory; those of a topic have three.
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){32}""")
# Of the whole file, on a line of its own, and of what was learned.
_MARK = re.compile(r"^# checksum ([0-9a-f]{16})[^\n]*\n?", re.MULTILINE)
_LEARNED_MARK = re.compile(r"^\[learned\] *# checksum ([0-9a-f]{16})", re.MULTILINE)

logger = logging.getLogger("slice_os")


def read_topic(path: str | Path) -> Topic:
    """Read and check a topic file.

    Raises:
        InputError: if it is missing or not TOML, or a key is unknown or has a value that cannot
            be used.
    """
    topics, problems = _usable([Path(path)])
    if problems:
        raise InputError(problems[0])
    return topics[0]


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
    return _usable(topic_files(paths))


def _usable(files: Iterable[Path]) -> tuple[list[Topic], list[str]]:
    homes: dict[str, Path] = {}
    topics, problems = [], []
    for path in files:
        topic, wrong, changed = examine(path)
        if topic is not None and not wrong and topic.name in homes:
            wrong = [f"{homes[topic.name]} also has topic {topic.name!r}"]
        if topic is None or wrong:
            problems.append(f"{path}: {wrong[0]}")
        else:
            for told in changed:
                logger.warning("%s: %s", path, told)
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
    """The topic files in a folder and those below it, by name; without those being written.

    A pipe or a device, for which reading may wait, is none.
    """
    found = (path for path in folder.rglob("*.toml") if not path.name.startswith("."))
    return sorted(path for path in found if not (path.is_fifo() or path.is_char_device()))


def examine(path: Path) -> tuple[Topic | None, list[str], list[str]]:
    """As `parse_written`, of a file."""
    try:
        return parse_written(topic_content(path), path.stem)
    except OSError as error:
        return None, [str(error.strerror)], []


def topic_content(path: Path) -> bytes:
    """The content of a topic file; of one that is too long for `parse_topic`, its beginning."""
    with path.open("rb") as file:
        return file.read(LONGEST_FILE + 1)


def parse_topic(content: bytes, name: str) -> tuple[Topic | None, list[str]]:
    """A topic as far as the content of a file can be used, and everything that is wrong with it.

    The name is for a file that gives none.
    """
    topic, problems, _ = parse_written(content, name)
    return topic, problems


def parse_written(content: bytes, name: str) -> tuple[Topic | None, list[str], list[str]]:
    """As `parse_topic`; then a line for each part that is not as slice-os wrote it."""
    if len(content) > LONGEST_FILE:
        return None, [f"more than {LONGEST_FILE:,} bytes; make several topics of it"], []
    try:
        text = content.decode("utf-8")
        if _LONG_KEY.search(text):
            return None, ["a key of more than 32 parts, joined by '.'; write shorter keys"], []
        table = tomllib.loads(text)
    except ValueError as error:
        return None, [f"not valid TOML ({error})"], []
    except RecursionError:
        return None, ["not valid TOML (nested too deeply)"], []
    return *read_table(table, name), _changed(text, table)


def gives_name(content: bytes) -> bool:
    """Whether a topic file says its name, so that this does not come from that of the file."""
    return "name" in tomllib.loads(content.decode("utf-8"))


def marked(text: str) -> str:
    """The text of a topic file that slice-os writes, with its checksum."""
    found = _checksum(tomllib.loads(text))
    return f"{text}# checksum {found}: delete this line if you edit the file\n"


def with_learned(text: str, learned: Learned) -> str:
    """The text of a topic file with another ``[learned]`` table; all else stays as it is.

    Raises an `InputError` if its table cannot be replaced alone, or makes the file too long.
    """
    table = toml_item("learned", topic_table(Topic("", learned=learned)).get("learned", {}))
    if _MARK.search(text) is None:
        table.comment(f"checksum {_checksum(table.unwrap())}")
    written = _with(text, {"learned": table})
    if len(written.encode()) > LONGEST_FILE:
        raise InputError(f"would have more than {LONGEST_FILE:,} bytes; make several topics of it")
    return written


def with_name(text: str, name: str) -> str:
    """The text of a topic file with another name; all else stays as it is.

    Raises an `InputError` if its name cannot be replaced alone.
    """
    return _with(text, {"name": name})


def with_topic(text: str, topic: Topic) -> str:
    """The text of a topic file that says another topic, with its checksum; comments stay.

    Raises an `InputError` as `topic_table`.
    """
    table, before = topic_table(topic), tomllib.loads(text)
    new = {key: value for key, value in table.items() if before.get(key) != value}
    changes = {key: toml_item(key, value) for key, value in new.items()}
    try:
        written = _with(_MARK.sub("", text), changes, before.keys() - table)
    except InputError:
        written = topic_text(topic)
    return marked(written if written.endswith("\n") else f"{written}\n")


def _with(text: str, changes: Mapping[str, Any], gone: Collection[str] = ()) -> str:
    """The text of a file with other values of some keys, and without others.

    Its checksum follows, if it was that of the text.
    """
    import tomlkit
    from tomlkit.items import Comment, Table

    before, mark = tomllib.loads(text), _MARK.search(text)
    items = {key: tomlkit.item(value) for key, value in changes.items()}
    wanted = {**before, **{key: item.unwrap() for key, item in items.items()}}
    try:
        document = tomlkit.parse(text if mark is None else _MARK.sub("", text, count=1))
        added = {"name": items.pop("name")} if "name" in items.keys() - document else {}
        new, old = items.get("learned"), document.get("learned")
        if isinstance(new, Table) and isinstance(old, Table):
            for comment in (one for _, one in old.value.body if isinstance(one, Comment)):
                new.add(comment)
        document.update(items)
        for key in gone:
            del document[key], wanted[key]
        written = tomlkit.dumps(added) + tomlkit.dumps(document)
        same = tomllib.loads(written) == wanted
    except (tomlkit.exceptions.TOMLKitError, tomllib.TOMLDecodeError):
        same = False
    if not same:
        raise InputError(f"its {' and '.join(changes)} cannot be replaced; edit the file")
    if mark is None:
        return written
    if mark[1] == _checksum(before):
        return marked(written)
    return written.rstrip("\n") + f"\n{mark[0]}"


def _changed(text: str, table: Mapping[str, Any]) -> list[str]:
    """Find what people edited, or is damaged, since slice-os wrote it."""
    told = []
    for mark, part, line in (
        (_MARK.search(text), table, "its line '# checksum …'"),
        (_LEARNED_MARK.search(text), table.get("learned", {}), "'# checksum …' behind [learned]"),
    ):
        if mark is not None and mark[1] != _checksum(part):
            told.append(f"not as slice-os wrote it; if you changed it, delete {line}")
    return told


def _checksum(table: Mapping[str, Any]) -> str:
    """The checksum of what a table says, however it is written."""
    return xxh3_64_hexdigest(json.dumps(table, sort_keys=True, default=str).encode())


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
