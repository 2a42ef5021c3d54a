"""Plain text, and the speakers that a text names, before lines or a meeting's paragraphs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import BinaryIO, NamedTuple

from slice_os.errors import InputError
from slice_os.ingest.readers.date_columns import DateFormats
from slice_os.ingest.readers.decoding import note, read_text_file
from slice_os.ingest.readers.fields import DATE
from slice_os.ingest.readers.reader import (
    BadRecord,
    DocumentStream,
    ReadOptions,
    Turn,
    is_blank,
)
from slice_os.ingest.readers.turns import clock_seconds, find_moment, from_beginning
from slice_os.text.documents import Document, Segment

_LABEL = re.compile(
    r"\ufeff?[^\S\n]{0,8}"
    r"(?:[\[(]?(?P<time>\d{1,3}(?::\d{2}){1,2}(?:[.,]\d{1,3})?)[\])]?[^\S\n]{0,4}"
    r"(?:[-–—][^\S\n]{0,4})?)?"
    r"(?P<speaker>[^\W\d_][^\n:<>|{}\t\"]{0,39}):(?=[^\S\n]|$)[^\S\n]{0,8}",
)
# A line of a chat that Zoom saved; what is said follows, or is in the next lines after a tab.
_CHAT = re.compile(
    r"^\ufeff?(?P<day>(?:\d{4}-\d\d-\d\d)?)(?P<half>)[^\S\n]?(?P<clock>\d{1,2}:\d{2}:\d{2})"
    r"[^\S\n]{1,8}From[^\S\n]{1,8}(?P<speaker>[^\n:\t]{1,60}?)"
    r"(?:[^\S\n]{1,8}(?i:to)[^\S\n]{1,8}[^\n:\t]{1,60})?[^\S\n]{0,8}:(?=\s|$)[^\S\n]{0,8}",
    re.M,
)
# A message that WhatsApp exported, from a phone of either kind; its own messages have no name.
_MESSAGE = re.compile(
    r"^\ufeff?[\u200e\u200f]?(?P<open>\[)?"
    r"(?P<day>\d{1,4}([./-])\d{1,2}\3\d{2,4})(?P<comma>,| à| klo| um)?\s"
    r"(?P<clock>\d{1,2}[:.]\d{2}(?(open)(?(comma)(?:[:.]\d{2})?|[:.]\d{2})))"
    r"(?:\s?(?P<half>[ap])\.?\s?m\b\.?)?(?(open)\]| -)[^\S\n]"
    r"(?:(?P<speaker>(?:(?!\w{5}[.!?]\s)[^\n:\"“”„«»]){1,80}):(?=\s|$)[^\S\n]?)?\u200e?",
    re.M | re.I,
)
# A line before what is said, as Otter, Rev and Fireflies write it.
_ABOVE = re.compile(
    r"^\ufeff?(?P<day>)(?P<half>)[^\S\n]{0,8}(?P<speaker>[^\W_][^\n:|\t]{0,59}?)"
    r"(?:[^\S\n]{2,8}|[^\S\n](?P<open>\()|[^\S\n][-–—][^\S\n])"
    r"(?P<clock>\d{1,2}:\d{2}(?::\d{2})?)(?(open)\):)[^\S\n]{0,8}\r?\n(?=[^\S\n]*\w|\Z)",
    re.M,
)
# Levels of a log, and processes.
_OF_LOG = re.compile(
    r"(?:\S+\.)?(?:critical|debug|error|fatal|info|notice|trace|warn(?:ing)?)|\S+\[\d+\]", re.I
)
_LOWER_WORD = re.compile(r"[a-z]\S*")
_AROUND_NAMES = "~\u200e\u200f\u202a\u202b\u202c\u202f\u2068\u2069\xa0 "
# In seconds, recordings begin before; programmes of a day and diaries do not.
_LATEST_BEGIN = 300
_LEAST_SHARE = 0.8
# Of cues, whose turns may be long.
_LEAST_NAMED = 0.1
_MOST_WORDS = 5
# Names that tell a conversation of only two lines from two defined terms; also once among others.
_ROLE = re.compile(
    r"(?:unknown |live |virtual )?(advisor|agent|assistant|bot|caller|client|consultant|customer|"
    r"doctor|guest|host|interviewee|interviewer|moderator|nurse|operator|participant|patient|"
    r"representative|respondent|speaker|spk|support|system|user)(?:[\W\d_]*|[ _-][A-Z])",
    re.IGNORECASE,
)
_INITIAL = re.compile(r"[A-Z]\.")
_PARTICLES = frozenset(
    "al and bin da de del den der di do du e el la le of the van von y & +".split()  # noqa: SIM905
)
_NO_NAMES = frozenset(
    "action agenda bcc cc comment date deadline decision due from http https item nb next note "  # noqa: SIM905
    "owner ps result risk sent status subject summary task to todo topic update".split()
)
# A name as sentences are written, such as "Team lead", has to come more often.
_OFTEN = 3

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
    """The speaker and time at the beginning of a line, and where the name and the words begin."""

    speaker: str | None
    time: float | None
    name: int
    words: int


_NOBODY = _Label(None, None, 0, 0)


def read_text(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield one document with the file's exact text, byte order mark and line ends included.

    Lines that begin with the names of speakers are turns.
    """
    decoded = read_text_file(source, stream, options.encoding)
    if isinstance(decoded, BadRecord):
        yield decoded
        return
    text, encoding = decoded
    segments, date = _messages(text, options)
    dated = {DATE: date} if date else {}
    segments = segments or speaker_segments(text)
    yield Document(source, text, note(encoding) | dated, segments, source)


