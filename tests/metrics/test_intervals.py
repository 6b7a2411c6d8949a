"""Intervals that hold whatever the distribution."""

import math
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from likewise.metrics.intervals import (
    clopper_pearson,
    largest_class_p,
    lower_share_limit,
    pair_evidence,
    pair_mean_limits,
    pair_share_limits,
    upper_tail,
)


def all_pairs(n):
    return np.array(list(combinations(range(n), 2)), dtype=np.int64).reshape(-1, 2)


@cache
def limits_of(values, runs, confidence=0.95):
    return pair_mean_limits(np.array(values, dtype=float), runs / 2, confidence)


# Evidence


@pytest.mark.parametrize("runs", [2, 3, 4, 8, 30])
def test_all_pairs_of_some_runs_are_worth_half_as_many_pairs(runs):
    assert pair_evidence(all_pairs(runs)) == runs / 2


def test_pairs_that_share_a_run_are_worth_one_and_separate_pairs_all():
    assert pair_evidence(np.array([[0, 1], [0, 2], [0, 3]])) == 1
    assert pair_evidence(np.array([[0, 1], [2, 3], [4, 5]])) == 3


# By hand: all pairs 0. W = (1 - m)^-(K/2) = 1/alpha at m = 1 - alpha^(2/K).


@pytest.mark.parametrize(("runs", "upper"), [(2, 0.975), (3, 0.9145), (4, 0.8419), (8, 0.6024), (30, 0.2180)])
def test_runs_that_are_all_alike_leave_the_upper_limit_worked_by_hand(runs, upper):
    low, high = limits_of((0.0,) * len(all_pairs(runs)), runs)
    assert low == 0.0
    assert high == pytest.approx(upper, abs=5e-4)
    assert high >= 1 - 0.025 ** (2 / runs) - 1e-12  # never on the bold side of the edge


def test_more_confidence_is_a_wider_interval():
    # Four runs alike are two pairs of evidence: the upper limit is 1 - alpha^(1/2), half of what is left to a side.
    for confidence in (0.5, 0.8, 0.95):
        _, high = limits_of((0,) * 6, 4, confidence)
        assert high == pytest.approx(1 - math.sqrt((1 - confidence) / 2), abs=1e-3)


def test_pairs_that_all_clash_mirror_pairs_that_are_all_alike():
    low, high = limits_of((1.0,) * 6, 4)
    assert (low, high) == pytest.approx((math.sqrt(0.025), 1.0), abs=2e-4)


def chernoff(share, evidence, alpha):
    """The limits of the exponential inequality, by root finding: what the stakes must not be worse than."""

    def excess(mean):
        terms = [0.0 if a == 0 else a * math.log(a / b) for a, b in ((share, mean), (1 - share, 1 - mean))]
        return evidence * sum(terms) - math.log(1 / alpha)

    low = high = share
    for step in np.geomspace(0.5, 1e-7, 60):
        low = low - step if low - step > 1e-9 and excess(low - step) < 0 else low
        high = high + step if high + step < 1 - 1e-9 and excess(high + step) < 0 else high
    return low, high


@pytest.mark.parametrize(("ones", "runs"), [(2, 3), (3, 4), (7, 8), (12, 8), (9, 10)])
def test_zeros_and_ones_get_the_limits_of_chernoff_for_half_as_many_pairs(ones, runs):
    pairs = len(all_pairs(runs))
    found = limits_of((1.0,) * ones + (0.0,) * (pairs - ones), runs)
    assert found == pytest.approx(chernoff(ones / pairs, runs / 2, 0.025), abs=1e-3)


@given(st.integers(2, 7), st.data())
@settings(max_examples=60, deadline=None)
def test_values_inside_the_range_never_widen_the_limits(runs, data):
    size = len(all_pairs(runs))
    values = np.array(data.draw(st.lists(st.floats(0, 1), min_size=size, max_size=size)))
    low, high = pair_mean_limits(values, runs / 2)
    wide_low, wide_high = chernoff(float(values.mean()), runs / 2, 0.025)
    assert wide_low - 2e-3 <= low <= values.mean() <= high <= wide_high + 2e-3
    assert low < high


