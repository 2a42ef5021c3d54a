"""Plain text, and the speakers that a text names, before lines or a meeting's paragraphs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import BinaryIO, NamedTuple

from slice_os.ingest.readers.decoding import note, read_text_file
from slice_os.ingest.readers.reader import BadRecord, DocumentStream, ReadOptions, Turn
from slice_os.ingest.readers.turns import clock_seconds
from slice_os.text.documents import Document, Segment

_LABEL = re.compile(
    r"[^\S\n]{0,8}(?:[\[(]?(?P<time>\d{1,3}(?::\d{2}){1,2}(?:[.,]\d{1,3})?)[\])]?[^\S\n]{0,4}"
    r"(?:[-–—][^\S\n]{0,4})?)?"
    r"(?P<speaker>[^\W\d_][^\n:<>|{}\t\"]{0,39}):(?=[^\S\n]|$)[^\S\n]{0,8}",
)
# A line of a chat that Zoom saved; what is said follows, or is in the next lines after a tab.
_CHAT = re.compile(
    r"(?P<time>\d{1,2}:\d{2}:\d{2})[^\S\n]{1,8}From[^\S\n]{1,8}(?P<speaker>[^\n:\t]{1,60}?)"
    r"(?:[^\S\n]{1,8}(?i:to)[^\S\n]{1,8}[^\n:\t]{1,60})?[^\S\n]{0,8}:(?=\s|$)[^\S\n]{0,8}"
)
_LEAST_SHARE = 0.8
_MOST_WORDS = 5
# Names that tell a conversation of only two lines from two defined terms.
_ROLE = re.compile(
    r"(advisor|agent|assistant|bot|caller|client|consultant|customer|interviewer|operator|patient|"
    r"representative|speaker|support|user)[\W\d]*",
    re.IGNORECASE,
)

# A paragraph of a meeting that Teams saved is ``Ann Lee   1:23\nWhat she says`` or, in older files,
# ``0:1:23.10 --> 0:1:25.0\nAnn Lee\nWhat she says``.
_MEETING_NAMED = re.compile(
    r"\s*(?P<speaker>[^\n]{1,80}?)[^\S\n]{2,}(?P<start>\d{1,3}(?::\d{1,2}){1,2})[^\S\n]*"
    r"(?:\n(?P<text>.*))?",
    re.DOTALL,
)
_MEETING_TIMED = re.compile(
    r"\s*(?P<start>[\d:.]{5,16}) --> (?P<end>[\d:.]{5,16})[^\S\n]*\n(?P<speaker>[^\n]{1,80})"
    r"(?:\n(?P<text>.*))?",
    re.DOTALL,
)
_LEAST_TURNS = 2
_LEAST_MEETING_SHARE = 0.4


class _Label(NamedTuple):
    """The speaker and time at the beginning of a line, and where the words after it begin."""

    speaker: str
    time: float | None
    words: int


def read_text(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield one document with the file's exact text, byte order mark and line ends included.

    Lines that begin with the names of speakers are turns.
    """
    decoded = read_text_file(source, stream, options.encoding)
    if isinstance(decoded, BadRecord):
        yield decoded
        return
    text, encoding = decoded
    yield Document(source, text, note(encoding), speaker_segments(text), source)


