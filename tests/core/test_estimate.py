from __future__ import annotations

import math
import pickle

import pytest

from likewise.core.estimate import Estimate


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", ["value", "low", "stderr"])
def test_a_number_that_is_not_finite_is_refused(number, field):
    fields = {"value": 0.5, "low": 0.0, "high": 1.0} | {field: number}
    with pytest.raises(ValueError, match="an estimate holds finite numbers or a reason"):
        Estimate(**fields)


def test_half_an_interval_is_refused():
    with pytest.raises(ValueError, match="an interval has two ends"):
        Estimate(0.5, low=0.1, reason="why")


def test_a_missing_value_needs_a_reason():
    with pytest.raises(ValueError, match="a reason stands exactly where"):
        Estimate(None)


def test_a_missing_interval_needs_a_reason():
    with pytest.raises(ValueError, match="a reason stands exactly where"):
        Estimate(0.5)


def test_a_reason_beside_a_complete_estimate_is_refused():
    with pytest.raises(ValueError, match="a reason stands exactly where"):
        Estimate(0.5, 0.0, 1.0, reason="why")


def test_undefined_says_why_and_how_many_there_were():
    estimate = Estimate.undefined("one run", n=1)
    assert not estimate.defined
    assert estimate.as_json() == {"value": None, "reason": "one run"}
    assert estimate.n == 1


def test_zero_is_a_value_and_not_a_gap():
    assert Estimate.exact(0.0).defined
    assert Estimate.exact(0.0, n=3) == Estimate(0.0, 0.0, 0.0, 0.0, 3)


def test_json_leaves_out_what_is_not_known():
    assert Estimate(0.5, 0.25, 0.75).as_json() == {"value": 0.5, "low": 0.25, "high": 0.75}
    assert Estimate(0.5, n=2, reason="two runs").as_json() == {
        "value": 0.5,
        "low": None,
        "high": None,
        "n": 2,
        "reason": "two runs",
    }


def test_an_estimate_travels_between_processes():
    estimate = Estimate(0.5, 0.25, 0.75, 0.1, 4)
    assert pickle.loads(pickle.dumps(estimate)) == estimate
