"""BM25 against the library whose formula it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os.evaluation.sts_b_context.passage_scores import Okapi, terms_of

words = st.sampled_from(["the", "cat", "dog", "sat", "on", "a", "mat", "ran", "far"])
texts = st.lists(st.lists(words, min_size=1, max_size=9), min_size=2, max_size=8)


@given(texts, st.lists(words | st.just("bird"), min_size=1, max_size=4))
def test_scores_are_those_of_rank_bm25(documents: list[list[str]], query: list[str]) -> None:
    rank_bm25 = pytest.importorskip("rank_bm25")
    theirs = rank_bm25.BM25Okapi(documents).get_scores(query)
    okapi = Okapi.of(" ".join(words) for words in documents)
    ours = [okapi.score(" ".join(query), " ".join(words)) for words in documents]
    assert ours == pytest.approx(theirs.tolist(), abs=1e-9)


def test_a_span_scores_as_a_document_of_its_words_does() -> None:
    okapi = Okapi.of(["The cat sat.", "A dog ran far.", "Dogs and cats, the end."])
    text = "Far away the Cat, the cat sat down"
    scores = okapi.span_scores("the cat ran", text, 3)
    words = text.replace(",", "").split()
    for first in range(len(words)):
        for extra in range(3):
            span = words[first : first + extra + 1]
            expected = okapi.score("the cat ran", " ".join(span)) if len(span) > extra else -np.inf
            assert scores[first, extra] == pytest.approx(expected)


def test_terms_have_no_case_and_unknown_ones_no_weight() -> None:
    assert terms_of("Don't STOP, non-refundable!") == ["don't", "stop", "non-refundable"]
    assert Okapi.of(["a b", "c"]).score("zebra", "a zebra") == 0
    assert Okapi.of(["a b", "c"]).score("a", "…") == 0