def speaker_segments(text: str) -> tuple[Segment, ...]:
    """The turns of a text whose lines begin with the names of speakers; none for other texts.

    At least four fifths of the lines need a name, one name must come again, and the names may be
    half as many as the lines; so a list of defined terms is not a conversation. Two lines are one
    if their names are roles, such as ``Customer`` and ``Agent``. A line without a name continues
    the turn. A time before the name is kept. The lines of a chat that Zoom saved are turns, too.
    """
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    ends = [*(start - 1 for start in starts[1:]), len(text)]
    lines = [
        (start, end) for start, end in zip(starts, ends, strict=True) if text[start:end].strip()
    ]
    chat = [_label(text[start:end], _CHAT) for start, end in lines]
    labels = [_label(text[start:end]) for start, end in lines]
    # Every line is a message of a chat, or goes on with one after a tab.
    begun = zip(chat, lines, strict=True)
    if any(chat) and all(label or text[start] == "\t" for label, (start, _) in begun):
        labels = chat
    elif sum(map(bool, labels)) < _LEAST_SHARE * len(labels) or not _repeated(labels):
        return ()
    segments: list[Segment] = []
    silent = False
    for (start, end), found in zip(lines, labels, strict=True):
        if found is not None:
            begin = start + found.words
            silent = not text[begin:end].strip()
            segments.append(Segment(begin, end, found.speaker, found.time))
        elif segments and silent:
            blank = end - start - len(text[start:end].lstrip())
            segments[-1] = replace(segments[-1], start=start + blank, end=end)
            silent = False
        elif segments:
            segments[-1] = replace(segments[-1], end=end)
    return tuple(one for one in segments if text[one.start : one.end].strip())


def speaker_named(text: str) -> str | None:
    """The speaker that a text names before what is said, if it says nothing else."""
    found = _label(text, _CHAT) or _label(text)
    return found.speaker if found is not None and found.words == len(text) else None


def name_speakers(turns: Sequence[Turn]) -> Iterator[Turn]:
    """Take the names at the beginning of cues as their speakers, if they are names.

    A cue without a name continues the words of the speaker before.
    """
    labels = [_label(turn.text) for turn in turns]
    if any(turn.speaker for turn in turns) or not _repeated(labels):
        yield from turns
        return
    speaker = None
    for turn, found in zip(turns, labels, strict=True):
        if found is not None:
            speaker = found.speaker
            turn = replace(turn, text=turn.text[found.words :])
        yield replace(turn, speaker=speaker)


def meeting_turns(paragraphs: Sequence[Turn]) -> Iterator[Turn]:
    """The turns of a meeting, with speakers and times; other texts as they are.

    Two fifths of the paragraphs need a speaker and a time, since the paragraphs after them may
    continue the turn. A title, or anything else before the first turn, has no speaker.
    """
    written = [one for one in paragraphs if one.text.strip()]
    found = [_meeting_turn(one) for one in written]
    named = sum(turn is not None for turn in found)
    if named < _LEAST_TURNS or named < _LEAST_MEETING_SHARE * len(written):
        yield from paragraphs
        return
    current: Turn | None = None
    for paragraph, turn in zip(written, found, strict=True):
        if turn is not None:
            if current is not None:
                yield current
            current = turn
        elif current is None:
            yield paragraph
        else:
            current = replace(current, text=f"{current.text}\n{paragraph.text}".strip())
    if current is not None:
        yield current


def _meeting_turn(paragraph: Turn) -> Turn | None:
    match = _MEETING_TIMED.fullmatch(paragraph.text) or _MEETING_NAMED.fullmatch(paragraph.text)
    if match is None or (start := clock_seconds(match["start"])) is None:
        return None
    parts = match.groupdict()
    end = clock_seconds(parts.get("end") or "")
    return Turn((parts["text"] or "").strip(), parts["speaker"].strip(), start, end)


def _label(line: str, pattern: re.Pattern[str] = _LABEL) -> _Label | None:
    found = pattern.match(line)
    if found is None:
        return None
    speaker = found["speaker"].strip()
    if pattern is _LABEL and (
        len(speaker.split()) > _MOST_WORDS or speaker.lower() in ("http", "https")
    ):
        return None
    return _Label(speaker, clock_seconds(found["time"] or ""), found.end())


def _repeated(labels: Sequence[_Label | None]) -> bool:
    """Whether there are two speakers or more, and names come again or are those of roles."""
    counts = Counter(label.speaker for label in labels if label is not None)
    if len(counts) == 2 == counts.total():
        return all(_ROLE.fullmatch(name) for name in counts)
    return 2 <= len(counts) <= counts.total() / 2 or (len(counts) == 2 and counts.total() == 3)
