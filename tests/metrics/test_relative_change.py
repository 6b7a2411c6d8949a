"""A change relative to a base."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from likewise.metrics.relative_change import relative_change


def test_a_change_is_that_of_the_means():
    estimate = relative_change(np.array([0.5, 0.1]), np.array([0.75, 0.25]))
    assert estimate.value == pytest.approx(0.6 / 1.0 - 1)
    assert estimate.low is None
    assert "2 tasks" in estimate.reason
    assert estimate.n == 2
    assert relative_change(np.array([1.0]), np.array([1.0])).reason.startswith("one task")


def test_an_interval_agrees_with_that_of_scipy_but_for_its_widening():
    rng = np.random.default_rng(1)
    base = rng.uniform(0.5, 1.5, 200)
    values = base * rng.uniform(0.5, 0.9, 200)
    found = relative_change(values, base, resamples=8000)
    peer = stats.bootstrap(
        (values, base),
        lambda one, other, axis=-1: one.mean(axis=axis) / other.mean(axis=axis) - 1,
        paired=True, method="percentile", n_resamples=8000, rng=np.random.default_rng(2),
    )  # fmt: skip
    assert found.value == pytest.approx(values.mean() / base.mean() - 1)
    assert (found.low, found.high) == pytest.approx(peer.confidence_interval, abs=0.003)
    assert found.stderr == pytest.approx(peer.standard_error, rel=0.05)


def test_with_six_tasks_the_interval_is_widened_by_the_root_of_six_fifths():
    base = np.array([1.31, 2.07, 3.53, 4.11, 5.79, 6.97])
    values = base * np.array([0.93, 0.41, 0.77, 0.52, 0.86, 0.67])
    ways = np.array(list(product(range(6), repeat=6)))  # all resamples there are
    changes = values[ways].mean(axis=1) / base[ways].mean(axis=1) - 1
    level = stats.norm.cdf(stats.norm.ppf(0.975) * np.sqrt(6 / 5))
    found = relative_change(values, base, resamples=20_000, seed=1)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(changes, (1 - level, level))), abs=0.005)
    # Without the widening the ends would lie 0.013 and 0.008 further in.
    assert np.abs(np.quantile(changes, (0.025, 0.975)) - (found.low, found.high)).min() > 0.005


def test_ninety_five_percent_of_intervals_hold_the_true_change():
    rng = np.random.default_rng(3)
    held = 0
    for study in range(300):
        base = rng.gamma(2.0, 0.5, 30)
        estimate = relative_change(base * rng.choice([0.4, 1.0], 30), base, resamples=400, seed=study)
        held += estimate.low <= -0.3 <= estimate.high
    assert 0.91 <= held / 300 <= 0.99


def test_both_sides_are_drawn_together():
    base = np.array([0.1, 5.0, 0.2, 3.0, 0.4, 2.0])
    assert "no spread" in relative_change(base / 2, base).reason  # half of the base whatever is drawn


@pytest.mark.parametrize(
    ("values", "base", "reason"),
    [
        ([], [], "no task was measured on both sides"),
        ([0.5, 0.5], [0.0, 0.0], "the base is 0"),
        ([0.5] * 5, [0.0] * 4 + [1.0], "the base is 0 in so many tasks"),
    ],
)
def test_what_cannot_be_told_has_a_reason(values, base, reason):
    estimate = relative_change(np.array(values), np.array(base))
    assert estimate.reason.startswith(reason)
    assert estimate.n == len(values)
    assert (estimate.value is None) == (reason != "the base is 0 in so many tasks")


@pytest.mark.parametrize(
    ("values", "base", "message"),
    [([1.0], [1.0, 2.0], "the same tasks"), ([np.nan], [1.0], "finite"), ([1.0], [-1.0], "at least 0")],
)
def test_what_is_no_pair_of_sides_is_refused(values, base, message):
    with pytest.raises(ValueError, match=message):
        relative_change(np.array(values), np.array(base))
