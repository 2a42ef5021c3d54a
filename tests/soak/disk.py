"""A disk that loses power: what a program asked of it, and what may be left of that.

`recorded` runs a program under strace. `Disk` knows, as ALICE and CrashMonkey do, what of its
writes and names has been synced: the rest may be there, or not, in any order, and in parts. The
name of a new file is there for certain only if its folder has been synced, too.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Kind = Literal["write", "truncate", "sync", "create", "folder", "rename", "remove", "said"]
_CALLS = (
    "openat,write,pwrite64,writev,ftruncate,truncate,fsync,fdatasync,rename,renameat,renameat2,"
    "unlink,unlinkat,mkdir,mkdirat,sendto"
)
_STRACE = ("strace", "-f", "-y", "-T", "-xx", "-s", str(1 << 26), "-e", f"trace={_CALLS}")
_LINE = re.compile(r"(\d+) +(\w+)\((.*)\) += (\d+)(?:<((?:\\x\w\w)*)>)?.* <([\d.]+)>")
_BEGUN = re.compile(r"(\d+) +(.*) <unfinished \.\.\.>")
_RESUMED = re.compile(r"(\d+) +<\.\.\. \w+ resumed>(.*)")
_TEXT = re.compile(r'"((?:\\x\w\w)*)"')
_OPENED = re.compile(r"^\d+<((?:\\x\w\w)*)>(?!\(deleted\))")
_SECTORS = (512, 4_096)


@dataclass(frozen=True, slots=True)
class Event:
    """What a program asked of the disk, or said to others.

    Attributes:
        path: below the folder that is watched.
        place: first byte of a write, None for the end; or the size after truncating.
        data: what was written or said.
        target: new path of what is renamed.
        seconds: that it took.
    """

    kind: Kind
    path: str = ""
    place: int | None = None
    data: bytes = b""
    target: str = ""
    seconds: float = 0.0


@contextmanager
def recorded(
    command: Sequence[str], folder: Path, events: list[Event]
) -> Iterator[subprocess.Popen[bytes]]:
    """A program that runs in a folder; at its end, what it did below it is added to the events."""
    log = folder.with_name(f"{folder.name}.strace")
    process = subprocess.Popen(
        [*_STRACE, "-o", str(log), *command],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.stderr is not None:
            process.stderr.close()
        process.wait()
    with log.open(encoding="ascii") as lines:
        events += _events(lines, str(folder))
    log.unlink()


def _events(lines: Iterator[str], root: str) -> Iterator[Event]:
    begun: dict[str, str] = {}
    for line in lines:
        if found := _BEGUN.match(line):
            begun[found[1]] = found[2]
            continue
        if found := _RESUMED.match(line):
            line = f"{found[1]} {begun.pop(found[1])}{found[2]}"
        if found := _LINE.match(line):
            _, name, arguments, result, opened, seconds = found.groups()
            yield from _of_call(name, arguments, int(result), opened, float(seconds), root)


def _of_call(
    name: str, arguments: str, result: int, opened: str | None, seconds: float, root: str
) -> Iterator[Event]:
    def below(path: bytes) -> str | None:
        full = os.path.normpath(Path(root, os.fsdecode(path)))
        return os.path.relpath(full, root) if f"{full}/".startswith(f"{root}/") else None

    texts = [_bytes(text) for text in _TEXT.findall(arguments)]
    handle = _OPENED.match(arguments)
    of_handle = _bytes(handle[1]) if handle else b""
    path = below(of_handle) if of_handle.startswith(b"/") else None
    named = [below(text) for text in texts]
    if name == "openat" and (made := below(_bytes(opened or ""))):
        if "O_CREAT" in arguments:
            yield Event("create", made)
        if "O_TRUNC" in arguments:
            yield Event("truncate", made, 0)
    elif name in ("write", "writev", "pwrite64") and path:
        place = int(arguments.rpartition(", ")[2]) if name == "pwrite64" else None
        yield Event("write", path, place, b"".join(texts)[:result])
    elif name == "sendto":
        yield Event("said", data=b"".join(texts)[:result])
    elif name == "ftruncate" and path:
        yield Event("truncate", path, int(arguments.rpartition(", ")[2]))
    elif name == "truncate" and named[0]:
        yield Event("truncate", named[0], int(arguments.rpartition(", ")[2]))
    elif name in ("fsync", "fdatasync") and path:
        yield Event("sync", path, seconds=seconds)
    elif name.startswith("rename") and named[0] and named[1]:
        yield Event("rename", named[0], target=named[1])
    elif name.startswith("unlink") and named[0]:
        yield Event("remove", named[0])
    elif name.startswith("mkdir") and named[0]:
        yield Event("folder", named[0])


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


@dataclass(slots=True)
class _File:
    """What is synced of a file, and what was asked since; the size of both together."""

    synced: bytes = b""
    asked: list[tuple[int, bytes | None]] = field(default_factory=list)
    size: int = 0

    def ask(self, place: int | None, data: bytes | None) -> None:
        """Write data, or cut off what comes after a place."""
        begin = self.size if place is None else place
        self.asked.append((begin, data))
        self.size = begin if data is None else max(self.size, begin + len(data))

    def sync(self) -> None:
        """All of it is on the disk."""
        self.synced = _applied(self.synced, self.asked)
        self.asked.clear()


Entry = _File | None
"""What a name stands for; None for a folder."""


class Disk:
    """The names and files of a folder, those that are synced and those that programs see."""

    def __init__(self, folder: Path) -> None:
        self._synced: dict[str, Entry] = {".": None}
        for path in sorted(folder.rglob("*")):
            content = None if path.is_dir() else path.read_bytes()
            entry = None if content is None else _File(content, size=len(content))
            self._synced[os.path.relpath(path, folder)] = entry
        self._seen = dict(self._synced)
        self._asked: list[dict[str, Entry | Literal["gone"]]] = []

    def do(self, event: Event) -> None:
        """What a program asked."""
        path = event.path
        if event.kind == "create" and path not in self._seen:
            self._name({path: _File()})
        elif event.kind == "folder":
            self._name({path: None})
        elif event.kind == "remove":
            self._name({path: "gone"})
        elif event.kind == "rename":
            self._name({path: "gone", event.target: self._seen[path]})
        elif event.kind in ("write", "truncate"):
            file = self._seen[path]
            assert file is not None, path
            file.ask(event.place, event.data if event.kind == "write" else None)
        elif event.kind == "sync":
            self._sync(path)

    def _name(self, change: dict[str, Entry | Literal["gone"]]) -> None:
        self._asked.append(change)
        _rename(self._seen, change)

    def _sync(self, path: str) -> None:
        if (file := self._seen[path]) is not None:
            file.sync()
            return
        mine = [one for one in self._asked if any(_folder_of(name) == path for name in one)]
        for change in mine:
            _rename(self._synced, change)
        self._asked = [one for one in self._asked if one not in mine]

    def cut(self, chosen: random.Random, folder: Path) -> None:
        """Write to an empty folder what may be left after a power cut."""
        names = dict(self._synced)
        for change in _some(self._asked, chosen):
            _rename(names, change)
        for path, file in sorted(names.items()):
            if path != "." and names.get(_folder_of(path), "gone") is not None:
                continue  # the folder's own name is lost
            if file is None:
                (folder / path).mkdir(exist_ok=True)
            else:
                (folder / path).write_bytes(_left(file, chosen))


def _rename(names: dict[str, Entry], change: dict[str, Entry | Literal["gone"]]) -> None:
    for path, entry in change.items():
        if entry == "gone":
            names.pop(path, None)
        else:
            names[path] = entry


def _folder_of(path: str) -> str:
    return str(Path(path).parent)


def _some(asked: list[object], chosen: random.Random) -> list[object]:
    """Nothing of what was asked, the first of it, or any."""
    how = chosen.choice(("nothing", "first", "any"))
    if how == "nothing":
        return []
    if how == "first":
        return asked[: chosen.randint(0, len(asked))]
    return [one for one in asked if chosen.random() < 0.5]


def _left(file: _File, chosen: random.Random) -> bytes:
    """What may be left of a file: of a write that is lost the sectors, or zeros, may be there."""
    kept = _some(file.asked, chosen)
    torn, sector = chosen.random() < 0.5, chosen.choice(_SECTORS)
    parts: list[tuple[int, bytes | None]] = []
    for begin, data in kept:
        if data is None or not torn or chosen.random() < 0.5:
            parts.append((begin, data))
            continue
        if chosen.random() < 0.5:  # the size is on the disk
            parts.append((begin + len(data), b""))
        cuts = sorted({begin, *range(-(-begin // sector) * sector, begin + len(data), sector)})
        for first, last in zip(cuts, [*cuts[1:], begin + len(data)], strict=True):
            if chosen.random() < 0.5:
                parts.append((first, data[first - begin : last - begin]))
    return _applied(file.synced, parts)


def _applied(content: bytes, parts: list[tuple[int, bytes | None]]) -> bytes:
    disk = bytearray(content)
    for begin, data in parts:
        end = begin + len(data or b"")
        disk.extend(bytes(max(0, end - len(disk))))
        if data is None:
            del disk[begin:]
        else:
            disk[begin:end] = data
    return bytes(disk)
