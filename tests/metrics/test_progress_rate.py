"""Progress and its variation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from likewise.metrics.progress_rate import (
    coefficient_of_variation,
    common_support,
    progress_auc,
    progress_per_turn,
)

curves = st.lists(st.integers(0, 4).map(lambda i: i / 4), min_size=1, max_size=6).map(np.array)


def test_areas_match_trapezoids_worked_by_hand():
    assert progress_auc(np.array([0.0, 1.0]), 1) == 0.5
    assert progress_auc(np.array([0.0, 0.5, 1.0]), 2) == 0.5
    assert progress_auc(np.array([0.0, 1.0]), 4) == pytest.approx((0.5 + 3) / 4)  # kept up to the limit
    assert progress_auc(np.array([0.25]), 3) == pytest.approx(0.25)


def test_progress_per_turn_takes_the_first_turn_that_reaches_the_best():
    assert progress_per_turn(np.array([0.0, 0.5, 1.0, 1.0])) == 0.5
    assert progress_per_turn(np.array([0.0, 0.5, 0.25])) == 0.5
    assert progress_per_turn(np.array([0.0, 0.0])) == 0.0
    assert progress_per_turn(np.array([0.5, 0.25])) is None


def test_the_variation_of_two_trials_uses_the_sample_deviation():
    estimate = coefficient_of_variation(np.array([0.96, 1.04]))
    assert estimate.value == pytest.approx(0.0566, abs=5e-5)  # 0.04 would be the population form
    assert estimate.low is None
    assert estimate.reason == "two trials: an interval needs at least three"
    assert estimate.n == 2


@given(curves, st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_area_equals_that_of_scipy_on_the_padded_curve_and_is_bounded(curve, extra):
    horizon = max(1, len(curve) - 1 + extra)
    padded = np.append(curve, [curve[-1]] * (horizon + 1 - len(curve)))
    area = progress_auc(curve, horizon)
    assert area == pytest.approx(integrate.trapezoid(padded, dx=1 / horizon))
    assert 0 <= area <= 1


def test_earlier_progress_scores_higher():
    areas = [progress_auc(np.array([0.0] * (k + 1) + [1.0]), 6) for k in range(6)]
    assert areas == sorted(areas, reverse=True)
    assert len(set(areas)) == 6


@given(st.lists(st.integers(0, 8).map(lambda i: i / 8), min_size=3, max_size=8))
@settings(max_examples=60, deadline=None)
def test_variation_equals_that_of_scipy_and_lies_below_the_root_of_n(values):
    estimate = coefficient_of_variation(np.array(values))
    if sum(values) == 0:
        assert estimate.reason == "the mean is 0: variation relative to it is undefined"
        return
    assert estimate.value == pytest.approx(stats.variation(values, ddof=1))
    assert estimate.value <= math.sqrt(len(values)) + 1e-9
    if estimate.low is not None:
        assert 0 <= estimate.low <= estimate.value <= estimate.high


@given(st.lists(st.integers(1, 8).map(float), min_size=3, max_size=8), st.sampled_from([0.5, 2.0, 10.0]))
@settings(max_examples=40, deadline=None)
def test_variation_does_not_depend_on_the_unit(values, scale):
    there = coefficient_of_variation(np.array(values) * scale)
    assert there.value == pytest.approx(coefficient_of_variation(np.array(values)).value)


def test_variation_without_trials_or_spread_gives_reasons():
    one, rare = coefficient_of_variation(np.array([0.5])), coefficient_of_variation(np.array([0.0, 0.0, 1.0]))
    assert (one.value, one.n) == (None, 1)
    assert one.reason == "1 trial(s): variation needs at least two"
    assert (rare.low, rare.n) == (None, 3)
    assert (coefficient_of_variation(np.zeros(4)).value, coefficient_of_variation(np.zeros(4)).n) == (None, 4)
    assert coefficient_of_variation(np.array([])).value is None
    assert coefficient_of_variation(np.array([0.5, 0.5, 0.5])).value == 0.0
    assert "changes nothing" in coefficient_of_variation(np.array([0.5, 0.5, 0.5])).reason
    assert "without it the mean is 0" in coefficient_of_variation(np.array([0.0, 0.0, 1.0])).reason


def test_common_support_names_the_tasks_left_out():
    nan = math.nan
    auc = np.array(
        [
            [[0.5, 0.0], [0.0, 0.0], [0.2, nan], [0.1, 0.1]],
            [[0.1, 0.1], [0.9, 0.9], [0.2, 0.2], [nan, nan]],
        ]
    )
    mask, left_out = common_support(auc)
    assert mask.tolist() == [True, False, True, False]
    assert left_out == (1, 3)
    assert common_support(np.array([[[1.0, 0.0]]])) == (np.array([True]), ())  # all of the way is progress, too


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: progress_auc(np.array([0.0, 1.5]), 2), r"progress lies in \[0, 1\]"),
        (lambda: progress_auc(np.array([0.0, math.nan]), 2), r"progress lies in \[0, 1\]"),
        (lambda: progress_auc(np.array([0.0, 0.5, 1.0]), 1), r"2 turn\(s\) does not fit a limit of 1"),
        (lambda: progress_auc(np.array([0.0]), 0), "does not fit a limit of 0"),
        (lambda: progress_per_turn(np.array([])), "at least its starting point"),
        (lambda: coefficient_of_variation(np.array([-0.1, 0.5])), "at least 0"),
        (lambda: common_support(np.array([[[2.0]]])), r"lie in \[0, 1\]"),
    ],
)
def test_what_is_no_progress_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
