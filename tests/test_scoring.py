"""One passage scored for several phrases, with norms computed once or given by a store."""

from __future__ import annotations

import numpy as np
import pytest

from slice_os import SpanEncoder
from slice_os.ingest.passages import encode_documents
from slice_os.search.hit_builder import HitBuilder
from slice_os.search.run import make_query
from slice_os.spans.choice import PassageScorer, span_offsets
from slice_os.spans.cosines import span_norms
from slice_os.stores.candidates import ScoredCandidates, StoredPassage
from slice_os.text.documents import Document

TEXT = "Hello there. I want to cancel my subscription today, and please stop charging my card."
PHRASES = ["cancel my plan", "stop billing me", "the weather is nice"]


@pytest.fixture(scope="module")
def passage(encoder: SpanEncoder) -> StoredPassage:
    (part,) = encode_documents([Document("call", TEXT)], encoder)
    (encoded,) = part.passages
    return StoredPassage("call", TEXT[encoded.start : encoded.end], encoded)


def test_norms_are_computed_once(
    passage: StoredPassage, encoder: SpanEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def counted(*args: object) -> object:
        calls.append(args)
        return span_norms(*args)  # type: ignore[arg-type]

    monkeypatch.setattr("slice_os.spans.choice.span_norms", counted)
    builder = HitBuilder(passage, make_query(encoder, PHRASES))
    for row in range(len(PHRASES)):
        assert list(builder.hits(row))
    assert len(calls) == 1


def test_given_norms_score_the_same(passage: StoredPassage, encoder: SpanEncoder) -> None:
    query = make_query(encoder, PHRASES)
    encoded = passage.encoded
    longer = span_norms(encoded.vectors, encoded.layout, query.max_words + 5)
    computed, given = PassageScorer(encoded, query), PassageScorer(encoded, query, longer)
    np.testing.assert_array_equal(computed.norms, given.norms)
    for row, best in enumerate(computed.best_cosines()):
        spans = list(given.best_spans(row))
        assert spans == list(computed.best_spans(row))
        assert spans[0].cosine == pytest.approx(best, abs=1e-6)


def test_hits_without_a_corpus_score_by_cosine(
    passage: StoredPassage, encoder: SpanEncoder
) -> None:
    query = make_query(encoder, PHRASES)
    for hit in HitBuilder(passage, query).hits(0, threshold=0.2, limit=2):
        assert (hit.bm25, hit.score, hit.phrase) == (None, hit.cosine, PHRASES[0])
        assert hit.text == TEXT[hit.start : hit.end]
    span = next(PassageScorer(passage.encoded, query).best_spans(0))
    start, end = span_offsets(passage.encoded, span)
    assert "cancel" in TEXT[start:end]


def test_candidates_at_or_above_a_threshold() -> None:
    cosines = np.array([[0.9, 0.1, 0.5], [0.0, 0.2, 0.6]], dtype=np.float32)
    bm25 = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = ScoredCandidates(["a", "b", "c"], cosines, bm25, bm25.max(axis=1), lambda keys: {})
    kept = found.at_least(0.5)
    assert kept.keys == ["a", "c"]
    assert kept.bm25.tolist() == [[0, 2], [3, 5]]
    assert kept.bm25_best.tolist() == [2, 5]
    assert not found.at_least(0.95).keys
