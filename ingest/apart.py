"""Files that libraries parse are read in a process of their own, with little time and memory.

What a hostile file does to a library, it then does to that process: the file becomes a bad record,
and the next one is read by a new process. A process is kept for the next files, and ends by itself
when none comes.
"""

from __future__ import annotations

import io
import json
import os
import select
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from slice_os.errors import InputError
from slice_os.ingest.formats import reader_named
from slice_os.ingest.readers.archives import named
from slice_os.ingest.readers.reader import (
    NO_MEMORY,
    TOO_LONG,
    BadRecord,
    PackedFile,
    ReadNote,
    ReadOptions,
    bad_record,
    read_whole,
)
from slice_os.text.documents import Document, Segment
from slice_os.threads import checkpoint

Head: TypeAlias = dict[str, Any]
Answer: TypeAlias = tuple[Head, bytes]

SECONDS, SECONDS_PER_MIB = 30, 20
"""Processor time for a file."""
MEMORY, MEMORY_PER_BYTE = 2 << 30, 8
"""Bytes of address space for a file."""

_IDLE_SECONDS, _STEP_MILLISECONDS = 10, 100
_READ = "slice_os.ingest.apart:read_here"
_FULL = 3
_LENGTHS = struct.Struct("<QQ")
_SERVE = "import sys; sys.path[:] = sys.argv[1:]; from slice_os.ingest.apart import serve; serve()"

_RECORDS = {kind.__name__: kind for kind in (BadRecord, ReadNote)}

_idle: list[subprocess.Popen[bytes]] = []
POSSIBLE = hasattr(os, "register_at_fork")
"""Whether this system can wait for pipes and limit processes."""
if POSSIBLE:
    os.register_at_fork(after_in_child=_idle.clear)


def read_apart(
    format_name: str, source: str, stream: IO[bytes], options: ReadOptions
) -> Iterator[Document | BadRecord | PackedFile]:
    """Read a file as its reader does, in another process.

    A file that takes too much time or memory, or ends that process, is a bad record.
    """
    request = {"format": format_name, "source": source, "options": asdict(options)}
    try:
        if reader_named(format_name).streamed:
            with named(stream) as path:
                size = path.stat().st_size
                yield from _read_apart({**request, "path": str(path)}, b"", size)
        else:
            content = read_whole(stream)
            yield from _read_apart(request, content, len(content))
    except InputError as error:
        yield bad_record(source, None, str(error), "")


def _read_apart(
    request: Head, content: bytes, size: int
) -> Iterator[Document | BadRecord | PackedFile]:
    seconds = SECONDS + SECONDS_PER_MIB * size // (1 << 20)
    for answer in run_apart(_READ, request, content, seconds, MEMORY + MEMORY_PER_BYTE * size):
        yield _received(*answer)


def run_apart(
    function: str, request: Head, content: bytes, seconds: int, memory: int
) -> Iterator[Answer]:
    """The answers of a function to a request and a file, in another process.

    Args:
        function: ``MODULE:NAME`` of one that takes request and content, and yields answers.
        request: what JSON can hold.
        content: of the file.
        seconds: of processor time.
        memory: bytes of address space.

    There are checkpoints until the first answer. Raises an `InputError` that says why if the
    process ends.
    """
    asked = {**request, "function": function, "seconds": seconds, "memory": memory}
    try:
        process = _idle.pop()
    except IndexError:
        process = _started()
    ended = False
    try:
        answers = _answers(process, asked, content)
        first = next(answers, None)
        if first is None and process.wait() == 0:  # it had waited too long for a file
            process = _started()
            answers = _answers(process, asked, content)
            first = next(answers, None)
        while first is not None and "end" not in first[0]:
            yield first
            first = next(answers, None)
        ended = first is not None
        if not ended:
            raise InputError(_why(process.wait(), seconds))
    finally:
        if ended:
            _idle.append(process)
        else:
            process.kill()
            process.communicate()


def serve() -> None:
    """Answer the requests that come on standard input, until none comes for some seconds."""
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print
    while select.select([source], [], [], _IDLE_SECONDS)[0]:
        if (found := _frame(source)) is None:
            return
        request, content = found
        _limit(request["seconds"], request["memory"])
        module, _, name = request["function"].partition(":")
        try:
            for answer in getattr(import_module(module), name)(request, content):
                _send(sink, *answer)
        except MemoryError:
            os._exit(_FULL)
        _send(sink, {"end": True})


def read_here(request: Head, content: bytes) -> Iterator[Answer]:
    """Yield what the reader of a format finds in a file."""
    chosen = request["options"]
    fields = chosen["metadata_fields"]
    chosen["metadata_fields"] = None if fields is None else tuple(fields)
    read = reader_named(request["format"]).load()
    path = request.get("path")
    with Path(path).open("rb") if path else io.BytesIO(content) as stream:
        for one in read(request["source"], stream, ReadOptions(**chosen)):
            yield _sent(one)


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  ourselves
        [sys.executable, "-c", _SERVE, *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _answers(process: subprocess.Popen[bytes], request: Head, content: bytes) -> Iterator[Answer]:
    """Yield the process's answers to a request; stop early if the process ends."""
    sink, source = cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)
    with suppress(BrokenPipeError):
        _send(sink, request, content)
        answered = select.poll()  # select knows the first 1,024 files of a process only
        answered.register(source, select.POLLIN)
        while not answered.poll(_STEP_MILLISECONDS):
            checkpoint()
        while (found := _frame(source)) is not None:
            yield found


def _send(sink: IO[bytes], head: Head, content: bytes = b"") -> None:
    packed = json.dumps(head).encode()  # orjson would refuse lone surrogates
    sink.write(_LENGTHS.pack(len(packed), len(content)))
    sink.write(packed)
    sink.write(content)
    sink.flush()


def _frame(source: IO[bytes]) -> Answer | None:
    """The next request or answer; None at the end."""
    lengths = source.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    size, rest = _LENGTHS.unpack(lengths)
    packed, content = source.read(size), source.read(rest)
    return (json.loads(packed), content) if len(content) == rest and len(packed) == size else None


def _sent(one: Document | BadRecord | PackedFile) -> Answer:
    if isinstance(one, PackedFile):
        return {"packed": [one.source, one.path, one.format, one.otherwise]}, one.stream.read()
    return {type(one).__name__: asdict(one)}, b""


def _received(head: Head, content: bytes) -> Document | BadRecord | PackedFile:
    ((kind, value),) = head.items()
    if kind == "packed":
        source, path, *formats = value
        return PackedFile(source, path, io.BytesIO(content), *formats)
    if kind in _RECORDS:
        return _RECORDS[kind](**value)
    segments = tuple(Segment(**segment) for segment in value.pop("segments"))
    return Document(**value, segments=segments)


def _limit(seconds: int, memory: int) -> None:
    """Limit the time and memory of this process from now on."""
    with suppress(ImportError, ValueError, OSError):  # not every system has such limits
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        until = int(used.ru_utime + used.ru_stime) + 1 + seconds
        for kind, most in ((resource.RLIMIT_CPU, until), (resource.RLIMIT_AS, memory)):
            resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def _why(status: int, seconds: int) -> str:
    if status == -signal.SIGXCPU:
        return f"{TOO_LONG} {seconds} seconds to read"
    if status == _FULL:
        return NO_MEMORY
    name = signal.Signals(-status).name if status < 0 else f"status {status}"
    return f"cannot be read: it ends the process that reads it ({name})"
