"""Intervals and tests."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from likewise.metrics.resampling import (
    bca_levels,
    bootstrap_mean,
    jackknife,
    jackknife_estimate,
    pair_mean,
    student_t_quantile,
    wilson_interval,
    wilson_share,
)


def all_pairs(n):
    return np.array(list(combinations(range(n), 2)), dtype=np.int64).reshape(-1, 2)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"), [(10, 10, 0.7225, 1.0), (0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634)]
)
def test_wilson_intervals_match_the_published_values(successes, n, low, high):
    assert wilson_interval(successes, n) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("probability", "df", "quantile"),
    [(0.975, 1, 12.7062047364), (0.975, 2, 4.3026527297), (0.975, 29, 2.0452296421), (0.95, 5, 2.0150483733)],
)
def test_student_t_quantiles_match_the_printed_table(probability, df, quantile):
    assert student_t_quantile(probability, df) == pytest.approx(quantile, abs=1e-9)


@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 7, 10, 29, 30, 99, 500])
@pytest.mark.parametrize("probability", [0.001, 0.025, 0.3, 0.5, 0.8, 0.95, 0.975, 0.9995])
def test_student_t_quantiles_equal_those_of_scipy(probability, df):
    assert student_t_quantile(probability, df) == pytest.approx(stats.t.ppf(probability, df), rel=1e-6, abs=1e-9)


@given(st.integers(1, 60), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
@settings(max_examples=40, deadline=None)
def test_wilson_intervals_equal_those_of_scipy(n, data, confidence):
    successes = data.draw(st.integers(0, n))
    expected = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    assert wilson_interval(successes, n, confidence) == pytest.approx((expected.low, expected.high), abs=1e-9)


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=8))
@settings(deadline=None)
def test_the_jackknife_of_a_mean_is_its_usual_standard_error(values):
    values = np.array(values)
    without = np.array([np.delete(values, i).mean() for i in range(len(values))])
    expected = stats.sem(values)
    assert jackknife(without, float(values.mean())) == pytest.approx(expected, abs=1e-9)


def test_a_jackknife_estimate_of_a_mean_is_the_usual_t_interval():
    values = np.array([0.2, 0.4, 0.5, 0.9])
    without = np.array([np.delete(values, i).mean() for i in range(4)])
    estimate = jackknife_estimate(0.5, without, (-math.inf, math.inf), 0.9)
    expected = stats.t.interval(0.9, 3, loc=0.5, scale=stats.sem(values))
    assert (estimate.low, estimate.high) == pytest.approx(expected)
    assert jackknife_estimate(0.5, without, (0.45, 0.6)).low == 0.45


def test_a_jackknife_without_spread_gives_a_reason():
    estimate = jackknife_estimate(0.5, np.array([0.5, 0.5, 0.5]), (0.0, 1.0))
    assert (estimate.value, estimate.low) == (0.5, None)
    assert "changes nothing" in estimate.reason
    assert estimate.n == 3


@given(st.integers(3, 6), st.data())
@settings(max_examples=60, deadline=None)
def test_a_pair_mean_leaves_out_missing_pairs_and_equals_deletion_by_hand(n, data):
    pairs = all_pairs(n)
    cells = st.sampled_from([0.0, 0.5, 1.0, math.nan])
    values = np.array(data.draw(st.lists(cells, min_size=len(pairs), max_size=len(pairs))))
    estimate = pair_mean(values, pairs, 1.0)
    kept = {tuple(pair): value for pair, value in zip(pairs.tolist(), values, strict=True) if not math.isnan(value)}
    if not kept:
        assert not estimate.defined
        return
    assert estimate.value == pytest.approx(np.mean(list(kept.values())))
    if estimate.stderr is not None:
        runs = sorted({run for pair in kept for run in pair})
        without = [np.mean([value for pair, value in kept.items() if run not in pair]) for run in runs]
        k = len(runs)
        squares = sum((x - estimate.value) ** 2 for x in without)
        assert estimate.stderr == pytest.approx(math.sqrt((k - 1) / k * squares))
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert estimate.low < estimate.high
    assert estimate.reason is None


def test_a_pair_mean_has_no_standard_error_where_a_run_cannot_be_left_out():
    # Run 0 is in both measured pairs: without it nothing is measured, and the pairs are worth one independent pair.
    estimate = pair_mean(np.array([1.0, 0.0, math.nan]), all_pairs(3), 1.0)
    assert (estimate.value, estimate.stderr, estimate.n) == (0.5, None, 3)
    assert estimate.high - estimate.low > 0.9


def test_a_pair_mean_scales_with_the_range_of_its_values():
    values = np.array([0.0, 0.5, 0.5, 1.0, 0.5, 1.0])
    one, five = pair_mean(values, all_pairs(4), 1.0), pair_mean(5 * values, all_pairs(4), 5.0)
    assert (5 * one.low, 5 * one.high, 5 * one.stderr) == pytest.approx((five.low, five.high, five.stderr))


def test_bootstrap_interval_agrees_with_scipy():
    values = np.random.default_rng(1).random(40)
    values = values**4  # skewed, so that bias and acceleration matter
    estimate = bootstrap_mean(values, 0.9, 20_000, seed=3)
    widened = 2 * stats.norm.cdf(stats.norm.ppf(0.95) * math.sqrt(40 / 39)) - 1
    expected = stats.bootstrap(
        (values,), np.mean, confidence_level=widened, n_resamples=20_000, method="BCa", rng=np.random.default_rng(9)
    ).confidence_interval
    assert estimate.value == pytest.approx(values.mean())
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high), abs=0.003)
    percentile = np.quantile(np.random.default_rng(5).choice(values, (20_000, 40)).mean(axis=1), [0.05, 0.95])
    assert estimate.high > percentile[1] + 0.005  # the long tail counts
    assert estimate.stderr == pytest.approx(stats.sem(values))


def test_bootstrap_repeats_with_its_seed_and_matches_the_binomial_of_its_draws():
    # The mean of five draws from {0, 0, 0, 0, 1} is Binomial(5, 0.2)/5. By hand: half of .410 plus .328 lie below .2,
    # so the bias is z(.5325) = .0816; the acceleration is .096/(6 * .8^1.5 * ...) from the third moment.
    values = np.array([0.0, 0.0, 0.0, 0.0, 1.0])
    estimate = bootstrap_mean(values, resamples=20_000, seed=4)
    assert estimate == bootstrap_mean(values, resamples=20_000, seed=4)
    centred = values - 0.2
    bias = stats.norm.ppf(0.8**5 + 0.5 * 5 * 0.2 * 0.8**4)
    acceleration = np.sum(centred**3) / (6 * np.sum(centred**2) ** 1.5)
    reach = 1.959964 * math.sqrt(5 / 4)
    levels = [stats.norm.cdf(bias + z / (1 - acceleration * z)) for z in (bias - reach, bias + reach)]
    low, high = stats.binom.ppf(levels, 5, 0.2) / 5
    assert (estimate.low, estimate.high) == pytest.approx((low, high))


def test_symmetric_values_have_levels_that_are_only_widened():
    values = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    means = np.linspace(-1, 1, 1001)
    low, high = bca_levels(values, means, 0.95)
    assert (low, high) == pytest.approx((stats.norm.cdf(-1.959964 * math.sqrt(5 / 4)), 1 - low), abs=1e-6)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_bootstrap_of_few_tasks_claims_no_interval(n):
    estimate = bootstrap_mean(np.linspace(0, 1, n))
    assert estimate.value == pytest.approx(0.5)
    assert estimate.low is None
    assert f"{n} tasks" in estimate.reason
    assert estimate.n == n


def test_bootstrap_gives_reasons_where_resampling_cannot_tell():
    assert "one task" in bootstrap_mean(np.array([0.3])).reason
    flat, nothing = bootstrap_mean(np.full(6, 0.3)), bootstrap_mean(np.array([]))
    assert (flat.value, flat.n) == (0.3, 6)
    assert flat.reason == "all 6 tasks have one value: resampling shows no spread"
    assert (nothing.value, nothing.n, nothing.reason) == (None, 0, "no task was measured")
    assert bootstrap_mean(np.full(6, 0.3)).value == 0.3
    assert not bootstrap_mean(np.array([])).defined


def test_a_share_of_nothing_is_undefined():
    share = wilson_share(0, 0, "pair")
    assert (share.value, share.n, share.reason) == (None, 0, "no pair was measured")
    assert wilson_share(3, 4, "pair").value == 0.75


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jackknife(np.array([1.0]), 1.0), "at least two units"),
        (lambda: student_t_quantile(1.0, 3), r"a probability lies in \(0, 1\)"),
        (lambda: student_t_quantile(0.9, 0), "degrees of freedom"),
        (lambda: wilson_interval(1, 0), "at least one trial"),
        (lambda: wilson_interval(3, 2), r"successes lie in \[0, 2\], got 3"),
        (lambda: wilson_interval(1, 2, 1.0), r"a confidence lies in \(0, 1\)"),
        (lambda: bootstrap_mean(np.array([math.nan, 1.0])), "finite values"),
        (lambda: bootstrap_mean(np.array([0.0, 1.0]), resamples=0), "at least one resample"),
        (lambda: pair_mean(np.array([2.0]), np.array([[0, 1]]), 1.0), r"pair values lie in \[0, 1\]"),
    ],
)
def test_what_has_no_answer_is_refused_with_the_reason(call, message):
    with pytest.raises(ValueError, match=message):
        call()
