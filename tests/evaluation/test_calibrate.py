from __future__ import annotations

import numpy as np
import pytest

from judges import LetterEncoder, TableJudge
from learned.samples import checkpoint, run_of
from likewise.core.errors import GroupError
from likewise.core.labels import Relation
from likewise.core.rollout import StopReason
from likewise.evaluation.calibrate import calibrate, futures, state_table
from likewise.evaluation.measured_tasks import measure_tasks, task_digest
from likewise.learned.model import RSDModel

JUDGE = TableJudge({("x", "y"): Relation.CONTRADICTORY})


class ByFirstLetter(RSDModel):
    """Sure of openings that say "a", unsure of the others."""

    def values(self, states):
        return np.where(states[:, 26] > 0.5, 0.1, 3.0)[None]


def model(rules, **changes):
    return ByFirstLetter(checkpoint(rules=rules, **changes), LetterEncoder())


def settled(task):
    return [run_of(("a", "x"), task=task, run=str(k)) for k in range(3)]


def unsettled(task):
    return [run_of(("b", done), task=task, run=str(k)) for k, done in enumerate("xyy")]


def world(tasks):
    rollouts = [run for k in range(tasks) for run in (settled if k % 2 else unsettled)(f"task {k}")]
    measured = measure_tasks(rollouts, judge=JUDGE)
    return measured, model(measured.rules_id)


def test_futures_are_the_sums_worked_by_hand_and_open_where_runs_were_cut():
    measured = measure_tasks(
        [
            run_of(("a", "x"), ("b", "x"), run="0"),
            run_of(("a", "y"), ("b", "x"), run="1", stop=StopReason.CUT),
        ],
        judge=JUDGE,
    )
    low, high = futures(measured.tasks[0], 0.8)
    assert low.tolist() == [[1.0, 0.0]]
    assert high[0] == pytest.approx([1 + 0.8 * (0 + 0.8 * 5), 0 + 0.8 * 5])


def test_each_state_has_its_score_its_measured_future_and_the_share_too_far():
    measured, learned = world(2)
    table = state_table(learned, measured, delta=0.5)
    assert table.task.tolist() == [0, 0, 0, 1, 1, 1]
    assert table.score.tolist() == [3.0] * 3 + [0.1] * 3
    # x against y and y; each y against x and y.
    assert table.measured.tolist() == [1.0, 0.5, 0.5, 0, 0, 0]
    assert table.bad.tolist() == [1.0, 0.5, 0.5, 0, 0, 0]


def test_the_threshold_lets_the_settled_tasks_through_and_not_the_others():
    measured, learned = world(60)
    found = calibrate(learned, measured, delta=0.5, at_most=0.05)
    assert found.threshold == 0.1
    assert found.let_through == pytest.approx(0.5)
    assert found.limit is not None
    assert found.limit <= 0.05
    assert found.tasks == 60
    # No state lies above its score: the worst of each task is at most 0 - 0.1.
    assert found.margin == pytest.approx(-0.1)
    assert found.corrected == pytest.approx((0.0, 2 / 3))


def test_too_few_tasks_are_told_how_many_it_takes():
    measured, learned = world(10)
    found = calibrate(learned, measured, delta=0.5, at_most=0.05)
    assert found.threshold is None
    assert "59 are needed" in found.claim
    assert found.margin is None


def test_tasks_that_were_trained_on_are_refused():
    measured, _ = world(4)
    learned = model(measured.rules_id, seen_tasks=[task_digest("task 2")])
    with pytest.raises(GroupError, match="1 of 4 task\\(s\\) were trained on, 'task 2' among them"):
        calibrate(learned, measured, delta=0.5, at_most=0.5)


def test_another_judge_or_other_rules_are_refused():
    measured, _ = world(4)
    with pytest.raises(GroupError, match="trained with judge other"):
        calibrate(model(measured.rules_id, judge="other"), measured, delta=0.5, at_most=0.5)
    with pytest.raises(GroupError, match="trained with rules other"):
        calibrate(model("other"), measured, delta=0.5, at_most=0.5)
