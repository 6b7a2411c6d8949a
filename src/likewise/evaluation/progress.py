"""The progress of runs over their turns: from their logs, or from their reward where the logs have no sub-goals.

Source: arXiv:2610.33012, A.3.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64

from likewise.core.errors import GroupError
from likewise.core.rollout import Rollout
from likewise.metrics.progress_rate import progress_auc, progress_per_turn

__all__ = ["Trials", "logged_curve", "reward_curve", "trials_of", "with_own_curve"]


@dataclass(frozen=True, slots=True)
class Trials:
    """What the trials of a method achieved: one number a valid trial, by task. All tasks of a method in each.

    Attributes:
        auc: Area under the progress curve, in [0, 1].
        progress: Progress at the end, in [0, 1].
        per_turn: Best progress over the first turn that reaches it; trials that began at their best have none.
        rsd: Direct (Monte Carlo) RSD of each task, where it was measured.
        invalid: Trials that failed in the harness.
        unknown: Valid trials without progress.
        by_reward: Tasks whose progress is the reward at the last turn.
    """

    auc: Mapping[str, Sequence[float]]
    progress: Mapping[str, Sequence[float]]
    per_turn: Mapping[str, Sequence[float]] = field(default_factory=dict)
    rsd: Mapping[str, float] = field(default_factory=dict)
    invalid: int = 0
    unknown: int = 0
    by_reward: frozenset[str] = frozenset()


def logged_curve(rollout: Rollout) -> Float64[np.ndarray, " points"] | None:
    """Progress before the first turn and after each, from `meta["progress"]`; None where the log has none.

    Raises:
        GroupError: What the log has is no curve of this run.
    """
    logged = rollout.meta.get("progress")
    if logged is None or logged == []:
        return None
    points = logged if isinstance(logged, list) else []
    numbers = [float(point) for point in points if isinstance(point, int | float) and 0 <= point <= 1]
    if len(numbers) != len(points) or len(numbers) != len(rollout.turns) + 1:
        raise GroupError(
            f"run {rollout.run_id!r} of task {rollout.task_id!r}: its progress is no list of {len(rollout.turns) + 1} "
            "numbers in [0, 1], one before the first turn and one after each"
        )
    return np.array(numbers)


def reward_curve(rollout: Rollout) -> Float64[np.ndarray, " points"] | None:
    """The task as its own one sub-goal, met as far as the reward says with the last turn; None without such a reward.

    Where a log tells only at the end how far a run came, nothing earlier can be claimed.
    """
    reward = rollout.reward if rollout.reward is not None else rollout.success
    if reward is None or not 0 <= reward <= 1 or not rollout.turns:
        return None
    return np.append(np.zeros(len(rollout.turns)), float(reward))


def trials_of(
    rollouts: Iterable[Rollout], turn_limit: int, own_curve: Iterable[str], rsd: Mapping[str, float] | None = None
) -> Trials:
    """The trials of one method.

    Args:
        rollouts: Its recorded runs.
        turn_limit: Turns to which curves are padded.
        own_curve: Tasks of which some run, of any method, has sub-goals in its log; the other tasks' progress is their
            reward. The two are never mixed within a task.
        rsd: Direct RSD by task.

    Raises:
        GroupError: A run is longer than the turn limit, or its progress is none.
    """
    logged, by_reward, invalid, unknown = set(own_curve), set[str](), 0, 0
    auc: dict[str, list[float]] = {}
    progress: dict[str, list[float]] = {}
    per_turn: dict[str, list[float]] = {}
    for rollout in rollouts:
        task = rollout.task_id
        for numbers in (auc, progress, per_turn):
            numbers.setdefault(task, [])
        if not rollout.valid:
            invalid += 1
            continue
        if len(rollout.turns) > turn_limit:
            long = f"run {rollout.run_id!r} of task {task!r} has {len(rollout.turns)} turns"
            raise GroupError(f"{long}, the turn limit is {turn_limit}")
        curve = logged_curve(rollout) if task in logged else reward_curve(rollout)
        if curve is None:
            unknown += 1
            continue
        by_reward |= set() if task in logged else {task}
        auc[task].append(progress_auc(curve, turn_limit))
        progress[task].append(float(curve[-1]))
        pace = progress_per_turn(curve)
        per_turn[task] += [] if pace is None else [pace]
    return Trials(auc, progress, per_turn, rsd or {}, invalid, unknown, frozenset(by_reward))


def with_own_curve(rollouts: Iterable[Rollout]) -> set[str]:
    """The tasks of which some valid run has sub-goals in its log."""
    return {rollout.task_id for rollout in rollouts if rollout.valid and logged_curve(rollout) is not None}
