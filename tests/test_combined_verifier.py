from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from slice_os import Claim, InputError, ModelError, Verdict
from slice_os.verifier.combined import Combination, CombinedVerifier, read_combination
from slice_os.verifier.fitting import fit_combination

SAID = np.array([[0.1, 0.5], [0.3, 0.5], [0.45, 0.5], [0.55, 0.5], [0.7, 0.5], [0.9, 0.5]] * 10)
RIGHT = SAID[:, 0] + np.tile([-0.15, -0.15, 0.15, 0.15], 15) > 0.5
PRIORS = np.full(60, 0.5)


class Fixed:
    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict

    def check(self, claims: Sequence[Claim]) -> list[Verdict]:
        return [self.verdict] * len(claims)


@pytest.fixture
def fitted() -> Combination:
    return fit_combination(
        ["first", "second"], SAID, PRIORS, RIGHT, encoder_id="e", fitted_on="these hits"
    )


def test_the_probability_follows_the_verifier_that_knows(fitted: Combination) -> None:
    found = [fitted.probability([said, 0.5], 0.5) for said in (0.05, 0.5, 0.95)]
    assert found == sorted(found)
    assert found[0] < 0.1 < 0.9 < found[-1]
    alone = [fitted.probability([said, 0.5], None) for said in (0.05, 0.5, 0.95)]
    assert alone == pytest.approx(found, abs=0.05)


def test_no_cosine_makes_up_for_what_the_wording_says() -> None:
    chance = np.random.default_rng(0)
    said, priors = chance.random((4_000, 1)), chance.random(4_000)
    right = chance.random(4_000) < said[:, 0] * priors
    combined = fit_combination(["a"], said, priors, right, encoder_id="e", fitted_on="")
    assert combined.probability([0.1], 1.0) < 0.2
    assert combined.probability([1.0], 0.1) < 0.2
    assert combined.probability([0.9], 0.9) == pytest.approx(0.81, abs=0.07)


def test_hits_that_count_more_decide() -> None:
    said, priors = np.full((40, 1), 0.5), np.full(40, 0.5)
    right, counts = np.arange(40) % 2 == 0, np.where(np.arange(40) % 2, 1.0, 9.0)
    combined = fit_combination(
        ["a"], said, priors, right, encoder_id="e", fitted_on="", counts=counts
    )
    assert combined.probability([0.5], 0.5) == pytest.approx(0.9, abs=0.06)


def test_verdicts_are_combined(fitted: Combination) -> None:
    parts = {
        "second": Fixed(Verdict(0.5, ("30 ≠ 90", "negated here"))),
        "first": Fixed(Verdict(0.05, ("negated here",))),
    }
    verifier = CombinedVerifier(parts, fitted)
    verdicts = verifier.check([Claim("a", "b", 0, 1, 0.5), Claim("a", "b", 0, 1)])
    assert [one.reasons for one in verdicts] == [("negated here", "30 ≠ 90")] * 2
    assert verdicts[0].probability == fitted.probability([0.05, 0.5], 0.5)
    assert verdicts[1].probability == fitted.probability([0.05, 0.5], None)
    assert verifier.check([]) == []


def test_the_extremes_stay_probabilities(fitted: Combination) -> None:
    for said in (0.0, 1.0):
        for prior in (0.0, 1.0, None):
            assert 0 <= fitted.probability([said, said], prior) <= 1


def test_few_labels_are_refused() -> None:
    with pytest.raises(InputError, match="label 10 or more"):
        fit_combination(["a"], SAID[:9, :1], PRIORS[:9], RIGHT[:9], encoder_id="e", fitted_on="")


def test_is_kept_in_a_file(fitted: Combination, tmp_path: Path) -> None:
    path = tmp_path / "combination.json"
    fitted.save(path)
    assert read_combination(path) == fitted
    stored = json.loads(path.read_text())
    for field, value, message in (
        ("prior", -1, "negative"),
        ("intercept", 1e9, "out of range"),
        ("prior_intercept", -1e9, "out of range"),
        ("weights", [1.0], "one weight for each"),
        ("weights", 3, "another type"),
        ("prior", "x", "another type"),
    ):
        path.write_text(json.dumps({**stored, field: value}))
        with pytest.raises(ModelError, match=message):
            read_combination(path)
    path.write_text("{}")
    with pytest.raises(ModelError, match="expected the fields encoder_id"):
        read_combination(path)
