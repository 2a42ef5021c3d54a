"""Sentence ends cut any text into parts where a reader would."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slice_os.errors import InputError
from slice_os.ingest.readers import ReadOptions
from slice_os.ingest.reading import read
from slice_os.ingest.sources import find_sources
from slice_os.text.documents import Document
from slice_os.text.sentences import sentence_ends

SIGNS = list('\n\r\t\0 .!?。؟…"“”([)é\u0301\u200d\ufeff\u2028\xa0\x85aBA\U0010ffff')
WORDS = ["\r\n", "👩\u200d👩\u200d👧", "Mr.", "e.g.", "3.5", "1.", "שלום", "مرحبا", "他来", "- "]
PIECES = st.sampled_from(SIGNS + WORDS)
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.lists(PIECES, max_size=40).map("".join),
    # Long enough for more than one window.
    st.lists(PIECES, min_size=1, max_size=8).map(lambda pieces: "".join(pieces) * 400),
)


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in pairwise([0, *sentence_ends(text)])]


@given(TEXTS)
@example("A\u2028.")
@example("Signed by A\xa0. Smith")
@example("A" * 5_000)
def test_ends_partition_any_text(text: str) -> None:
    ends = sentence_ends(text)
    assert ends == sorted(set(ends))
    assert "".join(sentences(text)) == text
    assert all(sentences(text))


def test_the_empty_text_has_no_end() -> None:
    assert sentence_ends("") == []


@pytest.mark.parametrize(
    "unit",
    [
        *("a", "word ", "他来了。", "他来了", "“他来了。", "👩‍👩‍👧", "\n", "\r\n", " ", "\0"),
        *(".", "? ", "(a. ", "[。", "שלום. "),
    ],
)
def test_a_megabyte_is_cut_to_the_end(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    assert sentence_ends(text)[-1] == len(text)


def test_a_break_is_found_after_a_long_stretch_without_any() -> None:
    text = "x" * 50_000 + ". Then it ends. And goes on"
    assert [len(sentence) for sentence in sentences(text)] == [50_002, 14, 11]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi there. How are you? ", ["Hi there. ", "How are you? "]),
        ("Dr. No paid $3.50, e.g. in cash. He left.", None),
        ("他来了。她走了。", ["他来了。", "她走了。"]),
        ("First.\n\n  Second", ["First.\n\n  ", "Second"]),
        ("hi\r\ni want to cancel\r\nok", ["hi\r\n", "i want to cancel\r\n", "ok"]),
        ("- one item\n- another", ["- one item\n", "- another"]),
        ("TERMINATION\nEither party may leave.", ["TERMINATION\n", "Either party may leave."]),
        ("Naïve 😀 one. Two.", ["Naïve 😀 one. ", "Two."]),
    ],
)
def test_breaks(text: str, expected: list[str] | None) -> None:
    if expected is None:
        assert sentences(text)[-1] == "He left."
    else:
        assert sentences(text) == expected


def test_a_sentence_continues_across_the_lines_of_wrapped_prose() -> None:
    text = (
        "It was the best of times, it was the worst of times,\n"
        "it was the age of wisdom, it was the age of foolishness,\n"
        "it was the epoch of belief. It was the season of Light.\n"
        "The end."
    )
    assert [sentence.split()[-1] for sentence in sentences(text)] == ["belief.", "Light.", "end."]


def test_windows_are_invisible() -> None:
    text = "The parties agree that this clause survives. " * 1_000
    assert len(set(sentences(text))) == 1


def test_sentences_are_cut_by_the_rules_of_the_language() -> None:
    text = "Am 3. Mai kam er. Dann ging er."
    assert sentence_ends(text, "de") == [18, 31]
    assert len(sentence_ends(text)) > 2


def test_a_language_is_a_code(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no language 'german'; give an ISO 639 code"):
        ReadOptions(language="german")
    (tmp_path / "a.txt").write_text("Am 3. Mai kam er.")
    (source,) = find_sources([tmp_path / "a.txt"])
    (document,) = read(source, ReadOptions(language="de"))
    assert isinstance(document, Document)
    assert document.language == "de"
    assert document.fingerprint != replace(document, language="en").fingerprint
