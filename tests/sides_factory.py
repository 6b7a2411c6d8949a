"""Sides of a comparison made by hand."""

from __future__ import annotations

from likewise.core.estimate import Estimate
from likewise.evaluation.sides import Side, TaskFigures

SIGNATURE = {"version": "1", "judge": "j", "gamma": 0.8, "length_policy": "absorb", "seed": 0, "text": "made by hand"}


def known(value, stderr=None, n=4):
    if value is None:
        return Estimate.undefined("one valid rollout")
    return Estimate(value, max(0.0, value - 0.5), value + 0.5, stderr, n)


def figures(
    task_id, rsd=1.0, outcomes=(True, True, False, False), *, stderr=0.1, rewards="outcomes", contradictory=0, judged=10
):
    """One task; rewards are the outcomes as 0 and 1 unless given."""
    rewards = tuple(map(float, outcomes)) if rewards == "outcomes" else rewards
    return TaskFigures(
        task_id=task_id,
        rollouts=max(4, len(outcomes)),
        valid=len(outcomes) or 4,
        rsd=known(rsd, stderr),
        aligned_rsd=known(rsd, stderr),
        total_variance=known(0.5, stderr),
        judged=judged,
        contradictory=contradictory,
        outcomes=tuple(outcomes),
        rewards=rewards,
        alike=(3, 4),
    )


def side(name, tasks, **signature):
    return Side(name, SIGNATURE | signature, {task.task_id: task for task in tasks})


def pair_of_sides(base, candidate, **more):
    """Two sides whose tasks have these RSDs, in order."""
    return tuple(
        side(name, [figures(f"t{i}", value, **more) for i, value in enumerate(values)])
        for name, values in (("base", base), ("candidate", candidate))
    )
