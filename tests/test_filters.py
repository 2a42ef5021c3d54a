"""Filters on metadata: what they admit, what they refuse, and what they say."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import date, datetime, timezone
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slice_os import Corpus, Document, InputError, SpanEncoder
from slice_os.errors import close_name
from slice_os.query.filter_values import parse_date, parse_number, parse_time_span
from slice_os.query.filters import Condition, matcher, parse_where, tell_absent

TEXT = "Please end my plan today."
CALLS: dict[str, dict[str, Any]] = {
    "a": {"domain": "finance", "csat": 3, "date": "2026-05-31", "price": "4.50"},
    "b": {"domain": "Airline", "csat": 4.5, "date": "2026-06-01T09:30:00Z", "ok": True},
    "c": {"domain": "airline", "csat": 5, "date": "2026-06-01T23:30:00-02:00", "price": "10"},
    "d": {"domain": "MÜNCHEN", "csat": 3.0, "date": "2026-07", "ok": False, "price": "free"},
    "e": {},
}

Admitted = Callable[[Any], str]


@pytest.fixture(scope="module")
def calls(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    corpus = Corpus(tmp_path_factory.mktemp("filters") / "store", encoder)
    corpus.add(Document(name, TEXT, metadata) for name, metadata in CALLS.items())
    return corpus


@pytest.fixture
def admitted(calls: Corpus) -> Admitted:
    def admitted(where: Any) -> str:
        return "".join(sorted(hit.doc_id for hit in calls.search("plan", where=where)))

    return admitted


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ({"_id": "a"}, "a"),
        ({"_id": "A"}, ""),
        ({"_id": ["a", "c", "z"]}, "ac"),
        ({"_id": {"ne": "a"}}, "bcde"),
        ({"domain": "FINANCE"}, "a"),
        ({"domain": ["airline", "finance"]}, "abc"),
        ({"domain": {"in": ["airline", "finance"]}}, "abc"),
        ({"domain": {"eq": "airline"}}, "bc"),
        ({"domain": {"ne": "finance"}}, "bcde"),
        ({"domain": {"ne": ["finance", "AIRLINE"]}}, "de"),
        ({"domain": "münchen"}, ""),
        ({"csat": 3}, "ad"),
        ({"csat": "3"}, "ad"),
        ({"csat": {"ne": 3}}, "bce"),
        ({"csat": {"gt": 3}}, "bc"),
        ({"csat": {"gte": 3}}, "abcd"),
        ({"csat": {"lt": 4.5}}, "ad"),
        ({"csat": {"lte": "4.5"}}, "abd"),
        ({"csat": {"gt": 3, "lt": 5}}, "b"),
        ({"csat": {"gt": 99}}, ""),
        ({"price": {"gte": 4.5}}, "ac"),
        ({"price": {"lt": 5}}, "a"),
        ({"price": "4.5"}, ""),
        ({"date": {"gte": "2026-06-01"}}, "bcd"),
        ({"date": {"lt": "2026-06-01"}}, "a"),
        ({"date": {"lte": "2026-06-01"}}, "ab"),
        ({"date": {"gt": "2026-06-01"}}, "cd"),
        ({"date": "2026-06-01"}, "b"),
        ({"date": {"ne": "2026-06-01"}}, "acde"),
        ({"date": {"lte": "2026-06"}}, "abc"),
        ({"date": "2026-06"}, "bc"),
        ({"date": {"lt": "2027"}}, "abcd"),
        ({"date": {"gt": "2026"}}, ""),
        ({"date": {"gte": date(2026, 6, 2)}}, "cd"),
        ({"date": {"gt": datetime(2026, 6, 1, 9, 29, tzinfo=timezone.utc)}}, "bcd"),
        ({"ok": True}, "b"),
        ({"ok": False}, "d"),
        ({"ok": {"ne": True}}, "acde"),
        ({"csat": [3, 4.5]}, "abd"),
        ({"csat": 3, "ok": False}, "d"),
        ({"csat": {"gte": 3}, "domain": "airline"}, "bc"),
        ({"domain": []}, ""),
        ({}, "abcde"),
        (None, "abcde"),
        ([Condition("csat", "gte", ("4",))], "bc"),
    ],
)
def test_a_filter_admits(admitted: Admitted, where: Any, ids: str) -> None:
    assert admitted(where) == ids


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"domian": "x"}, r"no metadata field 'domian' \(did you mean 'domain'\?\); there are 'cs"),
        ({"zzz": {"ne": 3}}, "no metadata field 'zzz'; there are 'csat', 'date', 'domain', 'ok'"),
        ({"csat": {"greater": 3}}, r"'csat': no operator 'greater'.*; there are eq, ne, lt, lte"),
        ({"csat": {"gte": "good"}}, "csat >= good: give a number, or a date such as 2026-06-01"),
        ({"csat": {"gte": True}}, "csat >= true: give a number"),
        ({"date": {"lt": "2026-02-30"}}, "give a number, or a date"),
        ({"domain": {"gt": 3}}, "domain has no numbers or dates to compare, but '.*use = or !="),
        ({"csat": {"gt": [1, 2]}}, r"gt takes one value, not \[1, 2\]"),
        ({"csat": 2**63}, "9223372036854775808 is no value of a field.*64 bits"),
        ({"csat": {"gt": str(2**63)}}, "64 bits"),
        ({"csat": float("nan")}, "nan is no value of a field"),
        ({"csat": None}, "None is no value of a field"),
        ({"csat": {"gte": None}}, "None is no value of a field"),
        ({"csat": {}}, "'csat': no operator; give one"),
        ({1: "x"}, "filter on 1: the name of a field is a string"),
        (5, "filter 5: give fields and values"),
        ("domain=airline", r"'domain=airline': give fields and values, as in {'domain': 'bank'}"),
    ],
)
def test_a_filter_is_refused(admitted: Admitted, where: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        admitted(where)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"domain": "finanse"}, "no passage has domain 'finanse'; the nearest is 'finance'"),
        ({"domain": "münchen"}, "no passage has domain 'münchen'; the nearest is 'MÜNCHEN'"),
        ({"domain": ["airline", "x"]}, "no passage has domain 'x'; there are 'Airline', 'MÜN"),
        ({"domain": {"ne": "x"}}, "no passage has domain 'x'; there are"),
        ({"csat": {"gt": 99}}, "no passage has csat > 99; there are '3'"),
        ({"date": "2025-01-01"}, "no passage has date '2025-01-01'; "),
    ],
)
def test_values_that_do_not_occur_are_told(
    admitted: Admitted, caplog: pytest.LogCaptureFixture, where: Any, message: str
) -> None:
    admitted(where)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert message in record.getMessage()


def test_nothing_is_told_about_values_that_occur(
    admitted: Admitted, caplog: pytest.LogCaptureFixture
) -> None:
    admitted({"domain": ["AIRLINE", "finance"], "csat": {"gte": 3}, "date": {"ne": "2026-06-01"}})
    assert not caplog.records


def test_a_field_goes_with_its_last_document(encoder: SpanEncoder, tmp_path: Path) -> None:
    with Corpus(tmp_path / "store", encoder) as corpus:
        corpus.add([Document("a", TEXT, {"x": 1}), Document("b", TEXT, {"y": 2})])
        corpus.delete("a")
        with pytest.raises(InputError, match="no metadata field 'x'; there are 'y'"):
            corpus.search("plan", where={"x": 1})


def test_a_float_may_be_a_whole_number_beyond_64_bits(encoder: SpanEncoder, tmp_path: Path) -> None:
    with Corpus(tmp_path / "store", encoder) as corpus:
        corpus.add([Document("huge", "Hello.", {"n": 1e300}), Document("small", "Hi.", {"n": 1})])
        assert [hit.doc_id for hit in corpus.search("hello", where={"n": 1e300})] == ["huge"]


def test_any_number_of_values(
    encoder: SpanEncoder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """More than SQLite takes as parameters of one statement; a few that are absent are named."""
    with Corpus(tmp_path / "store", encoder) as corpus:
        corpus.add(Document(f"doc {n}", "Hi.", {"n": n, "half": n + 0.5}) for n in range(300))
        asked = partial(corpus.search, "hi", top_k=1_000, verify=False)
        assert len(asked(where={"n": list(range(0, 120_000, 3))})) == 100
        assert len(caplog.text) < 1_000
        assert len(asked(where={"half": {"gte": 100, "lt": 250}})) == 150


scalars = st.one_of(
    st.sampled_from(["a", "A", "b", "", "2026-06-01", "2026-06-01T10:00:00Z", "2026", "true"]),
    st.integers(-3, 3),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(-3, 3, allow_nan=False).map(lambda number: round(number, 1)),
    st.booleans(),
)


@pytest.mark.parametrize(
    ("value", "text", "fits"),
    [
        ("A[Z", "a[z", True),
        ("A[Z", "a{z", False),
        ("@", "`", False),
        ("Ä", "ä", False),
        (-(2**63), "-9223372036854775808", True),
        (2**63 - 1, "9223372036854775807", True),
    ],
)
def test_letters_fold_from_a_to_z_and_integers_have_64_bits(
    value: Any, text: str, fits: bool
) -> None:
    assert matcher(*parse_where({"x": value}))(text) is fits


@pytest.mark.parametrize(("count", "told"), [(10, "'v9'; use"), (12, "'v9' and 2 more; use")])
def test_ten_values_are_listed(count: int, told: str) -> None:
    values = [f"v{number}" for number in range(count)]
    with pytest.raises(InputError, match=told):
        tell_absent(Condition("x", "gt", ("3",)), ("3",), values, "here")


@example("2026", "2026-06-01")
@given(scalars, scalars)
def test_orderings_and_equality_exclude_each_other(value: Any, text: Any) -> None:
    (found,) = parse_where({"x": text})[0].values
    holds = []
    for operator in ("lt", "eq", "gt", "lte", "gte"):
        try:
            holds.append(matcher(*parse_where({"x": {operator: value}}))(found))
        except InputError:
            return
    less, equal, more, at_most, at_least = holds
    assert less + equal + more <= 1
    if less or more or at_most or at_least:
        assert (at_most, at_least) == (less or equal, more or equal)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3", 3),
        ("-0.5", -0.5),
        ("1e3", 1000.0),
        *((text, None) for text in ("007", "1_0", "", "1e999", "nan", "9" * 5_000, "٣", "3 ")),
    ],
)
def test_numbers_are_those_of_json(text: str, number: float | None) -> None:
    assert parse_number(text) == number


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026", "2026-01-01T00:00:00", "2027-01-01T00:00:00"),
        ("2026-12", "2026-12-01T00:00:00", "2027-01-01T00:00:00"),
        ("2024-02-29", "2024-02-29T00:00:00", "2024-03-01T00:00:00"),
        ("2026-06-01 10:30", "2026-06-01T10:30:00", "2026-06-01T10:31:00"),
        ("2026-06-01T10:30:15+02:00", "2026-06-01T08:30:15", "2026-06-01T08:30:16"),
        ("2026-06-01T10:30:15.5Z", "2026-06-01T10:30:15.500", "2026-06-01T10:30:15.501"),
        ("9999-12-31", "9999-12-31T00:00:00", "9999-12-31T23:59:59.999999"),
    ],
)
def test_spans_of_time(text: str, start: str, end: str) -> None:
    span = parse_time_span(text)
    assert span is not None
    assert span.start == datetime.fromisoformat(start).replace(tzinfo=timezone.utc)
    assert span.end == datetime.fromisoformat(end).replace(tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "text", ["2025-02-29", "2026-13", "2026-06-01T25:00", "0000", "0001-01-01T00:00+01:00", "x"]
)
def test_what_is_no_time(text: str) -> None:
    assert parse_time_span(text) is None
    assert parse_date(text) is None


def test_ids_of_documents_have_no_order(calls: Corpus) -> None:
    with pytest.raises(InputError, match="no order"):
        calls.search("plan", where={"_id": {"lt": "b"}})


def test_fields_have_kinds_and_values(calls: Corpus) -> None:
    kinds = {"csat": "number", "date": "text", "domain": "text", "ok": "text", "price": "text"}
    assert calls.fields() == kinds
    counted = [(one.value, one.documents) for one in calls.field_values("csat")]
    assert counted == [("3.0", 2), ("4.5", 1), ("5", 1)]  # 3 and 3.0 are equal to a filter
    (first,) = calls.field_values("domain", limit=1)
    assert (first.value, first.documents) == ("airline", 2)  # and "Airline", as in filters
    with pytest.raises(InputError, match="did you mean 'domain'"):
        calls.field_values("domains")


def test_long_names_are_not_compared_with_others() -> None:
    assert close_name("domian", ["domain", "d" * 500]) == "domain"
    assert close_name("d" * 501, ["d" * 500]) is None
    many = [f"{number:0199}" for number in range(20_000)]
    began = process_time()
    assert close_name("0" * 198 + "x", ["0" * 198, *many]) == "0" * 198
    assert process_time() - began < 10  # not two minutes
