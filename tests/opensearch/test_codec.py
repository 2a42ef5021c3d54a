"""The stored form of token vectors: smaller, with the same scores."""

from __future__ import annotations

from base64 import b64decode, b64encode

import numpy as np
import pytest

from slice_os import StoreError
from slice_os.query.query import Phrases, Query
from slice_os.spans.choice import PassageScorer
from slice_os.spans.passages import EncodedPassage, stored_form
from slice_os.stores.cluster.schema.records import pack, unpack

DIMENSION = 32
LONGEST = 20


def passage(n_words: int, seed: int) -> EncodedPassage:
    """Words of one to three pieces, some of them with punctuation in between."""
    random = np.random.default_rng(seed)
    counts, gaps = random.integers(1, 4, n_words), random.integers(0, 3, n_words)
    last = np.cumsum(counts + gaps)
    first = last - counts
    starts = 100 + 10 * np.arange(n_words)
    words = np.stack([starts, starts + 8, first - gaps[0], last - gaps[0]], axis=1)
    vectors = random.standard_normal((int(words[-1, 3]), DIMENSION)).astype(np.float32)
    return EncodedPassage(100, int(words[-1, 1]), words, vectors)


def query(min_words: int = 1) -> Query:
    vectors = np.random.default_rng(5).standard_normal((3, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Query(Phrases(("a", "b", "c"), vectors), (), min_words, LONGEST, None)


@pytest.mark.parametrize("n_words", [1, 2, 7, 60])
def test_spans_score_as_before(n_words: int) -> None:
    encoded = passage(n_words, seed=n_words)
    stored = stored_form(encoded)
    before, after = (PassageScorer(form, query()) for form in (encoded, stored))
    assert after.best_cosines() == pytest.approx(before.best_cosines(), abs=5e-3)
    assert after.norms == pytest.approx(before.norms, rel=2e-2)
    assert len(stored.vectors) <= len(encoded.vectors)


def test_a_word_needs_one_vector() -> None:
    encoded = passage(40, seed=1)
    pieces = encoded.words[:, 3] - encoded.words[:, 2]
    gaps = (encoded.words[1:, 2] > encoded.words[:-1, 3]).sum()
    assert pieces.max() > 1
    assert len(stored_form(encoded).vectors) == 40 + gaps


@pytest.mark.parametrize("n_words", [1, 3, 30])
def test_what_is_stored_comes_back(n_words: int) -> None:
    stored = stored_form(passage(n_words, seed=3))
    back = unpack(pack(stored, LONGEST), stored.start, stored.end, {})
    again = stored_form(back)
    for one in (back, again):
        assert np.array_equal(one.words, stored.words)
        assert one.vectors == pytest.approx(stored.vectors, abs=1e-6)


@pytest.mark.parametrize("version", [1, 3])
def test_bytes_of_another_version_are_refused(version: int) -> None:
    raw = b64decode(pack(stored_form(passage(3, seed=3)), LONGEST))
    other = b64encode(bytes([version]) + raw[1:]).decode()
    with pytest.raises(StoreError, match=f"version {version}; upgrade slice-os, or ingest again"):
        unpack(other, 0, 100, {})


def test_short_passages_have_few_norms() -> None:
    short = stored_form(passage(4, seed=2))
    assert len(pack(short, 4)) == len(pack(short, LONGEST))


def test_a_passage_shorter_than_any_span_has_no_score() -> None:
    stored = stored_form(passage(1, seed=4))
    back = unpack(pack(stored, LONGEST), stored.start, stored.end, {})
    assert np.isneginf(PassageScorer(back, query(min_words=2)).best_cosines()).all()
