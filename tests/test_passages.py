from __future__ import annotations

import io
import itertools
import re
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slice_os import Document, InputError, Segment, SpanEncoder
from slice_os.ingest.passages import PassageRange, align_document, cut_passages, encode_documents
from slice_os.ingest.readers import ReadOptions
from slice_os.ingest.readers.speakers import read_text, speaker_segments
from slice_os.text.passage_layout import LAYOUT
from slice_os.text.words import find_words
from slice_os.text.wrapped_lines import unwrapped

from .strategies import hard_texts


def cut(encoder: SpanEncoder, document: Document, max_pieces: int = 128) -> list[PassageRange]:
    return cut_passages(document, *align_document(document, encoder), max_pieces)


def check(
    encoder: SpanEncoder, document: Document, passages: list[PassageRange], most: int
) -> None:
    """Check that passages divide up the words in order, with only white space between them."""
    text, words = document.text, align_document(document, encoder)[1].words
    bounds = [0, *(p.end_word for p in passages)]
    assert [p.first_word for p in passages] == bounds[:-1]
    assert bounds[-1] == len(words)
    position = 0
    for passage in passages:
        assert not text[position : passage.start].strip()
        assert passage.start <= words[passage.first_word, 0]
        assert words[passage.end_word - 1, 1] <= passage.end
        assert text[passage.start : passage.end].strip() == text[passage.start : passage.end]
        inside = words[passage.first_word : passage.end_word]
        assert len(inside) == 1 or inside[-1, 3] - inside[0, 2] <= most
        position = passage.end
    assert not passages or not text[position:].strip()


@st.composite
def conversations(draw: st.DrawFn) -> Document:
    turns = draw(st.lists(st.tuples(hard_texts(8), st.sampled_from(["A", "B", None])), max_size=8))
    text, segments = "", []
    for said, speaker in turns:
        segments.append(Segment(len(text), len(text) + len(said), speaker, len(text), len(text)))
        text += said + draw(st.sampled_from(["\n", " ", "\r\n"]))
    return Document("d", text, segments=tuple(segments))


@given(text=hard_texts(60), most=st.integers(8, 200))
def test_passages_divide_up_any_text(encoder: SpanEncoder, text: str, most: int) -> None:
    document = Document("d", text)
    check(encoder, document, cut(encoder, document, most), most)


@given(document=conversations(), most=st.integers(8, 200))
def test_speakers_are_never_mixed(encoder: SpanEncoder, document: Document, most: int) -> None:
    passages = cut(encoder, document, most)
    check(encoder, document, passages, most)
    words = align_document(document, encoder)[1].words
    for passage in passages:
        within = words[passage.first_word : passage.end_word]
        speakers = {
            segment.speaker
            for segment in document.segments
            if ((within[:, 0] < segment.end) & (within[:, 1] > segment.start)).any()
        }
        assert len(speakers) <= 1


def test_what_a_message_quotes_is_in_passages_of_its_own(encoder: SpanEncoder) -> None:
    text = "I agree.\nYou may cancel.\nThank you."
    quoted = Segment(9, 24, fields={"part": "quoted", "from": "Bo"})
    document = Document("d", text, {"from": "Ann"}, (Segment(0, 8), quoted, Segment(25, 35)))
    passages = cut(encoder, document, 200)
    found = [text[passage.start : passage.end] for passage in passages]
    assert found == text.split("\n")


NAMES = st.sampled_from(["Ann: ", "Bo:\n", "[00:12] Ann: ", "Ann said this: ", "Bo1:", ""])


@st.composite
def texts_with_names(draw: st.DrawFn) -> Document:
    """A text with names before what is said, with the turns that its reader finds, or its own."""
    text, segments = "", []
    for name, said in draw(st.lists(st.tuples(NAMES, hard_texts(6)), max_size=8)):
        start = len(text) + len(name)
        text += name + said
        segments.append(Segment(start, len(text), "Bo" if "Bo" in name else "Ann"))
        text += draw(st.sampled_from(["\n", " "]))
    own = draw(st.booleans())
    return Document("d", text, segments=tuple(segments) if own else speaker_segments(text))


@given(document=texts_with_names())
@example(document=Document("d", f"Ann: {'a-' * 40}\n{'a-' * 40}\n"))
def test_every_word_is_in_one_passage_or_names_the_speaker(
    encoder: SpanEncoder, document: Document
) -> None:
    text = document.text
    passages = cut(encoder, document)
    reading = unwrapped(document)  # a word that is broken at the end of a line is one
    for start, end in reading.outer_extents(find_words(reading.text)).tolist():
        inside = [one for one in passages if one.start <= start and end <= one.end]
        if not inside:
            said = next(one for one in document.segments if one.start >= end)
            line = text.rfind("\n", 0, start) + 1
            assert re.fullmatch(rf"\s*(\[[\d:]+\] )?{said.speaker}:\s*", text[line : said.start])
        assert len(inside) <= 1