def _messages(text: str, options: ReadOptions) -> tuple[tuple[Segment, ...], str | None]:
    """What is said behind names and times, and the date of the first; none for other texts.

    If it is not clear what the times are, there are none.
    """
    for pattern in (_MESSAGE, _CHAT, _ABOVE):
        heads = list(pattern.finditer(text))
        if heads and is_blank(text[: heads[0].start()]) and _are_of_chat(heads, pattern):
            break
    else:
        return (), None
    formats = DateFormats(options.date_format)
    for day in dict.fromkeys(head["day"] for head in heads):
        formats.look({DATE: [day]}, 0)
    turns, starts = list[Turn](), list[int]()
    for head, end in zip(heads, [*(one.start() for one in heads[1:]), len(text)], strict=True):
        half = f"{head['half']}m" if head["half"] else ""
        when = f"{head['day']} {head['clock'].replace('.', ':')} {half}".strip()
        begun = None
        with suppress(InputError):
            begun = find_moment(when, DATE, formats.of(DATE))
        name, said = _name(head) or None, text[head.end() : end].lstrip()
        starts.append(end - len(said))
        said = said.rstrip()
        turns.append(Turn(said, name, begun and begun.seconds, None, begun and begun.date))
    are_some_dates = len({turn.date is None for turn in turns}) > 1
    if are_some_dates or any(turn.start_time is None for turn in turns):
        turns = [turn._replace(start_time=None, date=None) for turn in turns]
    times = [turn.start_time or 0.0 for turn in turns]
    is_recording = times == sorted(times) and times[0] < min(times[-1], _LATEST_BEGIN)
    said_something = sum(bool(turn.text) for turn in turns)
    if 2 * said_something < len(turns) or (pattern is _ABOVE and not is_recording):
        return (), None
    turns, date = from_beginning(turns)
    return tuple(
        Segment(start, start + len(turn.text), turn.speaker, turn.start_time)
        for turn, start in zip(turns, starts, strict=True)
        if turn.text
    ), date


def _are_of_chat(heads: Sequence[re.Match[str]], pattern: re.Pattern[str]) -> bool:
    """Whether the names in heads are people's, and no words of minutes or a log.

    There have to be two or more, which come again; but nothing else is written as Zoom's chats are.
    """
    names = list(filter(None, map(_name, heads)))
    different = len({*names})
    if pattern is _CHAT:
        return len(names) >= _LEAST_TURNS
    least = max(len(heads) / 2, 2 * different if pattern is _ABOVE else different + 1)
    is_log = any(map(_OF_LOG.fullmatch, names)) or all(map(_LOWER_WORD.fullmatch, names))
    return different > 1 and len(names) >= least and not is_log


def speaker_segments(text: str) -> tuple[Segment, ...]:
    """The turns of a text whose lines begin with the names of speakers; none for other texts.

    At least four fifths of the lines need a name, and names come again; so a list of defined terms
    is not a conversation. Two lines are one if their names are roles, such as ``Customer`` and
    ``Agent``. A line without a name continues the turn. A time before the name is kept.
    """
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    ends = [*(start - 1 for start in starts[1:]), len(text)]
    lines = [
        (start, end) for start, end in zip(starts, ends, strict=True) if text[start:end].strip()
    ]
    labels = _speakers([_label(text[start:end]) for start, end in lines])
    if sum(map(bool, labels)) < _LEAST_SHARE * len(labels):
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
    """The speaker that a text names before what is said, if it says nothing else.

    It is empty if there is only the time of a message of nobody.
    """
    found = _label(text)
    if found is not None and found.words == len(text):
        return found.speaker
    head = _MESSAGE.match(f"{text} ") or _CHAT.match(f"{text} ") or _ABOVE.match(f"{text}\n")
    return _name(head) if head and head.end() >= len(text) else None


def name_speakers(turns: Sequence[Turn], keep: bool = False) -> Iterator[Turn]:
    """Take the names at the beginning of cues as their speakers, if they are names.

    They are no part of the text then, unless it is to ``keep`` them before what is said.

    A line in a cue may begin with one of the names, too. A cue without a name continues the words
    of the speaker before. One that begins with a colon behind anything else has no speaker, since
    nobody knows who says it. A name without words of its own is left in the text.
    """
    is_named = any(turn.speaker for turn in turns)
    labels = [] if is_named else _speakers([_label(turn.text) for turn in turns])
    if is_named or sum(map(bool, labels)) < _LEAST_NAMED * len(turns):
        yield from turns
        return
    names = {_folded(found) for found in labels if found and found.speaker}
    cut = [one for pair in zip(turns, labels, strict=True) for one in _by_name(*pair, names)]
    speaker = None
    for (turn, found), (_, after) in pairwise([*cut, (Turn(""), _NOBODY)]):
        if found is not None:
            speaker = found.speaker
            is_said = turn.text[found.words :].strip() != ""
            if keep:
                turn = turn._replace(after=found.words if is_said else 0)
            elif after is None or is_said:
                turn = turn._replace(text=turn.text[: found.name] + turn.text[found.words :])
        yield turn._replace(speaker=speaker)


