from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from likewise.metrics.calibration import (
    conformal_margin,
    controlled_threshold,
    isotonic,
    task_risks,
)


def test_pooling_adjacent_violators_matches_a_case_worked_by_hand():
    knots, fitted = isotonic(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 5.0]))
    assert knots.tolist() == [1, 2, 3, 4]
    assert fitted.tolist() == [1, 2.5, 2.5, 5]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0, 5)), min_size=1, max_size=12))
def test_the_correction_is_the_best_monotone_one(points):
    """Compared with scipy's isotonic regression on distinct scores weighted by their number."""
    scores, values = (np.array(column, dtype=np.float64) for column in zip(*points, strict=True))
    distinct = np.unique(scores)
    means = np.array([values[scores == s].mean() for s in distinct])
    weights = np.array([(scores == s).sum() for s in distinct], dtype=np.float64)
    knots, fitted = isotonic(scores, values)
    assert knots.tolist() == distinct.tolist()
    assert fitted == pytest.approx(isotonic_regression(means, weights=weights).x, abs=1e-9)


def test_the_risk_of_a_task_is_its_own_mean_and_never_falls():
    task, scores = np.array([0, 0, 0, 1]), np.array([1.0, 2.0, 3.0, 2.0])
    bad = np.array([0.0, 1.0, 0.5, 0.5])
    assert task_risks(task, scores, bad, 0.5).tolist() == [0, 0]
    assert task_risks(task, scores, bad, 2.0).tolist() == pytest.approx([1 / 3, 0.5])
    assert task_risks(task, scores, bad, 9.0).tolist() == pytest.approx([0.5, 0.5])


def test_a_claim_that_the_tasks_cannot_support_is_refused_with_the_number_needed():
    task = np.repeat(np.arange(30), 2)
    found = controlled_threshold(task, np.zeros(60), np.zeros(60), at_most=0.05)
    assert found.value is None
    assert "59 are needed" in (found.reason or "")
    assert controlled_threshold(task, np.zeros(60), np.zeros(60), at_most=0.096).value == 0.0
    refused = controlled_threshold(task, np.zeros(60), np.zeros(60), at_most=0.03, confidence=None)
    assert "33 are needed" in (refused.reason or "")  # 1/(33+1) < 0.03 <= 1/(32+1)


def test_the_limit_of_flawless_tasks_is_the_known_one():
    found = controlled_threshold(np.arange(59), np.zeros(59), np.zeros(59), at_most=0.05)
    assert found.limit == pytest.approx(1 - 0.05 ** (1 / 59), abs=1e-4)


def test_scores_that_say_nothing_give_no_threshold_when_all_goes_wrong():
    found = controlled_threshold(np.arange(100), np.zeros(100), np.ones(100), at_most=0.1)
    assert found.value is None
    assert "too often" in (found.reason or "")


def test_the_threshold_stops_before_the_scores_at_which_things_go_wrong():
    task = np.repeat(np.arange(100), 10)
    scores = np.tile(np.arange(10.0), 100)
    found = controlled_threshold(task, scores, (scores >= 5).astype(np.float64), at_most=0.15)
    # A task's risk at threshold 5 is 1/10 for sure, at 6 it is 2/10.
    assert found.value == 5.0
    assert found.let_through == pytest.approx(0.6)


@pytest.mark.parametrize("confidence", [0.9, None])
def test_the_guarantee_holds_where_turns_and_pairs_share_tasks(confidence):
    """Tasks differ, their turns hardly: counting turns as independent breaks the claim; counting tasks keeps it."""
    rng, rounds, at_most, broken, risks = np.random.default_rng(5), 300, 0.2, 0, []
    for _ in range(rounds):
        hard = rng.random(40) < 0.3  # a hard task goes wrong in most of its states, whatever their score
        task = np.repeat(np.arange(40), 6)
        scores = rng.random(240)
        bad = np.where(hard[task], 0.9, 0.02) * (scores > 0.1)
        found = controlled_threshold(task, scores, bad, at_most, confidence)
        threshold = -1.0 if found.value is None else found.value
        # The true risk at a threshold u: (0.3 * 0.9 + 0.7 * 0.02) * P(0.1 < score <= u).
        risk = (0.3 * 0.9 + 0.7 * 0.02) * max(min(threshold, 1.0) - 0.1, 0.0)
        risks.append(risk)
        broken += risk > at_most
    if confidence is None:
        assert np.mean(risks) <= at_most + 3 * np.std(risks) / rounds**0.5
    else:
        assert broken / rounds <= 1 - confidence + 3 * (0.1 * 0.9 / rounds) ** 0.5
    assert max(risks) > 0.05  # it does let something through


def test_turns_counted_as_tasks_would_break_the_claim():
    """The sister test: the same world, each turn passed off as a task of its own."""
    rng, broken = np.random.default_rng(5), 0
    for _ in range(200):
        hard = rng.random(12) < 0.3
        scores = rng.random(12 * 40)
        bad = np.where(np.repeat(hard, 40), 0.9, 0.02) * (scores > 0.1)
        found = controlled_threshold(np.arange(480), scores, bad, 0.2, 0.9)
        threshold = -1.0 if found.value is None else found.value
        broken += (0.3 * 0.9 + 0.7 * 0.02) * max(min(threshold, 1.0) - 0.1, 0.0) > 0.2
    assert broken / 200 > 0.15


def test_the_conformal_margin_is_an_order_statistic_and_needs_enough_tasks():
    assert conformal_margin(np.arange(19.0)) == 18.0  # the 19th of 19: ceil(20 * 0.95)
    assert conformal_margin(np.arange(18.0)) is None
    assert conformal_margin(np.arange(99.0), 0.9) == 89.0  # the 90th


def test_refuses_numbers_outside_their_range():
    one = np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1)
    with pytest.raises(ValueError, match="a risk lies in"):
        controlled_threshold(*one, at_most=1.0)
    with pytest.raises(ValueError, match=r"above 0\.5"):
        controlled_threshold(*one, at_most=0.5, confidence=0.4)
    with pytest.raises(ValueError, match="shares in"):
        controlled_threshold(one[0], one[1], np.array([2.0]), at_most=0.5)
    with pytest.raises(ValueError, match="at least one score"):
        isotonic(np.zeros(0), np.zeros(0))
