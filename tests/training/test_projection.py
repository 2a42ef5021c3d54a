"""The projection for short vectors."""

from __future__ import annotations

from random import Random

import pytest

torch = pytest.importorskip("torch", reason="training needs the extra `train`")

from slice_os.training.projection import learned_projection  # noqa: E402
from slice_os.training.record_types import Pair, Passage, Triple  # noqa: E402
from slice_os.training.span_tensors import best_cosines, text_vectors  # noqa: E402
from slice_os.training.teachers import principal_directions  # noqa: E402

WORDS = ("the", "cat", "dog", "woman", "is", "was", "sleeping", "piano", "park", "river", "stone")


@pytest.fixture
def queries_and_texts():
    """Queries and their texts."""
    rng = Random(1)
    return [
        (" ".join(rng.choices(WORDS, k=rng.randint(1, 6))), " ".join(rng.choices(WORDS, k=15)))
        for _ in range(80)
    ]


@pytest.fixture
def records(queries_and_texts):
    pairs = [Pair(query, query, 1.0, Passage(text)) for query, text in queries_and_texts[:40]]
    return pairs + [Triple(query, text, ("the cat",)) for query, text in queries_and_texts[40:]]


def lost(encoder, queries_and_texts, projection) -> float:
    """Mean squared difference of the best span's cosine after a projection from that before it."""
    with torch.no_grad():
        queries = text_vectors(encoder.encode([query for query, _ in queries_and_texts]))
        texts = encoder.encode([text for _, text in queries_and_texts])
        whole = best_cosines(texts, queries[:, None], 20)
        short = torch.nn.functional.normalize(queries @ projection.T, dim=1)[:, None]
        return (best_cosines(texts.along(projection), short, 20) - whole).square().mean().item()


@pytest.mark.slow
def test_they_are_an_orthonormal_basis(encoder, records):
    projection = learned_projection(encoder, records, "seed")
    torch.testing.assert_close(projection @ projection.T, torch.eye(16), atol=1e-5, rtol=0)
    torch.testing.assert_close(projection, learned_projection(encoder, records, "seed"))


@pytest.mark.slow
def test_the_first_of_them_keep_cosines_with_the_best_span(encoder, queries_and_texts, records):
    projection = learned_projection(encoder, records, "seed")
    with torch.no_grad():
        texts = [text for pair in queries_and_texts for text in pair]
        principal = principal_directions(text_vectors(encoder.encode(texts)))
    for count in (5, 10):
        assert lost(encoder, queries_and_texts, projection[:count]) < lost(
            encoder, queries_and_texts, principal[:count]
        )


@pytest.mark.slow
def test_texts_without_a_query_get_phrases_of_their_own(encoder, queries_and_texts):
    projection = learned_projection(
        encoder, [Passage(text) for _, text in queries_and_texts], "seed"
    )
    torch.testing.assert_close(projection @ projection.T, torch.eye(16), atol=1e-5, rtol=0)
