"""Changes of an agent's figures over time."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from likewise.core.estimate import Estimate
from likewise.evaluation.change import Change
from likewise.evaluation.trend import FALSE_ALARM, Reading, find_shifts

BEGIN = datetime(2026, 3, 1, 8, tzinfo=UTC)


def readings(days, *, version=lambda day: "1", task=lambda i: "refund", seed=0):
    """Verdicts of one agent: `days` holds, for each day, its values in order."""
    made = []
    for day, values in enumerate(days):
        for value in values:
            i = len(made)
            time = BEGIN + timedelta(days=day, minutes=i % 600)
            made.append(Reading(f"{seed}-{i}", time, version(day), task(i), float(value)))
    return sorted(made, key=lambda reading: reading.time)


def bernoulli(generator, shares, per_day=40):
    return [(generator.random(per_day) < share).astype(float) for share in shares]


def test_a_fall_is_called_worse_from_the_day_on_which_it_began():
    values = bernoulli(np.random.default_rng(1), [0.95] * 14 + [0.6] * 6)
    trend = find_shifts(readings(values), higher_is_better=True)
    (shift,) = trend.shifts
    assert (shift.change, shift.since, shift.with_version) == (Change.WORSE, date(2026, 3, 15), False)
    assert shift.confirmed.date() <= date(2026, 3, 17)
    before, after = np.concatenate(values[:14]), np.concatenate(values[14:])
    assert shift.before.value == pytest.approx(before.mean())
    assert shift.after.value == pytest.approx(after.mean())
    assert shift.before.low <= 0.95 <= shift.before.high
    assert shift.after.low <= 0.6 <= shift.after.high


def test_a_rise_of_what_should_be_low_is_worse():
    values = bernoulli(np.random.default_rng(5), [0.05] * 14 + [0.4] * 6)
    (shift,) = find_shifts(readings(values), higher_is_better=False).shifts
    assert shift.change is Change.WORSE
    assert shift.before.value < shift.after.value


def test_a_fall_and_the_recovery_are_two_changes():
    values = bernoulli(np.random.default_rng(2), [0.95] * 14 + [0.5] * 10 + [0.95] * 10)
    trend = find_shifts(readings(values), higher_is_better=True)
    assert [shift.change for shift in trend.shifts] == [Change.WORSE, Change.BETTER]
    assert abs((trend.shifts[1].since - date(2026, 3, 25)).days) <= 1
    assert trend.latest is trend.shifts[1]


def test_a_change_that_comes_with_a_version_says_so():
    values = bernoulli(np.random.default_rng(3), [0.95] * 14 + [0.6] * 6)
    (shift,) = find_shifts(readings(values, version=lambda day: "1" if day < 14 else "2"), higher_is_better=True).shifts
    assert (shift.version, shift.with_version) == ("2", True)


@pytest.mark.parametrize("seed", [394, 628, 845, 1068])
def test_equal_values_never_change_however_their_ties_fall(seed):
    """Of the first 1,100 seeds these are the ones whose ids alone, which break ties, raise an alarm."""
    everything = readings([np.ones(25)] * 6, seed=seed)
    assert find_shifts(everything, higher_is_better=True).shifts == ()


def test_one_bad_verdict_on_a_quiet_day_is_no_regression():
    values = [*bernoulli(np.random.default_rng(4), [0.97] * 30), np.zeros(2)]
    trend = find_shifts(readings(values), higher_is_better=True)
    assert trend.shifts == ()
    assert 0 <= trend.doubt < 1
    assert trend.latest is None


def test_another_mix_of_recurring_tasks_is_no_change():
    """Ninety percent easy verdicts become ninety percent hard ones, and each task goes on as before."""
    generator = np.random.default_rng(6)
    days, kinds = [], []
    for day in range(40):
        hard = generator.random(40) < (0.1 if day < 20 else 0.9)
        days.append((generator.random(40) < np.where(hard, 0.5, 0.98)).astype(float))
        kinds += ["hard" if one else "easy" for one in hard]
    by_task = find_shifts(readings(days, task=lambda i: kinds[i]), higher_is_better=True)
    blind = find_shifts(readings(days), higher_is_better=True)
    assert by_task.shifts == ()
    assert [shift.change for shift in blind.shifts] == [Change.WORSE]


def test_tasks_that_never_recur_are_compared_with_each_other():
    values = bernoulli(np.random.default_rng(8), [0.95] * 14 + [0.5] * 6)
    trend = find_shifts(readings(values, task=lambda i: f"query {i}"), higher_is_better=True)
    assert [shift.change for shift in trend.shifts] == [Change.WORSE]


def test_later_verdicts_never_take_a_change_back():
    values = bernoulli(np.random.default_rng(9), [0.9] * 12 + [0.5] * 8 + [0.9] * 8)
    everything = readings(values)
    full = find_shifts(everything, higher_is_better=True)
    for stop in range(200, len(everything), 180):
        part = find_shifts(everything[:stop], higher_is_better=True)
        known = [
            (shift.since, shift.confirmed) for shift in full.shifts if shift.confirmed <= everything[stop - 1].time
        ]
        assert [(shift.since, shift.confirmed) for shift in part.shifts] == known


def test_an_agent_that_stays_as_it_is_is_called_worse_no_more_often_than_stated():
    generator = np.random.default_rng(10)
    lives, wrong = 120, 0
    for life in range(lives):
        trend = find_shifts(readings(bernoulli(generator, [0.9] * 30, 12), seed=life), higher_is_better=True)
        wrong += any(shift.change is Change.WORSE for shift in trend.shifts)
    assert wrong <= 6  # where each life is wrong with probability FALSE_ALARM / 3, seven or more come in 1 of 240 tests


def test_no_reading_is_no_change():
    trend = find_shifts([], higher_is_better=True)
    assert (trend.shifts, trend.readings, trend.doubt) == ((), 0, 0.0)
    assert FALSE_ALARM == 0.05


def test_means_come_with_the_number_behind_them():
    values = bernoulli(np.random.default_rng(1), [0.95] * 14 + [0.6] * 6)
    (shift,) = find_shifts(readings(values), higher_is_better=True).shifts
    assert isinstance(shift.before, Estimate)
    assert (shift.before.n, shift.after.n) == (14 * 40, 6 * 40)


def test_readings_out_of_order_or_out_of_range_are_refused():
    ordered = readings([[1.0, 0.5]])
    with pytest.raises(ValueError, match="readings come in order of time"):
        find_shifts(ordered[::-1], higher_is_better=True)
    with pytest.raises(ValueError, match=r"a figure lies in \[0, 1\]"):
        find_shifts([Reading("a", BEGIN, "1", "t", 1.5)], higher_is_better=True)
