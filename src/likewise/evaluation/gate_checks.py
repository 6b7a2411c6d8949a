"""Gates that nobody can mean: out of their figure's range, against each other, or beyond what the runs can reach."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

from likewise.core.group import RolloutGroup
from likewise.evaluation.results import Evaluation
from likewise.metrics.divergence import largest_divergence
from likewise.scoring.score import ScoringOptions, largest_rsd

if TYPE_CHECKING:
    from likewise.evaluation.gate_rules import Gate, GateSettings

__all__ = ["Reach", "conflict", "out_of_range", "out_of_reach", "reach_of_evaluation", "reach_of_groups"]

SUMS: Final = ("rsd", "aligned_rsd")
"""Figures whose largest value the discount decides; all others lie in [0, 1]."""
BY_TURNS: Final = ("rsd", "rsd_normalised")
"""Figures whose largest value the turns of the runs decide."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How far the figures of a task can go: its recorded runs, and the largest RSD that their turns allow.

    `largest_rsd` is None where there are no two valid runs to compare.
    """

    task_id: str
    runs: int
    largest_rsd: float | None


def reach_of_groups(groups: Iterable[RolloutGroup], options: ScoringOptions) -> list[Reach]:
    """The reach of each group, before anything is judged."""
    return [
        Reach(each.task_id, len(each.rollouts), largest_rsd(each, options) if len(each.valid) > 1 else None)
        for each in groups
    ]


def reach_of_evaluation(evaluation: Evaluation) -> list[Reach]:
    """The reach of each task of an evaluation."""
    return [
        Reach(task.task_id, len(task.rollouts), task.rsd_largest if len(task.valid) > 1 else None)
        for task in evaluation.tasks
    ]


def out_of_range(gate: Gate, gamma: float | None = None) -> str | None:
    """Why a gate says nothing: no value of its figure fails it, or every one does; None where it says something.

    Args:
        gate: The gate; a state always says something.
        gamma: The discount, which limits RSD; without, RSD has no upper end.

    Returns:
        `'rsd_share > 1.5' can never fail: rsd_share lies between 0 and 1`.
    """
    if gate.state is not None:
        return None
    most = 1.0
    if gate.figure in SUMS:
        most = math.inf if gamma is None else largest_divergence(gamma)
    if gate.beyond(0.0) is not gate.beyond(most):  # a threshold: one end fails, the other does not
        return None
    how = "always fails" if gate.beyond(0.0) else "can never fail"
    between = "is at least 0" if most == math.inf else f"lies between 0 and {most:g}"
    return f"{gate.text!r} {how}: {gate.name} {between}"


def conflict(settings: GateSettings) -> str | None:
    """Why gates cannot be passed together; None where they can.

    One that fails above a limit and one that fails below a limit as high leave a single value at most.

    Returns:
        `'rsd > 0.5' and 'rsd < 0.5' cannot both be passed`, with the task where it is about one.
    """
    groups: list[tuple[str, Sequence[Gate]]] = [("", settings.gates), ("", settings.means)]
    groups += [(f" by task {task}", settings.of_task(task)[0]) for task in settings.tasks]
    for whose, gates in groups:
        for one, other in combinations(gates, 2):
            if (one.subject, one.end) != (other.subject, other.end) or None not in (one.state, other.state):
                continue
            above, below = (one, other) if one.operator.startswith(">") else (other, one)
            if above.operator.startswith(">") and below.operator.startswith("<") and above.limit <= below.limit:
                return f"{one.text!r} and {other.text!r} cannot both be passed{whose}: every value fails one of them"
    return None


def out_of_reach(settings: GateSettings, reach: Sequence[Reach], gamma: float) -> tuple[str | None, list[str]]:
    """Gates that these runs cannot fail however they differ, or that need more runs than any task has.

    Args:
        settings: The gates.
        reach: What each task allows.
        gamma: The discount.

    Returns:
        What is wrong with a gate for every task that it is about, or None; and a warning for each gate that some
        tasks, not all, cannot fail.
    """
    per_task: dict[Gate, list[Reach]] = {gate: list(reach) for gate in settings.means}
    for each in reach:
        for gate in settings.of_task(each.task_id)[0]:
            per_task.setdefault(gate, []).append(each)
    warnings: list[str] = []
    for gate, tasks in per_task.items():
        if gate.k and tasks and max(each.runs for each in tasks) < gate.k:
            most = max(each.runs for each in tasks)
            wanted = f"pass^{gate.k} needs {gate.k} runs of a task"
            return f"{gate.text!r}: {wanted}, and no task here has more than {most}; add runs, or lower k", warnings
        idle = list(_idle(gate, tasks, gamma))
        known = [each for each in tasks if each.largest_rsd is not None]
        if idle and len(idle) == len(known):
            return f"{gate.text!r} cannot fail here: {_why(gate, idle, gamma)}", warnings
        if idle and not gate.mean:
            some = f"{len(idle)} of {len(known)} tasks"
            warnings.append(f"{gate.text!r} cannot fail in {some}: {_why(gate, idle, gamma)}")
    return None, warnings


def _idle(gate: Gate, tasks: Sequence[Reach], gamma: float) -> Iterator[Reach]:
    """Tasks in which not even the largest RSD that their turns allow fails the gate."""
    if gate.figure not in BY_TURNS or not gate.operator.startswith(">"):
        return
    for each in tasks:
        if each.largest_rsd is not None and not gate.beyond(_most(gate, each.largest_rsd, gamma)):
            yield each


def _most(gate: Gate, largest: float, gamma: float) -> float:
    return largest if gate.figure == "rsd" else (1 - gamma) * largest


def _why(gate: Gate, idle: Sequence[Reach], gamma: float) -> str:
    most = max(_most(gate, each.largest_rsd or 0.0, gamma) for each in idle)
    return (
        f"runs of so few turns reach a {gate.figure} of {most:.3g} at most; "
        "rsd_share goes from 0 to 1 whatever the number of turns"
    )