@pytest.mark.parametrize(
    "text",
    [
        "\u200e[12/31/23, 10:15:02\u202fPM] ~\u202fAnn: \u200eI want it\n"
        "[12/31/23, 10:15:04\u202fPM] Bo: Why?\n[12/31/23, 10:15:05\u202fPM] Ann: I want it",
        "31.12.23, 22:15 - Ann: I want it\r\n31.12.23, 22:15 - Bo: Why?\r\n" * 2,
        "".join(f"Ann  0:{n}1  \nI want it\n\nBo  0:{n}2\nWhy?\n\n" for n in range(2)),
    ],
)
def test_names_and_times_of_chats_are_in_no_passage(encoder: SpanEncoder, text: str) -> None:
    (document,) = read_text("d", io.BytesIO(text.encode()), ReadOptions())
    assert isinstance(document, Document)
    surfaces = {text[one.start : one.end] for one in cut(encoder, document)}
    assert surfaces == {"I want it", "Why?"}


def test_the_time_of_a_message_of_nobody_is_in_no_passage(encoder: SpanEncoder) -> None:
    said = "A: Hi", "Bo left", "A: Oh", "B: So"
    text = "\n".join(f"1.12.23, 22:1{n} - {one}" for n, one in enumerate(said))
    (document,) = read_text("d", io.BytesIO(text.encode()), ReadOptions())
    assert isinstance(document, Document)
    surfaces = [text[one.start : one.end] for one in cut(encoder, document)]
    assert surfaces == ["Hi", "Bo left", "Oh", "So"]


def test_passages_end_with_sentences(encoder: SpanEncoder) -> None:
    sentence = "The parties may agree on another date. "
    document = Document("d", sentence * 60)
    surfaces = [document.text[p.start : p.end] for p in cut(encoder, document, 64)]
    assert len(surfaces) > 5
    assert all(s.startswith("The parties") and s.endswith("date.") for s in surfaces)
    assert len({len(s) for s in surfaces[:-1]}) == 1  # as many sentences as fit


def test_long_sentences_break_at_clauses(encoder: SpanEncoder) -> None:
    document = Document("d", "the supplier shall deliver all of the goods in time, " * 40)
    surfaces = [document.text[p.start : p.end] for p in cut(encoder, document, 64)]
    assert all(surface.endswith("time,") for surface in surfaces)
    amounts = Document("d", "the fees of the last twelve (12) months or so, " * 40)
    surfaces = [amounts.text[p.start : p.end] for p in cut(encoder, amounts, 48)]
    assert all(surface.endswith("so,") for surface in surfaces)


def test_a_passage_has_the_metadata_of_its_turns(encoder: SpanEncoder) -> None:
    text = "hello there\nhow are you\nfine thanks"
    segments = (
        Segment(0, 11, "Ann", 0.0, 1.5),
        Segment(12, 23, "Ann", 1.5, 2.5),
        Segment(24, 35, "Bob", 2.5, 4.0),
    )
    (part,) = encode_documents([Document("d", text, segments=segments)], encoder)
    cues = '"segments":[[0,0.0,1.5],[12,1.5,2.5]],"sentences":[0,11,12,23],"turns":[0,23]'
    turn = '"sentences":[0,11],"turns":[0,11]'
    assert [(p.start, p.end, p.metadata) for p in part.passages] == [
        (0, 23, {"speaker": "Ann", "start_time": 0.0, "end_time": 2.5, LAYOUT: f"{{{cues}}}"}),
        (24, 35, {"speaker": "Bob", "start_time": 2.5, "end_time": 4.0, LAYOUT: f"{{{turn}}}"}),
    ]


def test_cutting_a_long_document_takes_little_memory(encoder: SpanEncoder) -> None:
    text = " ".join(f"On day {number} either party ends the contract." for number in range(5_000))
    reading, aligned = align_document(document := Document("long", text), encoder)
    tracemalloc.start()
    cut_passages(document, reading, aligned)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * len(text)


