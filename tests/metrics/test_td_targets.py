from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.core.group import LengthPolicy
from likewise.metrics.td_targets import td_target, td_targets

NAN = np.nan
ABSORB, TRUNCATE = LengthPolicy.ABSORB, LengthPolicy.TRUNCATE


def target(distance, turn, lengths, cut=(False, False), n=2, gamma=0.5, policy=ABSORB):
    row = np.array(distance, dtype=np.float64)
    found = td_target(row, turn, lengths=lengths, cut=cut, n=n, gamma=gamma, policy=policy)
    return None if found is None else tuple(found)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        # Two turns measured, then guessed from the states two turns on: 1 + 0.5 * 0.5.
        (lambda: target([1, 0.5, 1, 1, 1], 0, (5, 5)), (1.25, 2, 2)),
        # Both end at turn 3: from turn 1 on there are two turns and no state after them.
        (lambda: target([1, 0.5, 1], 1, (3, 3)), (1.0, 0, 0)),
        # One ended at turn 2, the other goes on to turn 5: 0.5, then END against an action at turns 2, 3, 4.
        (lambda: target([0, 0.5, 1, 1, 1], 1, (2, 5)), (0.5 + 0.5 + 0.25 + 0.125, 0, 0)),
        # The same under truncate: nothing after the first END counts.
        (lambda: target([0, 0.5, NAN, NAN, NAN], 1, (2, 5), policy=TRUNCATE), (0.5, 0, 0)),
        # Under truncate it is enough that the shorter one ended by itself; where that was cut, it goes on.
        (lambda: target([0, 0.5, NAN, NAN, NAN], 1, (2, 5), cut=(False, True), policy=TRUNCATE), (0.5, 0, 0)),
        (lambda: target([0, 0.5, NAN, NAN, NAN], 1, (2, 5), cut=(True, False), policy=TRUNCATE), (0.5, 1, 0)),
        # One was cut after turn 2 (states 0, 1, 2): the last pair of states that was acted from is guessed from.
        (lambda: target([0, 1, 0.5, NAN], 1, (3, 4), cut=(True, False)), (1.0, 1, 1)),
        # At that pair itself the divergence goes on as it stands: 0.5, then gamma times U of the same states.
        (lambda: target([0, 1, 0.5, NAN], 2, (3, 4), cut=(True, False)), (0.5, 1, 0)),
        (lambda: target([0, 1, 0.5], 2, (3, 3), cut=(True, True)), (0.5, 1, 0)),
        # Where the shorter one ended by itself it does not go on: nothing is known but that.
        (lambda: target([0, 1, 1, NAN], 1, (2, 3), cut=(False, True)), None),
        (lambda: target([0, 1, 0.5], 2, (3, 3), cut=(False, True)), None),
        # Nor is there a target where that last pair could not be judged.
        (lambda: target([0, 1, NAN], 2, (3, 3), cut=(True, True)), None),
        # A pair that could not be judged ends the measured part.
        (lambda: target([0.5, NAN, 1, 1], 0, (4, 4)), (0.5, 1, 1)),
        (lambda: target([0.5, NAN, 1, 1], 1, (4, 4)), None),
        # There is no pair of states after the shorter run's end.
        (lambda: target([0, 0, 1], 2, (2, 3)), None),
    ],
)
def test_targets_match_the_table_worked_by_hand(call, expected):
    assert call() == (None if expected is None else pytest.approx(expected))


def test_targets_of_a_task_follow_its_policy_and_hold_nothing_where_there_is_no_state():
    # One run of two turns, one of five, as in the table, a step at a time. Turn 0: 0, then half of the guess at turn 1.
    # Turn 1 is the last before the shorter run's end: all that follows is known, and under truncate nothing does.
    task = (np.array([(0, 1)]), np.array([2, 5]), np.zeros(2, dtype=np.bool_), np.full((1, 5), 10.0))
    absorbed = td_targets(np.array([[0, 0.5, 1, 1, 1]]), *task, n=1, gamma=0.5)
    assert absorbed == pytest.approx(np.array([[5.0, 0.5 + 0.5 + 0.25 + 0.125, NAN, NAN, NAN]]), nan_ok=True)
    truncated = td_targets(np.array([[0, 0.5, NAN, NAN, NAN]]), *task, n=1, gamma=0.5, policy=TRUNCATE)
    assert truncated == pytest.approx(np.array([[5.0, 0.5, NAN, NAN, NAN]]), nan_ok=True)
    assert absorbed.dtype == np.float64


def test_no_target_of_one_pair_reads_another_pair():
    pairs, lengths = np.array([(0, 1), (0, 2), (1, 2)]), np.array([3, 3, 3])
    distance, guess = np.full((3, 3), 0.5), np.ones((3, 3))
    cut = np.zeros(3, dtype=np.bool_)
    before = td_targets(distance, pairs, lengths, cut, guess, n=1)
    distance[1], guess[1] = 1.0, 7.0
    after = td_targets(distance, pairs, lengths, cut, guess, n=1)
    assert (before[[0, 2]] == after[[0, 2]]).all()
    assert (before[1] != after[1]).all()


@settings(deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=8), st.integers(1, 4))
def test_targets_made_of_true_values_are_the_true_values(distance, n):
    """Bellman: where the guess is the divergence itself, every n gives it back."""
    gamma, turns = 0.8, len(distance)
    tails = [sum(gamma**k * d for k, d in enumerate(distance[t:])) for t in range(turns)]
    found = td_targets(
        np.array([distance]), np.array([(0, 1)]), np.array([turns, turns]), np.zeros(2, dtype=np.bool_),
        np.array([tails]), n=n, gamma=gamma,
    )  # fmt: skip
    assert found[0] == pytest.approx(tails)


@settings(deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=8), st.integers(1, 12))
def test_before_a_cut_the_targets_have_one_solution_whatever_was_guessed_first(distance, n):
    """Guessing from the last targets again and again forgets the first guess: 0 for 0, and d/(1 - gamma) at the last.

    Contraction by gamma at least, so 60 rounds leave 0.8^60 * 100 < 2e-4 of a first guess of 100.
    """
    gamma, turns = 0.8, len(distance)
    guess = np.full((1, turns), 100.0)
    for _ in range(60):
        guess = td_targets(
            np.array([distance]), np.array([(0, 1)]), np.array([turns, turns]), np.ones(2, dtype=np.bool_), guess,
            n=n, gamma=gamma,
        )  # fmt: skip
    expected = [distance[-1] / (1 - gamma)]
    for d in reversed(distance[:-1]):
        expected.insert(0, d + gamma * expected[0])
    assert guess[0] == pytest.approx(expected, abs=1e-3)


def test_refuses_a_target_without_a_turn_or_with_an_endless_sum():
    with pytest.raises(ValueError, match="n is at least 1"):
        target([0.0], 0, (1, 1), n=0)
    with pytest.raises(ValueError, match="lies in"):
        target([0.0], 0, (1, 1), gamma=1.0)
