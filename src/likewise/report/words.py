"""What all faces of a report say alike: the order of tasks, the words for numbers, the reading in one sentence each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum

from likewise.core.estimate import Estimate
from likewise.core.rollout import Excluded, Rollout, StopReason
from likewise.evaluation.results import Evaluation
from likewise.metrics.bounds import Bound
from likewise.report.text import middle, one_line
from likewise.scoring.results import Fork, ForkCause, ForkKind, GroupScore

__all__ = [
    "CONSISTENT_BELOW",
    "FORK_KINDS",
    "RIGHT_FROM",
    "Quadrant",
    "bound_sentence",
    "counted",
    "fork_cause",
    "interval",
    "largest_k",
    "left_out",
    "number",
    "outcome",
    "pass_hat",
    "percent",
    "quadrant",
    "readings",
    "reasons",
    "rsd_limit",
    "worst_first",
]

CONSISTENT_BELOW = 0.25
"""Normalised RSD below which a task is called consistent. A line to read by, not a theorem; every face states it."""
RIGHT_FROM = 0.5
"""Success rate from which a task is called right."""


class Quadrant(StrEnum):
    """Where a task stands: consistency and correctness side by side."""

    RIGHT = "consistent and right"
    WRONG = "consistent and wrong"
    INCONSISTENT = "inconsistent"
    UNKNOWN = "not placed"
    """Divergence or success is not known."""


FORK_KINDS = {
    ForkKind.TOOL: "other tools, or a tool against words",
    ForkKind.ARGUMENT: "the same tools with other arguments",
    ForkKind.CLAIM: "words that do not mean the same",
    ForkKind.ORDER: "the same actions in another order",
    ForkKind.STOPPED: "one run had ended",
}

_CAUSES = {
    ForkCause.AGENT: "runs that had seen the same acted differently",
    ForkCause.ENVIRONMENT: "the runs had already seen something different",
}

_BOUNDS = {
    "trajectory_agreement": "The probability that two runs diverge by √RSD or more in total",
    "immediate_contradiction": "The probability that two runs contradict each other in their first action",
    "dominant_class": "The share of all runs in the largest class of equivalent first actions",
    "dominant_class_sharp": "The same share by the sharper form",
}


def worst_first(tasks: Iterable[GroupScore]) -> list[GroupScore]:
    """Tasks by falling RSD; those without one last, in order of the file."""
    return sorted(tasks, key=lambda task: math.inf if task.rsd.value is None else -task.rsd.value)


def quadrant(task: GroupScore) -> Quadrant:
    """Where a task stands; UNKNOWN where either number is undefined."""
    divergence, success = task.rsd_normalised.value, task.success_rate.value
    if divergence is not None and divergence >= CONSISTENT_BELOW:
        return Quadrant.INCONSISTENT
    if divergence is None or success is None:
        return Quadrant.UNKNOWN
    return Quadrant.RIGHT if success >= RIGHT_FROM else Quadrant.WRONG


def rsd_limit(gamma: float) -> float | None:
    """Largest possible RSD, 1/(1-gamma); None where there is none."""
    return 1 / (1 - gamma) if gamma < 1 else None


def number(value: float | None, digits: int = 2) -> str:
    """A number with fixed digits; a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """A share as a whole percentage that never rounds a difference from 0 or 1 away."""
    if value is None:
        return "–"
    if 0 < value < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= value < 1 else f"{value:.0%}"


def interval(estimate: Estimate, *, share: bool = False) -> str:
    """`0.91 to 1.32`, or nothing where there is no interval."""
    if estimate.low is None or estimate.high is None:
        return ""
    low, high = (percent(end) if share else number(end) for end in (estimate.low, estimate.high))
    return f"{low.removesuffix('%')} to {high}"


def outcome(run: Rollout) -> str:
    """How a run came out, in one or two words."""
    if run.stop is StopReason.INVALID:
        return "invalid"
    result = {True: "success", False: "fail", None: "outcome unknown"}[run.success]
    return f"cut, {result}" if run.stop is StopReason.CUT else result


def fork_cause(fork: Fork) -> str:
    """Who made the runs part, in plain words."""
    return f"{fork.cause.value}: {_CAUSES[fork.cause]}"


def bound_sentence(name: str, bound: Bound) -> str:
    """A theorem's bound in plain words: what is limited, to what, from what; or why it says nothing."""
    what = _BOUNDS.get(name) or one_line(bound.name, 200)
    if bound.value is None:
        return f"{what}: nothing can be said ({one_line(bound.reason or 'no reason given', 200)})."
    return f"{what} is {bound.direction.value} {number(bound.value)} (from the {bound.basis.value})."


def largest_k(evaluation: Evaluation) -> int | None:
    """Largest k with a defined pass^k over the tasks."""
    return max((k for k, estimate in evaluation.summary.pass_hat_k.items() if estimate.defined), default=None)


def pass_hat(task: GroupScore, k: int) -> float | None:
    """Unbiased pass^k of one task: C(successes, k) / C(n, k); None with fewer than k known outcomes."""
    outcomes = [run.success for run in task.valid if run.success is not None]
    return math.comb(sum(outcomes), k) / math.comb(len(outcomes), k) if len(outcomes) >= k else None


def left_out(evaluation: Evaluation) -> list[Excluded]:
    """All that was not scored: records that never became rollouts, then the invalid rollouts of the tasks."""
    invalid = [
        Excluded(task.task_id, run.run_id, run.problem or "invalid", run.path)
        for task in evaluation.tasks
        for run in task.rollouts
        if not run.valid
    ]
    return [*evaluation.excluded, *invalid]


def reasons(records: Iterable[Excluded]) -> list[tuple[str, int]]:
    """Reasons with how often each occurs, most frequent first."""
    return Counter(one_line(record.reason, 200) for record in records).most_common()


def counted(count: int, noun: str) -> str:
    """`1 task`, `3 tasks`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _named(tasks: Sequence[GroupScore], limit: int = 6) -> str:
    names = ", ".join(middle(task.task_id, 60) for task in tasks[:limit])
    return names + (f" and {len(tasks) - limit} more" if len(tasks) > limit else "")


def readings(evaluation: Evaluation) -> list[str]:
    """What the numbers say, in plain sentences, the one to act on first."""
    tasks = worst_first(evaluation.tasks)
    placed = {place: [task for task in tasks if quadrant(task) is place] for place in Quadrant}
    lines = []
    for place in (Quadrant.WRONG, Quadrant.INCONSISTENT, Quadrant.RIGHT):
        if members := placed[place]:
            verb = "is" if len(members) == 1 else "are"
            lines.append(f"{counted(len(members), 'task')} {verb} {place.value}: {_named(members)}.")
    causes = evaluation.summary.forks_by_cause
    if total := sum(causes.values()):
        agent = causes.get(ForkCause.AGENT.value, 0)
        cause = f"in {agent} of them the agent had seen the same and acted differently"
        lines.append(f"Runs part in {counted(total, 'task')}; {cause}.")
    if members := placed[Quadrant.UNKNOWN]:
        lines.append(
            f"{counted(len(members), 'task')} could not be placed (divergence or success unknown): {_named(members)}."
        )
    return lines
