from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slice_os.arrays import FloatArray
from slice_os.spans.choice import select_spans
from slice_os.spans.cosines import (
    ScoredSpan,
    SpanLayout,
    best_by_word,
    inverse_norms,
    span_cosines,
    span_norms,
    word_sums,
)

SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def layouts(draw: st.DrawFn, max_words: int = 40) -> tuple[SpanLayout, int]:
    """Words of one to four pieces, with gaps of punctuation before, between and after them."""
    gaps = draw(st.lists(st.sampled_from([0, 0, 0, 1, 5]), min_size=1, max_size=max_words))
    sizes = [draw(st.integers(1, 4)) for _ in gaps]
    last = np.cumsum([gap + size for gap, size in zip(gaps, sizes, strict=True)])
    return SpanLayout(last - np.array(sizes), last), int(last[-1]) + draw(st.integers(0, 3))


def brute_force(
    vectors: FloatArray, layout: SpanLayout, phrase: FloatArray, max_words: int
) -> FloatArray:
    """Cosines of spans that are computed one by one."""
    n_words = len(layout.first)
    cosines = np.full((n_words, max_words), -np.inf)
    for word, extra in itertools.product(range(n_words), range(max_words)):
        if word + extra < n_words:
            span = vectors[layout.first[word] : layout.last[word + extra]].mean(axis=0, dtype=float)
            cosines[word, extra] = span @ phrase / np.linalg.norm(span)
    return cosines


def unit(rng: np.random.Generator, dimension: int = 16) -> FloatArray:
    phrase = rng.standard_normal(dimension)
    return (phrase / np.linalg.norm(phrase)).astype(np.float32)


@given(layouts(), st.integers(1, 25), SEEDS)
def test_cosines_are_those_of_materialised_spans(
    placed: tuple[SpanLayout, int], max_words: int, seed: int
) -> None:
    layout, n_pieces = placed
    rng = np.random.default_rng(seed)
    vectors = rng.normal(0.3, 1, (n_pieces, 16)).astype(np.float32)
    phrase = unit(rng)
    norms = span_norms(vectors, layout, max_words)
    cosines = span_cosines(vectors @ phrase, layout, norms)
    expected = brute_force(vectors, layout, phrase, max_words)
    assert (np.isinf(cosines) == np.isinf(expected)).all()
    np.testing.assert_allclose(cosines, expected, atol=1e-5)


@given(st.lists(layouts(15), min_size=1, max_size=6), st.integers(1, 10), SEEDS)
def test_passages_laid_end_to_end_score_as_they_do_alone(
    placed: list[tuple[SpanLayout, int]], max_words: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    phrase = unit(rng)
    parts = [rng.normal(0.3, 1, (n, 16)).astype(np.float32) for _, n in placed]
    norms = [span_norms(v, lay, max_words) for v, (lay, _) in zip(parts, placed, strict=True)]
    alone = [
        span_cosines(v @ phrase, lay, norm)
        for v, (lay, _), norm in zip(parts, placed, norms, strict=True)
    ]
    starts = np.cumsum([0, *(n for _, n in placed)])
    laid = SpanLayout(
        np.concatenate(
            [lay.first + start for (lay, _), start in zip(placed, starts, strict=False)]
        ),
        np.concatenate([lay.last + start for (lay, _), start in zip(placed, starts, strict=False)]),
    )
    together = span_cosines(np.concatenate(parts) @ phrase, laid, np.concatenate(norms))
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-5)


@given(st.lists(layouts(15), min_size=1, max_size=6), st.integers(1, 10), st.data(), SEEDS)
def test_best_by_word_are_the_maxima_of_all_cosines(
    placed: list[tuple[SpanLayout, int]], max_words: int, data: st.DataObject, seed: int
) -> None:
    min_words = data.draw(st.integers(1, max_words))
    rng = np.random.default_rng(seed)
    phrases = np.stack([unit(rng), unit(rng)])
    parts = [rng.normal(0.3, 1, (n, 16)).astype(np.float32) for _, n in placed]
    norms = [span_norms(v, lay, max_words) for v, (lay, _) in zip(parts, placed, strict=True)]
    shifts = np.cumsum([0, *(n for _, n in placed)])[:-1]
    laid = SpanLayout(
        np.concatenate([lay.first + at for (lay, _), at in zip(placed, shifts, strict=True)]),
        np.concatenate([lay.last + at for (lay, _), at in zip(placed, shifts, strict=True)]),
    )
    starts = np.cumsum([0, *(len(norm) for norm in norms)])[:-1]
    products = np.concatenate(parts) @ phrases.T
    sums, growth = word_sums(products, laid, starts)
    inverse = inverse_norms(np.concatenate(norms))
    for row, phrase in enumerate(phrases):
        expected = [
            span_cosines(v @ phrase, lay, norm)[:, min_words - 1 :].max(axis=1)
            for v, (lay, _), norm in zip(parts, placed, norms, strict=True)
        ]
        best = best_by_word(sums[row], growth[row], inverse, min_words)
        np.testing.assert_allclose(best, np.concatenate(expected), atol=1e-5)


