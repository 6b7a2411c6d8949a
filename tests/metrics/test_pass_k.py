"""Success over repeated attempts."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.metrics.pass_k import pass_at_k, pass_hat_k, single_run_gap


def one(function, c, n, k):
    return function(np.array([c]), np.array([n]), k)[0]


@pytest.mark.parametrize(
    ("c", "n", "k", "hat", "at"),
    [
        (3, 4, 2, 0.5, 1.0),  # and not (3/4)^2
        (1, 4, 4, 0.0, 1.0),
        (1, 4, 2, 0.0, 0.5),
        (9, 10, 1, 0.9, 0.9),
        (9, 10, 10, 0.0, 1.0),  # and not 0.9^10
        (4, 4, 4, 1.0, 1.0),
        (0, 3, 1, 0.0, 0.0),
    ],
)
def test_estimates_match_the_table_worked_by_hand(c, n, k, hat, at):
    assert one(pass_hat_k, c, n, k) == pytest.approx(hat)
    assert one(pass_at_k, c, n, k) == pytest.approx(at)


def test_two_of_eight_runs_with_two_errors_shows_both_denominators():
    assert one(pass_hat_k, 2, 6, 1) == pytest.approx(2 / 6)
    assert one(pass_hat_k, 2, 8, 1) == pytest.approx(2 / 8)


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
@settings(max_examples=60, deadline=None)
def test_pass_hat_k_equals_brute_force_over_all_draws(outcomes, data):
    k = data.draw(st.integers(1, len(outcomes)))
    draws = list(combinations(outcomes, k))
    c, n = sum(outcomes), len(outcomes)
    assert one(pass_hat_k, c, n, k) == pytest.approx(sum(all(draw) for draw in draws) / len(draws))
    assert one(pass_at_k, c, n, k) == pytest.approx(sum(any(draw) for draw in draws) / len(draws))


@given(st.integers(1, 60), st.data())
@settings(max_examples=40, deadline=None)
def test_more_draws_make_all_harder_and_any_easier(n, data):
    c = data.draw(st.integers(0, n))
    hat = [one(pass_hat_k, c, n, k) for k in range(1, n + 1)]
    at = [one(pass_at_k, c, n, k) for k in range(1, n + 1)]
    assert hat == sorted(hat, reverse=True)
    assert at == sorted(at)
    assert hat[0] == pytest.approx(at[0])


def test_tasks_may_have_different_numbers_of_attempts():
    assert pass_hat_k(np.array([3, 2]), np.array([4, 2]), 2) == pytest.approx([0.5, 1.0])
    assert pass_hat_k(np.array([], dtype=int), np.array([], dtype=int), 2).shape == (0,)


def test_large_counts_stay_exact():
    assert one(pass_hat_k, 9999, 10000, 5000) == pytest.approx(0.5, abs=1e-15)


def test_more_draws_than_attempts_are_refused_and_the_task_is_named():
    with pytest.raises(
        ValueError, match=r"k = 3 draws need as many attempts; 1 task\(s\) have fewer, the first at index 1"
    ):
        pass_hat_k(np.array([3, 2]), np.array([4, 2]), 3)


def test_impossible_counts_are_refused():
    with pytest.raises(ValueError, match="k is at least 1, got 0"):
        one(pass_at_k, 1, 2, 0)
    for successes in (-1, 3):
        with pytest.raises(ValueError, match=r"successes lie in \[0, attempts\]"):
            one(pass_at_k, successes, 2, 1)


def test_the_gap_between_two_single_runs_is_that_of_all_pairs_of_scores_drawn_anew():
    # Three tasks of true success 0.5, 0.25 and 1: scores of single runs vary by 0.25 + 0.1875 + 0 over 3^2 = 9.
    truth = np.array([0.5, 0.25, 1.0])
    generator = np.random.default_rng(3)
    gaps = []
    for _ in range(4000):
        attempts = np.full(3, 5)
        successes = generator.binomial(attempts, truth)
        gaps.append(single_run_gap(successes, attempts) ** 2)
    expected = 1.959964**2 * 2 * (0.25 + 0.1875) / 9
    assert np.mean(gaps) == pytest.approx(expected, rel=0.03)  # its square is unbiased


def test_the_gap_is_worked_out_by_hand():
    # 2 of 4: 2 * 2 / (4 * 3) = 1/3; 3 of 3: 0. Mean 1/6; sqrt(2 / 6 / 2) = 0.408 times 1.96.
    assert single_run_gap(np.array([2, 3]), np.array([4, 3])) == pytest.approx(1.959964 * (1 / 6) ** 0.5, rel=1e-6)
    assert single_run_gap(np.array([0, 4]), np.array([4, 4])) == 0.0


@pytest.mark.parametrize("attempts", [[], [1], [4, 1]])
def test_a_gap_needs_repeated_tasks(attempts):
    with pytest.raises(ValueError, match="at least two attempts"):
        single_run_gap(np.zeros(len(attempts), dtype=int), np.array(attempts, dtype=int))


def test_a_gap_needs_a_confidence():
    with pytest.raises(ValueError, match="a confidence lies in"):
        single_run_gap(np.array([1]), np.array([2]), 1.0)
