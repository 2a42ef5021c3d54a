"""Dates of documents and turns: what is read, what is refused and how that is told."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os import Document
from slice_os.errors import InputError
from slice_os.ingest.readers import ReadOptions
from slice_os.ingest.readers.columnar import frame_documents
from slice_os.ingest.readers.dates import read_date
from slice_os.ingest.reading import read_stream
from slice_os.query.filter_values import parse_date

CLEAR = [
    # given, format, read
    ("2026-03-02", None, "2026-03-02"),
    ("2026-03-02T09:14:05", None, "2026-03-02T09:14:05"),
    ("2026-03-02 09:14", None, "2026-03-02T09:14"),
    ("2026-03-02T09:14:05Z", None, "2026-03-02T09:14:05Z"),
    ("2026-03-02 09:14:05.250 +0100", None, "2026-03-02T09:14:05.250+01:00"),
    ("2026-03-02T09:14:05,123456-05", None, "2026-03-02T09:14:05.123456-05:00"),
    ("2026/3/2 9:14 pm", None, "2026-03-02T21:14"),
    ("20260302", None, "2026-03-02"),
    ("20260302T091405Z", None, "2026-03-02T09:14:05Z"),
    ("202603020914", None, "2026-03-02T09:14"),
    ("1772442845", None, "2026-03-02T09:14:05Z"),
    (1772442845.5, None, "2026-03-02T09:14:05.5Z"),
    (1772442845250, None, "2026-03-02T09:14:05.250Z"),
    ("March 2, 2026", None, "2026-03-02"),
    ("2nd Mar. 2026 12:05 a.m.", None, "2026-03-02T00:05"),
    ("02-Mar-2026 09:14:05", None, "2026-03-02T09:14:05"),
    ("Mon, 02 Mar 2026 09:14:05 GMT", None, "2026-03-02T09:14:05Z"),
    ("Monday, March 2, 2026 at 9:14 AM", None, "2026-03-02T09:14"),
    ("15/03/2026 09:14", None, "2026-03-15T09:14"),
    ("03/15/2026, 9:14:05 PM", None, "2026-03-15T21:14:05"),
    ("4.4.2026", None, "2026-04-04"),
    ("03/04/2026", "mdy", "2026-03-04"),
    ("03/04/2026 14:05", "dmy", "2026-04-03T14:05"),
    ("3.4.26", "dmy", "2026-04-03"),
    ("2026-04-03", "dmy", "2026-04-03"),
    ("03|04|2026 9h14", "%d|%m|%Y %Hh%M", "2026-04-03T09:14:00"),
    ("March 4, 26", "%B %d, %y", "2026-03-04"),
    ("Tue Oct 31 23:36:20 +0000 2017", None, "2017-10-31T23:36:20+00:00"),
    ("Tue Oct 31 23:36:20 UTC 2017", None, "2017-10-31T23:36:20Z"),
    ("Sun Oct  1 03:06:20 2017", None, "2017-10-01T03:06:20"),
    ("10/31/17 11:36 PM", None, "2017-10-31T23:36"),
    ("31.12.17", None, "2017-12-31"),
    ("43039", None, "2017-10-31"),
    (43039.5, None, "2017-10-31T12:00:00"),
    ("43039.983564814818", None, "2017-10-31T23:36:20"),
    ("43039.5", "excel", "2017-10-31T12:00:00"),
    ("Tue Oct 31 23:36:20 +0000 2017", "%a %b %d %H:%M:%S %z %Y", "2017-10-31T23:36:20+00:00"),
    ("10/3/17 1:36 PM", "%-m/%-d/%y %-I:%M %p", "2017-10-03T13:36:00"),
    ("2017-10-03 13:36:01", "%F %T", "2017-10-03T13:36:01"),
    ("3/15/2026, 9:14:05\u202fPM", None, "2026-03-15T21:14:05"),
    ("\u200e15/03/2026\xa009:14", None, "2026-03-15T09:14"),
    ("2026\u201103\u201102", None, "2026-03-02"),
    (
        "Mon Mar 02 2026 09:14:05 GMT+0100 (Central European Standard Time)",
        None,
        "2026-03-02T09:14:05+01:00",
    ),
    ("Mon, 2 Mar 2026 09:14:05 -0500 (EST)", None, "2026-03-02T09:14:05-05:00"),
    (1772442845250123, None, "2026-03-02T09:14:05.250123Z"),
    ("1772442845250123456", None, "2026-03-02T09:14:05.250123456Z"),
    ("Montag, 2. März 2026 um 09:14 Uhr", None, "2026-03-02T09:14"),
    ("ven. 6 févr. 2026 à 09:14", None, "2026-02-06T09:14"),
    ("15 de marzo de 2026", None, "2026-03-15"),
    ("2 juillet 2026", None, "2026-07-02"),
    ("30-set-2026", None, "2026-09-30"),
    ("2026年3月2日 9:14", None, "2026-03-02T09:14"),
    ("15/03/2026 - 09:14", None, "2026-03-15T09:14"),
    ("Mar. 2, 2026", None, "2026-03-02"),
]
TWO = "field 'at' is {!r}: the day or the month may be first; give --date-format dmy or mdy"
NONE = "field 'at' is {!r}, no date that can be read; give one such as 2026-03-02 09:14, or "
OTHER = "field 'at' is {!r}, not in the date format {}; give one such as "
REFUSED = [
    ("03/04/2026", None, TWO),
    ("3-4-2026", None, TWO),
    ("12.11.2026", None, TWO),
    ("3/4/26", None, TWO),
    ("17-12-31", None, NONE),
    ("2 March 26", None, NONE),
    ("March 2026", None, NONE),
    ("2 March", None, NONE),
    ("2026-02-30", None, NONE),
    ("31/31/2026", None, NONE),
    ("2026-03-02 25:00", None, NONE),
    ("2026-03-02 13:05 PM", None, NONE),
    ("2026-03-02 09:14 EST", None, NONE),
    ("2026-03-02 and later", None, NONE),
    ("yesterday", None, NONE),
    ("15 jui 2026", None, NONE),
    ("15 marmalade 2026", None, NONE),
    ("about 15 March 2026", None, NONE),
    ("283", None, NONE),
    ("17724428451234567", None, NONE),
    (True, None, NONE),
    ("03/15/2026", "dmy", OTHER),
    ("2026-04-03", "%d.%m.%Y", OTHER),
]


@pytest.mark.parametrize(("given", "wanted", "read"), CLEAR)
def test_a_clear_date_becomes_iso(given: object, wanted: str | None, read: str) -> None:
    assert read_date(given, "field 'at'", wanted) == read


def test_digits_may_be_seconds_or_an_hour() -> None:
    with pytest.raises(InputError, match="seconds since 1970, or a day and its hour"):
        read_date("2026030209", "field 'at'")
    assert read_date("2026030209", "field 'at'", "%Y%m%d%H") == "2026-03-02T09:00:00"


@pytest.mark.parametrize(("given", "wanted", "line"), REFUSED)
def test_any_other_is_refused_with_a_line(given: object, wanted: str | None, line: str) -> None:
    with pytest.raises(InputError) as refused:
        read_date(given, "field 'at'", wanted)
    shown = str(refused.value)
    assert shown.startswith(line.format(given, wanted))
    assert "\n" not in shown
    assert "--date-format" in shown


def read(name: str, content: str, **options: str) -> list[Any]:
    stream = io.BytesIO(content.encode())
    return list(read_stream("a", name, stream, ReadOptions(**options)))


def starts(document: Document) -> list[float | None]:
    return [segment.start_time for segment in document.segments]


class TestDocuments:
    """The date of a document, and the times of its turns in seconds from the first."""

    ROWS = "id,text,when\na,Hi,{}\n"
    TURNS = "call,at,day,text\na,{},{},Hi\na,{},{},Bye\n"

    def test_a_field_becomes_the_date(self) -> None:
        (document,) = read("csv", self.ROWS.format('"March 2, 2026 9:14 PM"'), date_field="when")
        assert document.metadata == {"date": "2026-03-02T21:14"}

    def test_a_record_without_a_date_has_none(self) -> None:
        (document,) = read("csv", self.ROWS.format(""), date_field="when")
        assert document.metadata == {}

    def test_a_date_that_could_be_two_is_a_bad_record(self) -> None:
        (bad,) = read("csv", self.ROWS.format("03/04/2026"), date_field="when")
        assert bad.reason == TWO.replace("field 'at'", "date field 'when'").format("03/04/2026")

    def test_a_column_that_is_missing_is_named(self) -> None:
        (bad,) = read("csv", self.ROWS, date_field="created")
        assert "no column 'created' in the header row" in bad.reason

    def test_a_date_format_must_tell_a_day(self) -> None:
        for wrong in ("us", "%H:%M", "%d.%m.", "%Q", "dd.mm.yyyy"):
            with pytest.raises(InputError, match="give dmy, mdy, or a pattern"):
                ReadOptions(date_format=wrong)

    @pytest.mark.parametrize(
        ("first", "second", "date"),
        [
            ("2026-03-02T09:14:00+01:00", "2026-03-02 08:18:43Z", "2026-03-02T09:14:00+01:00"),
            ("03/02/2026 9:14:00 AM", "03/02/2026 9:18:43 AM", "2026-03-02T09:14:00"),
            ("1772442840", "1772443123", "2026-03-02T09:14:00Z"),
            ("1772442840000", "1772443123000", "2026-03-02T09:14:00.000Z"),
        ],
    )
    def test_the_first_turn_dates_a_call(self, first: str, second: str, date: str) -> None:
        content = self.TURNS.format(first, "", second, "")
        (document,) = read("csv", content, group_by="call", time_field="at", date_format="mdy")
        assert document.metadata == {"date": date}
        assert starts(document) == [0, 283]

    def test_a_date_per_call_beside_times_of_turns(self) -> None:
        content = self.TURNS.format("0:00", "2 March 2026", "4:43", "2 March 2026")
        options = {"group_by": "call", "time_field": "at", "date_field": "day"}
        (document,) = read("csv", content, **options)
        assert document.metadata == {"date": "2026-03-02"}
        assert starts(document) == [0, 283]

    def test_the_first_of_several_dates_counts(self) -> None:
        content = self.TURNS.format(1, "2026-03-02T00:30+02:00", 2, "2026-03-02 00:10")
        (document,) = read("csv", content, group_by="call", date_field="day")
        assert document.metadata["date"] == "2026-03-02T00:30+02:00"

    def test_seconds_in_one_turn_and_a_date_in_another_are_refused(self) -> None:
        content = self.TURNS.format(5, "", "2026-03-02 09:14", "")
        (bad,) = read("csv", content, group_by="call", time_field="at")
        assert bad.reason.endswith("some times are dates, and some are seconds; give one of them")

    def test_turns_are_not_ordered_by_what_could_be_two_dates(self) -> None:
        content = self.TURNS.format("03/04/2026", "", "04/03/2026", "")
        bad = read("csv", content, group_by="call", order_by="at")
        assert all("give --date-format dmy or mdy" in one.reason for one in bad)
        (document,) = read("csv", content, group_by="call", order_by="at", date_format="dmy")
        assert document.text == "Bye\nHi"

    def test_other_dates_of_the_column_settle_the_order(self) -> None:
        dates = ["03/04/2026", "15/04/2026", "05/04/2026", "16/04/2026"]
        lines = [f"{number},Hi,{date}" for number, date in enumerate(dates)]
        *documents, note = read("csv", "\n".join(["id,text,when", *lines]), date_field="when")
        expected = ["2026-04-03", "2026-04-15", "2026-04-05", "2026-04-16"]
        assert [one.metadata["date"] for one in documents] == expected
        assert note.reason == "dates of 'when': dmy, settled by rows 3 and 5"
        assert note.counts == {"dates read as dmy": 2}

    def test_an_object_settles_the_dates_of_its_turns(self) -> None:
        turns = [{"text": "Hi", "start_time": date} for date in ("03/04/2026", "15/04/2026")]
        document, note = read("json", json.dumps({"turns": turns}))
        assert document.metadata["date"] == "2026-04-03"
        assert note.reason == "dates of 'start_time': dmy, settled by row 1"

    @pytest.mark.parametrize(
        ("dates", "read_as"),
        [
            (["3/4/2026, 9:14:05\u202fPM", "3/15/2026, 9:14:05\u202fPM"], "mdy"),
            (["\u200e03/04/2026", "\u200e15/04/2026"], "dmy"),
            (["03.04.2026 09:14 Uhr", "15.04.2026 09:14 Uhr"], "dmy"),
            (["03\u201104\u20112026", "15\u201104\u20112026"], "dmy"),
            (["Mo, 03.04.2026", "Di, 15.04.2026"], "dmy"),
        ],
    )
    def test_unseen_characters_hide_no_order(self, dates: list[str], read_as: str) -> None:
        lines = [json.dumps({"text": "Hi", "when": date}) for date in dates]
        first, _, note = read("jsonl", "\n".join(lines), date_field="when")
        assert first.metadata["date"][:10] == ("2026-03-04" if read_as == "mdy" else "2026-04-03")
        assert note.reason == f"dates of 'when': {read_as}, settled by row 2"

    @pytest.mark.parametrize("unit", [1, 1_000, 1_000_000, 1_000_000_000])
    def test_turns_may_count_from_1970_in_any_unit(self, unit: int) -> None:
        turns = [{"text": "Hi", "start_time": at * unit} for at in (1772442845, 1772442848)]
        (document,) = read("jsonl", json.dumps({"turns": turns}))
        assert document.metadata["date"][:19] == "2026-03-02T09:14:05"
        assert starts(document) == [0, 3]

    def test_each_column_settles_its_own(self) -> None:
        lines = ["a,Hi,03/04/2026 09:00,03/04/2026", "a,Bye,15/04/2026 09:00,04/15/2026"]
        content = "\n".join(["call,text,at,day", *lines])
        options = {"group_by": "call", "time_field": "at", "date_field": "day"}
        *notes, document = read("csv", content, **options)
        assert document.metadata == {"date": "2026-03-04"}
        assert starts(document) == [0, 12 * 86_400]
        assert {one.reason for one in notes} == {
            "dates of 'at': dmy, settled by row 3",
            "dates of 'day': mdy, settled by row 3",
        }

    def test_dates_that_contradict_each_other_settle_nothing(self) -> None:
        dates = ["03/04/2026", "15/04/2026", "04/16/2026"]
        lines = [json.dumps({"text": "Hi", "when": date}) for date in dates]
        bad, *documents, note = read("jsonl", "\n".join(lines), date_field="when")
        assert "give --date-format dmy or mdy" in bad.reason
        assert [one.metadata["date"] for one in documents] == ["2026-04-15", "2026-04-16"]
        assert "dmy by row 2 and mdy by row 3" in note.reason

    def test_starts_of_turns_are_settled_over_all_lists(self) -> None:
        times = ["03/04/2026 09:14", "15/04/2026 09:14"]
        lines = [json.dumps({"turns": [{"text": "Hi", "start_time": time}]}) for time in times]
        first, _, _ = read("jsonl", "\n".join(lines))
        assert first.metadata == {"date": "2026-04-03T09:14"}

    def test_numbers_of_excel_are_times_if_the_column_shows_it(self) -> None:
        content = self.TURNS.format("43039.983564814", "", "43039.984259259", "")
        (document,) = read("csv", content, group_by="call", time_field="at")
        assert document.metadata == {"date": "2017-10-31T23:36:20"}
        assert starts(document) == [0, 60]
        content = self.TURNS.format("43039.5", "", "43041", "")
        (document,) = read("csv", content, group_by="call", time_field="at")
        assert starts(document) == [43_039.5, 43_041]

    @pytest.mark.parametrize("row", ["a,Bye,soon", "a,Bye, all,2", "a,Bye,04/03/2026", "a,Bye"])
    def test_a_call_with_a_bad_row_is_refused_as_a_whole(self, row: str) -> None:
        lines = ["call,text,at", "a,I want to cancel,2026-03-02", row, "b,Hello,2026-03-03"]
        *bad, refused, document = read("csv", "\n".join(lines), group_by="call", time_field="at")
        assert document.id == "b"
        assert [one.line for one in bad] == [3]
        assert refused.reason.startswith("conversation 'a' is left out, with its 2 rows: row 3")
        assert "I want to cancel" in refused.record

    def test_a_list_of_turns(self) -> None:
        turns = [{"text": "Hi", "start_time": 1772442840}, {"text": "Bye"}]
        (document,) = read("jsonl", json.dumps({"turns": turns}))
        assert document.metadata == {"date": "2026-03-02T09:14:00Z"}
        assert starts(document) == [0, None]

    def test_a_transcript_of_genesys(self) -> None:
        phrases = [{"text": "Hi", "startTimeMs": 1772442840000}]
        (document,) = read("json", json.dumps({"transcripts": [{"phrases": phrases}]}))
        assert document.metadata == {"date": "2026-03-02T09:14:00.000Z"}

    def test_a_frame(self) -> None:
        rows = [{"id": "a", "text": "Hi", "when": datetime(2026, 3, 2, 9, 14)}]
        (document,) = frame_documents(rows, ReadOptions(date_field="when"))
        assert document.metadata == {"date": "2026-03-02T09:14:00"}

    def test_a_letter(self) -> None:
        letter = "Subject: Hi\nDate: Mon, 2 Mar 2026 09:14:05 -0500 (EST)\n\nPlease cancel."
        (document,) = read("eml", letter)
        assert document.metadata["date"] == "2026-03-02T09:14:05-05:00"


@given(
    st.from_regex(r"[0-9]{1,4}[-/. ,]?([0-9]{1,2}|[A-Z][a-z]{2})[-/. ,]?[0-9]{1,4}[T ]?.{0,16}"),
    st.sampled_from([None, "dmy", "mdy", "%d.%m.%Y"]),
)
def test_what_is_read_is_a_moment(text: str, wanted: str | None) -> None:
    with suppress(InputError):
        assert parse_date(read_date(text, "field 'at'", wanted)) is not None
