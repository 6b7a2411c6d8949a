"""How far the runs of two versions of an agent lie from each other, task by task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Float64

from likewise.core.group import RolloutGroup
from likewise.core.rollout import Action
from likewise.metrics import divergence
from likewise.scoring.label import ActionLabels, pair_labels, time_aligned_pairs
from likewise.scoring.score import ScoringOptions, group_distances

__all__ = ["pooled", "pooled_distances", "pooled_pairs"]


def pooled(base: RolloutGroup, candidate: RolloutGroup) -> RolloutGroup:
    """The valid rollouts of both versions as one group, the base's first; run ids say which is whose."""
    first = tuple(replace(rollout, run_id=f"base/{rollout.run_id}") for rollout in base.valid)
    second = tuple(replace(rollout, run_id=f"candidate/{rollout.run_id}") for rollout in candidate.valid)
    return RolloutGroup(base.task_id, first + second)


def pooled_pairs(group: RolloutGroup) -> Iterator[tuple[Action, Action]]:
    """Pairs of actions that must be judged to know all distances of a pooled group."""
    return time_aligned_pairs(group)


def pooled_distances(
    group: RolloutGroup, labels: ActionLabels, options: ScoringOptions
) -> Float64[np.ndarray, "runs runs"]:
    """Divergence of each two runs of a pooled group, 0 on the diagonal.

    Args:
        group: Runs of both versions.
        labels: Answers for everything that `pooled_pairs` lists.
        options: Discount, length policy, hard or soft distances.

    Returns:
        Divergences in [0, 1/(1-gamma)]; lower edges where turns are unmeasured, as in a task's RSD.
    """
    arrays = pair_labels(group, labels)
    distances, _ = group_distances(group, arrays, options)
    sums = divergence.discounted_sum(distances, options.gamma)
    matrix = np.zeros((len(group.valid), len(group.valid)))
    i, j = arrays.pairs[:, 0], arrays.pairs[:, 1]
    matrix[i, j] = matrix[j, i] = sums
    return matrix
