"""Fitting the alignment verifier: what wording says, and whether two texts are about the same."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import orjson
import pytest

from benchmarks.alignment_fitting import ComparedClaims, compared, fit_alignment
from slice_os import InputError, ModelError, SpanEncoder
from slice_os.verifier.claims import Claim
from slice_os.verifier.wording.comparison import FEATURES
from slice_os.verifier.wording.verifier import WordingWeights, logistic, read_weights

DENIED = FEATURES.index("denied")
COSINE = FEATURES.index("cosine")


def claims(n: int, chance: np.random.Generator, denied: float) -> ComparedClaims:
    """Claims that hold if they are not denied, and as often as their priors say."""
    features = np.zeros((n, len(FEATURES)), dtype=np.float32)
    features[:, DENIED] = chance.random(n) < denied
    priors = chance.random(n)
    features[:, COSINE] = priors
    right = (features[:, DENIED] == 0) & (chance.random(n) < priors)
    return ComparedClaims(features, priors, right.astype(np.float64))


@pytest.fixture(scope="module")
def fitted() -> WordingWeights:
    chance = np.random.default_rng(0)
    features = np.zeros((400, len(FEATURES)), dtype=np.float32)
    features[::2, DENIED] = 1
    features[:, COSINE] = np.where(features[:, DENIED] > 0, 0.9, 0.6)
    pairs = ComparedClaims(features, features[:, COSINE], 1.0 - features[:, DENIED])
    return fit_alignment([claims(2_000, chance, 0.1)], pairs, "an encoder", "these claims")


def test_both_maps_learn_their_part(fitted: WordingWeights) -> None:
    features = np.zeros((4, len(FEATURES)), dtype=np.float32)
    features[2:, DENIED] = 1
    priors = np.array([0.2, 0.8, 0.2, 1.0])
    features[:, COSINE] = priors
    agreement = logistic(fitted.agreement(features))
    both = agreement * logistic(fitted.aboutness(features, priors))
    assert agreement[:2].min() > 0.8 > 0.2 > agreement[2:].max()
    assert both == pytest.approx([0.2, 0.8, 0.0, 0.0], abs=0.15)


def test_no_row_depends_on_the_others(fitted: WordingWeights) -> None:
    one = claims(50, np.random.default_rng(1), 0.5)
    alone = [fitted.agreement(row[None]).item() for row in one.features]
    assert fitted.agreement(one.features).tolist() == alone


def test_few_labels_are_refused() -> None:
    chance = np.random.default_rng(0)
    many, few = claims(400, chance, 0.3), claims(12, chance, 0.3)
    with pytest.raises(InputError, match="label 10 or more"):
        fit_alignment([few], many, "", "")


def test_claims_are_compared_as_the_verifier_does() -> None:
    encoder = SpanEncoder(threads=1)
    texts = ["I never paid", "I paid", "I did pay you"]
    reported: list[int] = []
    found = compared(
        encoder,
        ((Claim("I paid", text, 0, len(text)), "never" not in text) for text in texts),
        reported.append,
    )
    assert found.features.shape == (3, len(FEATURES))
    assert found.right.tolist() == [0, 1, 1]
    assert found.features[0, DENIED] == 1
    assert found.priors[1] == found.priors.max() > 0.9
    assert reported == [3]


def test_are_kept_in_a_file(fitted: WordingWeights, tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    path.write_bytes(orjson.dumps(fitted))
    features = claims(5, np.random.default_rng(2), 0.5).features
    assert read_weights(path).agreement(features).tolist() == fitted.agreement(features).tolist()
    stored = json.loads(path.read_text())
    for field, value in (("mean", [0.0]), ("about", [1.0]), ("features", ["cosine"])):
        path.write_text(json.dumps({**stored, field: value}))
        with pytest.raises(ModelError, match="made for other features"):
            read_weights(path)
    path.write_text("{}")
    with pytest.raises(ModelError, match="not the weights of a wording verifier"):
        read_weights(path)
