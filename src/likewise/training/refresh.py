"""When a learned metric no longer speaks of the policy that it rewards, and must be fitted anew.

The metric is learned from runs of one policy; training moves the policy away from it. Two things show it, both from
runs that training makes anyway: the metric's forecast of how far siblings will part against how far they did part, and
the share of states unlike any that it was fitted on.

Source: arXiv:2610.33012 names the limit (the metric is of a fixed policy); the measure is this project's choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32

from likewise.core.group import LengthPolicy, RolloutGroup, group_rollouts
from likewise.core.protocols import Judge
from likewise.core.rollout import Rollout
from likewise.learned.model import RSDModel
from likewise.metrics.divergence import discounted_sum
from likewise.scoring.score import ScoringOptions
from likewise.training.in_group import Siblings

__all__ = ["Drift", "measure_drift"]


@dataclass(frozen=True, slots=True)
class Drift:
    """How far a policy has moved from a metric.

    Attributes:
        forecast: Mean RSD that the metric gives pairs of siblings, over tasks and turns, in [0, 1/(1-gamma)].
        measured: By how much they parted from there on.
        miss: Mean distance between the two, turn by turn, as a share of the largest RSD, in [0, 1].
        unfamiliar: Share of states unlike those that the metric was fitted on, in [0, 1].
        cells: Pairs of a task and a turn that were compared.
    """

    forecast: float
    measured: float
    miss: float
    unfamiliar: float
    cells: int

    def reason(self, *, miss: float = 0.1, unfamiliar: float = 0.25) -> str | None:
        """Why the metric should be fitted anew; None where it still fits.

        Args:
            miss: Share of the largest RSD by which forecast and measurement may differ.
            unfamiliar: Share of states that may be unfamiliar.
        """
        if self.unfamiliar > unfamiliar:
            return f"{self.unfamiliar:.0%} of the states are unlike those that the metric was fitted on"
        if self.miss > miss:
            return f"the metric is off by {self.miss:.0%} of the largest RSD"
        return None

    def as_json(self) -> dict[str, float]:
        """The fields by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def measure_drift(model: RSDModel, rollouts: Sequence[Rollout], judge: Judge) -> Drift:
    """Compare a metric with runs of the policy as it is now.

    At each turn, pairs of siblings that still act are compared: U of their two states against the discounted sum of
    the distances of their actions from there on.

    Args:
        model: The metric.
        rollouts: Fresh runs, several a task.
        judge: The judge that the metric was fitted with.

    Raises:
        ValueError: No task has two valid runs with turns.
    """
    facts = model.facts
    options = ScoringOptions(facts["gamma"], LengthPolicy(facts["length_policy"]), facts["distance"] == "soft")
    siblings = Siblings(judge, options=options)
    groups = [group for group in group_rollouts(each for each in rollouts if each.turns) if len(group.valid) > 1]
    if not groups:
        raise ValueError("no task has two valid runs with turns: drift is measured between siblings")
    cells: list[tuple[float, float]] = []
    unfamiliar: list[bool] = []
    for group in groups:
        _, distance = siblings.distances(group)
        model.states.prepare(group.valid)
        states = [model.states.states(rollout) for rollout in group.valid]
        unfamiliar += [not score.familiar for score in model.score_states(np.concatenate(states))]
        cells += _cells(model, group, states, distance, options.gamma)
    forecast, measured = np.array(cells).T
    miss = float(np.abs(forecast - measured).mean()) / model.largest
    return Drift(float(forecast.mean()), float(measured.mean()), miss, float(np.mean(unfamiliar)), len(cells))


def _cells(
    model: RSDModel,
    group: RolloutGroup,
    states: Sequence[Float32[np.ndarray, "states width"]],
    distance: Float[np.ndarray, "pairs turns"],
    gamma: float,
) -> list[tuple[float, float]]:
    """Forecast and measurement at each turn at which two siblings act; pairs cut later count as far as they went."""
    found = []
    for turn in range(distance.shape[1]):
        pairs = [(p, i, j) for p, (i, j) in enumerate(group.pairs) if turn < min(group.lengths[i], group.lengths[j])]
        if not pairs:
            break
        first = np.stack([states[i][turn] for _, i, _ in pairs])
        second = np.stack([states[j][turn] for _, _, j in pairs])
        ahead = distance[[p for p, _, _ in pairs], turn:]
        found.append((float(model.between(first, second).mean()), float(discounted_sum(ahead, gamma).mean())))
    return found
