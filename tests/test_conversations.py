"""Conversations in the forms that people have them become turns with speakers and times."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import ClassVar

import pytest

from slice_os import Corpus, SpanEncoder
from slice_os.errors import InputError
from slice_os.ingest.formats import reader_named
from slice_os.ingest.readers import BadRecord, ReadOptions, SkippedFile
from slice_os.text.documents import Document

Said = list[tuple[str | None, str, float | None, float | None]]


def read(name: str, content: str | bytes, **options: str) -> list[Document | BadRecord]:
    raw = content if isinstance(content, bytes) else content.encode()
    return list(reader_named(name).load()("s", io.BytesIO(raw), ReadOptions(**options)))


def said(document: Document | BadRecord) -> Said:
    assert isinstance(document, Document), document
    return [
        (one.speaker, document.text[one.start : one.end], one.start_time, one.end_time)
        for one in document.segments
    ]


def reason(one: Document | BadRecord) -> str:
    assert isinstance(one, BadRecord), one
    return one.reason


CALLS = """call_id,seq,at,who,text,region
7,2,0:00:05,Customer,I want to cancel.,EU
9,1,2,Agent,Good day.,US
7,1,0:00:01.5,Agent,Hello.,EU
7,3,0:00:09,Agent,,EU
,1,0,Agent,Nobody's,EU
9,2,soon,Agent,When?,US
"""


class TestRows:
    OPTIONS: ClassVar = {"group_by": "call_id", "speaker_field": "who", "time_field": "at"}

    def test_rows_with_one_value_are_turns_of_one_document(self) -> None:
        nobodys, empty, first, soon, refused = read("csv", CALLS, order_by="seq", **self.OPTIONS)
        assert said(first) == [
            ("Agent", "Hello.", 1.5, None),
            ("Customer", "I want to cancel.", 5, None),
        ]
        assert isinstance(first, Document)
        assert (first.id, first.metadata) == ("7", {"region": "EU"})
        assert [one.line for one in (nobodys, soon, refused)] == [6, 7, None]  # type: ignore[union-attr]
        assert "time field 'at' is 'soon'" in reason(soon)
        assert reason(refused).startswith("conversation '9' is left out, with its 2 rows: row 7")
        assert refused.record == "Good day."  # type: ignore[union-attr]
        assert reason(empty) == "empty turns: 1"

    def test_order_of_the_file_by_default(self) -> None:
        _, _, first, *_ = read("csv", CALLS, **self.OPTIONS)
        assert [text for _, text, *_ in said(first)] == ["I want to cancel.", "Hello."]

    def test_numbers_are_ordered_as_numbers(self) -> None:
        content = "c,n,text\na,10,last\na,9,first\n"
        (document,) = read("csv", content, group_by="c", order_by="n")
        assert [text for _, text, *_ in said(document)] == ["first", "last"]

    def test_dates_count_from_the_first_turn(self) -> None:
        content = "c,t,text\na,2026-05-01T10:00:00Z,Hi\na,2026-05-01 10:00:07+00:00,Yes\n"
        (document,) = read("csv", content, group_by="c", time_field="t")
        assert [start for _, _, start, _ in said(document)] == [0, 7]

    def test_columns_whose_words_differ_are_told(self) -> None:
        content = (
            "c,text,shared,note,n\na,Hi,one,call her,1\na,Yes,one,,2\nb,No,two,No,3\nb,No,two,,4"
        )
        *documents, note = read("csv", content, group_by="c")
        assert [one.metadata for one in documents] == [{"shared": "one"}, {"shared": "two"}]  # type: ignore[union-attr]
        assert reason(note) == "values of 'note' left out: 1"

    def test_json_lines_too(self) -> None:
        rows = [{"call": 1, "text": "Hi", "who": "A"}, {"call": 1, "text": "Yes", "who": "B"}]
        content = "".join(json.dumps(row) + "\n" for row in rows)
        for name, text in (("jsonl", content), ("json", json.dumps(rows))):
            (document,) = read(name, text, group_by="call", speaker_field="who")
            assert said(document) == [("A", "Hi", None, None), ("B", "Yes", None, None)]

    def test_a_column_that_is_missing_is_named(self) -> None:
        (bad,) = read("csv", CALLS, group_by="conversation")
        assert isinstance(bad, BadRecord)
        assert "no column 'conversation' in the header row; the columns are 'call_id'" in bad.reason

    def test_a_conversation_whose_id_is_not_valid_costs_no_others(self) -> None:
        rows = b"call_id,text\n7,Hello.\ncaf\xe9,Lost.\n7,I want to cancel.\n"
        bad, first, refused = read("csv", rows, group_by="call_id", encoding="utf-8")
        assert reason(bad).startswith("not valid UTF-8: byte 0xe9 at byte 3")
        assert [text for _, text, *_ in said(first)] == ["Hello.", "I want to cancel."]
        told = r"conversation 'caf\udce9' is left out, with its 1 rows: row 3 cannot be used"
        assert reason(refused) == told

    def test_options_of_turns_need_a_group(self) -> None:
        with pytest.raises(InputError, match="speaker_field: only with group_by"):
            ReadOptions(speaker_field="who")


class TestJson:
    @pytest.mark.parametrize("field", ["turns", "messages", "text"])
    def test_lists_of_turns(self, field: str) -> None:
        turns = [
            {"role": "user", "content": "I want to cancel."},
            {"speaker": "Bo", "text": "Why?", "start_time": "00:00:02", "end_time": 3},
            {"role": "user", "content": [{"type": "text", "text": "Too dear."}, {"type": "x"}]},
            "Bye.",
        ]
        (document,) = read("jsonl", json.dumps({"id": "a", field: turns, "queue": 3}))
        assert said(document) == [
            ("user", "I want to cancel.", None, None),
            ("Bo", "Why?", 2, 3),
            ("user", "Too dear.", None, None),
            (None, "Bye.", None, None),
        ]
        assert document.metadata == {"queue": 3}  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        ("parts", "text"),
        [
            (["I want to ", {"type": "bold", "text": "cancel"}, " now."], "I want to cancel now."),
            ([{"type": "text", "text": "See:"}, {"type": "text", "text": "this"}], "See:\nthis"),
            (["See:", "this"], "See:\nthis"),
        ],
    )
    def test_words_with_styles_are_in_their_sentence(self, parts: object, text: str) -> None:
        (document,) = read("json", json.dumps({"messages": [{"id": 1, "text": parts}]}))
        assert document.text == text  # type: ignore[union-attr]

    def test_contact_lens(self) -> None:
        call = {
            "Channel": "VOICE",
            "Participants": [{"ParticipantId": "c1", "ParticipantRole": "CUSTOMER"}],
            "Transcript": [
                {
                    "Content": "I want to cancel.",
                    "ParticipantId": "c1",
                    "BeginOffsetMillis": 1500,
                    "EndOffsetMillis": 2500,
                },
                {"Content": "Why?", "ParticipantRole": "AGENT", "BeginOffsetMillis": 0},
            ],
        }
        (document,) = read("json", json.dumps(call))
        assert said(document) == [
            ("AGENT", "Why?", 0, None),
            ("CUSTOMER", "I want to cancel.", 1.5, 2.5),
        ]
        assert document.metadata == {"Channel": "VOICE"}  # type: ignore[union-attr]

    def test_amazon_transcribe(self) -> None:
        def word(text: str, at: float) -> dict[str, object]:
            times = {"start_time": str(at), "end_time": str(at + 0.5)}
            return {"type": "pronunciation", "alternatives": [{"content": text}], **times}

        stop = {"type": "punctuation", "alternatives": [{"content": "."}]}
        items = [word("I", 0), word("cancel", 1), stop, word("Please", 2), stop, word("Why", 3)]
        labels = [
            {"speaker_label": name, "items": [{"start_time": str(at)} for at in times]}
            for name, times in (("spk_0", (0, 1, 2)), ("spk_1", (3,)))
        ]
        job = {"jobName": "j", "results": {"items": items, "speaker_labels": {"segments": labels}}}
        (document,) = read("json", json.dumps(job))
        assert said(document) == [
            ("spk_0", "I cancel.", 0, 1.5),
            ("spk_0", "Please.", 2, 2.5),
            ("spk_1", "Why", 3, 3.5),
        ]

    def test_genesys(self) -> None:
        began = 1_618_594_874_000
        phrases = [
            {
                "text": "hello",
                "decoratedText": "Hello.",
                "startTimeMs": began,
                "participantPurpose": "internal",
            },
            {
                "text": "I want to cancel.",
                "startTimeMs": began + 2_000,
                "duration": {"milliseconds": 1_000},
                "participantPurpose": "external",
            },
        ]
        (document,) = read("json", json.dumps({"transcripts": [{"phrases": phrases}]}))
        assert said(document) == [
            ("agent", "Hello.", 0, None),
            ("customer", "I want to cancel.", 2, 3),
        ]

    def test_whisper(self) -> None:
        result = {"text": None, "segments": [{"start": 0.0, "end": 2.5, "text": " Hello."}]}
        (document,) = read("json", json.dumps(result))
        assert said(document) == [(None, "Hello.", 0, 2.5)]

    def test_gong_and_nice(self) -> None:
        sentences = [{"start": 1_500, "end": 2_500, "text": "I want to cancel."}]
        (document,) = read(
            "json", json.dumps({"transcript": [{"speakerId": "5", "sentences": sentences}]})
        )
        assert said(document) == [("5", "I want to cancel.", 1.5, 2.5)]
        segments = [{"participantType": "Agent", "text": "Why?", "startTime": 2, "endTime": 3}]
        (document,) = read("json", json.dumps({"segments": segments}))
        assert said(document) == [("Agent", "Why?", 2, 3)]

    @pytest.mark.parametrize(
        ("field", "turn"),
        [
            ("messages", {"author": "Bo", "body": "Too dear", "date_created": "2024-01-01T09:00Z"}),
            (
                "messages",
                {"sender": "Bo", "message": "Too dear", "created_at": "2024-01-01T09:00Z"},
            ),
            ("history", {"name": "Bo", "msg": "Too dear", "timestamp": "2024-01-01T09:00:00Z"}),
            (
                "comments",
                {
                    "author": {"name": "Bo"},
                    "body": "<p>Too&nbsp;dear</p>",
                    "body_text": "Too dear",
                    "created_at": "2024-01-01T09:00:00Z",
                },
            ),
        ],
    )
    def test_help_desks(self, field: str, turn: dict[str, object]) -> None:
        (document,) = read("json", json.dumps({field: [turn]}), text_field=field)
        assert said(document) == [("Bo", "Too dear", 0, None)]
        assert document.metadata["date"].startswith("2024-01-01T09:00")  # type: ignore[union-attr]

    def test_a_damaged_transcript_is_a_bad_record(self) -> None:
        (bad,) = read("json", json.dumps({"Transcript": [{"BeginOffsetMillis": "x"}]}))
        assert isinstance(bad, BadRecord)
        assert bad.reason == "a transcript of a form that is not known"


def ticket(**fields: object) -> dict[str, object]:
    people = {"requester_id": 1, "requester": {"id": 1, "name": "Ann"}}
    return {"id": 7, "created_at": "2024-01-01T09:00:00Z", **people, **fields}


def node(parent: str | None, message: dict[str, object] | None) -> dict[str, object]:
    return {"parent": parent, "message": message, "children": []}


def of_chatgpt(role: str, time: float | None, **content: object) -> dict[str, object]:
    return {"author": {"role": role, "name": None}, "content": content, "create_time": time}


def of_teams(name: str, day: int, kind: str, text: str) -> dict[str, object]:
    return {
        "from": {"application": None, "user": {"displayName": name}},
        "createdDateTime": f"2024-01-01T09:0{day}:00Z",
        "body": {"contentType": kind, "content": text},
    }


AT = "2024-01-01T09:01:00Z"
WHY = {"author": {"name": "Bo"}, "body": "<p>Why &amp; <b>how</b>?</p>\n<ul><li>So</li></ul>"}
EXPORTS: dict[str, object] = {
    "ChatGPT": {
        "current_node": "c",
        "mapping": {
            "a": node(None, None),
            "b": node("a", of_chatgpt("Ann", 1704099600.0, parts=["I want to cancel."])),
            "x": node("b", of_chatgpt("Bo", 1704099630.0, parts=["Another answer entirely."])),
            "c": node("b", of_chatgpt("Bo", 1704099660.0, text="Why & how?\nSo")),
        },
    },
    "Claude": {
        "name": "A chat",
        "chat_messages": [
            {"sender": "Ann", "text": "I want to cancel.", "created_at": "2024-01-01T09:00:00Z"},
            {
                "sender": "Bo",
                "text": "",
                "content": [{"type": "text", "text": "Why & how?"}, {"type": "x", "text": "So"}],
                "created_at": AT,
            },
        ],
    },
    "Intercom": {
        "created_at": 1704099600,
        "source": {"body": "<p>I want to cancel.</p>", "author": {"name": "Ann"}},
        "conversation_parts": {"conversation_parts": [{**WHY, "created_at": 1704099660}]},
    },
    "Teams": {
        "value": [
            of_teams("Bo", 1, "html", "Why &amp; how?<br>So"),
            of_teams("Ann", 0, "text", "I want to cancel."),
        ]
    },
    "Zendesk": ticket(
        description="I want to cancel.",
        comments=[
            {"author_id": 1, "body": "I want to cancel.", "created_at": "2024-01-01T09:00:00Z"},
            {"author_id": 2, "body": "Why & how?\nSo", "created_at": AT},
        ],
        assignee={"id": 2, "name": "Bo"},
    ),
    "Freshdesk": ticket(
        description_text="I want to cancel.",
        description="<div>I want to cancel.</div>",
        conversations=[{"user_id": 2, "body_text": "Why & how?\nSo", "created_at": AT}],
        users=[{"id": 2, "name": "Bo"}],
    ),
}


class TestExports:
    @pytest.mark.parametrize("product", EXPORTS)
    @pytest.mark.parametrize("name", ["json", "jsonl"])
    def test_each_is_a_conversation_with_its_first_message(self, product: str, name: str) -> None:
        document, *notes = read(name, json.dumps(EXPORTS[product]))
        expected = [("Ann", "I want to cancel.", 0, None), ("Bo", "Why & how?\nSo", 60, None)]
        assert said(document) == expected
        assert str(document.metadata["date"]).startswith("2024-01-01T09:00")  # type: ignore[union-attr]
        assert not {"body", "description", "description_text"} & {*document.metadata}  # type: ignore[union-attr]
        told = ["values of 'other branches.message' left out: 1"] if product == "ChatGPT" else []
        assert [reason(one) for one in notes] == told

    def test_a_ticket_that_nobody_answered(self) -> None:
        own = ticket(description="I want to cancel.", conversations=[], comments=[])
        assert said(read("json", json.dumps(own))[0]) == [("Ann", "I want to cancel.", 0, None)]
        (bad,) = read("json", json.dumps({"messages": []}))
        told = "field 'messages' is missing or empty; the record's fields are 'messages'"
        assert reason(bad) == told
        (bad,) = read("json", json.dumps({"name": "A chat", "chat_messages": []}))
        assert "the record's fields are 'name', 'chat_messages'" in reason(bad)

    @pytest.mark.parametrize("by", ["requester", "user", "author"])
    def test_a_first_message_that_the_list_has_again(self, by: str) -> None:
        for body in ("Cancel it.\r\n\nNow &amp; here.", "<p>Cancel it.</p><p>Now &amp; here.</p>"):
            own = {"description": "Cancel it.\n\nNow & here.", by: {"name": "Ann"}}
            comments = [{"author": "Ann", "body": body}, {"author": "Bo", "body": "Why?"}]
            (document,) = read("json", json.dumps({**own, "comments": comments}))
            assert [one[0] for one in said(document)] == ["Ann", "Bo"]
            (document,) = read("json", json.dumps({**own, "comments": comments[1:]}))
            assert [one[0] for one in said(document)] == ["Ann", "Bo"]

    def test_sharegpt(self) -> None:
        talk = [{"from": "human", "value": "<p>Cancel</p>"}, {"from": "gpt", "value": "Why?"}]
        (document,) = read("json", json.dumps([{"id": "a", "conversations": talk}]))
        assert [one[:2] for one in said(document)] == [("human", "<p>Cancel</p>"), ("gpt", "Why?")]

    @pytest.mark.parametrize("path", ["chats.list", "left_chats.list", "conversations", "tickets"])
    def test_a_file_of_many(self, path: str) -> None:
        talk = [{"from": "Ann", "text": "Hi"}]
        many: object = [{"id": n, "messages": talk} for n in (1, 2)]
        for step in reversed(path.split(".")):
            many = {"about": "All of it", step: many}
        assert [one.id for one in read("json", json.dumps(many))] == ["1", "2"]  # type: ignore[union-attr]

    def test_what_is_beside_many_conversations_is_told(self) -> None:
        many = {"conversations": [{"messages": ["Hi"]}, "Bye now"], "notes": [{"text": "Call her"}]}
        document, bad, note = read("json", json.dumps(many))
        assert document.text == "Hi"  # type: ignore[union-attr]
        assert reason(bad) == "item 2 is a JSON str; give an object"
        assert reason(note) == "values of 'notes.text' left out: 1"

    def test_a_tree_that_runs_in_a_circle_has_an_end(self) -> None:
        nodes = {"a": node("b", of_chatgpt("A", 1, parts=["One"])), "b": node("a", None)}
        (document,) = read("json", json.dumps({"mapping": nodes, "current_node": "gone"}))
        assert isinstance(document, BadRecord)
        (document,) = read("json", json.dumps({"mapping": nodes}))
        assert [one[:2] for one in said(document)] == [("A", "One")]

    @pytest.mark.parametrize(
        "record",
        [
            {"value": ["one", "two"]},
            {"comments": [{"text": "nobody says when"}]},
            {"history": [{"id": 1, "name": "no words"}]},
            {"mapping": {"a": "b"}},
            {"comments": [], "description": "A lamp"},
            {"source": {"id": "bbc", "name": "BBC"}, "description": "News"},
        ],
    )
    def test_other_records_are_refused_as_before(self, record: dict[str, object]) -> None:
        (bad,) = read("json", json.dumps(record))
        assert reason(bad).startswith("field 'text' is missing or empty")

    def test_a_text_or_transcript_beside_a_list_wins(self) -> None:
        comments = [{"author": "Bo", "body": "Why is it so?"}]
        document, note = read("json", json.dumps({"text": "A post", "comments": comments}))
        assert document.text == "A post"  # type: ignore[union-attr]
        assert reason(note) == "values of 'comments.body' left out: 1"
        segments = [{"start": 0, "end": 1, "text": "I want to cancel."}]
        within = {"segments": [{**segments[0], "comments": comments}]}
        for beside in ({"comments": comments}, within):
            document, note = read("json", json.dumps({"segments": segments, **beside}))
            assert said(document) == [(None, "I want to cancel.", 0, 1)]
            path = "comments.body" if "comments" in beside else "segments.comments"
            assert reason(note) == f"values of {path!r} left out: 1"

    def test_bodies_in_html(self) -> None:
        bodies = {
            "<div>One<!-- <p>no</p> --></div><p>two<br/>three</p>": "One\ntwo\nthree",
            "a < b and <p>": "a < b and <p>",
            "<html><head><STYLE>p {}</style >\n<script>a()</script></head><p>One</html>": "One",
            "<p>1 &lt; 2": "<p>1 &lt; 2",
        }
        messages = [{"author": "A", "body": body} for body in bodies]
        (document,) = read("json", json.dumps({"comments": messages}))
        assert [one[1] for one in said(document)] == [*bodies.values()]


class TestNames:
    def test_names_at_the_beginning_of_lines(self) -> None:
        text = "Customer: I want to cancel.\r\n[00:12] Agent: Why?\nand how?\nCustomer: Too dear.\n"
        text += "Agent: I see.\nCustomer: Yes.\n"
        (document,) = read("text", text)
        assert document.text == text  # type: ignore[union-attr]
        assert said(document)[:3] == [
            ("Customer", "I want to cancel.\r", None, None),
            ("Agent", "Why?\nand how?", 12, None),
            ("Customer", "Too dear.", None, None),
        ]

    def test_two_lines_of_two_roles(self) -> None:
        text = "Customer: I want to cancel.\nAgent 1: Why?\n"
        expected = [("Customer", "I want to cancel.", None, None), ("Agent 1", "Why?", None, None)]
        assert said(read("text", text)[0]) == expected

    @pytest.mark.parametrize(
        "phrase",
        [
            "My problem is: my card was stolen.",
            "Question: can I cancel?",
            "Here is one more thing: my card.",
            "Mein Problem ist: die Karte.",
            "At 10 p.m. sharp: the card was gone.",
        ],
    )
    def test_a_colon_makes_no_speaker(self, phrase: str) -> None:
        talk = ["Ann: Hi.", "Bob: Hello.", "Ann: Yes?", phrase, "Bob: Thanks.", "Ann: Bye."]
        shown = [("Ann", "Hi."), ("Bob", "Hello."), ("Ann", "Yes?"), (None, phrase)]
        shown += [("Bob", "Thanks."), ("Ann", "Bye.")]
        found = said(read("text", "\n".join(talk))[0])
        assert [one[:2] for one in found] == shown
        cues = [f"00:0{n}.000 --> 00:0{n + 1}.000\n{line}" for n, line in enumerate(talk)]
        found = said(read("vtt", "\n\n".join(["WEBVTT", *cues]))[0])
        assert [one[:2] for one in found] == shown

    def test_the_next_cue_is_not_said_by_a_phrase(self) -> None:
        talk = [
            "Ann: Hi.",
            "Bob: Hello.",
            "Ann: Go on.",
            "The thing is: it",
            "is gone.",
            "Bob: So.",
        ]
        cues = [f"00:0{n}.000 --> 00:0{n + 1}.000\n{line}" for n, line in enumerate(talk)]
        found = said(read("vtt", "\n\n".join(["WEBVTT", *cues]))[0])
        assert [one[0] for one in found] == ["Ann", "Bob", "Ann", None, None, "Bob"]

    @pytest.mark.parametrize("name", ["Operator", "Speaker 3", "J. Smith", "SPEAKER_02"])
    def test_a_role_or_an_initial_is_a_name_even_once(self, name: str) -> None:
        talk = ["Ann: Hi.", "Bob: Hello.", "Ann: Yes?", f"{name}: Please hold.", "Bob: Thanks."]
        assert said(read("text", "\n".join(talk))[0])[3][:2] == (name, "Please hold.")

    def test_a_phrase_that_comes_again_is_no_name(self) -> None:
        talk = ["ann: hi", "bob: so", "my point is: no", "ann: oh", "my point is: never", "bob: ok"]
        speakers = {one[0] for one in said(read("text", "\n".join([*talk, *talk]))[0])}
        assert speakers == {"ann", "bob", None}

    def test_chats_of_zoom(self) -> None:
        expected = [("Ann Lee", "Note: hi", 43323, None), ("Bo", "Fine", 43330, None)]
        chat = "12:02:03 From Ann Lee to Everyone:\n\tNote: hi\n12:02:10 From Bo To Ann:\n\tFine\n"
        assert said(read("text", chat)[0]) == expected
        dated = re.sub("(?m)^(?=1)", "2026-03-02 ", chat)
        assert [one[2] for one in said(read("text", dated)[0])] == [0, 7]
        assert [one[2] for one in said(read("text", dated + chat)[0])] == [None] * 4
        chat = "12:02:03\t From  Ann Lee : Note: hi\n12:02:10\t From  Bo to Everyone : Fine\n"
        assert said(read("text", chat)[0]) == expected

    @pytest.mark.parametrize(
        "stamp",
        [
            "[12/31/23, 10:{}:02\u202fPM]",
            "[31.12.23, 22:{}]",
            "\u200e[31.12.23, 22:{}:02]",
            "31/12/23, 22:{} -",
            "31/12/2023, 10:{} p.\xa0m. -",
            "2023-12-31 22.{} -",
            "\ufeff\u200f[31.12.2023 klo 22.{}.02]",
        ],
    )
    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_chats_of_whatsapp(self, stamp: str, end: str) -> None:
        lines = [
            "15} Messages are encrypted. Tap to learn more.",
            "15} Ann Lee: I want to cancel",
            "my plan: today",
            "",
            "16} ~\u202fBo: Why: is it broken?",
            '17} Ann changed the subject to "Note: all"',
            "17} \u202a+44 7700 900123\u2069: \u200eimage omitted",
            "18} Ann Lee:",
        ]
        at = stamp.partition("{}")
        chat = [at[0] + one.replace("}", at[2]) if "}" in one else one for one in lines]
        (document,) = read("text", end.join(chat))
        assert isinstance(document, Document)
        assert document.text == end.join(chat)
        assert str(document.metadata["date"]).startswith("2023-12-31T22:15")
        assert [one[:3] for one in said(document)] == [
            (None, "Messages are encrypted. Tap to learn more.", 0),
            ("Ann Lee", f"I want to cancel{end}my plan: today", 0),
            ("Bo", "Why: is it broken?", 60),
            (None, 'Ann changed the subject to "Note: all"', 120),
            ("+44 7700 900123", "image omitted", 120),
        ]

    @pytest.mark.parametrize("head", ["{0}  {1}  ", "{0} ({1}):", "{0} - {1}"])
    def test_names_and_times_above_what_is_said(self, head: str) -> None:
        talk = [("Ann Lee", "0:05", "I want\nto cancel."), ("Speaker 2", "0:10", "Why?")]
        talk += [("Ann Lee", "1:15", "It costs."), ("Speaker 2", "1:20", "Fine.")]
        text = "\n\n".join(f"{head.format(*one)}\n{one[2]}" for one in talk)
        times = [5, 10, 75, 80]
        assert said(read("text", text)[0]) == [
            (name, words, time, None) for (name, _, words), time in zip(talk, times, strict=True)
        ]
        songs = "\n".join(head.format(name, time) for name, time, _ in talk)
        once = "\n".join(f"{head.format(*one)}\n{one[2]}" for one in talk[:2])
        assert said(read("text", songs)[0]) == said(read("text", once)[0]) == []

    def test_exports_of_slack(self) -> None:
        day = [
            {"user": "U1", "text": "I want to cancel", "user_profile": {"real_name": "Ann Lee"}},
            {"username": "Bot", "text": "Why?", "attachments": [{"text": "Charged twice"}]},
            {"user": "U2", "text": ""},
            {"user": {"id": 1}, "text": "Bye", "user_profile": None},
        ]
        messages = [
            {"type": "message", "ts": f"150343595{n}.000247", **one} for n, one in enumerate(day)
        ]
        for content in (messages, {"ok": True, "messages": messages}):
            document, note = read("json", json.dumps(content))
            assert said(document) == [
                ("Ann Lee", "I want to cancel", 0, None),
                ("Bot", "Why?", 1, None),
                (None, "Bye", 3, None),
            ]
            assert isinstance(document, Document)
            assert document.metadata["date"] == "2017-08-22T21:05:50.000247Z"
            assert reason(note) == "empty turns: 1, values of 'messages.attachments' left out: 1"

    @pytest.mark.parametrize(
        "own",
        [
            {"sender_name": "Zoë", "timestamp_ms": 1704099600000, "content": "Ça coûte 😀."},
            {
                "creator": {"name": "Zoë", "email": "z@example.org"},
                "created_date": "Monday, January 1, 2024 at 9:00:00 AM UTC",
                "text": "Ça coûte 😀.",
            },
            {"from": "Zoë", "date_unixtime": "1704099600", "text": ["Ça ", {"text": "coûte 😀."}]},
            {
                "author": {"name": "zo", "nickname": "Zoë"},
                "timestamp": "2024-01-01T09:00:00.000+00:00",
                "content": "Ça coûte 😀.",
            },
        ],
    )
    def test_exports_of_other_chats(self, own: dict[str, object]) -> None:
        answer = {
            name: value
            for name, value in own.items()
            if not name.startswith(("ti", "da", "created"))
        }
        answer |= {"timestamp_ms": 1704099670000}
        content = json.dumps({"messages": [answer, own]})  # the last one first
        if "sender_name" in own:
            for letters in ("Zoë", "Ça coûte 😀."):
                of_bytes = letters.encode().decode("latin-1")
                content = content.replace(json.dumps(letters), json.dumps(of_bytes))
        (document,) = read("json", content)
        assert said(document) == [
            ("Zoë", "Ça coûte 😀.", 0, None),
            ("Zoë", "Ça coûte 😀.", 70, None),
        ]

    @pytest.mark.parametrize("author", [{}, {"id": "9"}, {"name": ""}, "", None])
    def test_a_message_of_nobody_is_read(self, author: object) -> None:
        turns = [{"content": "Hi", "author": {"name": "Ann"}}, {"content": "Bye", "author": author}]
        (document,) = read("json", json.dumps({"messages": turns}))
        assert [one[:2] for one in said(document)] == [("Ann", "Hi"), (None, "Bye")]

    @pytest.mark.parametrize("own", [{"start_time": 4}, {"end_time": 4}])
    def test_times_of_turns_win_over_their_dates(self, own: dict[str, int]) -> None:
        turns = [{"text": "Hi", "timestamp": "2024-01-01T09:00:00"}, {"text": "Bye", **own}]
        first, last = said(read("json", json.dumps({"turns": turns}))[0])
        assert (first[2], last[2]) == (None, own.get("start_time"))

    @pytest.mark.parametrize("one", [{"id": "U1", "profile": {}}, {"user_id": "U1"}])
    def test_lists_of_slack_without_messages_are_skipped(self, one: dict[str, object]) -> None:
        for source, own, kind in (
            ("export/users.json", one, SkippedFile),
            ("export/users.json", one | {"text": "Hello"}, Document),
            ("export/users.json", one | {"messages": ["Hello"]}, Document),
            ("export/users.json", {"id": 7, "body": "Hello"}, BadRecord),
            ("export/people.json", one, BadRecord),
        ):
            raw = io.BytesIO(json.dumps([own]).encode())
            (found,) = reader_named("json").load()(source, raw, ReadOptions())
            assert type(found) is kind

    def test_a_chat_whose_dates_could_be_two_has_no_times(self) -> None:
        chat = "[03/04/23, 22:15:02] A: Hi\n[04/04/23, 22:15:02] B: So\n[04/04/23, 22:15:00] B: Oh"
        (document,) = read("text", chat)
        assert [one[0:3] for one in said(document)] == [
            ("A", "Hi", None),
            ("B", "So", None),
            ("B", "Oh", None),
        ]
        found = said(read("text", chat, date_format="dmy")[0])
        assert [one[2] for one in found] == [0, 86_400, 86_398]

    @pytest.mark.parametrize(
        "text",
        [
            "Agreement: a contract.\nParty: who signs.\nTerm: a year.\nFee: none.\n",
            "Note: one.\nAnd a long text follows here.\nNote: two.\nMore of it.\n",
            "http://a.b: x\nhttp://a.b: y\n",
            "Customer: who buys.\nGoods: what is sold.\n",
            "Decision: we go.\nAction 1: Bob writes.\n" * 2,
            "12:02:03 From here on: all\nis different\n",
            "12.03.24 10:00 - Agenda: all\n12.03.24 11:00 - Result: none\n",
            "12.03.24 10:00 - It begins. Plan: a\n12.03.24 11:00 - It ends. Plan: b\n",
            "[2023-12-31 22:15:02] app.INFO: start\n[2023-12-31 22:15:03] app.INFO: end\n",
            *(
                "\n".join(head.format(f"1{n}", "AB"[n % 2]) for n in range(4))
                for head in (
                    "[2023-12-31 22:15:{}] Job{}[7]: runs",
                    "[2023-12-31 22:15:{}] job-{}: runs".lower(),
                    "2023-12-31 22:15:{} - Job {}: runs",
                    "[31.12.23 22:{}] Pulse {}: 80",
                    "31.12.23 22:{} - The only one: says {}",
                    "Bus {1}  0:{0}",
                    "Talk {1} ({0}:00)\nOn roofs.\n",
                    "Talk {1} - {0}:00\nOn roofs.\n",
                )
            ),
            "Mon - 1:00\nUp.\n\nTue - 0:30\nUp.\n\nMon - 1:10\nUp.\n\nTue - 0:40\nUp.\n",
        ],
    )
    def test_other_texts_have_no_turns(self, text: str) -> None:
        assert said(read("text", text)[0]) == []

    def test_cues_of_zoom_and_of_subtitles(self) -> None:
        cue = "{}\n00:00:0{}.000 --> 00:00:0{}.000\n{}\n\n"
        texts = ["Ann Lee: Hi: all", "and you", "Bo: Fine", "Ann Lee: Good"]
        cues = "".join(cue.format(n, n, n + 1, text) for n, text in enumerate(texts, 1))
        expected = [
            ("Ann Lee", "Hi: all", 1, 2),
            ("Ann Lee", "and you", 2, 3),
            ("Bo", "Fine", 3, 4),
            ("Ann Lee", "Good", 4, 5),
        ]
        assert said(read("vtt", f"WEBVTT\n\n{cues}")[0]) == expected
        assert said(read("srt", cues.replace(".000", ",000"))[0]) == expected

    def test_two_names_in_a_cue(self) -> None:
        cues = ["Ann: Hi.", "Bob: Why is it?\nAnn: So: it is.\nReally: yes.", "Bob: Ok.\nAnn: Bye."]
        content = "\n\n".join(f"00:00:0{n} --> 00:00:0{n}\n{cue}" for n, cue in enumerate(cues))
        assert said(read("srt", content)[0]) == [
            ("Ann", "Hi.", 0, 0),
            ("Bob", "Why is it?", 1, 1),
            ("Ann", "So: it is.\nReally: yes.", 1, 1),
            ("Bob", "Ok.", 2, 2),
            ("Ann", "Bye.", 2, 2),
        ]

    def test_names_of_webex(self) -> None:
        cues = '{}"Ann Lee" (182)\n00:00:01.000 --> 00:00:02.000\nHello\n\n'
        expected = [("Ann Lee", "Hello", 1, 2)] * 2
        assert said(read("vtt", f"WEBVTT\n\n{cues.format('1 ')}{cues.format('')}")[0]) == expected

    def test_voices_of_teams(self) -> None:
        cue = "{0}\n00:00:01.000 --> 00:00:02.000\n<v Ann Lee>Note: hello</v>\n\n"
        (document,) = read("vtt", "WEBVTT\n\n" + cue.format("8f-1/2-0") * 4)
        assert said(document) == [("Ann Lee", "Note: hello", 1, 2)] * 4


def test_a_hit_has_the_times_of_its_own_words(tmp_path: Path, encoder: SpanEncoder) -> None:
    texts = ["Hello, how are you today?", "I want to cancel my subscription.", "The sky is blue."]
    times = "\n\n".join(
        f"00:00:0{n}.000 --> 00:00:0{n + 1}.000\n<v Ann>{text}" for n, text in enumerate(texts, 1)
    )
    (tmp_path / "call.vtt").write_text(f"WEBVTT\n\n{times}\n")
    with Corpus(tmp_path / "store", encoder) as calls:
        calls.ingest([tmp_path / "call.vtt"])
        for hits in (
            calls.search("please end my plan"),
            calls.mine("I would like to cancel my subscription", threshold=0.6),
        ):
            hit = hits[0]
            assert "cancel" in hit.text
            assert hit.metadata == {"speaker": "Ann", "start_time": 2, "end_time": 3}
            assert texts[0] in hit.passage.text
