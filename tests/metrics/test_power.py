"""Sizes of studies."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from likewise.metrics.power import (
    detectable_difference,
    runs_for_claim,
    runs_for_share,
    smallest_claim,
    tasks_for_difference,
    tasks_for_width,
)


def test_thirty_flawless_tasks_allow_no_claim_below_nine_and_a_half_percent():
    assert smallest_claim(30) == pytest.approx(0.0950, abs=5e-5)
    assert smallest_claim(1) == pytest.approx(0.95)
    assert smallest_claim(5, 0.9) == pytest.approx(1 - 0.1 ** (1 / 5))


@pytest.mark.parametrize(("rate", "runs"), [(0.05, 59), (0.01, 299), (0.1, 29), (0.5, 5), (0.95, 1)])
def test_flawless_runs_that_a_claim_needs_match_the_published_ones(rate, runs):
    assert runs_for_claim(rate) == runs
    assert smallest_claim(runs) <= rate + 1e-12
    assert runs == 1 or smallest_claim(runs - 1) > rate


@pytest.mark.parametrize(("share", "dissenting"), [(0.8, 0), (0.8, 1), (0.9, 0), (0.9, 2), (0.95, 1), (0.99, 3)])
def test_runs_for_a_share_are_the_first_for_which_the_beta_quantile_suffices(share, dissenting):
    def limit(n):
        return stats.beta.ppf(0.05, n - dissenting, dissenting + 1) if n > dissenting else 0.0

    expected = next(n for n in range(1, 2000) if limit(n) >= share)
    assert runs_for_share(share, dissenting) == expected


def test_a_share_near_one_half_counts_both_classes():
    # .6^6 = .047 would do for a class named beforehand; the largest of two may also be the other: + .4^6 = .0508.
    assert runs_for_share(0.6) == 7


def test_a_share_of_four_fifths_needs_fourteen_runs_that_agree():
    assert runs_for_share(0.8) == 14  # .8^13 = .055, .8^14 = .044
    assert runs_for_share(0.8, 1) == 22


def test_where_little_confidence_will_do_a_bare_majority_can():
    # Four or more of six: .544 for a share of .6, .179 for one of .4, .724 together; of five, three or more: 1.
    assert runs_for_share(0.6, 2, confidence=0.25) == 6


@pytest.mark.parametrize("effect", [0.2, 0.35, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("power", [0.8, 0.9])
def test_tasks_for_a_difference_agree_with_statsmodels(effect, power):
    exact = math.ceil(TTestPower().solve_power(effect, power=power, alpha=0.05))
    assert exact <= tasks_for_difference(1.0, effect, power) <= exact + 2


def test_a_study_of_the_planned_size_detects_just_the_planned_difference():
    n = tasks_for_difference(0.3, 0.1)
    assert detectable_difference(0.3 / math.sqrt(n), n) <= 0.1
    assert detectable_difference(0.3 / math.sqrt(n - 1), n - 1) > 0.1
    # (t_.975 + t_.8) with 29 degrees of freedom: 2.0452 + 0.8542
    assert detectable_difference(1.0, 30) == pytest.approx(2.8994, abs=1e-3)
    # With four: 2.7764 + 0.9410.
    assert detectable_difference(1.0, 5) == pytest.approx(3.7174, abs=1e-3)
    assert detectable_difference(1.0, 1) is None


def test_tasks_for_a_width_are_the_first_with_an_interval_that_narrow():
    widths = [stats.t.ppf(0.975, n - 1) * 0.4 / math.sqrt(n) for n in range(2, 400)]
    expected = 2 + int(np.argmax(np.array(widths) <= 0.05))
    assert tasks_for_width(0.4, 0.05) == expected
    assert tasks_for_width(0.4, 0.3) == 2 + int(np.argmax(np.array(widths) <= 0.3))


def test_no_spread_needs_the_fewest_tasks_and_a_tiny_difference_more_than_there_are():
    assert tasks_for_difference(0.0, 0.1) == 2
    assert tasks_for_difference(1.0, 1e-6) is None
    assert runs_for_share(1 - 1e-9) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: smallest_claim(0), "at least one trial"),
        (lambda: smallest_claim(3, 1.0), "a confidence lies"),
        (lambda: runs_for_claim(0.0), "a failure rate lies"),
        (lambda: runs_for_share(1.0), r"lies in \(0.5, 1\)"),
        (lambda: runs_for_share(0.5), r"lies in \(0.5, 1\)"),
        (lambda: runs_for_share(0.5, -1), "at least 0, got -1"),
        (lambda: tasks_for_difference(1.0, 0.0), "a difference to find is positive"),
        (lambda: tasks_for_difference(1.0, math.nan), "a difference to find is positive"),
        (lambda: tasks_for_difference(1.0, 0.1, power=1.0), "a power lies"),
        (lambda: tasks_for_difference(1.0, 0.1, alpha=1.0), "a level lies"),
        (lambda: tasks_for_width(1.0, -1.0), "half a width is positive"),
        (lambda: detectable_difference(0.1, 30, alpha=0.0), "a level lies"),
    ],
)
def test_what_has_no_answer_is_refused_with_the_reason(call, message):
    with pytest.raises(ValueError, match=message):
        call()
