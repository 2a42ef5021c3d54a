"""Transcripts of services are read as turns with speakers and times, beside the whole text or not.

For every format that is generated here, each word is in the text, or a line counts what is not.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os.ingest.readers import BadRecord, ReadNote, ReadOptions
from slice_os.ingest.reading import read_stream
from slice_os.text.documents import Document

SPOKEN = [("A", "Hello, how can I help?"), ("B", "I want to cancel my subscription.")]
WHOLE = " ".join(text for _, text in SPOKEN)
Found = list[Document | BadRecord]
Spoken = list[tuple[str, str]]


def read(name: str, content: str, **options: Any) -> Found:
    return list(read_stream("s", name, io.BytesIO(content.encode()), ReadOptions(**options)))


def said(found: Found) -> list[tuple[str | None, str, float | None, float | None]]:
    document = next(one for one in found if isinstance(one, Document))
    return [
        (one.speaker, document.text[one.start : one.end], one.start_time, one.end_time)
        for one in document.segments
    ]


def words(*texts: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", " ".join(texts)))


def times(number: int) -> tuple[float, float]:
    """The start and end of a turn, or of a word, in seconds."""
    return number * 10 + 0.5, number * 10 + 4.5


def timed(spoken: Spoken, **names: str) -> list[dict[str, Any]]:
    """Objects with speaker, text, start and end under these names."""
    return [
        {
            names.get("speaker", "speaker"): speaker,
            names.get("text", "text"): text,
            names.get("start", "start"): times(number)[0],
            names.get("end", "end"): times(number)[1],
        }
        for number, (speaker, text) in enumerate(spoken)
    ]


def written(
    objects: list[dict[str, Any]], time: Callable[[float], int | str]
) -> list[dict[str, Any]]:
    """The objects, with times in another form."""
    return [
        {name: time(value) if isinstance(value, float) else value for name, value in one.items()}
        for one in objects
    ]


def milliseconds(seconds: float) -> int:
    return int(seconds * 1000)


def spoken_words(spoken: Spoken, name: str = "word") -> list[dict[str, Any]]:
    """Words with times, those of a turn one after the other."""
    each = []
    for number, (speaker, text) in enumerate(spoken):
        start, end = times(number)
        parts = text.split()
        step = (end - start) / len(parts)
        for at, word in enumerate(parts):
            begin = round(start + at * step, 3)
            last = round(start + (at + 1) * step, 3)
            each.append({name: word, "start": begin, "end": last, "speaker": speaker})
    return each


def transcribed(spoken: Spoken) -> dict[str, Any]:
    items = []
    for one in spoken_words(spoken):
        for part in re.findall(r"[^.,?!]+|[.,?!]", one["word"]):
            kind = "punctuation" if part in ".,?!" else "pronunciation"
            item = {"type": kind, "alternatives": [{"content": part}]}
            if kind == "pronunciation":
                item |= {"start_time": str(one["start"]), "end_time": str(one["end"])}
            items.append({**item, "speaker_label": one["speaker"]})
    transcripts = [{"transcript": " ".join(text for _, text in spoken)}]
    return {"jobName": "j", "results": {"transcripts": transcripts, "items": items}}


def of_google(spoken: Spoken) -> dict[str, Any]:
    named = [
        {
            "word": one["word"],
            "startTime": f"{one['start']}s",
            "endTime": f"{one['end']}s",
            "speakerTag": ord(one["speaker"]) - ord("A") + 1,
        }
        for one in spoken_words(spoken)
    ]
    plain = [
        {name: value for name, value in one.items() if name[0] != "s" or "Time" in name}
        for one in named
    ]
    count = len(spoken[0][1].split())
    results = [
        {"alternatives": [{"transcript": spoken[0][1], "words": plain[:count]}]},
        {
            "alternatives": [
                {"transcript": " ".join(t for _, t in spoken[1:]), "words": plain[count:]}
            ]
        },
        {"alternatives": [{"words": named}]},
    ]
    return {"name": "1", "response": {"@type": "type", "results": results}}


def of_rev(spoken: Spoken) -> dict[str, Any]:
    monologues = []
    for number, (speaker, text) in enumerate(spoken):
        elements: list[dict[str, Any]] = []
        for one in spoken_words([("", "x")] * number + [(speaker, text)])[-len(text.split()) :]:
            word = {"type": "text", "value": one["word"], "ts": one["start"], "end_ts": one["end"]}
            elements += [word, {"type": "punct", "value": " "}]
        monologues.append({"speaker": ord(speaker) - ord("A"), "elements": elements[:-1]})
    names = [{"id": number, "name": name} for number, name in enumerate("ABC")]
    return {"monologues": monologues, "speakers": names}


def channels(spoken: Spoken, **more: Any) -> dict[str, Any]:
    alternative = {"transcript": " ".join(text for _, text in spoken), **more}
    return {"channels": [{"alternatives": [alternative]}]}


def whole(spoken: Spoken) -> str:
    return " ".join(text for _, text in spoken)


CALL_ANALYTICS = {"speaker": "ParticipantRole", "text": "Content"}
CALL_ANALYTICS |= {"start": "BeginOffsetMillis", "end": "EndOffsetMillis"}
TEAMS = {"speaker": "speakerDisplayName", "start": "startOffset", "end": "endOffset"}
TWILIO = {"speaker": "media_channel", "text": "transcript"}
TWILIO |= {"start": "start_time", "end": "end_time"}
SERVICES: dict[str, Callable[[Spoken], Any]] = {
    "whisper": lambda it: {"text": f" {whole(it)}", "segments": timed(it), "language": "en"},
    "whisper without speakers": lambda it: {
        "text": whole(it),
        "segments": [{**one, "speaker": None} for one in timed(it)],
    },
    "openai, words": lambda it: {
        "text": whole(it),
        "duration": 99.0,
        "words": [
            {**one, "word": one["word"].strip(".,?!"), "speaker": None} for one in spoken_words(it)
        ],
    },
    "whisper.cpp": lambda it: {
        "result": {"language": "en"},
        "transcription": [
            {"offsets": {"from": one["start"] * 1000, "to": one["end"] * 1000}, "text": one["text"]}
            for one in timed(it)
        ],
    },
    "faster-whisper": lambda it: [
        {"id": n, "start": one["start"], "end": one["end"], "text": f" {one['text']}"}
        for n, one in enumerate(timed(it))
    ],
    "whisperx": lambda it: {"segments": timed(it), "word_segments": spoken_words(it)},
    "pipelines": lambda it: {
        "text": whole(it),
        "chunks": [
            {"timestamp": [one["start"], one["end"]], "text": one["text"]} for one in timed(it)
        ],
    },
    "assemblyai": lambda it: {
        "id": "s",
        "text": whole(it),
        "words": written(spoken_words(it, "text"), milliseconds),
        "utterances": written(timed(it), milliseconds),
    },
    "assemblyai, words": lambda it: {
        "id": "s",
        "text": whole(it),
        "words": written(spoken_words(it, "text"), milliseconds),
        "utterances": None,
    },
    "deepgram, utterances": lambda it: {
        "results": {**channels(it), "utterances": timed(it, text="transcript")}
    },
    "deepgram, paragraphs": lambda it: {
        "results": channels(
            it,
            paragraphs={
                "paragraphs": [
                    {"speaker": one.pop("speaker"), "sentences": [one]} for one in timed(it)
                ]
            },
        )
    },
    "deepgram, words": lambda it: {
        "results": channels(
            it,
            words=[
                {**one, "word": one["punctuated_word"].strip(".,?!").lower()}
                for one in spoken_words(it, "punctuated_word")
            ],
        )
    },
    "transcribe": transcribed,
    "call analytics": lambda it: {"Transcript": written(timed(it, **CALL_ANALYTICS), milliseconds)},
    "google": of_google,
    "azure, batch": lambda it: {
        "combinedRecognizedPhrases": [{"channel": 0, "display": whole(it)}],
        "recognizedPhrases": [
            {
                "channel": 0,
                "speaker": one["speaker"],
                "offset": f"PT{one['start']}S",
                "durationInTicks": 4e7,
                "nBest": [{"lexical": one["text"].lower(), "display": one["text"]}],
            }
            for one in timed(it)
        ],
    },
    "azure, fast": lambda it: {
        "combinedPhrases": [{"text": whole(it)}],
        "phrases": [
            {**one, "offsetMilliseconds": one.pop("start") * 1000, "durationMilliseconds": 4000}
            for one in timed(it)
            if one.pop("end")
        ],
    },
    "rev": of_rev,
    "zoom": lambda it: {
        "type": "zoom_transcript",
        "timeline": [
            {"users": [{"username": one.pop("speaker")}], **one}
            for one in written(timed(it, start="ts", end="end_ts"), "00:00:{:06.3f}".format)
        ],
    },
    "teams": lambda it: {
        "type": "Transcript",
        "entries": written(timed(it, **TEAMS), "00:00:{:010.7f}".format),
    },
    "genesys": lambda it: {
        "transcripts": [
            {
                "phrases": [
                    {
                        "text": one["text"],
                        "startTimeMs": one["start"] * 1000,
                        "duration": {"milliseconds": 4000},
                        "participantPurpose": one["speaker"],
                    }
                    for one in timed(it)
                ]
            }
        ]
    },
    "twilio": lambda it: {"sentences": written(timed(it, **TWILIO), str)},
}
NAMELESS = {"whisper without speakers", "openai, words", "whisper.cpp", "faster-whisper"}
NAMELESS |= {"pipelines"}


@pytest.mark.parametrize("service", SERVICES)
def test_turns_and_times_win_over_the_whole_text(service: str) -> None:
    speakers = [None, None] if service in NAMELESS else ["A", "B"]
    if service == "google":
        speakers = ["1", "2"]
    expected = [
        (speaker, text, *times(number))
        for number, (speaker, (_, text)) in enumerate(zip(speakers, SPOKEN, strict=True))
    ]
    found = read("json", json.dumps(SERVICES[service](SPOKEN)))
    assert said(found) == expected
    assert len(found) == 1


def test_a_silent_channel_costs_no_times() -> None:
    silent = {"alternatives": [{"transcript": "", "words": []}]}
    spoken = channels(SPOKEN, words=spoken_words([("A", text) for _, text in SPOKEN]))["channels"]
    for heard in ([silent, *spoken], [*spoken, silent]):
        each = said(read("json", json.dumps({"results": {"channels": heard}})))
        assert [(text, start) for _, text, start, _ in each] == [
            (text, times(number)[0]) for number, (_, text) in enumerate(SPOKEN)
        ]


class TestWhole:
    def test_what_only_the_whole_text_has_is_between_the_turns(self) -> None:
        record = {"text": f"So. {WHOLE} And now?", "segments": timed(SPOKEN)}
        found = read("json", json.dumps(record))
        assert [text for _, text, *_ in said(found)] == ["So.", *(t for _, t in SPOKEN), "And now?"]
        assert said(found)[0] == (None, "So.", None, None)

    def test_words_written_otherwise_are_counted(self) -> None:
        long = "I want to cancel my subscription and all of the other plans that I have with you"
        record = {"text": f"{long} 20.", "segments": timed([("A", f"{long}.")])}
        document, note = read("json", json.dumps(record))
        assert said([document]) == [("A", f"{long}.", 0.5, 4.5)]
        assert note.counts == {"words left out that only the whole text has": 1}  # type: ignore[union-attr]

    def test_turns_of_another_text_are_counted(self) -> None:
        record = {"text": "An article about something else.", "messages": timed(SPOKEN)}
        document, note = read("jsonl", json.dumps(record))
        assert isinstance(document, Document)
        assert (document.text, document.segments) == (record["text"], ())
        assert "turns left out that are not in the text beside them: 2" in note.reason  # type: ignore[union-attr]

    @pytest.mark.parametrize(("text", "counts"), [(WHOLE, []), ("Hello, a call", [2])])
    def test_turns_of_nobody_are_counted_too(self, text: str, counts: list[int]) -> None:
        record = {"text": text, "turns": [turn for _, turn in SPOKEN]}
        document, *notes = read("json", json.dumps(record))
        assert isinstance(document, Document)
        assert document.text == text
        assert [sum(one.counts.values()) for one in notes] == counts  # type: ignore[union-attr]


class TestWordless:
    @pytest.mark.parametrize(
        "wordless",
        [
            {"role": "assistant", "content": None, "tool_calls": [{}]},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
            {"event": "joined", "user": "B"},
            {"author": "B", "body": None, "media": [{"filename": "a.png"}]},
            None,
        ],
    )
    @pytest.mark.parametrize("field", ["turns", "messages", "text"])
    def test_a_message_without_words_does_not_cost_the_conversation(
        self, field: str, wordless: object
    ) -> None:
        turns = [{"role": "A", "content": "I want to cancel."}, wordless, "Bye."]
        document, note = read("json", json.dumps({field: turns}))
        assert [text for _, text, *_ in said([document])] == ["I want to cancel.", "Bye."]
        assert note.counts == {"empty turns": 1}  # type: ignore[union-attr]

    def test_events_of_a_chat(self) -> None:
        began = "2026-03-02T09:14:05.000Z"
        ann = {"ParticipantId": "p"}
        events = [
            {"Type": "EVENT", "ParticipantRole": "AGENT", "AbsoluteTime": began},
            {"Type": "MESSAGE", "Content": "Cancel it.", **ann, "AbsoluteTime": began},
        ]
        people = [{**ann, "ParticipantRole": "CUSTOMER"}]
        found = read("json", json.dumps({"Participants": people, "Transcript": events}))
        assert said(found) == [("CUSTOMER", "Cancel it.", 0, None)]
        assert isinstance(found[0], Document)
        assert found[0].metadata == {"date": began}
        assert isinstance(found[1], ReadNote)

    def test_a_list_of_messages_is_one_conversation(self) -> None:
        messages = [{"role": "user", "content": "Cancel it."}, {"role": "bot", "content": "Why?"}]
        assert [text for _, text, *_ in said(read("json", json.dumps(messages)))] == [
            "Cancel it.",
            "Why?",
        ]


WORD = st.from_regex(r"[a-z]{2,7}[,]?", fullmatch=True)
SENTENCE = st.lists(WORD, min_size=1, max_size=8).map(lambda some: f"{' '.join(some).strip(',')}.")
CONVERSATION = st.lists(st.tuples(st.sampled_from("ABC"), SENTENCE), min_size=2, max_size=5)


@given(st.sampled_from(sorted(SERVICES)), CONVERSATION)
def test_every_word_of_a_transcript_is_in_the_text(service: str, spoken: Spoken) -> None:
    found = read("json", json.dumps(SERVICES[service](spoken)))
    (document,) = (one for one in found if isinstance(one, Document))
    assert words(document.text) == words(whole(spoken))
    assert all(one.start_time is not None for one in document.segments)


PHRASE = st.lists(
    st.from_regex(r"[A-Za-z]{1,6}[:,]?", fullmatch=True) | st.sampled_from(["Note:", "is:", "42"]),
    min_size=1,
    max_size=6,
).map(" ".join)


@given(
    st.lists(st.tuples(st.sampled_from(["", "Ann: ", "Bob: ", "Agent: "]), PHRASE), min_size=1),
    st.sampled_from(["vtt", "srt"]),
    st.sampled_from(["\n\n", "\n", "\n \n", "\r\n\r\n"]),
    st.booleans(),
)
def test_every_word_of_subtitles_is_in_the_text_or_a_speaker(
    lines: list[tuple[str, str]], name: str, between: str, numbered: bool
) -> None:
    cues = [
        (f"{number}\n" if numbered else "")
        + f"00:{number:02}:00.000 --> 00:{number:02}:09.000\n{speaker}{text}"
        for number, (speaker, text) in enumerate(lines, 1)
    ]
    head = "WEBVTT\n\n" if name == "vtt" else ""
    (document,) = read(name, head + between.join(cues))
    assert isinstance(document, Document)
    speakers = [one.speaker for one in document.segments]
    begun = [speaker + text for speaker, text in lines]
    for one in filter(None, speakers):
        assert any(line.startswith(f"{one}:") for line in begun)
    shown = words(*begun)
    assert words(document.text) <= shown
    assert {*shown} <= {*words(document.text), *words(*filter(None, speakers))}


@given(
    st.lists(PHRASE.map(lambda text: text.replace(":", "")), min_size=3, unique=True),
    st.integers(2, 3),
)
def test_every_line_of_rolling_captions_is_said_once(lines: list[str], height: int) -> None:
    cues = [
        f"{number + 1}\n00:00:{number:02},000 --> 00:00:{number + 1:02},000\n"
        + "\n".join(lines[max(0, number + 1 - height) : number + 1])
        for number in range(min(len(lines), 50))
    ]
    found = read("srt", "\n\n".join(cues))
    document = found[0]
    assert isinstance(document, Document)
    if len(cues) > 2:
        assert words(document.text) == words(*lines[:50])
    else:
        assert words(*lines[:50]) <= words(document.text)


DATES = ["2026-03-02", "03/04/2026", "15/03/2026", "04/25/2026", "yesterday", ""]


@given(st.lists(st.tuples(st.sampled_from("123"), PHRASE, st.sampled_from(DATES)), min_size=1))
def test_every_word_of_a_table_is_in_a_whole_conversation_or_refused(
    rows: list[tuple[str, str, str]],
) -> None:
    lines = [f'{call},"{text}",{date}' for call, text, date in rows]
    content = "\n".join(["call,text,at", *lines])
    found = read("csv", content, group_by="call", time_field="at", date_field="at")
    stored = {one.id: one.text for one in found if isinstance(one, Document)}
    refused = [one for one in found if isinstance(one, BadRecord)]
    for call in {call for call, *_ in rows}:
        own = words(*(text for at, text, _ in rows if at == call))
        if call in stored:
            assert words(stored[call]) == own
        else:
            assert any(f"conversation '{call}' is left out" in one.reason for one in refused)
            assert own <= words(*(one.record for one in refused))