def _by_name(
    turn: Turn, label: _Label | None, names: Set[str]
) -> Iterator[tuple[Turn, _Label | None]]:
    """A cue and its label, cut before lines that begin with one of the names."""
    lines = turn.text.split("\n")
    own = [label, *map(_label, lines[1:])]
    starts = [at for at, one in enumerate(own) if not at or (one and _folded(one) in names)]
    for start, end in pairwise([*starts, len(lines)]):
        yield turn._replace(text="\n".join(lines[start:end])), own[start]


def meeting_turns(paragraphs: Sequence[Turn]) -> Iterator[Turn]:
    """The turns of a meeting, with speakers and times; or of a text in which names begin them.

    Other texts stay as they are. Of a meeting, two fifths of the paragraphs need a speaker and a
    time, and words that are said then, since the paragraphs after them may continue the turn. A
    title, or anything else before the first turn, has no speaker; what looks like a speaker who
    says nothing is such a text, too. Names before words are as in `speaker_segments`; they stay.
    """
    written = [one for one in paragraphs if one.text.strip()]
    named = {at: turn for at, one in enumerate(written) if (turn := _meeting_turn(one))}
    turns: list[Turn] = []
    spoken = 0
    for start, end in pairwise([*named, len(written)]):
        said = [named[start].text, *(one.text for one in written[start + 1 : end])]
        text = "\n".join(said).strip()
        turns.append(named[start]._replace(text=text) if text else written[start])
        spoken += bool(text)
    if spoken < _LEAST_TURNS or spoken < _LEAST_MEETING_SHARE * len(written):
        labels = _speakers([_label(one.text) for one in written])
        is_talk = sum(map(bool, labels)) >= _LEAST_SHARE * len(written)
        yield from name_speakers(written, keep=True) if is_talk else paragraphs
        return
    yield from written[: min(named)]
    yield from turns


def _meeting_turn(paragraph: Turn) -> Turn | None:
    match = _MEETING_TIMED.fullmatch(paragraph.text) or _MEETING_NAMED.fullmatch(paragraph.text)
    if match is None or (start := clock_seconds(match["start"])) is None:
        return None
    parts = match.groupdict()
    end = clock_seconds(parts.get("end") or "")
    return Turn((parts["text"] or "").strip(), parts["speaker"].strip(), start, end)


def _name(head: re.Match[str]) -> str:
    return (head["speaker"] or "").strip(_AROUND_NAMES)


def _label(line: str) -> _Label | None:
    found = _LABEL.match(line) if ":" in line else None
    if found is None:
        return None
    time = clock_seconds(found["time"] or "")
    return _Label(found["speaker"].strip(), time, found.start("speaker"), found.end())


def _speakers(labels: Sequence[_Label | None]) -> list[_Label | None]:
    """The labels that name a speaker; none if they are not those of a conversation.

    There have to be two speakers or more. Names come again, or are those of roles, or initialed.
    Anything else before a colon begins words of nobody.
    """
    found = [label for label in labels if label is not None]
    counts = Counter(map(_folded, found))
    few = len(counts) == 2 and counts.total() <= 3
    least = 2 if few and counts.total() == 3 else 0
    names = {
        name
        for speaker in {label.speaker or "" for label in found}
        if _is_name(speaker, max(least, counts[name := speaker.casefold()]))
    }
    named = sum(counts[name] for name in names)
    come_again = few or 2 * len(names) <= named or sum(counts[name] > 1 for name in names) > 1
    if len(names) < 2 or 2 * named < counts.total() or not come_again:
        return [None] * len(labels)
    return [
        label
        if label is None or _folded(label) in names
        else label._replace(speaker=None, name=0, words=0)
        for label in labels
    ]


def _folded(label: _Label) -> str:
    return (label.speaker or "").casefold()


def _is_name(label: str, count: int) -> bool:
    if label.lower().strip(".#0123456789 ") in _NO_NAMES:
        return False
    if _ROLE.fullmatch(label):
        return True
    if _is_shaped(label):
        return count > 1 or _INITIAL.search(label) is not None
    # Loaded late: few files have labels in small letters, and it needs 9 ms.
    from slice_os.text.languages import FUNCTION_WORDS

    words = label.lower().split()
    least = 2 if len(words) == 1 else _OFTEN
    return least <= count and len(words) < _MOST_WORDS and not FUNCTION_WORDS.intersection(words)


def _is_shaped(label: str) -> bool:
    """Whether a label is written as names are: in capitals, but for what joins their parts."""
    words = label.split()
    small = (word for word in words if word[0].islower() and word not in _PARTICLES)
    return len(words) <= _MOST_WORDS and not words[0][0].islower() and not any(small)