def test_the_means_refused_are_all_that_lie_below_the_limit():
    # The stake changes with the mean, so nothing forces the refused means to be an interval: here they are looked at.
    from likewise.metrics.intervals import _refuted

    generator = np.random.default_rng(0)
    means = np.linspace(1e-6, 1 - 1e-6, 4001)
    for _ in range(200):
        runs = int(generator.integers(2, 12))
        values = generator.beta(*generator.uniform(0.1, 3, 2), size=runs * (runs - 1) // 2)
        distinct = np.stack([values, np.ones(len(values))])
        refuted = _refuted(distinct, np.ones(len(values), dtype=np.int64), means, runs / 2, 0.025)
        assert (np.diff(refuted.astype(int)) <= 0).all()


# Coverage, exactly: every outcome of K runs is enumerated, nothing is drawn.


def coverage(chances, distance, runs):
    """Probability that the interval holds the true mean distance of two runs that draw classes with these chances."""
    truth = sum(p * q * distance(a, b) for a, p in enumerate(chances) for b, q in enumerate(chances))
    total = 0.0
    for classes in product(range(len(chances)), repeat=runs):
        values = tuple(sorted(distance(a, b) for a, b in combinations(classes, 2)))
        low, high = limits_of(values, runs)
        if low <= truth <= high:
            total += math.prod(chances[c] for c in classes)
    return total


@pytest.mark.parametrize("runs", [2, 3, 4, 5])
@pytest.mark.parametrize("agreement", [0.999, 0.98, 0.9, 0.7, 0.5, 0.3])
def test_the_interval_of_one_decision_covers_at_least_as_often_as_it_says(agreement, runs):
    def differ(a, b):
        return float(a != b)

    def graded(a, b):
        return 0.0 if a == b else 0.5 if 2 in (a, b) else 1.0

    assert coverage((agreement, 1 - agreement), differ, runs) >= 0.95
    rest = (1 - agreement) / 2
    assert coverage((agreement, rest, rest), graded, runs) >= 0.95


def test_a_dominant_class_beside_unique_outliers_is_the_case_that_needs_the_width():
    # Pr(all K alike) = a^K with Pr(two alike) = a^2: just above the limit the interval fails with almost alpha.
    for runs in (3, 8):
        high = limits_of((0.0,) * len(all_pairs(runs)), runs)[1]
        share = math.sqrt(1 - high)
        assert share**runs == pytest.approx(0.025, rel=2e-3)


def test_the_share_of_things_that_pairs_have_in_different_numbers_is_covered():
    # Runs of one turn or five (half each); an action contradicts another where their runs are of different kinds.
    # Pairs of equal kind: 1 or 5 judged, none contradict; of different kind: 1 judged, 1 contradicts.
    # Share = E part / E whole = .5 / (.25 * 1 + .25 * 5 + .5 * 1) = .25; all 2^5 outcomes are enumerated.
    total = 0.0
    for kinds in product((1, 5), repeat=5):
        part = np.array([float(a != b) for a, b in combinations(kinds, 2)])
        whole = np.array([float(min(a, b)) for a, b in combinations(kinds, 2)])
        low, high = pair_share_limits(part, whole, 2.5)
        assert low <= part.sum() / whole.sum() <= high
        total += (low <= 0.25 <= high) / 2**5
    assert total >= 0.95


def test_equal_wholes_make_the_share_a_mean():
    part = np.array([0.0, 2.0, 5.0])
    assert pair_share_limits(part, np.full(3, 5.0), 1.5) == pytest.approx(pair_mean_limits(part / 5, 1.5))


# Shares


@given(st.integers(1, 400), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
@settings(max_examples=60, deadline=None)
def test_clopper_pearson_equals_scipy(n, data, confidence):
    successes = data.draw(st.integers(0, n))
    expected = stats.binomtest(successes, n).proportion_ci(confidence, method="exact")
    assert clopper_pearson(successes, n, confidence) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_clopper_pearson_matches_published_values():
    # Newcombe 1998, table I, method 5.
    published = {
        (81, 263): (0.2527, 0.3676),
        (15, 148): (0.0578, 0.1617),
        (0, 20): (0, 0.1684),
        (1, 29): (0.0009, 0.1776),
    }
    for (successes, n), limits in published.items():
        assert clopper_pearson(successes, n) == pytest.approx(limits, abs=5e-5)


def test_the_one_sided_limit_is_a_quantile_of_a_beta_distribution():
    for successes, n, alpha in ((3, 4, 0.05), (9, 10, 0.05), (29, 30, 0.01), (4, 4, 0.05)):
        expected = stats.beta.ppf(alpha, successes, n - successes + 1)
        assert lower_share_limit(successes, n, alpha) == pytest.approx(expected, abs=1e-9)
    assert lower_share_limit(0, 5) == 0.0


@given(st.integers(1, 60), st.floats(0, 1), st.data())
@settings(max_examples=60, deadline=None)
def test_the_upper_tail_is_that_of_the_binomial_distribution(n, share, data):
    successes = data.draw(st.integers(0, n))
    assert upper_tail(successes, n, share) == pytest.approx(stats.binom.sf(successes - 1, n, share), abs=1e-12)


def test_five_runs_that_are_all_alike_have_the_p_value_worked_by_hand():
    assert largest_class_p(5, 5, 0.8) == pytest.approx(0.8**5 + 0.2**5)


@pytest.mark.parametrize(("alike", "runs", "share"), [(5, 6, 0.8), (4, 6, 0.6), (7, 7, 0.9)])
def test_it_is_the_chance_that_either_of_two_classes_comes_so_often(alike, runs, share):
    chance = 0.0
    for ends in product((True, False), repeat=runs):
        if max(sum(ends), runs - sum(ends)) >= alike:
            chance += math.prod(share if end else 1 - share for end in ends)
    assert largest_class_p(alike, runs, share) == pytest.approx(chance)


def test_a_p_value_of_few_alike_is_one_and_not_more():
    assert largest_class_p(1, 3, 0.8) == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pair_evidence(np.zeros((0, 2), dtype=np.int64)), "no pair of runs"),
        (lambda: clopper_pearson(1, 0), "at least one trial"),
        (lambda: clopper_pearson(3, 2), r"successes lie in \[0, 2\], got 3"),
        (lambda: clopper_pearson(1, 2, 1.0), r"a confidence lies in \(0, 1\)"),
        (lambda: clopper_pearson(1, 2, 0.0), r"a confidence lies in \(0, 1\)"),
        (lambda: largest_class_p(2, 3, 0.5), r"lies in \(0.5, 1\), got 0.5"),
        (lambda: largest_class_p(2, 3, 1.0), r"lies in \(0.5, 1\), got 1"),
    ],
)
def test_what_has_no_answer_is_refused_with_the_reason(call, message):
    with pytest.raises(ValueError, match=message):
        call()
