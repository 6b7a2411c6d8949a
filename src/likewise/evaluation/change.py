"""What comparing two versions gives. Plain data and the verdicts; reports read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from likewise.core.estimate import Estimate
from likewise.evaluation.sides import Scores, TaskFigures
from likewise.metrics.testing import TwoVersions

__all__ = ["Change", "Comparison", "Difference", "Needed", "TaskChange"]


class Change(StrEnum):
    """The three verdicts."""

    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Needed:
    """What would decide, were the true difference the one seen.

    Attributes:
        runs: Further runs of each task on each side; None where runs alone would not do, or it is not known.
        tasks: Further tasks with as many runs as now; None above a million, or where no difference is seen.
        reason: Why `runs` is missing; None where it is there.
    """

    runs: int | None
    tasks: int | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure on both sides, as means over the tasks that have it on both.

    Attributes:
        figure: Name of the figure.
        title: Its name for readers.
        lower_is_better: Which way is better.
        share: Whether it reads as a percentage.
        base: Mean of the base.
        candidate: Mean of the candidate.
        difference: Candidate minus base, with its interval.
        p_value: Two-sided, by flipping signs; None for fewer tasks than can decide.
        p_reason: Why there is no p-value; None where there is one.
        tasks: Tasks that have the figure on both sides.
        left_out: Shared tasks that do not, and why.
        detectable: True difference that this comparison would find with the power asked for.
        needed: What would decide.
        p_adjusted: p-value after Holm's correction within its family.
        change: The verdict.
    """

    figure: str
    title: str
    lower_is_better: bool
    share: bool
    base: Estimate
    candidate: Estimate
    difference: Estimate
    p_value: float | None
    p_reason: str | None
    tasks: int
    left_out: Mapping[str, str]
    detectable: float | None
    needed: Needed
    p_adjusted: float | None = None
    change: Change = Change.UNDECIDED

    def called(self, p_adjusted: float | None, alpha: float) -> Difference:
        """The same with its adjusted p-value and verdict.

        Called where the p-value is below alpha and the interval does not hold 0; where all tasks change alike there is
        no interval to resample, and the p-value decides alone.
        """
        value, low, high = self.difference.value, self.difference.low, self.difference.high
        change = Change.UNDECIDED
        if p_adjusted is not None and p_adjusted < alpha and value is not None:
            if (value if low is None else low) > 0:
                change = Change.WORSE if self.lower_is_better else Change.BETTER
            elif (value if high is None else high) < 0:
                change = Change.BETTER if self.lower_is_better else Change.WORSE
        return replace(self, p_adjusted=p_adjusted, change=change)


@dataclass(frozen=True, slots=True)
class TaskChange:
    """One task on both sides. p-values are adjusted over tasks (Benjamini and Hochberg).

    Attributes:
        task_id: The task.
        base: Its figures on the base's side.
        candidate: Its figures on the candidate's side.
        runs: Comparison of the runs themselves; None where a side was read from a report.
        success_p: Fisher's exact test of success, not adjusted; None without outcomes on both sides.
        rsd_p_adjusted: Of the difference in RSD.
        success_p_adjusted: Of the difference in success.
        shift_p_adjusted: Of the two versions acting otherwise, however consistently.
        rsd: Verdict on consistency.
        success: Verdict on success.
        acts_otherwise: Whether the candidate acts otherwise than the base, beyond how much each varies.
    """

    task_id: str
    base: TaskFigures
    candidate: TaskFigures
    runs: TwoVersions | None
    success_p: float | None
    rsd_p_adjusted: float | None
    success_p_adjusted: float | None
    shift_p_adjusted: float | None
    rsd: Change
    success: Change
    acts_otherwise: bool

    @classmethod
    def made(
        cls,
        base: TaskFigures,
        candidate: TaskFigures,
        runs: TwoVersions | None,
        success_p: float | None,
        adjusted: tuple[float | None, float | None, float | None],
        alpha: float,
    ) -> TaskChange:
        """With its verdicts; `adjusted` holds the p-values of RSD, success and shift."""
        rsd_p, success_adjusted, shift_p = adjusted
        spread = runs.difference if runs is not None and runs.difference is not None else 0.0
        gain = _mean(candidate.outcomes) - _mean(base.outcomes)
        return cls(
            base.task_id,
            base,
            candidate,
            runs,
            success_p,
            rsd_p,
            success_adjusted,
            shift_p,
            _verdict(-spread, rsd_p, alpha),
            _verdict(gain, success_adjusted, alpha),
            shift_p is not None and shift_p < alpha,
        )

    @property
    def rsd_difference(self) -> float | None:
        """RSD of the candidate minus that of the base."""
        one, other = self.base.rsd.value, self.candidate.rsd.value
        return None if one is None or other is None else other - one


def _mean(outcomes: tuple[bool, ...]) -> float:
    return sum(outcomes) / len(outcomes) if outcomes else 0.0


def _verdict(gain: float, p_adjusted: float | None, alpha: float) -> Change:
    if p_adjusted is None or p_adjusted >= alpha or gain == 0:
        return Change.UNDECIDED
    return Change.BETTER if gain > 0 else Change.WORSE


@dataclass(frozen=True, slots=True)
class Comparison:
    """The whole comparison; `tasks` are the shared ones, in order of the base.

    Attributes:
        base: Name of the base.
        candidate: Name of the candidate.
        signature: How the numbers of both were made.
        verdict: Worse if a deciding figure is worse, else better if one is better, else undecided.
        deciding: Figures that decide.
        k: k of pass^k.
        scores: What the coefficient of variation is taken of.
        differences: All figures, in a fixed order.
        tasks: Task by task.
        only_base: Tasks that the candidate lacks.
        only_candidate: Tasks that the base lacks.
        warnings: What a reader should know.
        confidence: 1 minus the level of the tests.
        power: Power of `detectable` and `needed`.
    """

    base: str
    candidate: str
    signature: Mapping[str, Any]
    verdict: Change
    deciding: tuple[str, ...]
    k: int
    scores: Scores
    differences: tuple[Difference, ...]
    tasks: tuple[TaskChange, ...]
    only_base: tuple[str, ...]
    only_candidate: tuple[str, ...]
    warnings: tuple[str, ...]
    confidence: float
    power: float
