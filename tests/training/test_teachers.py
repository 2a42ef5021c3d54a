"""One teacher, two as one, and the projection for short vectors."""

from __future__ import annotations

from random import Random

import pytest

torch = pytest.importorskip("torch", reason="training needs the extra `train`")

from slice_os.training.projection import learned_projection  # noqa: E402
from slice_os.training.record_types import Pair, Passage, Triple  # noqa: E402
from slice_os.training.span_tensors import best_cosines, text_vectors  # noqa: E402
from slice_os.training.teachers import (  # noqa: E402
    OneTeacher,
    TwoTeachers,
    principal_directions,
    sample_phrases,
)

WORDS = ("the", "cat", "dog", "woman", "is", "was", "sleeping", "piano", "park", "river", "stone")
PHRASES = [" ".join(Random(seed).choices(WORDS, k=1 + seed % 6)) for seed in range(60)]


@pytest.fixture
def other(make_encoder):
    encoder = make_encoder()
    with torch.no_grad():
        for parameter in encoder.network.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    return encoder


def test_axes_are_orthonormal_and_fall_in_spread(encoder):
    teacher = OneTeacher(encoder, PHRASES)
    projection = teacher.projection
    torch.testing.assert_close(projection @ projection.T, torch.eye(16), atol=1e-5, rtol=0)
    spread = (teacher.vectors(PHRASES) @ projection.T).square().mean(dim=0)
    assert (spread.diff() <= 1e-6).all()


def test_two_teachers_mix_their_cosines(encoder, other):
    """With as many axes as the phrases span, nothing is lost, and cosines are the weighted mean."""
    few = PHRASES[:12]
    both = TwoTeachers(encoder, other, weight=3.0, centres=(0.0, 0.0), phrases=few).vectors(few)
    first, second = (text_vectors(e.encode(few)).detach() for e in (encoder, other))
    expected = (first @ first.T + 3 * (second @ second.T)) / 4
    torch.testing.assert_close(both @ both.T, expected, atol=1e-4, rtol=0)


def test_two_teachers_are_turned_towards_the_first(encoder, other):
    teacher = TwoTeachers(encoder, other, weight=1.0, centres=(0.0, 0.5), phrases=PHRASES)
    own = text_vectors(encoder.encode(PHRASES)).detach()
    taught = teacher.vectors(PHRASES)
    assert taught.shape == own.shape
    nearness = (taught * own).sum(dim=1).mean()
    rotated = taught @ principal_directions(taught).T
    assert nearness > (rotated * own).sum(dim=1).mean()
    torch.testing.assert_close(
        teacher.projection @ teacher.projection.T, torch.eye(16), atol=1e-5, rtol=0
    )


def test_phrases_are_drawn_from_texts(encoder):
    texts = ["the cat is sleeping on the mat, near a red stone", "a dog"]
    phrases = sample_phrases(texts, encoder, "seed")
    assert phrases == sample_phrases(texts, encoder, "seed")
    assert {len(encoder.align(phrase).words) for phrase in phrases} == set(range(1, 12))
    assert all(any(phrase in text for text in texts) for phrase in phrases)


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
