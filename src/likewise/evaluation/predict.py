"""Does consistency predict success? Each number of a task against how often the task fails, beside run length.

Correlation across tasks: a number that goes with failing does not say that the runs of one task fail where they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from jaxtyping import Float64

from likewise.core.errors import GroupError
from likewise.core.estimate import Estimate
from likewise.evaluation.task_numbers import LENGTH, NUMBERS, TaskNumbers
from likewise.metrics.association import (
    Counts,
    auroc_p,
    bootstrap_association,
    correlation_p,
    failure_auroc,
    partial_correlation,
    partial_p,
    rank_correlation,
)
from likewise.metrics.testing import holm

__all__ = ["FEWEST", "Prediction", "Predictor", "predict"]

FEWEST: Final = 3
"""Tasks below which nothing is correlated."""
_FLAT: Final = "the number or the failure rate is the same for all tasks"
_NO_PAIR: Final = "no failed and successful run of two tasks to compare"
_HELD: Final = "run length says all of it, or one of the three is the same for all tasks"
DIGITS: Final = 9
"""Decimals of a number that count: sums in another order differ in later ones."""


@dataclass(frozen=True, slots=True)
class Predictor:
    """One number of tasks against their failure.

    Attributes:
        name: Its key.
        title: Its name for readers.
        tasks: Tasks that have it, and an outcome.
        correlation: Rank correlation with the failure rate, in [-1, 1].
        correlation_p: Its permutation p-value.
        auroc: Probability that the failed of two runs is of the task with the larger number, in [0, 1].
        auroc_p: Its permutation p-value.
        auroc_p_adjusted: The same adjusted by Holm over all numbers but the rival.
        beside_length: Its AUROC minus that of run length, on the same tasks; None for run length itself.
        partial: Rank correlation with the failure rate where run length is held; None for run length itself.
        partial_p: Its permutation p-value.
        partial_p_adjusted: The same adjusted by Holm over all numbers.
        left_out: Tasks without the number.
    """

    name: str
    title: str
    tasks: int
    correlation: Estimate
    correlation_p: float | None
    auroc: Estimate
    auroc_p: float | None
    auroc_p_adjusted: float | None
    beside_length: Estimate | None
    partial: Estimate | None
    partial_p: float | None
    partial_p_adjusted: float | None
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """All numbers, the best AUROC first, and what they rest on.

    Attributes:
        tasks: Tasks with an outcome, as they were measured.
        predictors: The numbers, run length among them.
        failures: Failed runs.
        successes: Successful runs.
        without_outcome: Tasks without any known outcome, which say nothing here.
        confidence: Of the intervals.
        notes: What a reader should know.
    """

    tasks: tuple[TaskNumbers, ...]
    predictors: tuple[Predictor, ...]
    failures: int
    successes: int
    without_outcome: tuple[str, ...]
    confidence: float
    notes: tuple[str, ...] = ()

    @property
    def length(self) -> Predictor:
        """The rival."""
        return next(each for each in self.predictors if each.name == LENGTH)


def predict(
    tasks: Sequence[TaskNumbers],
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    permutations: int = 10_000,
    seed: int = 0,
    notes: Sequence[str] = (),
) -> Prediction:
    """Correlate each number of tasks with their failure.

    Args:
        tasks: What tasks are measured by; those without an outcome are left out and named.
        confidence: Share of intervals that should hold the true value, in (0, 1).
        resamples: Bootstrap resamples over tasks.
        permutations: Reassignments of outcomes to tasks.
        seed: Seed of both.
        notes: What else a reader should know, carried into the result.

    Raises:
        GroupError: Fewer than three tasks have an outcome, or all runs end alike.
    """
    known = tuple(task for task in tasks if task.failures + task.successes)
    failures, successes = sum(task.failures for task in known), sum(task.successes for task in known)
    if len(known) < FEWEST:
        raise GroupError(f"{len(known)} task(s) have a run with a known outcome; to correlate takes at least {FEWEST}")
    if not failures or not successes:
        raise GroupError(f"all {failures + successes} runs {'failed' if failures else 'succeeded'}: nothing to predict")
    making = _Making(known, confidence, resamples, permutations, seed)
    found = {name: making.predictor(name) for name in NUMBERS}
    whole = _adjusted({name: each.auroc_p for name, each in found.items() if name != LENGTH})
    held = _adjusted({name: each.partial_p for name, each in found.items()})
    predictors = [
        replace(each, auroc_p_adjusted=whole.get(name), partial_p_adjusted=held.get(name))
        for name, each in found.items()
    ]
    predictors.sort(key=lambda each: 1.0 if each.auroc.value is None else -each.auroc.value)
    without = tuple(task.task_id for task in tasks if not task.failures + task.successes)
    return Prediction(known, tuple(predictors), failures, successes, without, confidence, tuple(notes))


def _adjusted(p_values: Mapping[str, float | None]) -> dict[str, float]:
    """Holm's p-values of those that there are."""
    known = {name: p for name, p in p_values.items() if p is not None}
    adjusted = holm(np.array(list(known.values()), dtype=np.float64))
    return dict(zip(known, adjusted.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class _Making:
    """The tasks with an outcome, and how intervals and p-values are made."""

    tasks: Sequence[TaskNumbers]
    confidence: float
    resamples: int
    permutations: int
    seed: int

    def predictor(self, name: str) -> Predictor:
        """One number, on the tasks that have it and a length."""
        own = [task for task in self.tasks if task.values[name] is not None and task.values[LENGTH] is not None]
        x, length = _column(own, name), _column(own, LENGTH)
        failed = np.array([task.failures for task in own], dtype=np.int64)
        solved = np.array([task.successes for task in own], dtype=np.int64)
        rate = failed / np.maximum(failed + solved, 1)
        rival, few, draws = name == LENGTH, len(own) < FEWEST, (self.permutations, self.seed)

        def above_length(counts: Counts) -> Float64[np.ndarray, " draws"]:
            own_auroc, rivals = (failure_auroc(values, failed, solved, counts) for values in (x, length))
            return np.asarray(own_auroc - rivals, dtype=np.float64)

        return Predictor(
            name=name,
            title=NUMBERS[name],
            tasks=len(own),
            correlation=self.estimate(lambda counts: rank_correlation(x, rate, counts), len(own), -1.0, _FLAT),
            correlation_p=None if few else correlation_p(x, rate, *draws),
            auroc=self.estimate(lambda counts: failure_auroc(x, failed, solved, counts), len(own), 0.0, _NO_PAIR),
            auroc_p=None if few else auroc_p(x, failed, solved, *draws),
            auroc_p_adjusted=None,
            beside_length=None if rival else self.estimate(above_length, len(own), -1.0, _NO_PAIR),
            partial=None
            if rival
            else self.estimate(lambda counts: partial_correlation(x, rate, length, counts), len(own), -1.0, _HELD),
            partial_p=None if rival or few else partial_p(x, rate, length, *draws),
            partial_p_adjusted=None,
            left_out=tuple(task.task_id for task in self.tasks if task.values[name] is None),
        )

    def estimate(
        self, statistic: Callable[[Counts], Float64[np.ndarray, " draws"]], tasks: int, lowest: float, undefined: str
    ) -> Estimate:
        """A statistic with its interval; all of them are at most 1."""
        if tasks < FEWEST:
            return Estimate.undefined(f"{tasks} task(s) have it; to correlate takes at least {FEWEST}", n=tasks)
        return bootstrap_association(
            statistic, tasks, (lowest, 1.0), undefined, self.confidence, self.resamples, self.seed
        )


def _column(tasks: Sequence[TaskNumbers], name: str) -> Float64[np.ndarray, " tasks"]:
    """A number of all tasks; what differs by rounding alone ties."""
    return np.array([round(float(task.values[name] or 0), DIGITS) for task in tasks], dtype=np.float64)
