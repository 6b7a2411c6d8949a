"""Permutation tests, exact tests and corrections for many tests."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from likewise.metrics.testing import (
    benjamini_hochberg,
    compare_runs,
    fisher_exact_p,
    holm,
    paired_permutation_p,
)


def test_permutation_p_matches_values_worked_by_hand():
    # All of one sign: only the observed and its mirror image are as extreme, 2 of 2^n.
    assert paired_permutation_p(np.array([1.0, 2.0, 3.0])) == 2 / 8
    assert paired_permutation_p(np.array([0.0, 0.0])) == 1.0
    assert paired_permutation_p(np.array([5.0])) == 1.0


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=7))
@settings(max_examples=40, deadline=None)
def test_permutation_p_equals_counting_all_sign_patterns(differences):
    observed = abs(sum(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    expected = sum(total >= observed for total in sums) / len(sums)
    assert paired_permutation_p(np.array(differences, dtype=float)) == pytest.approx(expected)


def test_permutation_p_of_many_tasks_agrees_with_scipy():
    differences = np.random.default_rng(0).normal(0.25, 1.0, 25)
    ours = paired_permutation_p(differences, resamples=4000, seed=1)
    expected = stats.permutation_test(
        (differences,),
        lambda x: abs(x.sum()),
        permutation_type="samples",
        alternative="greater",
        n_resamples=4000,
        rng=np.random.default_rng(2),
        vectorized=False,
    ).pvalue
    assert ours == pytest.approx(expected, abs=0.03)
    assert ours == paired_permutation_p(differences, resamples=4000, seed=1)


def test_where_no_task_differs_nothing_is_found_however_many_tasks_there_are():
    assert paired_permutation_p(np.zeros(5)) == 1.0  # enumerated
    assert paired_permutation_p(np.zeros(30), resamples=50) == 1.0  # drawn


def test_one_drawn_pattern_makes_two_with_the_observed_one():
    # Thirty tasks that all rose by 1: a drawn pattern gives as much twice in 2^30.
    assert paired_permutation_p(np.ones(30), resamples=1) == 0.5


# Two versions of an agent on one task


def distances(first, second):
    """Runs as points on a line: their distance is how far they lie apart."""
    points = np.array([*first, *second], dtype=float)
    return np.abs(points[:, None] - points[None, :])


def test_two_runs_each_are_compared_by_hand():
    # Within: |0-1| = 1 and |4-4| = 0, between: 4, 4, 3, 3. Of the 6 divisions {0,1|4,4} and its mirror differ by 1
    # in size; the others, {0,4|1,4} and so on, by |4 - 3| = 1 as well: all six are as extreme.
    found = compare_runs(distances([0, 1], [4, 4]), 2)
    assert (found.difference, found.between, found.shift) == (-1.0, 3.5, 3.0)
    assert found.difference_p == 1.0
    assert found.shift_p == 2 / 6  # the observed division and its mirror


@given(st.lists(st.integers(0, 3), min_size=2, max_size=4), st.lists(st.integers(0, 3), min_size=2, max_size=3))
@settings(max_examples=40, deadline=None)
def test_p_values_equal_counting_all_divisions(first, second):
    matrix, n, k = distances(first, second), len(first) + len(second), len(first)

    def statistic(chosen):
        rest = [i for i in range(n) if i not in chosen]
        a, b = (np.mean([matrix[i, j] for i, j in combinations(side, 2)]) for side in (chosen, rest))
        return b - a, np.mean([matrix[i, j] for i in chosen for j in rest]) - (a + b) / 2

    observed = statistic(tuple(range(k)))
    everything = [statistic(chosen) for chosen in combinations(range(n), k)]
    found = compare_runs(matrix, k)
    assert (found.difference, found.shift) == pytest.approx(observed)
    assert found.difference_p == pytest.approx(
        np.mean([abs(d) >= abs(observed[0]) - 1e-9 for d, _ in everything]), abs=1e-12
    )
    assert found.shift_p == pytest.approx(np.mean([s >= observed[1] - 1e-9 for _, s in everything]), abs=1e-12)


def test_alike_runs_against_scattered_runs_of_eight_each_cannot_be_luck():
    # Base: 8 alike; candidate: 8 that differ from everything. Only the observed division and its mirror are as extreme.
    matrix = np.ones((16, 16))
    matrix[:8, :8] = 0.0
    found = compare_runs(matrix, 8)
    assert found.difference == 1.0
    assert found.difference_p == 2 / math.comb(16, 8)


def test_drawn_divisions_agree_with_scipy_on_many_runs():
    generator = np.random.default_rng(3)
    first, second = generator.normal(0, 1, 12), generator.normal(0, 1.6, 12)  # 2.7 million divisions
    found = compare_runs(distances(first, second), 12, resamples=4000, seed=1)

    def spread(a, b):
        return np.mean([abs(x - y) for x, y in combinations(b, 2)]) - np.mean(
            [abs(x - y) for x, y in combinations(a, 2)]
        )

    expected = stats.permutation_test(
        (first, second), spread, n_resamples=1000, vectorized=False, rng=np.random.default_rng(4)
    ).pvalue
    assert found.difference == pytest.approx(spread(first, second))
    assert found.difference_p == pytest.approx(expected, abs=0.04)
    assert found == compare_runs(distances(first, second), 12, resamples=4000, seed=1)


def test_one_run_has_no_spread_but_a_distance_to_the_others():
    found = compare_runs(distances([0], [2, 4]), 1)
    assert (found.difference, found.difference_p, found.shift, found.shift_p) == (None, None, None, None)
    assert found.between == 3.0


def test_the_diagonal_is_ignored():
    matrix = distances([0, 1], [4, 4])
    np.fill_diagonal(matrix, np.nan)
    assert compare_runs(matrix, 2) == compare_runs(distances([0, 1], [4, 4]), 2)


# Exact test


def test_fishers_tea_tasting_has_its_published_value():
    # Fisher 1935: 3 of 4 right against 1 of 4 gives 34/70.
    assert fisher_exact_p((3, 1), (4, 4)) == pytest.approx(34 / 70)
    assert fisher_exact_p((4, 0), (4, 4)) == pytest.approx(2 / 70)


@given(st.integers(0, 12), st.integers(0, 12), st.data())
@settings(max_examples=60, deadline=None)
def test_fisher_equals_scipy(n, m, data):
    a, b = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    if n and m:
        expected = stats.fisher_exact([[a, n - a], [b, m - b]]).pvalue
        assert fisher_exact_p((a, b), (n, m)) == pytest.approx(expected)


# Many tests


def test_corrections_match_values_worked_by_hand():
    p = np.array([0.01, 0.04, 0.03, 0.5])
    # Holm: .01*4, max(.04, .03*3), max(.09, .04*2), max(.09, .5).
    assert holm(p) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    # BH: .01*4/1, min(.03*4/2, .04*4/3, .5), ...
    assert benjamini_hochberg(p) == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.5])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(max_examples=10, deadline=None)
def test_corrections_equal_statsmodels(p_values):
    p = np.array(p_values)
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    assert benjamini_hochberg(p) == pytest.approx(multipletests(p, method="fdr_bh")[1])


def test_no_test_needs_no_correction():
    assert holm(np.array([])).shape == (0,)
    assert benjamini_hochberg(np.array([])).shape == (0,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paired_permutation_p(np.array([])), "at least one task"),
        (lambda: paired_permutation_p(np.array([math.nan])), "finite differences"),
        (lambda: paired_permutation_p(np.array([1.0]), resamples=0), "at least one resample"),
        (lambda: compare_runs(np.zeros((3, 3)), 0), "at least one run, got 0 and 3"),
        (lambda: compare_runs(np.array([[0.0, math.nan], [math.nan, 0.0]]), 1), "finite and symmetric"),
        (lambda: compare_runs(np.array([[0.0, 1.0], [0.5, 0.0]]), 1), "finite and symmetric"),
        (lambda: fisher_exact_p((3, 0), (2, 2)), r"successes lie in \[0, trials\]"),
        (lambda: holm(np.array([1.5])), r"p-values lie in \[0, 1\]"),
        (lambda: benjamini_hochberg(np.array([math.nan])), r"p-values lie in \[0, 1\]"),
    ],
)
def test_what_has_no_answer_is_refused_with_the_reason(call, message):
    with pytest.raises(ValueError, match=message):
        call()
