"""Rewards made of other rewards: consistency with progress, a floor under progress, and the shuffled control.

A policy that always does the same useless thing has RSD 0, the best there is. These are the ways not to reward it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from likewise.training.completions import Columns, Completion, groups_of
from likewise.training.reward_base import AroundReward, CompletionScore, Reward, needed_curves
from likewise.training.siblings import everywhere

__all__ = ["HybridReward", "ProgressFloor", "ProgressReward", "ShuffledReward"]


class ProgressReward(Reward):
    """Progress made by each action, averaged over the actions: the mean of p_t - p_(t-1).

    Needs the column `progress`: p_0 before the first action, then one point after each.
    """

    lowest = -1.0

    def measure(self, completions: Sequence[Completion], columns: Columns) -> list[CompletionScore]:
        """Score completions by their curves; one without is not measured.

        Raises:
            ValueError: There is no column of curves.
        """
        return self.of(completions, columns, self.__name__)

    def of(self, completions: Sequence[Completion], columns: Columns, who: str) -> list[CompletionScore]:
        """The same for a reward of another name."""
        curves = needed_curves(columns, len(completions), who)
        pairs = zip(completions, curves, strict=True)
        return [_steps(index, completion, curve) for index, (completion, curve) in enumerate(pairs)]


def _steps(index: int, completion: Completion, curve: list[float] | None) -> CompletionScore:
    acted = len(completion.rollout.turns)
    if curve is None or acted == 0:
        return CompletionScore(None, (None,) * acted)
    if len(curve) != acted + 1:
        told = f"{acted} action(s) have {acted + 1} points of progress, got {len(curve)}"
        raise ValueError(f"column 'progress', completion {index}: {told}")
    deltas = tuple(after - before for before, after in pairwise(curve))
    return CompletionScore(sum(deltas) / acted, deltas, {})


class HybridReward(Reward):
    """weight * consistency + (1 - weight) * progress made by the action, turn by turn.

    Source: arXiv:2610.33012, section 6 and Table 2 (lambda * RSD + (1 - lambda) * progress delta).
    """

    def __init__(self, consistency: Reward, weight: float) -> None:
        """Take the two parts.

        Args:
            consistency: A reward of consistency; its scale against that of progress is the user's choice
                (`normalised=True` puts RSD in [-1, 0]).
            weight: The lambda, in [0, 1]: 1 is consistency alone, 0 progress alone.

        Raises:
            ValueError: A weight outside [0, 1].
        """
        if not 0 <= weight <= 1:
            raise ValueError(f"a weight lies in [0, 1], got {weight}")
        self._consistency, self._weight, self._progress = consistency, weight, ProgressReward()

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of the consistency reward."""
        return self._consistency.needs

    @property
    def lowest(self) -> float:
        """The lowest of both, mixed."""
        lowest = self._consistency.lowest
        return _mix(lowest, self._progress.lowest, self._weight) if self._weight else self._progress.lowest

    def measure(self, completions: Sequence[Completion], columns: Columns) -> list[CompletionScore]:
        """Score completions; what lacks a part that weighs anything is not measured.

        Raises:
            ValueError: Progress weighs something, and there is no column of it.
        """
        blank = [CompletionScore(None, (None,) * len(each.rollout.turns)) for each in completions]
        consistency = self._consistency.measure(completions, columns) if self._weight > 0 else blank
        progress = self._progress.of(completions, columns, self.__name__) if self._weight < 1 else blank
        return [self._both(a, b) for a, b in zip(consistency, progress, strict=True)]

    def _both(self, consistency: CompletionScore, progress: CompletionScore) -> CompletionScore:
        turns: tuple[float | None, ...] = ()
        if len(consistency.turns) == len(progress.turns):
            pairs = zip(consistency.turns, progress.turns, strict=True)
            turns = tuple(_mixed(a, b, self._weight) for a, b in pairs)
        return CompletionScore(
            _mixed(consistency.value, progress.value, self._weight), turns, {**progress.parts, **consistency.parts}
        )

    def close(self) -> None:
        """Close the consistency reward."""
        self._consistency.close()


