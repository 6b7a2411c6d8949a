from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from likewise.metrics.bounded_mean import bounded_mean
from likewise.metrics.resampling import wilson_interval


def of(values, **more):
    values = np.asarray(values, dtype=float)
    return bounded_mean(float(values.sum()), float(np.square(values).sum()), len(values), "number", **more)


def test_ten_and_more_numbers_have_the_interval_of_students_t():
    values = [0.9, 0.8, 1.0, 0.7, 0.95, 0.6, 0.85, 0.9, 0.75, 0.8, 0.9, 0.65]
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    found = of(values)
    assert found.value == pytest.approx(np.mean(values))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.stderr == pytest.approx(stats.sem(values))
    assert found.n == 12


@pytest.mark.parametrize(("successes", "n"), [(9, 9), (3, 4), (0, 5), (40, 40)])
def test_few_numbers_and_numbers_all_alike_have_the_interval_of_a_share(successes, n):
    found = of([1.0] * successes + [0.0] * (n - successes))
    assert (found.low, found.high) == pytest.approx(wilson_interval(successes, n))


def test_one_number_has_an_interval_and_no_standard_error():
    found = of([1.0])
    assert found.stderr is None
    assert found.low == pytest.approx(wilson_interval(1, 1)[0])


def test_two_numbers_have_a_standard_error():
    # They are 0.1 from their mean: sqrt((0.01 + 0.01) / 1) / sqrt(2) = 0.1.
    assert of([0.4, 0.6]).stderr == pytest.approx(0.1)


def test_the_interval_of_students_t_is_cut_at_one_and_at_zero():
    # Eleven of twelve are 1, one is 0: 0.917 and 2.2 times 0.083 is beyond 1; the other way round below 0.
    assert of([1.0] * 11 + [0.0]).high == 1.0
    assert of([0.0] * 11 + [1.0]).low == 0.0


def test_no_number_is_not_measured():
    assert of([]).as_json() == {"value": None, "reason": "no number was measured"}
    assert of([]).n == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_the_mean_lies_in_its_interval_within_0_and_1(values):
    found = of(values)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.low < found.high


def test_the_interval_holds_the_true_mean_as_often_as_it_says_where_most_numbers_are_one():
    generator = np.random.default_rng(7)
    truth = 0.9 * 1.0 + 0.1 * 1 / 3
    held = 0
    for _ in range(600):
        found = of(np.where(generator.random(25) < 0.9, 1.0, 1 / 3))
        held += found.low <= truth <= found.high
    assert held / 600 > 0.9  # skewed numbers cost Student's interval some of its 95 %


@pytest.mark.parametrize(
    ("total", "squares", "n"), [(2.0, 1.0, 1), (0.5, 0.6, 1), (-0.1, 0.0, 1), (0.0, 0.0, -1), (0.5, -0.1, 1)]
)
def test_sums_that_cannot_be_are_refused(total, squares, n):
    with pytest.raises(ValueError, match="in \\[0, 1\\]"):
        bounded_mean(total, squares, n, "number")


def test_a_confidence_lies_between_0_and_1():
    with pytest.raises(ValueError, match="confidence"):
        of([1.0], confidence=1.0)
