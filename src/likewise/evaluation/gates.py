"""Which tasks a build may not pass with: thresholds on figures, and the three states stable, flaky and undecided.

A gate says when to fail: `rsd > 1.5`, `pass^4 < 0.8`, `rsd.low > 1.5` (only when the interval leaves no doubt),
`mean success_rate < 0.7` (over tasks), `flaky`. It is checked for each task unless it says `mean`.

State of a task: do its runs end alike? With c of n runs in the largest class and s the share wanted: *stable* where a
true share below s would give c or more with probability 0.05 at most (largest of all classes, so with both s and
1 - s), *flaky* where a true share of s or more would give c or fewer with 0.05 at most (Clopper and Pearson's upper
limit, which is a quantile of a beta distribution), else *undecided*. One of the two claims at most can be wrong, so a
state other than undecided is wrong with probability 0.05 at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from likewise.core.estimate import Estimate
from likewise.core.listing import some_of
from likewise.evaluation.gate_rules import Gate, GateSettings, StateBasis, StateRule
from likewise.evaluation.results import Evaluation
from likewise.metrics.intervals import largest_class_p, lower_share_limit
from likewise.scoring.results import GroupScore

__all__ = ["GateFailure", "GateReport", "State", "TaskState", "check_gates", "task_state"]

NAMED = 5
"""Tasks that one sentence names."""


class State(StrEnum):
    """Whether the runs of a task end alike."""

    STABLE = "stable"
    FLAKY = "flaky"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class TaskState:
    """The state of a task and what it rests on.

    Attributes:
        task_id: The task.
        state: Stable, flaky or undecided.
        basis: What the runs were put into classes by; None where nothing could be.
        alike: Runs in the largest class.
        runs: Runs in classes.
        low: Lower limit of the true share (one-sided); None without runs.
        high: Upper limit of the true share (one-sided); None without runs.
        share: The share wanted.
        reason: Why nothing can be said; None where something can.
    """

    task_id: str
    state: State
    basis: StateBasis | None
    alike: int
    runs: int
    low: float | None
    high: float | None
    share: float
    reason: str | None = None

    def sentence(self) -> str:
        """`3 of 8 runs share the commonest answer (true share at most 0.71; wanted 0.8)`."""
        if self.low is None or self.high is None or self.basis is None:
            return self.reason or "nothing is known"
        limits = {
            State.STABLE: f"at least {self.low:.2f}",
            State.FLAKY: f"at most {self.high:.2f}",
            State.UNDECIDED: f"between {self.low:.2f} and {self.high:.2f}",
        }[self.state]
        what = "answer" if self.basis is StateBasis.ANSWERS else "outcome"
        shared = f"{self.alike} of {self.runs} runs share the commonest {what}"
        return f"{shared} (true share {limits}; wanted {self.share:g})"


@dataclass(frozen=True, slots=True)
class GateFailure:
    """A gate that a task, or the mean over tasks (`task_id` None), did not pass."""

    task_id: str | None
    gate: str
    measured: bool
    what: str
    """`rsd 2.31 > 1.5`, or what was not measured and why."""

    def sentence(self) -> str:
        """`task airline-12: rsd 2.31 > 1.5`."""
        return ("mean over tasks" if self.task_id is None else f"task {self.task_id}") + f": {self.what}"


@dataclass(frozen=True, slots=True)
class GateReport:
    """States and failures; `checked` counts gates times tasks, `unknown` holds tasks that only the settings name."""

    states: tuple[TaskState, ...]
    failures: tuple[GateFailure, ...]
    checked: int
    unknown: tuple[str, ...]

    @property
    def counts(self) -> dict[State, int]:
        """How many tasks are in each state."""
        found = Counter(state.state for state in self.states)
        return {state: found[state] for state in State}

    def of_task(self, task_id: str) -> list[GateFailure]:
        """Failures of one task."""
        return [failure for failure in self.failures if failure.task_id == task_id]

    def as_json(self) -> dict[str, object]:
        """`{checked, states, failures, unknown_tasks}`, part of a JSON report."""
        return {
            "checked": self.checked,
            "states": [
                {
                    "task_id": each.task_id,
                    "state": each.state.value,
                    "basis": None if each.basis is None else each.basis.value,
                    "alike": each.alike,
                    "runs": each.runs,
                    "low": each.low,
                    "high": each.high,
                    "share": each.share,
                    "reason": each.reason,
                }
                for each in self.states
            ],
            "failures": [
                {"task_id": each.task_id, "gate": each.gate, "measured": each.measured, "what": each.what}
                for each in self.failures
            ],
            "unknown_tasks": list(self.unknown),
        }


def task_state(score: GroupScore, rule: StateRule) -> TaskState:
    """Whether the runs of a task end alike; see the head of this module.

    Runs are put into classes by their final answers where at least two gave one, else by their outcome; the rule can
    demand one of the two. Runs without an answer, or without an outcome, are in no class.
    """
    answers = [label for label in score.answer_classes if label >= 0]
    outcomes = [int(run.success) for run in score.valid if run.success is not None]
    basis = rule.basis
    if basis is StateBasis.AUTO:
        basis = StateBasis.ANSWERS if len(answers) > 1 else StateBasis.OUTCOME
    labels = answers if basis is StateBasis.ANSWERS else outcomes
    if len(labels) < 2:
        what = "a final answer that was judged" if basis is StateBasis.ANSWERS else "a known outcome"
        reason = f"{len(labels)} run(s) with {what}: alike needs at least two"
        return TaskState(score.task_id, State.UNDECIDED, None, 0, len(labels), None, None, rule.share, reason)
    alike, n, alpha = max(Counter(labels).values()), len(labels), 1 - rule.confidence
    low, high = lower_share_limit(alike, n, alpha), 1 - lower_share_limit(n - alike, n, alpha)
    if largest_class_p(alike, n, rule.share) <= alpha:
        state = State.STABLE
    else:
        state = State.FLAKY if high < rule.share else State.UNDECIDED
    return TaskState(score.task_id, state, basis, alike, n, low, high, rule.share)


def check_gates(evaluation: Evaluation, settings: GateSettings) -> GateReport:
    """Check every gate for every task, and the means.

    A figure that was not measured fails its gate, unless the settings let it pass: a threshold nobody could check must
    not look like one that was met.

    Args:
        evaluation: What was measured.
        settings: Gates, by `gate_rules.gate_settings`.

    Returns:
        States of all tasks, and failures in order of tasks.
    """
    gamma = evaluation.signature.gamma
    known = {task.task_id for task in evaluation.tasks}
    states, failures, checked = [], [], 0
    for task in evaluation.tasks:
        gates, rule = settings.of_task(task.task_id)
        state = task_state(task, rule)
        states.append(state)
        for gate in gates:
            checked += 1
            failures += _failed(gate, task, state, gamma, settings.unmeasured_fails)
    for gate in settings.means:
        checked += 1
        found = _of_estimate(gate, None, gate.of_summary(evaluation.summary), None, settings.unmeasured_fails)
        failures += found or (_not_of_all(gate, evaluation.tasks) if settings.unmeasured_fails else [])
    unknown = tuple(task for task in settings.tasks if task not in known)
    return GateReport(tuple(states), tuple(failures), checked, unknown)


def _failed(gate: Gate, task: GroupScore, state: TaskState, gamma: float, unmeasured_fails: bool) -> list[GateFailure]:
    if gate.state is not None:
        if state.state.value == gate.state:
            return [GateFailure(task.task_id, gate.text, True, f"is {gate.state}: {state.sentence()}")]
        if state.basis is None and unmeasured_fails:
            what = f"whether it is {gate.state} is not measured: {state.sentence()}"
            return [GateFailure(task.task_id, gate.text, False, what)]
        return []
    return _of_estimate(gate, task.task_id, gate.of_task(task), gate.band(task, gamma), unmeasured_fails)


def _not_of_all(gate: Gate, tasks: Sequence[GroupScore]) -> list[GateFailure]:
    """A mean over the tasks that happen to have the figure says nothing of those that broke."""
    lacking = [task.task_id for task in tasks if gate.of_task(task).value is None]
    if not lacking:
        return []
    shown = some_of(lacking, NAMED)
    what = f"{gate.name} is measured in {len(tasks) - len(lacking)} of {len(tasks)} tasks; not in {shown}"
    return [GateFailure(None, gate.text, False, what)]


def _of_estimate(
    gate: Gate,
    task_id: str | None,
    estimate: Estimate,
    band: tuple[float, float] | None,
    unmeasured_fails: bool,
) -> list[GateFailure]:
    value, reason = gate.pick(estimate)
    if value is not None and gate.beyond(value):
        return [GateFailure(task_id, gate.text, True, f"{gate.name} {value:.4g} {gate.operator} {gate.limit:g}")]
    if value is not None and band is not None and gate.beyond(band[1]):
        value, reason = None, f"cut runs leave it between {band[0]:.4g} and {band[1]:.4g}"
    if value is None and unmeasured_fails:
        return [GateFailure(task_id, gate.text, False, f"{gate.name} is not measured well enough: {reason}")]
    return []
