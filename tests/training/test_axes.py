"""Axes for short vectors."""

from __future__ import annotations

from random import Random

import pytest

torch = pytest.importorskip("torch", reason="training needs the extra `train`")

from slice_os.training.projection import learned_projection  # noqa: E402
from slice_os.training.records import Pair, Passage, Triple  # noqa: E402
from slice_os.training.spans import best_cosines, text_vectors  # noqa: E402
from slice_os.training.teachers import principal_directions  # noqa: E402

WORDS = ("the", "cat", "dog", "woman", "is", "was", "sleeping", "piano", "park", "river", "stone")


@pytest.fixture
def asked():
    """Queries and the texts they are asked of."""
    rng = Random(1)
    return [
        (" ".join(rng.choices(WORDS, k=rng.randint(1, 6))), " ".join(rng.choices(WORDS, k=15)))
        for _ in range(80)
    ]


@pytest.fixture
def records(asked):
    pairs = [Pair(query, query, 1.0, Passage(text)) for query, text in asked[:40]]
    return pairs + [Triple(query, text, ("the cat",)) for query, text in asked[40:]]


def lost(encoder, asked, projection) -> float:
    """Mean squared difference of the best span's cosine along some axes from that along all."""
    with torch.no_grad():
        queries = text_vectors(encoder.encode([query for query, _ in asked]))
        texts = encoder.encode([text for _, text in asked])
        whole = best_cosines(texts, queries[:, None], 20)
        short = torch.nn.functional.normalize(queries @ projection.T, dim=1)[:, None]
        return (best_cosines(texts.along(projection), short, 20) - whole).square().mean().item()


def test_they_are_an_orthonormal_basis(encoder, records):
    projection = learned_projection(encoder, records, "seed")
    torch.testing.assert_close(projection @ projection.T, torch.eye(16), atol=1e-5, rtol=0)
    torch.testing.assert_close(projection, learned_projection(encoder, records, "seed"))


def test_the_first_of_them_keep_cosines_with_the_best_span(encoder, asked, records):
    projection = learned_projection(encoder, records, "seed")
    with torch.no_grad():
        texts = [text for pair in asked for text in pair]
        principal = principal_directions(text_vectors(encoder.encode(texts)))
    for count in (5, 10):
        assert lost(encoder, asked, projection[:count]) < lost(encoder, asked, principal[:count])


def test_texts_that_nothing_is_asked_of_are_asked_for_their_own_phrases(encoder, asked):
    projection = learned_projection(encoder, [Passage(text) for _, text in asked], "seed")
    torch.testing.assert_close(projection @ projection.T, torch.eye(16), atol=1e-5, rtol=0)
