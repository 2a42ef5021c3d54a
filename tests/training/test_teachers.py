"""One teacher, and two as one."""

from __future__ import annotations

from random import Random

import pytest

torch = pytest.importorskip("torch", reason="training needs the extra `train`")

from slice_os.training.span_tensors import text_vectors  # noqa: E402
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
