"""The tasks of recorded rollouts with the distance of each pair of runs at each turn: what learning starts from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from jaxtyping import Float64

from likewise.backends.judges import embedded_judge
from likewise.backends.label_store import LabelStore
from likewise.backends.tool_rules import ToolRules
from likewise.core.errors import GroupError
from likewise.core.group import RolloutGroup, group_rollouts
from likewise.core.protocols import Judge, Progress, no_progress
from likewise.core.rollout import Rollout
from likewise.core.state_text import action_key
from likewise.evaluation.cautions import cautions, refuse_mixtures
from likewise.scoring.label import Labeller, pair_labels, time_aligned_pairs
from likewise.scoring.score import ScoringOptions, group_distances
from likewise.scoring.stored_judge import StoredJudge
from likewise.scoring.tool_inventory import logged_hints

__all__ = ["MeasuredTask", "MeasuredTasks", "measure_tasks", "task_digest"]


@dataclass(frozen=True, slots=True)
class MeasuredTask:
    """Valid rollouts of a task, at least two, none without turns; and the distances of `group.pairs`."""

    group: RolloutGroup
    distance: Float64[np.ndarray, "pairs turns"]


@dataclass(frozen=True, slots=True)
class MeasuredTasks:
    """What was measured, with what, and what was left out."""

    tasks: tuple[MeasuredTask, ...]
    judge_id: str
    rules_id: str
    warnings: tuple[str, ...] = ()

    @property
    def rollouts(self) -> int:
        """Rollouts of all tasks."""
        return sum(len(task.group.valid) for task in self.tasks)

    @property
    def fingerprint(self) -> str:
        """Names tasks, runs, actions and distances; the same runs judged alike have the same."""
        digest = blake2b(digest_size=16)
        for task in sorted(self.tasks, key=lambda each: each.group.task_id):
            for rollout in task.group.valid:
                digest.update(repr((task.group.task_id, rollout.run_id, rollout.stop)).encode())
                digest.update("\x01".join(action_key(action) for action in rollout.actions).encode())
            digest.update(np.ascontiguousarray(np.nan_to_num(task.distance, nan=-1.0)).tobytes())
        return digest.hexdigest()


def task_digest(task_id: str) -> str:
    """Names a task without telling its name."""
    return blake2b(task_id.encode("utf-8", "replace"), digest_size=8).hexdigest()


def measure_tasks(
    rollouts: Iterable[Rollout],
    *,
    judge: Judge | None = None,
    rules: ToolRules | None = None,
    store: LabelStore | None = None,
    options: ScoringOptions | None = None,
    progress: Progress = no_progress,
    pool: bool = False,
) -> MeasuredTasks:
    """Judge the actions of all pairs of runs of each task, turn by turn.

    Args:
        rollouts: Recorded runs.
        judge: Gives the relation of two texts; the embedded one where None.
        rules: How tool calls are compared; annotations that the logs carry are added.
        store: Remembers judgements between calls.
        options: Length policy, hard or soft distances.
        progress: Display of the judge's work.
        pool: Treat runs of different models, agents or prompts as repeats; refused otherwise.

    Raises:
        GroupError: No task has two valid runs, or a task mixes agents and `pool` is not set.
    """
    options, judge = options or ScoringOptions(), judge or embedded_judge()
    groups = group_rollouts(rollouts)
    if not pool:
        refuse_mixtures(groups)
    kept, left_out = _usable(groups)
    if not kept:
        raise GroupError("no task has two valid runs with turns; there is nothing to compare")
    rules = (rules or ToolRules()).with_hints(logged_hints(r for group in kept for r in group.rollouts))
    labeller = Labeller(StoredJudge(judge, store, progress), rules)
    labels = labeller.settle(pair for group in kept for pair in time_aligned_pairs(group))
    tasks = [MeasuredTask(group, group_distances(group, pair_labels(group, labels), options)[0]) for group in kept]
    warnings = [*cautions(kept)]
    if left_out:
        warnings.append(f"{left_out} task(s) left out: fewer than two valid runs with turns")
    if labels.failures:
        warnings.append(f"{len(labels.failures)} pair(s) of actions could not be judged and are not measured")
    return MeasuredTasks(tuple(tasks), judge.judge_id, rules.rules_id, tuple(warnings))


def _usable(groups: Sequence[RolloutGroup]) -> tuple[list[RolloutGroup], int]:
    """Groups of the valid rollouts that have turns, two at least; and how many tasks are left out."""
    kept = []
    for group in groups:
        rollouts = tuple(rollout for rollout in group.valid if rollout.turns)
        if len(rollouts) >= 2:
            kept.append(RolloutGroup(group.task_id, rollouts))
    return kept, len(groups) - len(kept)
