from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.training.turn_credit import segments, spread_advantages, turn_advantages

NAN = float("nan")


def rows(*values):
    return np.array(values)


def test_a_run_of_tokens_that_the_policy_wrote_is_one_action():
    mask = rows([1, 1, 0, 1, 0, 0], [0, 1, 1, 1, 0, 1], [0, 0, 0, 0, 0, 0])
    assert segments(mask).tolist() == [[0, 0, -1, 1, -1, -1], [-1, 0, 0, 0, -1, 1], [-1] * 6]


def test_an_action_is_compared_with_its_siblings_at_the_same_turn():
    # sample standard deviation of (0, 2) is sqrt 2
    found = turn_advantages([[0.0, 1.0], [2.0, 1.0]], 2)
    assert found == pytest.approx(rows([-(0.5**0.5), 0.0], [0.5**0.5, 0.0]), abs=1e-3)
    assert turn_advantages([[0.0], [2.0]], 2, scale=False).tolist() == [[-1.0], [1.0]]


def test_groups_are_not_mixed():
    found = turn_advantages([[0.0], [2.0], [10.0], [30.0]], 2, scale=False)
    assert found.tolist() == [[-1.0], [1.0], [-10.0], [10.0]]


def test_what_was_not_scored_or_stands_alone_has_no_advantage():
    found = turn_advantages([[0.0, 5.0], [2.0], [None, None]], 3, scale=False)
    assert np.array_equal(found, rows([-1.0, NAN], [1.0, NAN], [NAN, NAN]), equal_nan=True)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.floats(-5, 0) | st.none(), max_size=4), min_size=4, max_size=4), st.booleans())
def test_advantages_of_a_turn_sum_to_zero_in_each_group(scores, scale):
    found = turn_advantages(scores, 2, scale=scale)
    sums = np.nansum(found.reshape(2, 2, max(map(len, scores))), axis=1)
    assert np.abs(sums).max(initial=0.0) < 1e-6


def test_completions_must_fill_their_groups():
    with pytest.raises(ValueError, match=r"3 completion\(s\) do not make groups of 2"):
        turn_advantages([[0.0]] * 3, 2)


def test_each_token_gets_the_advantage_of_its_action_and_others_none():
    action = segments(rows([1, 1, 0, 1]))
    spread, kept = spread_advantages(rows(9.0), rows([2.0, -3.0]), [2], action)
    assert (spread.tolist(), kept) == ([[2.0, 2.0, 0.0, -3.0]], 0)


def test_an_action_without_an_advantage_keeps_that_of_its_completion():
    spread, kept = spread_advantages(rows(9.0), rows([NAN, -3.0]), [2], segments(rows([1, 0, 1])))
    assert (spread.tolist(), kept) == ([[9.0, 0.0, -3.0]], 0)


@pytest.mark.parametrize("turns", [0, 1, 3])
def test_where_runs_of_tokens_are_not_the_actions_the_whole_completion_shares_one_number(turns):
    spread, kept = spread_advantages(rows(9.0), rows([1.0, 2.0, 3.0]), [turns], segments(rows([1, 0, 1])))
    assert (spread.tolist(), kept) == ([[9.0, 0.0, 9.0]], 1)
