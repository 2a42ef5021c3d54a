from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipes.verifier_parts.near_words import AROUND, OUTSIDE, SENTENCE, SPAN, Near, feeds, near
from slice_os import Corpus, Document, SpanEncoder
from slice_os.hits.hit import HitWithVectors
from slice_os.search.run import make_query, search

torch = pytest.importorskip("torch", reason="training needs the extra `train`")

TEXTS = (
    "We called twice. I want to cancel my subscription today, please. The line was bad.",
    "My dog is brown. He would never leave the house without me, not even in the summer.",
    " ".join(["The contract may be ended by either party with notice of thirty days."] * 4),
)


@pytest.fixture(scope="module")
def encoder() -> SpanEncoder:
    return SpanEncoder()


@pytest.fixture(scope="module")
def hits(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> list[HitWithVectors]:
    with Corpus(tmp_path_factory.mktemp("store") / "s", encoder) as corpus:
        corpus.add(Document(str(number), text) for number, text in enumerate(TEXTS))
        found = []
        for phrase in ("I want to end my membership", "with a month's notice"):
            found += search(corpus.store, make_query(encoder, phrase, word_vectors=True))
    return [hit for hit in found if isinstance(hit, HitWithVectors)]


def test_the_words_of_the_span_and_around_it_are_read(
    hits: list[HitWithVectors], encoder: SpanEncoder
) -> None:
    assert len(hits) == 2 * len(TEXTS)
    for hit in hits:
        read, span = near(hit), hit.span or hit
        assert len(read.parts) == len(read.vectors)
        assert (read.parts == SPAN).sum() == hit.last - hit.first
        assert read.parts[read.place] == SPAN
        assert len(read.parts) <= 2 * AROUND + hit.last - hit.first
        words = hit.words[hit.first - read.place :][: len(read.parts)]
        assert hit.sentence is not None
        for (start, end), part in zip(words[:, :2].tolist(), read.parts, strict=True):
            within = hit.sentence.start <= start and end <= hit.sentence.end
            assert (part == OUTSIDE) == (not within)
            assert (part == SPAN) == (span.start <= start and end <= span.end)
            assert part in (OUTSIDE, SENTENCE, SPAN)
        assert np.linalg.norm(read.vectors, axis=1) == pytest.approx(1, abs=1e-5)


@settings(max_examples=10, deadline=None)
@given(order=st.lists(st.integers(0, 2 * len(TEXTS) - 1), min_size=1, max_size=8))
def test_no_number_depends_on_other_hits(hits: list[HitWithVectors], order: list[int]) -> None:
    from recipes.verifier_parts.vector_network import VectorNetwork

    torch.manual_seed(0)
    network = VectorNetwork(384, 64, 64, 1).eval()
    ours = [hit.vectors[: 2 + len(hit.phrase) % 3] for hit in hits]

    def odds(chosen: list[int]) -> np.ndarray:
        ready = feeds([ours[number] for number in chosen], [near(hits[n]) for n in chosen])
        with torch.inference_mode():
            return network(*map(torch.from_numpy, ready.values())).numpy()

    alone = np.concatenate([odds([number]) for number in order])
    assert odds(order) == pytest.approx(alone, abs=1e-4)


def test_training_teaches_what_the_verifier_says(
    hits: list[HitWithVectors], encoder: SpanEncoder, tmp_path: Path
) -> None:
    from recipes.verifier_parts.readings import Teacher, read_readings, write_readings
    from recipes.verifier_parts.vector_network import VectorNetwork
    from recipes.verifier_parts.vector_training import ReaderRecipe, ReaderRun, agreement, groups_of
    from slice_os.verifier.bundled import NETWORK
    from slice_os.verifier.cross_encoder import CrossEncoderVerifier

    teacher = Teacher(encoder, CrossEncoderVerifier(NETWORK, threads=1))
    write_readings(teacher.readings(hits, [1, 0, 0] * 2), tmp_path / "hits.npz")
    assert len(read_readings(tmp_path / "hits.npz")) == len(hits)
    groups = groups_of([tmp_path / "hits.npz"])
    assert [group.phrase for group in groups] == list(dict.fromkeys(hit.phrase for hit in hits))
    torch.manual_seed(0)
    recipe = ReaderRecipe("tiny", steps=30, warmup=1, learning_rate=0.01, bf16=False)
    run = ReaderRun(recipe, VectorNetwork(384, 64, 64, 1, dropout=0.0))
    losses = [run.step(step, groups)["loss"] for step in range(recipe.steps)]
    assert losses[-1] < losses[0]
    assert agreement(run.network, groups, bf16=False)["dev_auc"] == 1


def test_places_count_from_the_span() -> None:
    one = Near(np.eye(3, 384, dtype=np.float32), np.array([1, 2, 0]), 1, 0.5, 0.0)
    ready = feeds([np.eye(2, 384, dtype=np.float32)], [one])
    assert ready["places"].tolist() == [[-1, 0, 1]]
    assert ready["their_mask"].tolist() == [[1, 1, 1]]