def _mixed(consistency: float | None, progress: float | None, weight: float) -> float | None:
    """The weighted sum; a part of weight 0 need not be measured."""
    if weight == 1:
        return consistency
    if weight == 0:
        return progress
    return None if consistency is None or progress is None else _mix(consistency, progress, weight)


def _mix(consistency: float, progress: float, weight: float) -> float:
    return weight * consistency + (1 - weight) * progress


class ProgressFloor(AroundReward):
    """A reward that must be earned: a completion whose progress ends below the floor gets the lowest value.

    The lowest there can be where the reward knows it; else that of the batch here, less one.
    """

    def __init__(self, reward: Reward, floor: float) -> None:
        """Take the reward and the floor.

        Args:
            reward: What completions above the floor get.
            floor: Progress in (0, 1] that a completion must end with, such as that of the policy before training.

        Raises:
            ValueError: A floor outside (0, 1].
        """
        if not 0 < floor <= 1:
            raise ValueError(f"a floor of progress lies in (0, 1], got {floor}")
        super().__init__(reward)
        self._floor = floor

    def measure(self, completions: Sequence[Completion], columns: Columns) -> list[CompletionScore]:
        """Score completions; one whose progress is not known is not measured.

        Raises:
            ValueError: There is no column of progress.
        """
        curves = needed_curves(columns, len(completions), self.__name__)
        scores = self._reward.measure(completions, columns)
        bottom = self._bottom(scores)
        return [self._guarded(score, curve, bottom) for score, curve in zip(scores, curves, strict=True)]

    def _bottom(self, scores: Sequence[CompletionScore]) -> float:
        if math.isfinite(self.lowest):
            return self.lowest
        everyone, _ = everywhere([score.value for score in scores if score.value is not None])
        return min(everyone, default=0.0) - 1.0

    def _guarded(self, score: CompletionScore, curve: list[float] | None, bottom: float) -> CompletionScore:
        if curve is None:
            return CompletionScore(None, (None,) * len(score.turns), score.parts)
        below = curve[-1] < self._floor
        parts = {**score.parts, "below_floor": float(below)}
        if below:
            return CompletionScore(bottom, (bottom,) * len(score.turns), parts)
        return CompletionScore(score.value, score.turns, parts)


class ShuffledReward(AroundReward):
    """A reward dealt out among the siblings at random: the control that shows what training does without its signal.

    Any training of this kind sharpens a policy. What a reward does beyond that is its difference from this one, which
    has the same values in each group, on the wrong completions.
    """

    def __init__(self, reward: Reward, seed: int = 0) -> None:
        """Take the reward.

        Args:
            reward: What is dealt out.
            seed: Of the deals; each call is another.
        """
        super().__init__(reward)
        self._seed, self._calls = seed, 0

    def measure(self, completions: Sequence[Completion], columns: Columns) -> list[CompletionScore]:
        """Score completions, then deal values out within each group; every process deals alike.

        Turns get the mean of the dealt value: turns of another completion would not fit.
        """
        scores = self._reward.measure(completions, columns)
        state = columns.get("trainer_state")
        call = self._calls if state is None else int(state.global_step)
        self._calls += 1
        rng = np.random.default_rng([self._seed, call])
        own_rows = [(completion.key, score) for completion, score in zip(completions, scores, strict=True)]
        everyone, own = everywhere(own_rows)
        dealt = list(range(len(everyone)))
        for members in groups_of([key for key, _ in everyone]):
            for position, source in zip(members, rng.permutation(members).tolist(), strict=True):
                dealt[position] = source
        values = [everyone[source][1] for source in dealt][own]
        return [
            CompletionScore(value.value, (value.value,) * len(score.turns), score.parts)
            for value, score in zip(values, scores, strict=True)
        ]
