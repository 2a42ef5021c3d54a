"""WebVTT and SubRip: a document per file, a segment with speaker and times per cue.

The parser is our own, because no package reports a broken cue by its line and reads the others.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO, NamedTuple

from slice_os.errors import InputError
from slice_os.ingest.readers.decoding import note, read_text_file
from slice_os.ingest.readers.reader import (
    BadRecord,
    DocumentStream,
    ReadOptions,
    Turn,
    bad_record,
    join_turns,
)
from slice_os.ingest.readers.speakers import name_speakers
from slice_os.ingest.readers.turns import clock_seconds
from slice_os.text.documents import Document

_LINE_END = re.compile(r"\r\n|\r|\n")
_TIME = r"(?:\d{1,6}:)?\d{1,2}:\d{1,2}[.,]\d{1,3}"
_TIMING = re.compile(rf"\s*({_TIME})\s*-->\s*({_TIME})(?=\s|$)", re.ASCII)
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s([^<>]*)>")
# Only the tags that the two formats define, so that "a < b" is kept.
_TAG = re.compile(
    r"</?(?:b|c|font|i|lang|rt|ruby|s|u|v)(?:[.\s][^<>]*)?>|<\d+:[\d:.]+>|\{\\[^{}]*\}",
    re.ASCII | re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]\w{1,30});", re.ASCII)
_IGNORED = re.compile(r"(?:NOTE|STYLE|REGION)(?=\s|$)")


class _Block(NamedTuple):
    """Consecutive lines that are not blank, and the number of the first."""

    line: int
    lines: tuple[str, ...]

    @property
    def raw(self) -> str:
        return "\n".join(self.lines)


def _read(source: str, stream: BinaryIO, options: ReadOptions, *, webvtt: bool) -> DocumentStream:
    """Yield a bad record for every malformed cue, then one document of the other cues."""
    decoded = read_text_file(source, stream, options.encoding)
    if isinstance(decoded, BadRecord):
        yield decoded
        return
    text, encoding = decoded
    blocks = list(_blocks(text.removeprefix("\ufeff")))
    if webvtt:
        header = blocks.pop(0)
        if header.lines[0].split(maxsplit=1)[0] != "WEBVTT":
            yield bad_record(
                source, header.line, "not WebVTT: the first line is not WEBVTT", header.raw
            )
            return
        if "-->" in header.raw:  # the blank line before the first cue is missing
            blocks.insert(0, _Block(header.line + 1, header.lines[1:]))
        blocks = [block for block in blocks if not _IGNORED.match(block.lines[0])]
    turns: list[Turn] = []
    for block in blocks:
        try:
            turns.extend(_cue(block))
        except InputError as error:
            yield bad_record(source, block.line, str(error), block.raw)
    joined, segments = join_turns(name_speakers(turns))
    if joined:
        yield Document(source, joined, note(encoding), segments, source)
    else:
        yield bad_record(source, None, "no cue with text", "")


read_vtt = partial(_read, webvtt=True)
read_srt = partial(_read, webvtt=False)


def _blocks(text: str) -> Iterator[_Block]:
    block: list[str] = []
    number = 0
    for number, line in enumerate(_LINE_END.split(text), 1):
        if line.strip():
            block.append(line)
        elif block:
            yield _Block(number - len(block), tuple(block))
            block = []
    if block:
        yield _Block(number + 1 - len(block), tuple(block))


def _cue(block: _Block) -> Iterator[Turn]:
    """The turns of a cue: one, or one per voice."""
    timing_at = 0 if "-->" in block.lines[0] else 1
    timing = _TIMING.match(block.lines[timing_at]) if len(block.lines) > timing_at else None
    if timing is None:
        raise InputError(
            "malformed cue: no line with START --> END, such as 00:01.000 --> 00:02.500"
        )
    payload = "\n".join(block.lines[timing_at + 1 :])
    if "-->" in payload:
        raise InputError("malformed cue: a second time line; put a blank line between cues")
    start, end = clock_seconds(timing[1]), clock_seconds(timing[2])
    if start is not None and end is not None and end < start:
        raise InputError("malformed cue: it ends before it starts")
    before, *voices = _VOICE.split(payload)
    yield Turn(_plain(before), None, start, end)
    for speaker, said in zip(voices[::2], voices[1::2], strict=True):
        yield Turn(_plain(said), _plain(speaker) or None, start, end)


def _plain(payload: str) -> str:
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), _TAG.sub("", payload)).strip()
