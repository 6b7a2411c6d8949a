"""Numbers of tasks against their failure; peers are scipy, statsmodels and counting all pairs."""

from itertools import permutations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from likewise.metrics.association import (
    auroc_p,
    bootstrap_association,
    correlation_p,
    failure_auroc,
    partial_correlation,
    partial_p,
    rank_correlation,
    task_draws,
)

columns = st.lists(st.integers(0, 4), min_size=3, max_size=9).map(lambda values: np.array(values, dtype=float))


def test_three_tasks_have_the_correlation_worked_by_hand():
    # ranks 1, 2, 3 against 2, 1, 3: 1 - 6 (1 + 1 + 0) / (3 * 8) = 0.5
    assert rank_correlation(np.array([0.1, 0.2, 9.0]), np.array([2.0, 1.0, 3.0]))[0] == pytest.approx(0.5)


@given(st.data(), columns)
@settings(max_examples=60, deadline=None)
def test_rank_correlation_equals_that_of_scipy_with_ties(data, x):
    y = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(x), max_size=len(x))), dtype=float)
    found = rank_correlation(x, y)[0]
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(stats.spearmanr(x, y).statistic)


@given(st.data(), columns)
@settings(max_examples=60, deadline=None)
def test_a_task_drawn_twice_counts_as_two_tasks(data, x):
    n = len(x)
    y = np.array(data.draw(st.lists(st.floats(0.0, 1.0), min_size=n, max_size=n)))
    counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    one, other = np.repeat(x, counts), np.repeat(y, counts)
    found = rank_correlation(x, y, counts[None])[0]
    if len(one) > 1 and np.ptp(one) > 0 and np.ptp(other) > 0:
        assert found == pytest.approx(stats.spearmanr(one, other).statistic)


def test_one_task_alone_goes_with_nothing():
    assert np.isnan(rank_correlation(np.array([3.0]), np.array([2.0]))[0])


def by_counting(x, failures, successes):
    wins = pairs = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            if i != j:
                wins += failures[i] * successes[j] * (1.0 if x[i] > x[j] else 0.5 if x[i] == x[j] else 0.0)
                pairs += failures[i] * successes[j]
    return wins / pairs if pairs else np.nan


def test_the_auroc_worked_by_hand():
    # Task A (number 1): one of two runs failed. B (2): both failed. C (0): both succeeded.
    # Pairs of a failed and a successful run of two tasks: A>C 1*2, B>A 2*1, B>C 2*2: all of them right.
    x, failures = np.array([1.0, 2.0, 0.0]), np.array([1, 2, 0])
    assert failure_auroc(x, failures, 2 - failures)[0] == 1.0
    # The other way round none is right, and a number that is the same for all tells nothing.
    assert failure_auroc(-x, failures, 2 - failures)[0] == 0.0
    assert failure_auroc(np.ones(3), failures, 2 - failures)[0] == 0.5


@given(st.data(), columns)
@settings(max_examples=80, deadline=None)
def test_the_auroc_equals_counting_all_pairs_of_runs_of_two_tasks(data, x):
    runs = st.lists(st.integers(0, 3), min_size=len(x), max_size=len(x)).map(np.array)
    failures, successes = data.draw(runs), data.draw(runs)
    expected = by_counting(x, failures, successes)
    assert failure_auroc(x, failures, successes)[0] == pytest.approx(expected, nan_ok=True)


def test_one_failed_and_one_successful_run_are_a_pair():
    failed, solved = np.array([1, 0]), np.array([0, 1])
    assert failure_auroc(np.array([2.0, 1.0]), failed, solved)[0] == 1.0
    assert failure_auroc(np.array([1.0, 2.0]), failed, solved)[0] == 0.0


def test_with_one_run_a_task_it_is_the_auroc_of_scipy():
    rng = np.random.default_rng(0)
    x, failed = rng.integers(0, 6, 40).astype(float), rng.integers(0, 2, 40)
    u = stats.mannwhitneyu(x[failed == 1], x[failed == 0]).statistic
    assert failure_auroc(x, failed, 1 - failed)[0] == pytest.approx(u / (failed.sum() * (1 - failed).sum()))


def test_a_task_drawn_twice_is_not_paired_with_itself():
    x, failures, successes = np.array([1.0, 2.0, 3.0]), np.array([1, 2, 1]), np.array([2, 1, 1])
    counts = np.array([[2, 0, 1]])
    wins = pairs = 0.0
    tasks = [0, 0, 2]
    for i in tasks:
        for j in tasks:
            if i != j:
                wins += failures[i] * successes[j] * (x[i] > x[j])
                pairs += failures[i] * successes[j]
    # The two copies of task 0 are left out against each other, as its own runs are.
    assert failure_auroc(x, failures, successes, counts)[0] == pytest.approx(wins / pairs)


def test_the_partial_correlation_is_that_of_what_regression_leaves_of_the_ranks():
    rng = np.random.default_rng(1)
    z = rng.normal(size=50)
    x, y = z + rng.normal(size=50), z + rng.normal(size=50)
    ranks = [stats.rankdata(values) for values in (x, y, z)]
    left = [sm.OLS(values, sm.add_constant(ranks[2])).fit().resid for values in ranks[:2]]
    assert partial_correlation(x, y, z)[0] == pytest.approx(np.corrcoef(*left)[0, 1])
    assert np.isnan(partial_correlation(x, y, x)[0])
    assert np.isnan(partial_correlation(x, y, np.ones(50))[0])


def test_the_partial_correlation_of_a_resample_is_that_of_the_tasks_drawn():
    rng = np.random.default_rng(3)
    x, y, z = rng.normal(size=(3, 12))
    counts = rng.multinomial(12, np.full(12, 1 / 12), size=4)
    drawn = [[np.repeat(values, row) for values in (x, y, z)] for row in counts]
    assert partial_correlation(x, y, z, counts) == pytest.approx([partial_correlation(*tasks)[0] for tasks in drawn])


