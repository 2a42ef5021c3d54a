from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from slice_os import InputError, SpanEncoder
from slice_os.encoder.alignment import MARGIN_PIECES, AlignedText, plan_windows
from slice_os.text.words import find_words

from .strategies import HARD_FRAGMENTS, hard_texts


def check(aligned: AlignedText) -> None:
    """Check what is true of every text."""
    words, n_pieces = aligned.words, len(aligned.piece_ids)
    assert (words[:, 0] < words[:, 1]).all()
    assert (words[:, 2] < words[:, 3]).all()
    assert (words[1:, 0] >= words[:-1, 1]).all()
    assert (words[1:, 2] >= words[:-1, 3]).all()
    assert not len(words) or (words[0, :].min() >= 0 and words[-1, 1] <= len(aligned.text))
    assert not len(words) or words[-1, 3] <= n_pieces
    found = find_words(aligned.text)
    assert np.isin(words[:, 0], found[:, 0]).all()
    assert np.isin(words[:, 1], found[:, 1]).all()


@given(text=hard_texts())
def test_words_and_pieces_match(encoder: SpanEncoder, text: str) -> None:
    aligned = encoder.align(text)
    assert aligned.text == text
    check(aligned)


@given(text=hard_texts())
def test_only_words_that_the_tokenizer_erases_are_missing(encoder: SpanEncoder, text: str) -> None:
    aligned = encoder.align(text)
    for start, end in find_words(text):
        row = int(np.searchsorted(aligned.words[:, 0], start, side="right")) - 1
        covered = row >= 0 and aligned.words[row, 1] >= end
        assert covered or not len(encoder.align(text[start:end]).piece_ids)


def test_nothing_is_truncated_and_blocks_are_invisible(encoder: SpanEncoder) -> None:
    text = " ".join(HARD_FRAGMENTS * 300)
    assert len(text) > 3 * 32_768
    tokenizer = Tokenizer.from_file(str(encoder.folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    whole = tokenizer.encode(text, add_special_tokens=False)
    aligned = encoder.align(text)
    assert aligned.piece_ids.tolist() == whole.ids
    check(aligned)


def test_special_tokens_in_a_text_are_text(encoder: SpanEncoder) -> None:
    aligned = encoder.align("[CLS] [SEP] [MASK]")
    assert [aligned.text[start:end] for start, end, _, _ in aligned.words] == ["CLS", "SEP", "MASK"]
    assert not {101, 102, 103} & set(aligned.piece_ids.tolist())


def test_a_piece_over_several_words_joins_them(encoder: SpanEncoder) -> None:
    aligned = encoder.align("say foo😀bar now")
    assert [aligned.text[start:end] for start, end, _, _ in aligned.words] == [
        "say",
        "foo😀bar",
        "now",
    ]
    assert len(aligned.piece_ids) == 3


@pytest.mark.parametrize(("text", "place"), [("\ud800", 0), ("ab\udfff", 2), ("\udc80\ud800", 0)])
def test_lone_surrogates_are_refused(encoder: SpanEncoder, text: str, place: int) -> None:
    with pytest.raises(InputError, match=rf"lone surrogate U\+D.* at character {place}; decode"):
        encoder.align(text)


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox can't jump. " * 6_000,
        "a" * 200_000,
        "a-" * 100_000,
        "_" * 200_000,
        "." * 200_000,
        "我想取消订阅" * 32_000,
        "\0" * 200_000,
        "ab😀" * 60_000,
    ],
    ids=["spaces", "letters", "joined", "underscores", "dots", "han", "nul", "emoji"],
)
def test_a_long_text(encoder: SpanEncoder, text: str) -> None:
    check(encoder.align(text))


@given(st.integers(8, 600), st.integers(1, 5_000), st.data())
def test_windows(capacity: int, n_pieces: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, n_pieces))
    end = data.draw(st.integers(start, n_pieces))
    steps = data.draw(st.lists(st.integers(1, 40), max_size=100))
    boundaries = np.cumsum(steps, dtype=np.int64)
    boundaries = boundaries[boundaries < n_pieces]
    windows = plan_windows(start, end, n_pieces, capacity, boundaries)
    margin = min(MARGIN_PIECES, capacity // 4)
    kept = [piece for w in windows for piece in range(w.keep_start, w.keep_end)]
    assert kept == list(range(start, end))
    for window in windows:
        assert 0 <= window.start <= window.keep_start < window.keep_end <= window.end <= n_pieces
        assert window.end - window.start == min(capacity, n_pieces)
        assert window.start == 0 or window.keep_start - window.start >= margin
        assert window.end == n_pieces or window.end - window.keep_end >= margin


@given(st.integers(8, 600), st.integers(1, 5_000), st.data())
def test_a_piece_has_one_window_whichever_pieces_are_requested(
    capacity: int, n_pieces: int, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, n_pieces - 1))
    end = data.draw(st.integers(start + 1, n_pieces))
    boundaries = np.arange(0, n_pieces, 3)
    whole = plan_windows(0, n_pieces, n_pieces, capacity, boundaries)
    for window in plan_windows(start, end, n_pieces, capacity, boundaries):
        (match,) = [w for w in whole if w.keep_start <= window.keep_start < w.keep_end]
        assert (match.start, match.end) == (window.start, window.end)
        assert window.keep_end <= match.keep_end


def test_windows_meet_at_nearby_word_boundaries() -> None:
    boundaries = np.arange(0, 5_000, 7)
    windows = plan_windows(0, 5_000, 5_000, 254, boundaries)
    assert all(window.keep_start % 7 == 0 for window in windows)
