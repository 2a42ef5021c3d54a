"""Statistics against scipy and against published worked examples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from slice_os.evaluation.measures import (
    bootstrap_interval,
    holm,
    mean_interval,
    paired_effect,
    paired_randomisation,
    pearson,
    spearman,
    williams,
    williams_of,
)

numbers = st.lists(st.integers(-50, 50), min_size=3, max_size=40)


@given(numbers)
def test_correlations_are_those_of_scipy(x: list[int]) -> None:
    from scipy import stats

    y = sorted(x, key=lambda value: (value * 7919) % 13)
    assume(len(set(x)) > 1)
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)


def test_a_constant_has_no_correlation() -> None:
    assert np.isnan(pearson([1, 1, 1], [1, 2, 3]))
    assert np.isnan(spearman([1, 2, 3], [2, 2, 2]))


def test_intervals_hold_the_value_and_repeat_by_their_seed() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    y = 0.6 * x + rng.normal(size=200)
    for value, interval in (
        (pearson(x, y), bootstrap_interval(pearson, x, y)),
        (spearman(x, y), bootstrap_interval(spearman, x, y)),
        (float(x.mean()), mean_interval(x)),
    ):
        assert interval.low < value < interval.high
    assert bootstrap_interval(pearson, x, y, seed=3) == bootstrap_interval(pearson, x, y, seed=3)
    assert bootstrap_interval(pearson, x, y, seed=3) != bootstrap_interval(pearson, x, y, seed=4)


def test_the_bootstrap_is_that_of_one_draw_after_the_other() -> None:
    rng = np.random.default_rng(2)
    values = rng.exponential(size=80)
    drawn = [rng.choice(values, 80).mean() for _ in range(4000)]
    interval = bootstrap_interval(np.mean, values, resamples=4000)
    assert interval.low == pytest.approx(np.percentile(drawn, 2.5), abs=0.02)
    assert interval.high == pytest.approx(np.percentile(drawn, 97.5), abs=0.02)


def test_fishers_interval_is_near_for_many_normal_items() -> None:
    from scipy import stats

    rng = np.random.default_rng(5)
    x = rng.normal(size=2000)
    y = x + rng.normal(size=2000)
    fisher = stats.pearsonr(x, y).confidence_interval()
    interval = bootstrap_interval(pearson, x, y)
    assert interval.low == pytest.approx(fisher.low, abs=0.01)
    assert interval.high == pytest.approx(fisher.high, abs=0.01)


def test_williams_on_steigers_example() -> None:
    # Steiger 1980, case A; psych::r.test(103, .4, .5, .1) prints t -0.89, p 0.37.
    test = williams(r12=0.4, r13=0.5, r23=0.1, n=103)
    assert round(test.statistic, 2) == -0.89
    assert round(test.p_value, 2) == 0.37


def test_williams_on_the_example_of_precision_in_psych() -> None:
    # help(r.test) of the R package psych: n = 5105, probability < 0.1001.
    test = williams(r12=0.693458895410494, r13=0.695966022434845, r23=0.988475791500198, n=5105)
    assert round(test.p_value, 4) == 0.1001


def test_williams_on_scores_takes_the_sign_of_the_better_one() -> None:
    rng = np.random.default_rng(0)
    gold = rng.normal(size=300)
    good, bad = gold + rng.normal(size=300), gold + 3 * rng.normal(size=300)
    better = williams_of(gold, good, bad)
    worse = williams_of(gold, bad, good)
    assert better.statistic > 2
    assert better.statistic == pytest.approx(-worse.statistic)
    assert better.p_value == pytest.approx(worse.p_value)
    assert better.p_value < 0.001
    assert williams_of(gold, good, good).p_value == 1


def test_randomisation_counts_all_sign_flips_of_few_items() -> None:
    # Of the 2^5 sign patterns of five differences above 0, two are as far out: p = 2 / 32.
    test = paired_randomisation([2, 3, 4, 5, 6], [1, 1, 1, 1, 1])
    assert test.statistic == pytest.approx(3)
    assert test.p_value == pytest.approx(2 / 32)


def test_randomisation_agrees_with_a_t_test_on_many_items() -> None:
    from scipy import stats

    rng = np.random.default_rng(0)
    first = rng.normal(0.12, 1, size=400)
    second = np.zeros(400)
    by_t = stats.ttest_rel(first, second).pvalue
    assert paired_randomisation(first, second).p_value == pytest.approx(by_t, abs=0.02)
    assert paired_randomisation(first, first).p_value == 1


def test_holm_on_a_worked_example() -> None:
    # R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm").
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1, 1]
    assert holm([]) == []


def test_effect_is_the_mean_difference_in_deviations() -> None:
    assert paired_effect([2, 4, 6], [1, 1, 1]) == pytest.approx(3 / 2)
    assert paired_effect([1, 2], [1, 2]) == 0