def test_permutation_p_values_agree_with_scipy_on_all_permutations():
    x, y = np.array([0.3, 0.1, 0.9, 0.5, 0.7, 0.2]), np.array([0.0, 0.25, 0.75, 1.0, 0.5, 0.0])
    exact = stats.permutation_test(
        (x,), lambda values: stats.spearmanr(values, y).statistic, permutation_type="pairings", n_resamples=np.inf
    )
    two_sided = np.mean(np.abs(exact.null_distribution) >= abs(exact.statistic) - 1e-12)
    assert correlation_p(x, y, 40_000) == pytest.approx(two_sided, abs=0.01)


def test_the_p_value_of_the_auroc_agrees_with_all_reassignments():
    x, failures = np.array([0.3, 0.1, 0.9, 0.5, 0.7, 0.2]), np.array([0, 1, 2, 2, 1, 0])
    observed = by_counting(x, failures, 2 - failures)
    null = np.array([by_counting(x, np.array(order), 2 - np.array(order)) for order in permutations(failures)])
    exact = np.mean(np.abs(null - 0.5) >= abs(observed - 0.5) - 1e-12)
    assert auroc_p(x, failures, 2 - failures, 40_000) == pytest.approx(exact, abs=0.01)


def test_where_nothing_goes_together_five_percent_are_called_and_where_length_explains_all_too():
    rng = np.random.default_rng(2)
    called = np.zeros(3)
    for study in range(200):
        length = rng.normal(size=30)
        x, rate = length + rng.normal(size=30), stats.norm.cdf(length + rng.normal(size=30))
        failures = rng.binomial(4, rate)
        called[0] += partial_p(x, failures / 4, length, 200, study) < 0.05
        shuffled = rng.permutation(failures)
        called[1] += correlation_p(x, shuffled / 4, 200, study) < 0.05
        called[2] += auroc_p(x, shuffled, 4 - shuffled, 200, study) < 0.05
    assert (called / 200 < 0.1).all()  # 0.1: three standard errors above 0.05


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(4)
    truth = 6 / np.pi * np.arcsin(0.6 / 2)  # Spearman's of a normal pair with correlation .6
    held, wide = 0, 0
    for study in range(300):
        x = rng.normal(size=30)
        y = 0.6 * x + 0.8 * rng.normal(size=30)
        found = bootstrap_association(
            lambda counts, x=x, y=y: rank_correlation(x, y, counts), 30, (-1.0, 1.0), "", resamples=300, seed=study
        )
        held += found.low <= truth <= found.high
        wide += found.high - found.low > 1.2
    assert 0.9 <= held / 300 <= 0.98
    assert wide < 15


def test_the_interval_is_that_of_correlations_of_tasks_drawn_with_replacement():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 12))
    times = np.random.default_rng(11).multinomial(12, np.full(12, 1 / 12), size=400)
    each = [stats.spearmanr(np.repeat(x, row), np.repeat(y, row)).statistic for row in times]
    level = stats.norm.cdf(stats.norm.ppf(0.95) * np.sqrt(12 / 11))  # 90 %, widened for twelve tasks
    found = bootstrap_association(
        lambda counts: rank_correlation(x, y, counts), 12, (-1.0, 1.0), "", confidence=0.9, resamples=400, seed=11
    )
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(each, (1 - level, level))))
    assert found.stderr == pytest.approx(np.std(each, ddof=1))
    assert found.n == 12


def test_a_p_value_is_never_zero_the_data_being_one_of_the_ways():
    # Of 9! orders of nine tasks two go as well with the other number: 19 reassignments hold none but by a miracle.
    up = np.arange(9.0)
    assert correlation_p(up, up, resamples=19) == 1 / 20
    # Ten of twenty fail, those with the largest numbers: one of 184,756 ways, and its opposite.
    failed = np.repeat([0, 1], 10)
    assert auroc_p(np.arange(20.0), failed, 1 - failed, resamples=19) == 1 / 20


def test_what_cannot_be_told_has_a_reason():
    def nothing(counts):
        return np.full(len(counts), np.nan)

    def rare(counts):
        return np.where(counts[:, 0] > 2, np.nan, 0.5 + counts[:, 1] / 100)

    assert bootstrap_association(nothing, 9, (0.0, 1.0), "why").reason == "why"
    assert bootstrap_association(nothing, 0, (0.0, 1.0), "why").n == 0
    lost = bootstrap_association(rare, 9, (0.0, 1.0), "why")
    assert "too many resamples" in lost.reason
    assert (lost.value, lost.low, lost.n) == (0.51, None, 9)
    assert "no spread" in bootstrap_association(lambda c: np.full(len(c), 0.5), 9, (0.0, 1.0), "").reason
    few = bootstrap_association(lambda c: np.full(len(c), 0.5), 4, (0.0, 1.0), "")
    assert (few.value, few.low, few.n, few.reason) == (0.5, None, 4, "4 tasks: resampling needs at least 5")
    flat, varied = np.ones(6), np.arange(6.0)
    assert correlation_p(flat, varied) is None
    assert partial_p(varied, varied[::-1] % 3, flat) is None
    assert partial_p(varied, varied % 3, varied) is None
    assert auroc_p(flat, np.arange(6), 6 - np.arange(6)) is None
    assert auroc_p(varied, np.zeros(6, dtype=int), np.ones(6, dtype=int)) is None


def test_every_draw_holds_as_many_tasks_as_there_are():
    draws = task_draws(7, 50, 1)
    assert (draws.sum(axis=1) == 7).all()
    assert (draws == task_draws(7, 50, 1)).all()
