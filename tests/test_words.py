from __future__ import annotations

import numpy as np
import pytest
import regex
from hypothesis import given

from slice_os.text.words import find_words, touched_words

from .strategies import hard_texts


def surfaces(text: str) -> list[str]:
    return [text[start:end] for start, end in find_words(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I can't pay.", ["I", "can't", "pay"]),
        ("non-refundable and/or O’Neill", ["non-refundable", "and/or", "O’Neill"]),
        ("pay $3,000.50 at 1:30", ["pay", "$", "3,000.50", "at", "1:30"]),
        ("mail a.b@c.org, please", ["mail", "a.b@c.org", "please"]),
        ("snake_case __init__ x", ["snake_case", "init", "x"]),
        ("Name: ________ Date: ____", ["Name", "Date"]),
        ("can\xadcel\u200b it\u2060self\ufeff", ["can\xadcel", "it\u2060self"]),
        ("\u200ecan\u200b\xad\u200bcel\u200f", ["can\u200b\xad\u200bcel"]),
        ("one--two — three", ["one", "two", "three"]),
        ("e\u0301te\u0301 नमस्ते", ["e\u0301te\u0301", "नमस्ते"]),
        ("我想取消。", ["我", "想", "取", "消"]),
        ("〇๑၂", ["〇", "๑", "၂"]),
        ("ฉันรัก", ["ฉั", "น", "รั", "ก"]),
        ("👩‍👩‍👧‍👦🇩🇪🇫🇷 1️⃣ ❤️!", ["👩‍👩‍👧‍👦", "🇩🇪", "🇫🇷", "1️⃣", "❤️"]),
        ("שלום, עולם", ["שלום", "עולם"]),
        ("a\r\nb\0c\td", ["a", "b", "c", "d"]),
        ("", []),
        (" .,;:!?()[]{}\"'`^~<>|=+-_/&@·…—– \0\u0301", []),
    ],
)
def test_words_of(text: str, words: list[str]) -> None:
    assert surfaces(text) == words


@given(hard_texts())
def test_words_are_in_order_separate_and_without_white_space(text: str) -> None:
    words = find_words(text)
    flat = words.ravel()
    assert (np.diff(flat.reshape(-1, 2), axis=1) > 0).all()
    assert (flat[2::2] >= flat[1:-1:2]).all()
    assert all(0 <= start < end <= len(text) for start, end in words)
    assert not any(any(map(str.isspace, surface)) for surface in surfaces(text))


@given(hard_texts(), hard_texts())
def test_words_do_not_cross_white_space(left: str, right: str) -> None:
    assert surfaces(f"{left}\n{right}") == surfaces(left) + surfaces(right)


@given(hard_texts())
def test_every_letter_and_digit_is_in_a_word(text: str) -> None:
    within = np.zeros(len(text) + 1, dtype=bool)
    for start, end in find_words(text):
        within[start:end] = True
    assert all(within[match.start()] for match in regex.finditer(r"[\p{L}\p{N}]", text))


@pytest.mark.parametrize("unit", ["a", "a-", "a\u0301", "1,", "Ab_", "a'"])
def test_words_are_bounded(unit: str) -> None:
    words = find_words(unit * 100_000)
    assert (words[:, 1] - words[:, 0]).max() <= 16 * 101


@pytest.mark.parametrize(
    ("start", "end", "touched"),
    [
        (0, 3, (0, 1)),
        (2, 5, (0, 2)),
        (3, 4, (1, 1)),
        (4, 13, (1, 3)),
        (7, 8, (2, 2)),
        (13, 20, (3, 3)),
        (0, 99, (0, 3)),
    ],
)
def test_words_are_touched_by_code_points(start: int, end: int, touched: tuple[int, int]) -> None:
    assert touched_words(find_words("one two three"), start, end) == touched
