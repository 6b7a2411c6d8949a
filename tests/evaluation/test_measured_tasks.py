from __future__ import annotations

import numpy as np
import pytest

from judges import FailingJudge, TableJudge
from learned.samples import run_of
from likewise.core.errors import GroupError
from likewise.core.labels import Relation
from likewise.core.rollout import Rollout, StopReason
from likewise.evaluation.measured_tasks import measure_tasks, task_digest

TABLE = TableJudge({("x", "y"): Relation.CONTRADICTORY})
RUNS = [
    run_of(("a", "x"), ("b", "p"), task="1", run="0"),
    run_of(("a", "y"), ("b", "p"), task="1", run="1"),
    run_of(("a", "x"), task="1", run="2"),
    run_of(("a", "x"), task="2", run="0"),
]


def test_distances_of_each_pair_at_each_turn_with_ends_filled_in():
    found = measure_tasks(RUNS, judge=TABLE)
    (task,) = found.tasks
    assert task.group.pairs == ((0, 1), (0, 2), (1, 2))
    # x/y contradict; the third run has ended at turn 1.
    assert task.distance.tolist() == [[1, 0], [0, 1], [1, 1]]
    assert found.rollouts == 3
    assert "1 task(s) left out" in found.warnings[-1]


def test_runs_that_cannot_be_scored_are_left_out():
    broken = Rollout("1", "3", RUNS[0].turns, stop=StopReason.INVALID, problem="crashed")
    empty = Rollout("1", "4", ())
    assert measure_tasks([*RUNS, broken, empty], judge=TABLE).rollouts == 3


def test_a_pair_that_could_not_be_judged_is_not_measured():
    found = measure_tasks(RUNS, judge=FailingJudge(on=["y"]))
    assert np.isnan(found.tasks[0].distance).tolist() == [[True, False], [False, False], [True, False]]
    assert "could not be judged" in found.warnings[-1]


def test_the_fingerprint_names_runs_and_distances_but_not_their_order():
    found = measure_tasks(RUNS, judge=TABLE).fingerprint
    assert found == measure_tasks(RUNS, judge=TABLE).fingerprint
    assert found != measure_tasks(RUNS, judge=TableJudge()).fingerprint
    assert found != measure_tasks(RUNS[:2], judge=TABLE).fingerprint


def test_a_task_is_named_without_telling_its_name():
    assert len(task_digest("refund of Ms Secret")) == 16
    assert task_digest("a") != task_digest("b")


def test_refuses_runs_without_repeats():
    with pytest.raises(GroupError, match="nothing to compare"):
        measure_tasks([RUNS[3]], judge=TABLE)
