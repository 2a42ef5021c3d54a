"""WebVTT and SubRip: a document per file, a segment with speaker and times per cue.

The parser is our own, because no package reports a broken cue by its line and reads the others.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import BinaryIO, NamedTuple

import orjson

from slice_os.errors import InputError
from slice_os.ingest.readers.decoding import note, read_text_file
from slice_os.ingest.readers.reader import (
    BadRecord,
    DocumentStream,
    ReadOptions,
    Turn,
    bad_record,
    join_turns,
    notes_of,
)
from slice_os.ingest.readers.speakers import name_speakers
from slice_os.ingest.readers.turns import clocked
from slice_os.text.documents import Document

_TIME = r"(?:(\d{1,6}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?"
_TIMING = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?=\s|$)", re.ASCII)
# YouTube's lines with times, such as 0:00:01.000,0:00:02.500.
_SBV = re.compile(
    r"^(\d+:\d\d:\d\d\.\d{1,3}),(\d+:\d\d:\d\d\.\d{1,3})(?=[ \t\r]*$)", re.ASCII | re.M
)
# The line before the times that Webex writes: a number, the speaker, and a number of that.
_WEBEX = re.compile(r'(?:\d+ )?"([^"]+)" \(\d+\)\s*', re.ASCII)
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s([^<>]*)>")
# Only the tags that the two formats define, so that "a < b" is kept.
_TAG = re.compile(
    r"</?(?:b|c|font|i|lang|rt|ruby|s|u|v)(?:[.\s][^<>]*)?>|<\d+:[\d:.]+>|\{(?:\\|[cfsy]:)[^{}]*\}",
    re.ASCII | re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]\w{1,30});", re.ASCII)
_SIGN = re.compile(r"[<&{\\]")
_WORD_TIME = re.compile(r"<\d+:[\d:.]+>", re.ASCII)
_IGNORED = re.compile(r"(?:NOTE|STYLE|REGION)(?=\s|$)")
_READING = re.compile(r"<(/?)rt(?:[.\s][^<>]*)?>", re.I)
_BREAK = re.compile(r"<br\s*/?>|\\N", re.ASCII)
_LEAST_ROLLED = 2
_SHOWN_AGAIN = "caption lines shown again, read once"


class _Block(NamedTuple):
    """Consecutive lines that are not empty, and the number of the first."""

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
    blocks = list(_blocks(_SBV.sub(r"\1 --> \2", text.removeprefix("\ufeff"))))
    if webvtt:
        header = blocks[0]
        if header.lines[0].split(maxsplit=1)[0] != "WEBVTT":
            yield bad_record(
                source, header.line, "not WebVTT: the first line is not WEBVTT", header.raw
            )
            return
        blocks[:1] = _behind(header)
        blocks = [
            block
            for one in blocks
            for block in (_behind(one) if _IGNORED.match(one.lines[0]) else [one])
        ]
    turns: list[Turn] = []
    for block in _parted(_joined(blocks)):
        try:
            turns.extend(_cue(block))
        except InputError as error:
            yield bad_record(source, block.line, str(error), block.raw)
    # Times within lines are those of automatic captions, which roll.
    rolls = captions_roll(turns, 1 if _WORD_TIME.search(text) else _LEAST_ROLLED)
    once, again = said_once(turns) if rolls else (turns, 0)
    # Where lines roll, they end where the screen does, within sentences.
    joined, segments = join_turns(name_speakers(once), " " if rolls else "\n")
    if joined:
        yield Document(source, joined, note(encoding), segments, source)
    else:
        yield bad_record(source, None, "no cue with text", "")
    yield from notes_of(source, {_SHOWN_AGAIN: again})


read_vtt = partial(_read, webvtt=True)
read_srt = partial(_read, webvtt=False)


def _blocks(text: str) -> Iterator[_Block]:
    """Runs of lines that are not empty; a space alone does not end a cue."""
    block: list[str] = []
    begin = 0
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate([*lines, ""], 1):
        if line and (block or line.strip()):
            begin = begin if block else number
            block.append(line)
        elif block:
            yield _Block(begin, tuple(block))
            block = []


def _joined(blocks: Iterable[_Block]) -> Iterator[_Block]:
    """Blocks, the number of a cue and its time with what follows on them behind an empty line."""
    waiting: _Block | None = None
    for block in blocks:
        if waiting is not None:
            is_timed = any(map(_timing, block.lines))
            alone = not _timing(waiting.lines[-1])
            if _timing(block.lines[0]) if alone else not is_timed:
                lines = (*waiting.lines, *block.lines)
                block = block._replace(line=waiting.line, lines=lines)
            else:
                yield waiting
        waiting = block
        is_number = len(block.lines) == 1 and _number(block.lines[0])
        if not is_number and not _timing(block.lines[-1]):
            yield block
            waiting = None
    if waiting is not None:
        yield waiting


def _behind(block: _Block) -> list[_Block]:
    """The cue that follows without an empty line on what is no cue."""
    timed = [at for at, line in enumerate(block.lines) if _timing(line)]
    first = timed[0] - (_number(block.lines[timed[0] - 1]) > 0) if timed else len(block.lines)
    return [_Block(block.line + first, block.lines[first:])] if timed else []


def _parted(blocks: Iterable[_Block]) -> Iterator[_Block]:
    """Cues that stick together, each by itself; a number before the time belongs to the cue."""
    number = 0
    for block in blocks:
        timed = [at for at, line in enumerate(block.lines) if _timing(line)]
        if timed[:1] == [1]:
            number = _number(block.lines[0]) or number
        if len(timed) < 2 or timed[0] > 1:
            yield block
            continue
        starts = [0]
        for at in timed[1:]:
            # The cue's own number only if it counts on, so that a number that is said stays.
            is_next = _number(block.lines[at - 1]) == number + 1
            starts.append(at - is_next)
            number += is_next
        for first, last in zip(starts, [*starts[1:], None], strict=True):
            yield _Block(block.line + first, block.lines[first:last])


def _timing(line: str) -> re.Match[str] | None:
    return _TIMING.match(line) if "-->" in line else None


def _number(line: str) -> int:
    return int(line) if len(line) < 10 and line.strip().isdecimal() else 0


def _cue(block: _Block) -> list[Turn]:
    """The turns of a cue: one, or one per voice."""
    timing_at = 0 if "-->" in block.lines[0] else 1
    timing = _timing(block.lines[timing_at]) if len(block.lines) > timing_at else None
    if timing is None:
        raise InputError(
            "malformed cue: no line with START --> END, such as 00:01.000 --> 00:02.500"
        )
    parts = timing.groups()
    start, end = clocked(*parts[:4]), clocked(*parts[4:])
    if end < start:
        raise InputError("malformed cue: it ends before it starts")
    payload = "\n".join(block.lines[timing_at + 1 :])
    if payload.startswith("{") and (spoken := _of_teams(payload)):
        return [spoken._replace(start_time=start, end_time=end)]
    if "<v" not in payload:
        named = _WEBEX.fullmatch(block.lines[0])
        return [Turn(_plain(payload), named and named[1], start, end)]
    before, *voices = _VOICE.split(payload)
    said = zip(["", *voices[::2]], [before, *voices[1::2]], strict=True)
    return [Turn(_plain(text), _plain(speaker) or None, start, end) for speaker, text in said]


def _of_teams(payload: str) -> Turn | None:
    """A cue that is an object of JSON, as Teams writes it for programs."""
    try:
        value = orjson.loads(payload)
        speaker, text = value.get("speakerName"), value.get("spokenText")
    except ValueError:
        return None
    named = speaker if isinstance(speaker, str) and speaker else None
    return Turn(text, named) if isinstance(text, str) else None


def _plain(payload: str) -> str:
    if not _SIGN.search(payload):
        return payload.strip()
    text = _READING.sub(lambda tag: ")" if tag[1] else "(", _BREAK.sub("\n", payload))
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), _TAG.sub("", text)).strip()


_LEAST_SHARE = 0.5
_MOST_APART = 0.5
# Lines on a screen.
_MOST_LINES = 20


class _Line(NamedTuple):
    """A line on the screen, and the turn that it was first said in."""

    text: str
    turn: int


def captions_roll(cues: Sequence[Turn], least: int) -> bool:
    """Whether the captions of a file roll or grow: each repeats lines of the one before it.

    ``least`` are the repetitions that show it, beside half of the cues that may repeat. In other
    files, two people may say the same words, one after the other.
    """
    if any(cue.speaker for cue in cues):
        return False
    rolled = able = 0
    shown = list(map(_lines, cues))
    for (one, before), (other, lines) in pairwise(zip(cues, shown, strict=True)):
        if not (before and lines and _follows(one.end_time or 0.0, other)):
            continue
        known = _repeated(before, lines)
        new = before[len(before) - known :] != lines
        # Whoever says the same again does not show that lines stay on the screen.
        able += len(lines) > 1 or (known > 0 and new)
        rolled += known > 0 and new
    return rolled >= max(least, _LEAST_SHARE * able)


def said_once(cues: Sequence[Turn]) -> tuple[list[Turn], int]:
    """Every line of captions that roll, and how often a line was shown again."""
    turns: list[Turn] = []
    shown: list[_Line] = []
    again, last = 0, 0.0
    for cue in cues:
        lines = _lines(cue)
        if not lines:
            continue
        known = _repeated([line.text for line in shown], lines)
        # What is said again after a while is no line that stayed on the screen.
        if known == len(lines) and not _follows(last, cue):
            known = 0
        kept = shown[len(shown) - known :]
        for line, text in zip(kept, lines, strict=False):
            again += line.text == text
            if line.text != text:
                turns[line.turn] = turns[line.turn]._replace(text=text, end_time=cue.end_time)
        shown = [_Line(text, line.turn) for line, text in zip(kept, lines, strict=False)]
        for text in lines[known:]:
            shown.append(_Line(text, len(turns)))
            turns.append(cue._replace(text=text))
        last = cue.end_time or 0.0
    return turns, again


def _follows(end: float, cue: Turn) -> bool:
    return (cue.start_time or 0.0) <= end + _MOST_APART


def _lines(cue: Turn) -> list[str]:
    return [shown for line in cue.text.split("\n") if (shown := line.strip())]


def _repeated(shown: Sequence[str], lines: Sequence[str]) -> int:
    """The number of last shown lines that begin the next cue; the last may have grown."""
    last = shown[-1] if shown else ""
    for count in range(min(len(shown), len(lines), _MOST_LINES), 0, -1):
        line = lines[count - 1]
        has_grown = line.startswith(last) and not line[len(last) : len(last) + 1].isalnum()
        if has_grown and shown[len(shown) - count : -1] == lines[: count - 1]:
            return count
    return 0
