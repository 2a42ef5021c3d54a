"""Transcripts as speech services and meetings write them: one table of places and names.

Whisper (OpenAI, whisper.cpp, faster-whisper, WhisperX), AssemblyAI, Deepgram, Amazon Transcribe,
its Call Analytics and Contact Lens, Google, Azure, Rev, Zoom, Teams, Genesys and Twilio have lists
of turns or words beside the whole text. What tells most wins, if it has the words of the whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from itertools import groupby
from typing import Any, NamedTuple

from slice_os.errors import InputError
from slice_os.ingest.readers.paths import first_of, is_number, items_at, spellings, value_at
from slice_os.ingest.readers.reader import Turn, is_blank
from slice_os.ingest.readers.service_fields import (
    MS,
    SPEAKER,
    START,
    Said,
    names_in,
    said_by,
    time_of,
)
from slice_os.ingest.readers.turns import TAG, Json, Moment, from_beginning

# Paths to a turn or word, those that tell more first; a star stands for each of a list, and # for
# each of the channels, which have no name.
_TURNS = (
    "turns.*",  # our own
    "messages.*",  # Twilio
    "transcript.*.sentences.*",  # Gong
    "transcript.*",  # Call Analytics, Contact Lens
    "segments.*.transcript",  # Contact Lens while the call goes on
    "segments.*",  # Whisper, faster-whisper, WhisperX, OpenAI
    "transcription.*",  # whisper.cpp
    "speakers.*",  # Whisper in pipelines: with speakers, and without
    "chunks.*",
    "utterances.*",  # AssemblyAI
    "results.utterances.*",  # Deepgram
    "results.channels.#.alternatives.0.paragraphs.paragraphs.*.sentences.*",
    "recognized_phrases.*",  # Azure in batches
    "phrases.*",  # Azure at once
    "transcripts.*.phrases.*",  # Genesys
    "sentences.*",  # Twilio, AssemblyAI
    "paragraphs.*",
    "entries.*",  # Teams
    "timeline.*",  # Zoom
)
_GOOGLE = "results.*.alternatives.0.words.*"
_WORDS = (
    "monologues.*.elements.*",  # Rev
    "results.channel_labels.channels.*.items.*",  # Amazon Transcribe
    "results.items.*",
    _GOOGLE,
    "results.channels.#.alternatives.0.words.*",  # Deepgram
    "results.*",  # Speechmatics
    "words.*",  # OpenAI, AssemblyAI, ElevenLabs
    "word_segments.*",
)
_WHOLE = (
    "results.audio_segments.*",  # Amazon Transcribe
    "results.*.alternatives.0",  # Google
    "results.channels.#.alternatives.0",  # Deepgram
    "results.transcripts.*",
    "combined_phrases.*",
    "combined_recognized_phrases.*",
)
_WRAPPERS = "response", "result"
FIRST = frozenset(
    name
    for path in (*_TURNS, *_WORDS, *_WHOLE, *_WRAPPERS)
    for name in spellings(path.split(".")[0])
)
"""The fields that such a transcript begins with."""

# Letters of scripts that do not part words are words by themselves.
_ALONE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_SLACK_TIME = re.compile(r"\d{10}\.\d{6}", re.ASCII)
_WORD = re.compile(rf"[{_ALONE}]|[^\W{_ALONE}]+")
_ENDS = ".", "?", "!", "。", "？", "！"
_PAUSE = 1.0
# In seconds, nobody takes as long for a word; so it is milliseconds.
_SLOWEST = 20
# A list that lacks more of the whole text than numbers and fillers written otherwise is no
# transcript of it.
_MOST_MISSING = 0.2

EMPTY = "empty turns"
_LEFT_OUT = "words left out that only the whole text has"
UNREAD = "turns left out that are not in the text beside them"


class Transcript(NamedTuple):
    """Turns by start, the date of the first, and counts of what is left out."""

    turns: list[Turn]
    date: str | None
    told: Mapping[str, int] = {}


def transcript(fields: Json, whole: str = "") -> Transcript:
    """The transcript that tells most; without turns if no service writes such an object.

    If the ``whole`` text stands beside the turns, what they lack of it is between them, in turns
    without speakers; there are no turns if they do not fit.

    Raises an `InputError` if it begins like a transcript but goes on otherwise.
    """
    if FIRST.isdisjoint(fields):
        return Transcript([], None)
    objects = [fields, *(own for name in _WRAPPERS if isinstance(own := fields.get(name), Mapping))]
    records = [(one, whole or _whole(one)) for one in objects]
    failed = False
    found: list[Transcript] = []
    for paths in (_TURNS, _WORDS, _WHOLE):
        for record, text in records:
            for path in paths:
                try:
                    found += _readings(record, path, paths, text)
                except (AttributeError, KeyError, TypeError, ValueError, InputError):
                    failed = True
    found.sort(key=lambda one: not any(turn.speaker for turn in one.turns))
    words = [words_of(" ".join(turn.text for turn in one.turns)) for one in found]
    wanted = words_of(whole), max(words, key=Counter.total, default=Counter())
    for one, own in zip(found, words, strict=True):
        # How many words it lacks, and of how many.
        lacks = [((all_of - own).total(), all_of.total()) for all_of in wanted]
        if all(missing <= _MOST_MISSING * count for missing, count in lacks):
            return one._replace(told={**one.told, _LEFT_OUT: max(lacks)[0]})
    if failed and not whole:
        raise InputError("a transcript of a form that is not known")
    return Transcript([], None, {UNREAD: len(found[0].turns) if found else 0})


def field_of_turns(items: Sequence[Any]) -> str | None:
    """The field that such a list is in elsewhere, if it is a transcript by itself.

    Then every item has words, and a start and an end, or a role; or it is a message of Slack.
    """
    if not items or not all(isinstance(item, Mapping) for item in items):
        return None
    timed = (is_number(item.get("start")) and {"end", "duration"} & {*item} for item in items)
    if all("text" in item for item in items) and all(timed):
        return "segments"
    return "messages" if all(map(_is_turn, items)) else None


def _is_turn(item: Json) -> bool:
    is_of_slack = item.get("type") == "message" and _SLACK_TIME.fullmatch(f"{item.get('ts')}")
    return bool(is_of_slack) or (isinstance(item.get("role"), str) and "content" in item)


def unread(turns: Sequence[Turn], whole: str) -> int:
    """How many turns have words that the text beside them lacks."""
    known = words_of(whole).keys()
    return sum(not words_of(turn.text).keys() <= known for turn in turns)


def _readings(record: Json, path: str, paths: Sequence[str], whole: str) -> Iterator[Transcript]:
    """The transcript at a place, if there is one."""
    chains = list(items_at(path.split("."), [record]))
    names = names_in(record) if chains else {}
    said = [one for chain in chains if (one := said_by(chain, names)) is not None]
    if paths is not _WHOLE and not any(one.start or one.speaker for one in said):
        return
    if paths is not _WORDS:
        # A channel on which nobody speaks tells no speakers apart.
        said = [one for one in said if not is_blank(one.text)]
    if all(is_blank(one.text) for one in said):
        return
    said = _in_seconds(_told_apart(said))
    if paths is not _WORDS:
        turns = [_turn([one], one.text.strip()) for one in said]
        empty = {EMPTY: len(chains) - len(turns)}
        yield Transcript(*_by_start(_completed(turns, whole)), empty)
        return
    if path == "results.items.*":
        said = _labeled(said, record)
    elif path == _GOOGLE:
        # Results repeat the words before them, with speakers in the last one.
        keys = ((one.text, one.start, one.end) if one.start else n for n, one in enumerate(said))
        said = list(dict(zip(keys, said, strict=True)).values())
    yield Transcript(*_by_start(list(_sentences(said, whole))))


def _by_start(turns: list[Turn]) -> tuple[list[Turn], str | None]:
    """Turns in their order of time; one without a time stays behind the one before."""
    begun: list[tuple[float, Turn]] = []
    for turn in turns:
        before = begun[-1][0] if begun else 0.0
        begun.append((before if turn.start_time is None else turn.start_time, turn))
    return from_beginning([turn for _, turn in sorted(begun, key=lambda one: one[0])])


def _completed(turns: list[Turn], whole: str) -> list[Turn]:
    """Turns with those words of the whole text between them that they lack, if they are in it."""
    completed: list[Turn] = []
    end = 0
    for turn in turns:
        start = whole.find(turn.text, end)
        if start < 0:
            return turns
        completed += [*_rest(whole[end:start]), turn]
        end = start + len(turn.text)
    return [*completed, *_rest(whole[end:])]


def _rest(text: str) -> list[Turn]:
    return [Turn(text.strip())] if any(map(str.isalnum, text)) else []


def _told_apart(said: list[Said]) -> list[Said]:
    """Speakers of several channels told apart: by name, by channel, or by both."""
    pairs = {(one.channel, one.speaker) for one in said}
    channels = {channel for channel, _ in pairs}
    if len(channels) < 2 or None in channels or len({one for _, one in pairs}) == len(pairs):
        return said
    if len(pairs) == len(channels):
        return [one._replace(speaker=one.channel) for one in said]
    return [one._replace(speaker=f"{one.channel}/{one.speaker or ''}") for one in said]


def _in_seconds(said: list[Said]) -> list[Said]:
    """Times of AssemblyAI are milliseconds under names that are seconds elsewhere."""
    timed = [(one.end - one.start.seconds, one) for one in said if one.start and one.end]
    words = sum(max(len(one.text.split()), len(one.text) / 12) for _, one in timed)
    if sum(lasts for lasts, _ in timed) <= _SLOWEST * words:
        return said
    return [
        one._replace(
            start=one.start and Moment(one.start.seconds * MS, one.start.date),
            end=one.end and one.end * MS,
        )
        for one in said
    ]


def _labeled(said: list[Said], record: Json) -> list[Said]:
    """The words of Amazon Transcribe, whose speakers stand in a list by themselves."""
    path = ["results", "speaker_labels", "segments", "*", "items", "*"]
    speakers = {
        time_of([item], START): first_of([item, segment], SPEAKER)
        for *_, segment, _, item in items_at(path, [record])
    }
    labeled: list[Said] = []
    for one in said:
        before = labeled[-1].speaker if labeled and one.stops else None
        labeled.append(one._replace(speaker=before or one.speaker or speakers.get(one.start)))
    return labeled


def _whole(record: Json) -> str:
    for path in _WHOLE[1:]:
        texts = [value_at(chain[-1], "transcript") for chain in items_at(path.split("."), [record])]
        if texts and all(isinstance(text, str) for text in texts):
            return "\n".join(texts)
    return ""


def _sentences(words: list[Said], whole: str) -> Iterator[Turn]:
    """Words of one speaker as turns that end with a sentence, each with its own times."""
    pieces = _placed(words, whole) or _spaced(words)
    spoken = list(zip(words, pieces, strict=True))
    for _, own in groupby(spoken, key=lambda one: one[0].speaker):
        text, said = "", list[Said]()
        for word, piece in own:
            ended = text.rstrip().endswith(_ENDS)
            if said and (ended or _paused(said, word)) and not word.stops:
                yield _turn(said, text.strip())
                text, said = "", []
            text += piece
            said.append(word)
        yield _turn(said, text.strip())


def _paused(said: list[Said], word: Said) -> bool:
    before = said[-1].end
    return before is not None and word.start is not None and word.start.seconds > before + _PAUSE


def _placed(words: list[Said], whole: str) -> list[str] | None:
    """The pieces of the whole text that begin with each word; None if it has others."""
    starts: list[int] = []
    folded = whole.lower()
    end = 0
    for word in words:
        bare = word.text.strip().lower()
        start = folded.find(bare, end)
        if start < 0 or any(map(str.isalnum, folded[end:start])):
            return None
        starts.append(start)
        end = start + len(bare)
    if len(folded) != len(whole) or any(map(str.isalnum, folded[end:])) or not starts:
        return None
    return [whole[a:b] for a, b in zip([0, *starts[1:]], [*starts[1:], len(whole)], strict=True)]


def _spaced(words: list[Said]) -> list[str]:
    """Words with a space before each, but before punctuation, unless they bring their own."""
    if any(one.text != one.text.strip() for one in words):
        return [one.text for one in words]
    return [one.text if one.stops else f" {one.text}" for one in words]


def _turn(said: list[Said], text: str) -> Turn:
    start = next((one.start for one in said if one.start is not None), None)
    end = next((one.end for one in reversed(said) if one.end is not None), None)
    begins, ends = start and round(start.seconds, 3), None if end is None else round(end, 3)
    return Turn(text, said[0].speaker, begins, ends, start and start.date)


def words_of(text: str) -> Counter[str]:
    """The words of a text, folded, each as often as it comes."""
    return Counter(_WORD.findall(text.casefold()))


def shown_in(page: Any) -> Counter[str]:
    """The words of a text that may be in HTML; none of anything else."""
    return words_of(unescape(TAG.sub(" ", page)) if isinstance(page, str) else "")
