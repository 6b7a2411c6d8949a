"""What may be claimed of a learned metric: from runs of tasks that it has not seen.

A claim speaks of run pairs: from the states of a new task that the threshold lets through, what share of the pairs of
runs diverges by more than delta. Pairs whose future was cut count as too far apart unless they cannot be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from likewise.core.errors import GroupError
from likewise.evaluation.measured_tasks import MeasuredTask, MeasuredTasks, task_digest
from likewise.learned.calibrated import Calibration
from likewise.learned.model import RSDModel
from likewise.metrics.calibration import conformal_margin, controlled_threshold, isotonic
from likewise.metrics.divergence import largest_divergence

__all__ = ["StateTable", "calibrate", "futures", "state_table"]

KNOTS = 200
"""Scores at which the correction is tabled."""


class StateTable(NamedTuple):
    """One row for each state of held-out tasks.

    Attributes:
        task: Number of its task.
        run: Number of its run within the task.
        turn: Its turn.
        score: What the model says.
        measured: Mean divergence of its run from the other runs from this turn on (the lower edge where runs were cut).
        bad: Share of those runs that diverge by more than delta, or may.
    """

    task: Int64[np.ndarray, " states"]
    run: Int64[np.ndarray, " states"]
    turn: Int64[np.ndarray, " states"]
    score: Float64[np.ndarray, " states"]
    measured: Float64[np.ndarray, " states"]
    bad: Float64[np.ndarray, " states"]


def futures(
    task: MeasuredTask, gamma: float
) -> tuple[Float64[np.ndarray, "pairs turns"], Float64[np.ndarray, "pairs turns"]]:
    """The divergence of each pair from each turn on: what was measured, and the most it may be."""
    distance, largest = task.distance, largest_divergence(gamma)
    low, high = np.zeros(distance.shape), np.zeros(distance.shape)
    cut = np.array(task.group.cut)
    i, j = np.array(task.group.pairs).T
    measured, possible = np.zeros(len(distance)), np.where(cut[i] | cut[j], largest, 0.0)
    for t in reversed(range(distance.shape[1])):
        unknown = np.isnan(distance[:, t])
        measured = np.where(unknown, 0.0, distance[:, t]) + gamma * measured
        possible = np.where(unknown, 1.0, distance[:, t]) + gamma * possible
        low[:, t], high[:, t] = measured, np.minimum(possible, largest)
    return low, high


def state_table(model: RSDModel, tasks: MeasuredTasks, delta: float) -> StateTable:
    """Score and measure each state that has another run beside it.

    Args:
        model: Gives the scores.
        tasks: Measured with the judge and the length policy of the model.
        delta: Divergence that is too much.
    """
    rows: list[tuple[int, int, int, float, float, float]] = []
    for number, task in enumerate(tasks.tasks):
        low, high = futures(task, model.facts["gamma"])
        lengths, pairs = np.array(task.group.lengths), np.array(task.group.pairs)
        model.states.prepare(task.group.valid)
        for run, rollout in enumerate(task.group.valid):
            scores = model.score_turns(rollout)
            mine = (pairs == run).any(axis=1)
            for turn in range(len(rollout.turns)):
                beside = mine & (lengths[pairs].min(axis=1) > turn)
                if beside.any():
                    bad = float((high[beside, turn] > delta + 1e-9).mean())
                    rows.append((number, run, turn, scores[turn].value, float(low[beside, turn].mean()), bad))
    columns = list(zip(*rows, strict=True))
    whole = [np.array(column, dtype=np.int64) for column in columns[:3]]
    return StateTable(*whole, *(np.array(column, dtype=np.float64) for column in columns[3:]))


def calibrate(
    model: RSDModel,
    tasks: MeasuredTasks,
    *,
    delta: float,
    at_most: float,
    confidence: float | None = 0.95,
) -> Calibration:
    """Find threshold, margin and correction on tasks that training did not see.

    Args:
        model: The model to calibrate.
        tasks: Held-out tasks; those that training saw are refused.
        delta: Divergence of two runs that is too much.
        at_most: Share of run pairs that may be let through and diverge by more, in (0, 1).
        confidence: In (0, 1); None for a claim on average (conformal risk control).

    Returns:
        The calibration; where the claim cannot be kept it has no threshold and the reason.

    Raises:
        GroupError: A task was trained on, or judge or rules are others than the model's.
        ValueError: A number outside its range.
    """
    seen = set(model.facts["seen_tasks"])
    known = [task.group.task_id for task in tasks.tasks if task_digest(task.group.task_id) in seen]
    if known:
        raise GroupError(
            f"{len(known)} of {len(tasks.tasks)} task(s) were trained on, {known[0]!r} among them; a claim needs tasks "
            "that training did not see"
        )
    for name, found in (("judge", tasks.judge_id), ("rules", tasks.rules_id)):
        if model.facts[name] != found:
            raise GroupError(
                f"the model was trained with {name} {model.facts[name]}; these runs were measured with {found}"
            )
    table = state_table(model, tasks, delta)
    _, numbered = np.unique(table.task, return_inverse=True)
    threshold = controlled_threshold(numbered, table.score, table.bad, at_most, confidence)
    misses = np.array([(table.measured - table.score)[numbered == k].max() for k in range(numbered.max() + 1)])
    knots, corrected = isotonic(table.score, table.measured)
    if len(knots) > KNOTS:
        kept = np.unique(np.linspace(0, len(knots) - 1, KNOTS).astype(int))
        knots, corrected = knots[kept], corrected[kept]
    return Calibration(
        delta=delta,
        at_most=at_most,
        confidence=confidence,
        tasks=threshold.tasks,
        threshold=threshold.value,
        reason=threshold.reason,
        limit=threshold.limit,
        let_through=threshold.let_through,
        margin=conformal_margin(misses, 0.95 if confidence is None else confidence),
        knots=tuple(knots.tolist()),
        corrected=tuple(corrected.tolist()),
    )
