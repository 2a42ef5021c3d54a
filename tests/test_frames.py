"""Data frames and data sets are added by the column of their text."""

from __future__ import annotations

from datetime import date, time, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slice_os import Corpus, SpanEncoder
from slice_os.errors import InputError
from slice_os.ingest.readers import BadRecord, ReadNote, ReadOptions
from slice_os.ingest.readers.columnar import frame_documents
from slice_os.ingest.reading import read_stream
from slice_os.text.documents import Document

ROWS = ReadOptions()
COLUMNS: dict[str, list[Any]] = {
    "body": ["I want to cancel.", "The sky is blue."],
    "n": [1, 2],
    "score": [0.5, None],
    "day": [date(2026, 5, 1), None],
}


def frames() -> list[Any]:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    found: list[Any] = [rows]
    for library, make in (
        ("pandas", lambda it: it.DataFrame(COLUMNS)),
        ("polars", lambda it: it.DataFrame(COLUMNS)),
        ("pyarrow", lambda it: it.table(COLUMNS)),
    ):
        try:
            found.append(make(__import__(library)))
        except ModuleNotFoundError:
            continue
    return found


@pytest.mark.parametrize("frame", frames(), ids=lambda frame: type(frame).__module__)
def test_rows_of_frames(frame: Any) -> None:
    first, second = frame_documents(frame, ReadOptions(text_field="body"))
    assert (first.text, second.text) == tuple(COLUMNS["body"])
    assert first.metadata == {"n": 1, "score": 0.5, "day": "2026-05-01"}
    assert second.metadata == {"n": 2}
    assert first.id.startswith("frame#")
    assert first.id != second.id


def test_ids_are_those_of_the_rows_or_made_of_their_content() -> None:
    rows = [{"id": "#1042", "text": "Hi"}, {"text": "Bye"}, {"text": "Bye"}]
    own, first, second = (one.id for one in frame_documents(rows, ROWS))
    assert own == "#1042"
    assert first.startswith("frame#")
    assert second == f"{first}-2"
    with pytest.raises(InputError, match=r"^row 1: document 'frame#1': lone surrogate"):
        list(frame_documents([{"text": "\ud800"}], ROWS))


def test_a_group_that_cannot_be_used_is_told_without_a_row() -> None:
    rows = [{"call": "a\ud800", "text": "Hi"}]
    with pytest.raises(InputError, match=r"^conversation 'a\\ud800' is left out, with its 1 rows"):
        list(frame_documents(rows, ReadOptions(group_by="call")))


def test_what_is_missing_in_pandas_is_left_out() -> None:
    pandas = pytest.importorskip("pandas")
    numbers = pandas.array([1, None], dtype="Int64")
    first, second = frame_documents(pandas.DataFrame({"text": ["a", "b"], "n": numbers}), ROWS)
    assert (first.metadata, second.metadata) == ({"n": 1}, {})


def test_a_turn_without_words_is_left_out() -> None:
    said = [{"call": "1", "text": "Hi", "speaker": "A"}, {"call": "1", "text": " ", "speaker": "B"}]
    (document,) = frame_documents(said, ReadOptions(group_by="call"))
    assert document.text == "Hi"


def test_a_column_without_a_name_is_no_speaker_and_no_time() -> None:
    said = [{"": 5, "call": "1", "text": "Hi"}, {"": 7, "call": "1", "text": "Yes"}]
    (document,) = frame_documents(said, ReadOptions(group_by="call"))
    assert [(one.speaker, one.start_time) for one in document.segments] == [(None, None)] * 2


def test_an_array_in_a_row_is_a_list() -> None:
    turns = np.array([{"text": "Hi", "speaker": "A"}, {"text": "Bye", "speaker": "B"}])
    (document,) = frame_documents([{"text": turns, "vector": np.ones(3)}], ROWS)
    assert [one.speaker for one in document.segments] == ["A", "B"]
    assert document.metadata == {}


def test_every_kind_of_cell_is_read_or_counted() -> None:
    pa = pytest.importorskip("pyarrow")
    columns = {
        "text": pa.array([b"I want it", b"\xff"], pa.binary()),
        "lasts": pa.array([timedelta(seconds=90)] * 2),
        "at": pa.array([time(9, 14)] * 2),
        "more": pa.array([[("k", "words of a map")]] * 2, pa.map_(pa.string(), pa.string())),
    }
    content = BytesIO()
    table = pa.table(columns)
    with pa.ipc.new_file(content, table.schema) as file:
        file.write_table(table)
    first, bad, note = read_stream("s", "arrow", BytesIO(content.getvalue()), ROWS)
    assert isinstance(first, Document)
    assert (first.text, first.metadata) == ("I want it", {"lasts": 90, "at": "09:14:00"})
    assert isinstance(bad, BadRecord)
    assert bad.reason == "field 'text' is a bytes; give a string or a list of turns"
    assert isinstance(note, ReadNote)
    assert note.reason == "values of 'more' left out: 1"


def test_add_takes_a_frame(tmp_path: Path, encoder: SpanEncoder) -> None:
    pandas = pytest.importorskip("pandas")
    calls = [("7", "A", "Hello."), ("7", "B", "I want to cancel."), ("9", "A", "Bye.")]
    frame = pandas.DataFrame(calls, columns=["call", "who", "said"])
    options = ReadOptions(group_by="call", speaker_field="who")
    with Corpus(tmp_path / "store", encoder) as corpus:
        assert corpus.add(frame, text="said", options=options) == 2
        (hit,) = corpus.search("cancel it", top_k=1)
        assert (hit.doc_id, hit.metadata) == ("7", {"speaker": "B"})
        with pytest.raises(InputError, match=r"row 1: field 'words' is missing .* by text=$"):
            corpus.add(frame, text="words")
        with pytest.raises(InputError, match="two rows have the id '7'; give each its own, or gr"):
            corpus.add(frame, text="said", options=ReadOptions(id_field="call"))
        with pytest.raises(InputError, match=r"a dict is not a document; .*, or text= for"):
            corpus.add([{"said": "Hello."}])


def test_what_is_no_frame_is_refused(tmp_path: Path, encoder: SpanEncoder) -> None:
    with Corpus(tmp_path / "store", encoder) as corpus:
        for frame in frames()[1:]:
            with pytest.raises(InputError, match=r"a [DT].* is not a list .*; give text= for"):
                corpus.add(frame)
        for given in (["Hello."], "Hello.", {"said": "Hello."}, np.array(["Hello."])):
            with pytest.raises(InputError, match=r"a str_? is not a row; give a frame, or m"):
                corpus.add(given, text="said")


def test_a_lazy_frame_has_no_rows(tmp_path: Path, encoder: SpanEncoder) -> None:
    frame = pytest.importorskip("polars").LazyFrame({"said": ["Hello."]})
    with Corpus(tmp_path / "store", encoder) as corpus:
        with pytest.raises(InputError, match="a LazyFrame is not a list of documents; give text="):
            corpus.add(frame)
        with pytest.raises(InputError, match=r"no rows yet; give what its collect\(\) returns"):
            corpus.add(frame, text="said")
        assert corpus.add(frame.collect(), text="said") == 1
