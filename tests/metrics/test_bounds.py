"""What RSD guarantees."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.core.estimate import Estimate
from likewise.metrics.bounds import (
    Basis,
    Direction,
    average_case_band,
    dominant_class,
    dominant_class_sharp,
    error_band,
    immediate_contradiction,
    immediate_divergence,
    trajectory_agreement,
    trajectory_agreement_at_root,
)

ALL = (
    lambda u, **options: trajectory_agreement(u, 0.5, **options),
    trajectory_agreement_at_root,
    immediate_contradiction,
    dominant_class,
    dominant_class_sharp,
)


def test_bounds_match_values_worked_by_hand():
    assert trajectory_agreement(0.1, 0.5).value == pytest.approx(0.2)
    assert trajectory_agreement_at_root(0.09).value == pytest.approx(0.3)
    assert immediate_contradiction(0.1).value == pytest.approx(0.1)
    assert dominant_class(0.1).value == pytest.approx(0.8)
    assert dominant_class_sharp(0.1).value == pytest.approx((1 + math.sqrt(0.6)) / 2)
    assert immediate_divergence(0.3, 0.1) == pytest.approx(0.25)
    assert error_band(0.05, 0.1, 0.8).value == pytest.approx(0.75)
    assert error_band(0.05, 0.1, 0.8, fitting=0.2).value == pytest.approx(0.95)
    assert average_case_band(np.array([0.1, 0.2]), 0.5).value == pytest.approx(0.2)
    assert average_case_band(np.array([0.1]), 0.5).direction is Direction.AT_MOST


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: trajectory_agreement(0.5, 0.5), "empty: U = 0.5 is not below delta = 0.5"),
        (lambda: trajectory_agreement_at_root(1.0), "empty: U = 1 is not below 1"),
        (lambda: immediate_contradiction(1.2), "empty: U = 1.2 is not below 1"),
        (lambda: dominant_class(0.5), "empty: 1 - 2U is not above 0 at U = 0.5"),
        (lambda: dominant_class_sharp(0.25), "a majority is guaranteed only for U < 1/4, got U = 0.25"),
        (lambda: error_band(0.5, 0.5, 0.8), "the whole range of U"),
        (lambda: average_case_band(np.array([]), 0.8), "the judge's error was measured at no turn"),
    ],
)
def test_a_bound_that_says_nothing_has_a_reason_and_no_number(call, message):
    bound = call()
    assert not bound.defined
    assert bound.value is None
    assert message in bound.reason
    assert bound.as_json()["reason"] == bound.reason
    at_least = bound.name.startswith("probability of the dominant class")
    assert bound.direction is (Direction.AT_LEAST if at_least else Direction.AT_MOST)


@given(st.floats(0, 0.2499), st.floats(0, 0.2499))
@settings(deadline=None)
def test_the_sharp_form_is_never_weaker_and_bounds_fall_as_u_grows(u, other):
    low, high = sorted((u, other))
    assert dominant_class_sharp(u).value >= dominant_class(u).value - 1e-12
    assert dominant_class_sharp(low).value >= dominant_class_sharp(high).value
    assert dominant_class(low).value >= dominant_class(high).value
    assert 0.5 < dominant_class_sharp(u).value <= 1
    assert trajectory_agreement(low, 0.5).value <= trajectory_agreement(high, 0.5).value


@pytest.mark.parametrize("bound", ALL)
def test_an_estimate_enters_with_its_upper_limit_and_says_so(bound):
    estimate = Estimate(0.05, 0.01, 0.1, n=8)
    assert bound(estimate).basis is Basis.UPPER_LIMIT
    assert bound(estimate).value == bound(0.1).value
    assert bound(0.1).basis is Basis.GIVEN
    assert bound(estimate, conservative=False).value == bound(0.05).value
    assert bound(estimate, conservative=False).basis is Basis.ESTIMATE
    assert bound(estimate, conservative=False).reason is bound(estimate).reason is bound(0.1).reason is None


@pytest.mark.parametrize("bound", ALL)
def test_an_estimate_without_an_upper_limit_guarantees_nothing(bound):
    result = bound(Estimate(0.05, n=2, reason="one pair of runs"))
    assert result.value is None
    assert result.reason == "no upper limit: one pair of runs"
    assert bound(Estimate.undefined("no run")).reason == "U is undefined: no run"


def test_a_bound_travels_as_json_with_its_basis():
    assert immediate_contradiction(Estimate(0.05, 0.01, 0.1)).as_json() == {
        "name": "probability that two next actions contradict",
        "direction": "at most",
        "value": 0.1,
        "basis": "upper confidence limit of the estimate",
    }


CONTRADICT = "probability that two next actions contradict"
DOMINANT = "probability of the dominant class of actions"


@pytest.mark.parametrize(
    ("call", "name", "direction", "basis"),
    [
        (
            lambda: trajectory_agreement(0.1, 0.5),
            "probability that two rollouts diverge by 0.5 or more",
            "at most",
            Basis.GIVEN,
        ),
        (
            lambda: trajectory_agreement_at_root(0.1),
            "probability that two rollouts diverge by the root of U or more",
            "at most",
            Basis.GIVEN,
        ),
        (lambda: immediate_contradiction(0.1), CONTRADICT, "at most", Basis.GIVEN),
        (lambda: immediate_contradiction(2.0), CONTRADICT, "at most", Basis.GIVEN),
        (lambda: dominant_class(0.1), DOMINANT, "at least", Basis.GIVEN),
        (lambda: dominant_class_sharp(0.1), f"{DOMINANT}, sharp", "at least", Basis.GIVEN),
        (lambda: error_band(0.1, 0.1, 0.5), "error of U by the theorem", "at most", Basis.GIVEN),
        (lambda: error_band(1.0, 1.0, 0.5), "error of U by the theorem", "at most", Basis.GIVEN),
        (
            lambda: average_case_band(np.array([0.1]), 0.5),
            "mean error of U from the judge's mean error, not a theorem",
            "at most",
            Basis.ESTIMATE,
        ),
    ],
)
def test_a_bound_says_what_it_bounds_from_which_side_and_by_what(call, name, direction, basis):
    bound = call()
    assert (bound.name, bound.direction, bound.basis) == (name, direction, basis)


def test_without_discount_only_the_first_turn_counts():
    assert average_case_band(np.array([0.25, 1.0]), 0.0).value == 0.25
    assert error_band(0.1, 0.1, 0.0).value == pytest.approx(0.2)


def test_the_fitting_error_is_named_and_not_amplified():
    plain, fitted = error_band(0.1, 0.1, 0.5), error_band(0.1, 0.1, 0.5, fitting=0.3)
    assert fitted.value - plain.value == pytest.approx(0.3)
    assert "fitting" in fitted.name
    assert "fitting" not in plain.name


def test_the_average_case_band_never_stands_under_the_theorem():
    assert "not a theorem" in average_case_band(np.array([0.1]), 0.8).name


@pytest.mark.parametrize("bound", ALL)
@pytest.mark.parametrize("u", [-0.1, math.nan, math.inf])
def test_a_value_that_is_no_rsd_is_refused(bound, u):
    with pytest.raises(ValueError, match="RSD is finite and at least 0"):
        bound(u)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: trajectory_agreement(0.1, 0.0), "a divergence to stay below is positive"),
        (lambda: trajectory_agreement(0.1, math.inf), "a divergence to stay below is positive"),
        (lambda: immediate_divergence(0.8, 0.4), "sum to at most 1"),
        (lambda: error_band(-0.1, 0.1, 0.8), "errors are at least 0"),
        (lambda: error_band(0.1, 0.1, 0.8, fitting=-0.1), "errors are at least 0"),
        (lambda: error_band(0.1, 0.1, 1.0), r"a discount lies in \[0, 1\)"),
        (lambda: average_case_band(np.array([1.5]), 0.8), r"mean errors of a judge lie in \[0, 1\]"),
    ],
)
def test_impossible_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
