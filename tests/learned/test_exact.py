from __future__ import annotations

import numpy as np
import pytest

from likewise.learned.exact import Process, exact_rsd, random_process
from likewise.learned.textual import textual_tasks
from likewise.metrics.divergence import monte_carlo_rsd

CONTRADICT = np.array([[0.0, 1.0], [1.0, 0.0]])


def one_state(probability):
    """One state, two contradicting actions."""
    return Process(np.array([[probability, 1 - probability]]), np.ones((1, 2, 1)), CONTRADICT)


def test_one_state_and_a_coin_match_the_geometric_sum_worked_by_hand():
    # Two fair coins differ half the time: 0.5 / (1 - 0.8).
    assert exact_rsd(one_state(0.5), 0.8) == pytest.approx(2.5)
    assert exact_rsd(one_state(0.9), 0.5) == pytest.approx(2 * 0.9 * 0.1 / 0.5)


def test_two_sure_states_that_contradict_for_ever_have_distance_one_over_one_minus_gamma():
    stay = np.stack([np.eye(2), np.eye(2)], axis=1)
    found = exact_rsd(Process(np.eye(2), stay, CONTRADICT), 0.8)
    assert found == pytest.approx(np.array([[0, 5], [5, 0]]))


def test_a_chain_of_two_states_matches_the_system_worked_by_hand():
    # State 0 tosses a coin once, then all is settled in state 1: U(0,0) = 1/2, U(1,1) = 0.
    to_the_end = np.zeros((2, 2, 2))
    to_the_end[:, :, 1] = 1
    found = exact_rsd(Process(np.array([[0.5, 0.5], [1.0, 0.0]]), to_the_end, CONTRADICT), 0.8)
    assert found == pytest.approx(np.array([[0.5, 0.5], [0.5, 0.0]]))


@pytest.mark.parametrize("states", [1, 5, 12])
def test_the_solve_equals_applying_the_operator_until_nothing_changes(states):
    process = random_process(states, np.random.default_rng(states))
    value, chain, immediate = np.zeros((states, states)), process.chain, process.immediate
    for _ in range(200):
        value = immediate + 0.8 * chain @ value @ chain.T
    found = exact_rsd(process, 0.8)
    assert found == pytest.approx(value, abs=1e-9)
    assert found == pytest.approx(found.T)
    assert ((found >= -1e-12) & (found <= 5)).all()


def test_the_operator_shrinks_differences_by_gamma():
    process, rng = random_process(6, np.random.default_rng(1)), np.random.default_rng(2)
    one, other = rng.random((2, 6, 6))
    apart = np.abs(0.8 * process.chain @ (one - other) @ process.chain.T).max()
    assert apart <= 0.8 * np.abs(one - other).max() + 1e-12


def test_a_deterministic_process_diverges_from_itself_nowhere():
    process = random_process(20, np.random.default_rng(3), deterministic=True)
    assert np.diagonal(exact_rsd(process, 0.8)) == pytest.approx(0, abs=1e-9)


def test_monte_carlo_holds_the_exact_value_in_its_interval_as_often_as_it_says():
    """Long runs, so that what is cut off (0.8^30 * 5 = 0.006) does not matter."""
    inside, rounds, rng = 0, 60, np.random.default_rng(4)
    for seed in range(rounds):
        process = random_process(5, np.random.default_rng(seed))
        (task,) = textual_tasks(process, [0], runs=8, turns=30, rng=rng)
        pairs = np.array(task.group.pairs, dtype=np.int64)
        found = monte_carlo_rsd(task.distance, pairs, 8, 0.8)
        assert found.low is not None
        assert found.high is not None
        inside += found.low - 0.006 <= exact_rsd(process, 0.8)[0, 0] <= found.high + 0.006
    assert inside / rounds >= 0.95 - 2 * (0.95 * 0.05 / rounds) ** 0.5


def test_refuses_what_is_no_process_and_what_is_too_large():
    with pytest.raises(ValueError, match="sum to 1"):
        Process(np.array([[0.5, 0.4]]), np.ones((1, 2, 1)), CONTRADICT)
    with pytest.raises(ValueError, match="0 on the diagonal"):
        Process(np.array([[0.5, 0.5]]), np.ones((1, 2, 1)), np.ones((2, 2)))
    with pytest.raises(ValueError, match="same S and A"):
        Process(np.array([[0.5, 0.5]]), np.ones((2, 2, 1)), CONTRADICT)
    with pytest.raises(ValueError, match="lies in"):
        exact_rsd(one_state(0.5), 1.0)
    with pytest.raises(ValueError, match="at most 80 states"):
        exact_rsd(random_process(81, np.random.default_rng(0)), 0.8)
