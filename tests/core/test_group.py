from __future__ import annotations

import pytest

from likewise.core.errors import GroupError
from likewise.core.group import RolloutGroup, group_rollouts
from likewise.core.rollout import Action, Rollout, StopReason, Turn


def run(task, name, turns=1, stop=StopReason.FINISHED):
    problem = "the harness failed" if stop is StopReason.INVALID else None
    return Rollout(task, name, tuple(Turn((), Action("x")) for _ in range(turns)), stop=stop, problem=problem)


def test_rollouts_of_another_task_are_refused():
    with pytest.raises(GroupError, match="got others in the group of task 'a'"):
        RolloutGroup("a", (run("a", "1"), run("b", "2")))


def test_a_run_id_that_occurs_twice_is_refused_by_name():
    with pytest.raises(GroupError, match="task 'a' has run ids that occur twice: 1"):
        group_rollouts([run("a", "1"), run("a", "2"), run("a", "1")])


def test_two_tasks_may_use_one_run_id():
    assert [group.task_id for group in group_rollouts([run("a", "1"), run("b", "1")])] == ["a", "b"]


def test_tasks_come_in_order_of_first_appearance_and_runs_in_the_order_given():
    groups = group_rollouts([run("b", "2"), run("a", "9"), run("b", "1")])
    assert [(group.task_id, [r.run_id for r in group.rollouts]) for group in groups] == [
        ("b", ["2", "1"]),
        ("a", ["9"]),
    ]


def test_no_rollouts_make_no_groups():
    assert group_rollouts([]) == []


def test_pairs_lengths_and_cuts_speak_of_valid_runs_only():
    group = RolloutGroup(
        "a",
        (
            run("a", "1", 2),
            run("a", "2", 3, StopReason.INVALID),
            run("a", "3", 0, StopReason.CUT),
            run("a", "4", 1),
        ),
    )
    assert [r.run_id for r in group.valid] == ["1", "3", "4"]
    assert group.pairs == ((0, 1), (0, 2), (1, 2))
    assert group.lengths == (2, 0, 1)
    assert group.cut == (False, True, False)


def test_one_valid_run_has_no_pair():
    assert RolloutGroup("a", (run("a", "1"), run("a", "2", stop=StopReason.INVALID))).pairs == ()
