from __future__ import annotations

import numpy as np
import pytest

from likewise.core.rollout import Action, Observation, Rollout, StopReason, Turn
from likewise.training.refresh import Drift, measure_drift
from training.batches import judge, model


def run(task, name, *texts, stop=StopReason.FINISHED):
    turns = tuple(Turn((Observation("user", f"{task} {k}"),), Action(text)) for k, text in enumerate(texts))
    return Rollout(task, name, turns, stop=stop, problem="x" if stop is StopReason.INVALID else None)


RUNS = [
    run("s", "0", "a", "d"),
    run("s", "1", "b", "d"),
    run("s", "2", "c", "d"),
    run("t", "0", "a"),
    run("t", "1", "c"),
]


def test_what_was_measured_is_how_far_siblings_part_from_each_turn_on():
    found = measure_drift(model(), RUNS, judge())
    # s: a-b 0, a-c 1, b-c 0.5 at turn 0 and d thrice after; t: a-c 1.
    assert found.cells == 3
    assert found.measured == pytest.approx(((0 + 1 + 0.5) / 3 + 0 + 1) / 3)


def test_the_forecast_is_what_the_metric_says_of_the_same_pairs():
    metric = model()
    at = {(r.task_id, r.run_id): metric.states.states(r) for r in RUNS}
    opening = [metric.between(at[t, "0"][:1], at[t, "1"][:1])[0] for t in "st"]
    second = [metric.between(at["s", a][1:2], at["s", b][1:2])[0] for a, b in ("01", "02", "12")]
    found = measure_drift(metric, RUNS, judge())
    assert found.forecast == pytest.approx((sum(opening) + np.mean(second)) / 3, rel=1e-5)
    cells = [(opening[0], 0.5), (np.mean(second), 0), (opening[1], 1)]
    assert found.miss == pytest.approx(np.mean([abs(f - m) for f, m in cells]) / metric.largest, rel=1e-5)


def test_runs_that_failed_or_are_alone_say_nothing():
    extra = [run("u", "0", "a"), run("s", "3", "z", stop=StopReason.INVALID)]
    assert measure_drift(model(), [*RUNS, *extra], judge()).measured == measure_drift(model(), RUNS, judge()).measured
    with pytest.raises(ValueError, match="no task has two valid runs"):
        measure_drift(model(), extra, judge())


def test_a_metric_that_fits_is_kept():
    assert Drift(1.0, 1.2, 0.05, 0.1, 3).reason() is None


def test_a_metric_whose_states_are_strange_now_is_fitted_anew():
    told = "40% of the states are unlike those that the metric was fitted on"
    assert Drift(1.0, 1.0, 0.0, 0.4, 3).reason() == told


def test_a_metric_that_misses_is_fitted_anew():
    drift = Drift(2.0, 1.0, 0.2, 0.0, 3)
    assert drift.reason() == "the metric is off by 20% of the largest RSD"
    assert drift.reason(miss=0.3) is None
    assert drift.as_json() == {"forecast": 2.0, "measured": 1.0, "miss": 0.2, "unfamiliar": 0.0, "cells": 3}


def test_a_policy_of_other_actions_is_told_from_the_one_that_was_learned():
    """Siblings that now part by one more at the first turn move the measurement and nothing else."""
    before = measure_drift(model(), [run("t", "0", "a"), run("t", "1", "b")], judge())
    after = measure_drift(model(), [run("t", "0", "a"), run("t", "1", "c")], judge())
    assert after.measured - before.measured == pytest.approx(1.0)
    assert after.forecast == before.forecast