def test_vectors_of_real_text_score_exactly(encoder) -> None:  # type: ignore[no-untyped-def]
    text = (
        "Either party may, at any time & without cause, end this agreement (“the Agreement”). " * 5
    )
    aligned, vectors = encoder.encode_text(text)
    layout = SpanLayout(aligned.words[:, 2], aligned.words[:, 3])
    (phrase,) = encoder.encode_phrases(["I want to cancel my contract"])
    cosines = span_cosines(vectors @ phrase, layout, span_norms(vectors, layout, 20))
    np.testing.assert_allclose(cosines, brute_force(vectors, layout, phrase, 20), atol=1e-5)


def test_cosines_of_zero_vectors_are_zero() -> None:
    layout = SpanLayout(np.arange(3), np.arange(1, 4))
    vectors = np.zeros((3, 4), dtype=np.float32)
    norms = span_norms(vectors, layout, 2)
    assert span_cosines(vectors[:, 0], layout, norms).tolist() == [[0, 0], [0, 0], [0, -np.inf]]


def test_best_by_word_of_zero_vectors_are_zero() -> None:
    layout = SpanLayout(np.arange(3), np.arange(1, 4))
    inverse = inverse_norms(span_norms(np.zeros((3, 4), dtype=np.float32), layout, 2))
    sums, growth = word_sums(np.zeros((3, 1), dtype=np.float32), layout, np.array([0, 2]))
    assert best_by_word(sums[0], growth[0], inverse, 1).tolist() == [0, 0, 0]
    sums, growth = word_sums(np.zeros((3, 1), dtype=np.float32), layout, np.array([0, 2]))
    assert best_by_word(sums[0], growth[0], inverse, 2).tolist() == [0, -np.inf, -np.inf]


def test_cosines_never_leave_their_range() -> None:
    layout = SpanLayout(np.arange(500), np.arange(1, 501))
    vectors = np.full((500, 3), 1e-3, dtype=np.float32)
    phrase = np.full(3, 3**-0.5, dtype=np.float32)
    norms = span_norms(vectors, layout, 20)
    for sign in (1, -1):
        cosines = span_cosines(vectors @ (sign * phrase), layout, norms)[:-19]
        assert np.abs(cosines).max() == 1


@st.composite
def cosine_matrices(draw: st.DrawFn) -> FloatArray:
    """With few different values, so that there are ties."""
    n_words, max_words = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    values = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0])
    rows = [[draw(values) for _ in range(max_words)] for _ in range(n_words)]
    cosines = np.array(rows, dtype=np.float32)
    word, extra = np.indices(cosines.shape)
    return np.where(word + extra < n_words, cosines, -np.inf).astype(np.float32)


def overlap(one: ScoredSpan, other: ScoredSpan) -> bool:
    return one.word < other.word + other.words and other.word < one.word + one.words


def rank(span: ScoredSpan) -> tuple[float, int, int]:
    return -span.cosine, span.word, span.words


@given(cosine_matrices(), st.floats(-1, 1, width=32), st.integers(1, 3))
def test_selected_spans_are_the_best_that_do_not_overlap(
    cosines: FloatArray, threshold: float, min_words: int
) -> None:
    chosen = list(select_spans(cosines, threshold, min_words=min_words))
    admitted = [
        ScoredSpan(
            int(word),
            int(extra) + 1,
            float(cosines[word, extra]),
            behind=chosen[0].cosine - float(cosines[word, extra]),
        )
        for word, extra in np.ndindex(*cosines.shape)
        if cosines[word, extra] >= threshold and extra + 1 >= min_words
    ]
    assert set(chosen) <= set(admitted)
    assert chosen == sorted(chosen, key=rank)
    assert not any(overlap(a, b) for a, b in itertools.combinations(chosen, 2))
    # Greedy: whatever was left out overlaps something at least as good.
    for span in admitted:
        assert any(overlap(span, other) and rank(other) <= rank(span) for other in chosen)


def test_ties_go_by_position_and_then_by_length() -> None:
    cosines = np.array([[0.5, 0.5], [0.5, 0.5], [0.5, -np.inf]], dtype=np.float32)
    assert list(select_spans(cosines)) == [
        ScoredSpan(0, 1, 0.5),
        ScoredSpan(1, 1, 0.5),
        ScoredSpan(2, 1, 0.5),
    ]
