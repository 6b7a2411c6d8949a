from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.evaluation.judge_error import judge_error
from likewise.metrics.classification import mean_distance_error

# true equivalent: 6 right, 2 neutral; true neutral: 8 right, 1 contradictory; true contradictory: 1 equivalent, 2 right
MATRIX = ((6, 2, 0), (0, 8, 1), (1, 0, 2))


def test_the_mean_error_of_distances_is_that_counted_by_hand():
    error = judge_error(MATRIX, 0.8)
    assert error.mean.value == pytest.approx((3 * 0.5 + 1 * 1.0) / 20)
    assert error.mean.n == 20
    assert error.mean.low < error.mean.value < error.mean.high
    assert error.largest == 1.0


def test_one_error_of_a_whole_step_empties_the_theorems_band_and_the_average_case_still_says_something():
    error = judge_error(MATRIX, 0.8)
    assert error.theorem.value is None
    assert "empty" in error.theorem.reason
    assert error.average.value == pytest.approx(0.125 / 0.2)  # 0.125 at every turn: 0.125 / (1 - 0.8)
    assert error.average_upper.value == pytest.approx(error.mean.high / 0.2)


def test_half_steps_leave_half_of_the_range():
    error = judge_error(((6, 2, 0), (0, 8, 0), (0, 1, 2)), 0.8)
    assert (error.largest, error.theorem.value) == (0.5, pytest.approx(2.5))


def test_each_band_stands_under_its_own_name():
    error = judge_error(MATRIX, 0.8)
    assert error.theorem.name == "error of U by the theorem"
    assert "not a theorem" in error.average.name
    shown = error.as_json()
    assert "may be larger" in shown["theorem_band"]["supremum"]
    assert shown["average_case_band"]["value"] == error.average.value


def test_no_error_met_is_no_proof_and_has_no_interval():
    error = judge_error(((3, 0, 0), (0, 3, 0), (0, 0, 3)), 0.5)
    assert (error.mean.value, error.largest, error.theorem.value, error.average.value) == (0.0, 0.0, 0.0, 0.0)
    assert error.mean.low is None
    assert error.average_upper.value is None


def test_without_pairs_there_is_a_reason_and_no_number():
    error = judge_error(((0,) * 3,) * 3, 0.8)
    assert error.mean.reason == "no pair was judged"
    assert error.largest is error.theorem.value is error.average.value is None


def test_without_discount_one_turn_counts():
    assert judge_error(MATRIX, 0.0).average.value == pytest.approx(0.125)


@pytest.mark.parametrize("gamma", [1.0, -0.1, float("nan")])
def test_a_discount_outside_its_range_is_refused(gamma):
    with pytest.raises(ValueError, match="a discount lies in"):
        judge_error(MATRIX, gamma)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40))
def test_the_mean_error_equals_its_definition_row_by_row(rows):
    matrix = np.zeros((3, 3), dtype=np.int64)
    for truth, guess in rows:
        matrix[truth, guess] += 1
    distance = (0.0, 0.5, 1.0)
    plain = sum(abs(distance[truth] - distance[guess]) for truth, guess in rows) / len(rows)
    assert mean_distance_error(matrix, resamples=50).value == pytest.approx(plain)


@given(st.floats(0.01, 0.99))
def test_the_average_case_over_all_turns_is_the_geometric_sum(gamma):
    assert judge_error(MATRIX, gamma).average.value == pytest.approx(0.125 / (1 - gamma), rel=1e-6)
