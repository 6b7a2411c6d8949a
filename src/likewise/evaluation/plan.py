"""How many runs and tasks a claim needs, before they are paid for; and which tasks need more runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from likewise.core.group import RolloutGroup
from likewise.evaluation.sides import FIGURES, Side, TaskFigures
from likewise.metrics.intervals import largest_class_p
from likewise.metrics.power import (
    runs_for_claim,
    runs_for_share,
    smallest_claim,
    tasks_for_difference,
    tasks_for_width,
)

__all__ = [
    "ASSUMED_RUN_SD",
    "ClaimPlan",
    "DetectPlan",
    "PassHatPlan",
    "Plan",
    "Spread",
    "StablePlan",
    "TopUp",
    "assumed_spread",
    "measured_spread",
    "plan_claim",
    "plan_detect",
    "plan_pass_hat",
    "plan_stable",
    "top_up",
]

RUNS: Final = (2, 3, 4, 5, 8, 10, 16, 30)
"""Runs a task for which a plan is shown."""
ASSUMED_RUN_SD: Final[Mapping[str, float]] = {"rsd": 0.83, "aligned_rsd": 0.72, "success_rate": 0.4}
"""Noise of one run where nothing was measured: that of gpt-4o on tau-bench airline (examples/rollouts/airline.json)."""
DISSENTING: Final = 4
"""Runs that do otherwise, up to which a plan for "stable" is shown."""


@dataclass(frozen=True, slots=True)
class Spread:
    """What a paired comparison of one figure is up against.

    Attributes:
        figure: The figure.
        run_sd: Noise of one run: the variance of a task's number with K runs is run_sd^2 / K.
        effect_sd: How much the change differs from task to task; None for as much as the change itself.
        source: Where the numbers are from.
    """

    figure: str
    run_sd: float
    effect_sd: float | None
    source: str


@dataclass(frozen=True, slots=True)
class DetectPlan:
    """Tasks that a comparison needs for each number of runs: rows of (runs, tasks, runs in all on both sides)."""

    spread: Spread
    difference: float
    effect_sd: float
    power: float
    rows: tuple[tuple[int, int | None, int | None], ...]

    @property
    def cheapest(self) -> tuple[int, int, int] | None:
        """The row with the fewest runs in all."""
        known = [(runs, tasks, total) for runs, tasks, total in self.rows if tasks is not None and total is not None]
        return min(known, key=lambda row: row[2], default=None)


@dataclass(frozen=True, slots=True)
class PassHatPlan:
    """Tasks that pass^k plus or minus `within` needs, with a spread over tasks of `sd`."""

    k: int
    within: float
    sd: float
    source: str
    tasks: int | None


@dataclass(frozen=True, slots=True)
class StablePlan:
    """Runs that show a task as stable, by how many of them do otherwise; and, from a report, what each task lacks.

    `tasks` maps a task to the further runs it needs if all of them end alike; None where over a thousand.
    """

    share: float
    rows: tuple[tuple[int, int | None], ...]
    tasks: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """Flawless trials for "fails at most this often", and what the trials at hand allow to claim."""

    rate: float | None
    trials: int | None
    at_hand: int | None
    smallest: float | None


@dataclass(frozen=True, slots=True)
class TopUp:
    """A task, its runs, how many valid ones are wanted, and how many more that takes."""

    task_id: str
    valid: int
    invalid: int
    wanted: int

    @property
    def missing(self) -> int:
        """Further valid runs."""
        return max(0, self.wanted - self.valid)


@dataclass(frozen=True, slots=True)
class Plan:
    """Answers to what was asked; the rest is None."""

    confidence: float
    detect: DetectPlan | None = None
    pass_hat: PassHatPlan | None = None
    stable: StablePlan | None = None
    claim: ClaimPlan | None = None
    top_up: tuple[TopUp, ...] | None = None


def assumed_spread(figure: str, run_sd: float | None = None, effect_sd: float | None = None) -> Spread:
    """The spread of a figure by the user's word, else as on a public benchmark.

    Raises:
        ValueError: A figure for which nothing is known, without the user's word.
    """
    if run_sd is None and figure not in ASSUMED_RUN_SD:
        raise ValueError(f"the noise of {figure} is known for no benchmark: say it, or measure it")
    source = "given" if run_sd is not None else "assumed, as for gpt-4o on tau-bench airline"
    return Spread(figure, ASSUMED_RUN_SD[figure] if run_sd is None else run_sd, effect_sd, source)


def measured_spread(side: Side, figure: str, effect_sd: float | None = None) -> Spread:
    """The noise of one run, from the standard errors of a report's tasks (each times its number of runs).

    Raises:
        ValueError: No task of the report has a standard error of this figure.
    """
    noises = [(FIGURES[figure].noise(task), task) for task in side.tasks.values()]
    known = [noise * _units(task, figure) for noise, task in noises if noise is not None]
    if not known:
        raise ValueError(f"{side.name} has no task with a standard error of {figure}: three runs a task show one")
    return Spread(figure, math.sqrt(sum(known) / len(known)), effect_sd, f"{side.name}, {len(known)} task(s)")


def _units(task: TaskFigures, figure: str) -> int:
    return len(task.outcomes) if figure == "success_rate" else task.valid


def plan_detect(
    spread: Spread,
    difference: float,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    runs: int | None = None,
    tasks: int | None = None,
) -> DetectPlan:
    """Runs and tasks with which `likewise compare` finds a mean difference.

    Args:
        spread: Noise of one run and how much the change differs between tasks.
        difference: The true mean difference to find, in the figure's unit, above 0.
        power: Probability of finding it.
        alpha: Level of the test.
        runs: Show only this number of runs a task and side.
        tasks: Show only rows that need no more tasks than these.

    Returns:
        A row for each number of runs.

    Raises:
        ValueError: A difference that is not positive, or a power or level outside (0, 1).
    """
    effect = difference if spread.effect_sd is None else spread.effect_sd
    rows: list[tuple[int, int | None, int | None]] = []
    for count in (runs,) if runs is not None else RUNS:
        sd = math.sqrt(effect**2 + 2 * spread.run_sd**2 / count)
        needed = tasks_for_difference(sd, difference, power, alpha)
        if tasks is None or (needed is not None and needed <= tasks):
            rows.append((count, needed, None if needed is None else 2 * count * needed))
    return DetectPlan(spread, difference, effect, power, tuple(rows))


def plan_pass_hat(
    k: int, within: float, *, rate: float | None = None, side: Side | None = None, confidence: float = 0.95
) -> PassHatPlan:
    """Tasks that an interval of pass^k of plus or minus `within` needs.

    The spread over tasks is that of a report, else the largest there can be at the pass^k expected (all tasks 0 or 1).

    Args:
        k: k of pass^k, at least 1.
        within: Half the width of the interval, above 0.
        rate: pass^k that is expected, in (0, 1); 0.5, the worst case, where None.
        side: A report whose tasks show the spread.
        confidence: Confidence of the interval.

    Raises:
        ValueError: A number out of range, or a report with fewer than two tasks of k outcomes.
    """
    if side is not None:
        values = [value for task in side.tasks.values() if not isinstance(value := task.pass_hat(k), str)]
        if len(values) < 2:
            raise ValueError(f"{side.name} has {len(values)} task(s) with {k} known outcomes: a spread needs two")
        sd, source = float(np.std(values, ddof=1)), f"{side.name}, {len(values)} task(s)"
    else:
        rate = 0.5 if rate is None else rate
        if not 0 < rate < 1:
            raise ValueError(f"an expected pass^k lies in (0, 1), got {rate}")
        sd, source = math.sqrt(rate * (1 - rate)), f"the largest possible at pass^{k} = {rate:g}"
    return PassHatPlan(k, within, sd, source, tasks_for_width(sd, within, confidence))


def plan_stable(share: float, confidence: float = 0.95, side: Side | None = None) -> StablePlan:
    """Runs that show that a share of a task's runs end alike (as `gates.task_state` decides "stable").

    Args:
        share: The share to show, in (0.5, 1).
        confidence: Confidence of the claim.
        side: A report whose tasks are gone through: how many further runs each needs.

    Raises:
        ValueError: A share outside (0.5, 1).
    """
    rows = tuple((d, runs_for_share(share, d, confidence)) for d in range(DISSENTING + 1))
    lacking = {}
    for task in side.tasks.values() if side is not None else ():
        if task.alike is not None:
            lacking[task.task_id] = _further(task.alike[0], task.alike[1], share, 1 - confidence)
    return StablePlan(share, rows, lacking)


def _further(alike: int, runs: int, share: float, alpha: float, most: int = 1000) -> int | None:
    """Fewest further runs, all ending alike, after which a task is stable."""
    for more in range(most + 1):
        c, n = alike + more, runs + more
        if largest_class_p(c, n, share) <= alpha:
            return more
    return None


def plan_claim(rate: float | None, at_hand: int | None, confidence: float = 0.95) -> ClaimPlan:
    """The finite-sample rule: n flawless trials show a failure rate of at most 1 - (1 - confidence)^(1/n).

    Args:
        rate: Failure rate to claim; None to ask only what the trials at hand allow.
        at_hand: Trials at hand; None if none are.
        confidence: Confidence of the claim.

    Raises:
        ValueError: A rate outside (0, 1), or fewer than one trial.
    """
    return ClaimPlan(
        rate,
        None if rate is None else runs_for_claim(rate, confidence),
        at_hand,
        None if at_hand is None else smallest_claim(at_hand, confidence),
    )


def top_up(groups: Iterable[RolloutGroup], runs: int | None = None) -> tuple[TopUp, ...]:
    """How many more valid runs each task needs to have `runs`; as many as the best task has, where None."""
    counted: Sequence[tuple[str, int, int]] = [
        (group.task_id, len(group.valid), len(group.rollouts) - len(group.valid)) for group in groups
    ]
    wanted = max((valid for _, valid, _ in counted), default=0) if runs is None else runs
    return tuple(TopUp(task, valid, invalid, wanted) for task, valid, invalid in counted)