@pytest.mark.parametrize("unit", ["The date is set. ", "a", "_", "x;"])
def test_a_long_text_is_cut(encoder: SpanEncoder, unit: str) -> None:
    document = Document("d", unit * (200_000 // len(unit)))
    passages = cut(encoder, document)
    check(encoder, document, passages, 128)


@given(texts=st.lists(hard_texts(12), max_size=5))
def test_encoded_passages_are_in_their_documents(encoder: SpanEncoder, texts: list[str]) -> None:
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    parts = list(encode_documents(documents, encoder, max_pieces=16))
    assert [part.document for part in parts if part.last] == documents
    for part in parts:
        text = part.document.text
        _, aligned = align_document(part.document, encoder)
        rows = np.concatenate([p.words for p in part.passages]) if part.passages else np.empty(0)
        assert len(rows) == len(aligned.words)
        for passage in part.passages:
            assert passage.vectors.shape[1] == encoder.card.dimension
            assert passage.words[0, 2] == 0
            assert passage.words[-1, 3] == len(passage.vectors)
            surfaces = [text[start:end] for start, end, _, _ in passage.words]
            assert all(surface in text[passage.start : passage.end] for surface in surfaces)


def test_a_long_document_comes_in_parts_with_the_same_vectors(
    encoder: SpanEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Either party may end this agreement, at any time and without cause. " * 120
    _, whole = encoder.encode_text(text)
    monkeypatch.setattr("slice_os.ingest.passages.PART_PIECES", 300)
    parts = list(encode_documents([Document("d", text)], encoder))
    assert len(parts) > 3
    assert [part.last for part in parts] == [False] * (len(parts) - 1) + [True]
    aligned = encoder.align(text)
    for passage in itertools.chain.from_iterable(part.passages for part in parts):
        first = int(aligned.words[np.searchsorted(aligned.words[:, 0], passage.words[0, 0]), 2])
        np.testing.assert_array_equal(passage.vectors, whole[first : first + len(passage.vectors)])


def test_documents_are_read_only_a_little_ahead(encoder: SpanEncoder) -> None:
    numbers = itertools.count()

    def documents() -> itertools.chain[Document]:
        for number in numbers:
            yield Document(str(number), "please end my plan today " * 40)

    stream = encode_documents(documents(), encoder)
    first = next(stream)
    began = time.monotonic()
    stream.close()
    assert first.document.id == "0"
    assert next(numbers) < 1_000
    assert time.monotonic() - began < 60  # it does end


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": ""}, "needs an id"),
        ({"id": "\ud800"}, "lone surrogate"),
        ({"text": "a\ud800"}, "character 1"),
        ({"metadata": {"a": None}}, "'a' is None"),
        ({"metadata": {"a": [1]}}, r"'a' is \[1\]"),
        ({"metadata": {"a": float("nan")}}, "'a' is nan"),
        ({"metadata": {"a": 2**63}}, "64 bits"),
        ({"metadata": {"a": "\udc80"}}, "lone surrogate"),
        ({"metadata": {1: "a"}}, "field 1"),
        ({"segments": (Segment(0, 9),)}, "goes beyond the text"),
        ({"segments": (Segment(0, 2), Segment(1, 3))}, "overlaps"),
        ({"segments": (Segment(0, 2.0),)}, "segment 0..2.0 .*has no integers"),
        ({"segments": (Segment(0, 2, "\ud800"),)}, "speaker"),
        ({"segments": (Segment(0, 2, start_time=float("inf")),)}, "time inf; give seconds"),
        ({"segments": (Segment(0, 2, end_time=float("nan")),)}, "time nan; give seconds"),
    ],
)
def test_documents_that_cannot_be_stored_are_refused(
    fields: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Document(**{"id": "d", "text": "text", **fields})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("turns", "passages"),
    [
        (
            [("Ann: ", "Hello there."), ("Bo: ", "I am fine."), ("Bo: ", "And you?")],
            ["Hello there.", "I am fine.", "And you?"],
        ),
        (
            [("Call 7\n[00:12] Ann: ", "Hello there."), ("Bo:\n", "I am fine.")],
            ["Call 7", "Hello there.", "I am fine."],
        ),
        ([("Dear Ann, ", "hello there.")], ["Dear Ann,", "hello there."]),
    ],
)
def test_names_before_words_are_in_no_passage(
    encoder: SpanEncoder, turns: list[tuple[str, str]], passages: list[str]
) -> None:
    text, segments = "", []
    for before, said in turns:
        text += before
        segments.append(
            Segment(len(text), len(text) + len(said), "Bo" if "Bo" in before else "Ann")
        )
        text += f"{said}\n"
    (part,) = encode_documents([Document("d", text, segments=tuple(segments))], encoder)
    assert [text[one.start : one.end] for one in part.passages] == passages
