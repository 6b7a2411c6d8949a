"""The words of gates: from `rsd > 1.5` and the `[gates]` section of likewise.toml to what is checked.

[gates]
fail_on = ["rsd_share > 0.4", "success_rate < 0.5", "flaky"]
stable_share = 0.8          # share of runs that must end alike for "stable"
state_by = "answers"        # or "outcome"; by answers where there are some, if not given
unmeasured = "fail"         # or "pass": what becomes of a figure that was not measured

[gates.tasks."airline-12"]
fail_on = ["rsd_share > 0.6"]   # replaces the gate of the same figure above
skip = ["flaky"]                     # figures or states that this task need not pass
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from likewise.core.config import Table, nearest
from likewise.core.estimate import Estimate
from likewise.evaluation.gate_checks import conflict, out_of_range
from likewise.evaluation.results import Summary
from likewise.scoring.results import GroupScore

__all__ = ["Gate", "GateSettings", "StateBasis", "StateRule", "gate_settings", "parse_gate"]

STATES: Final = ("flaky", "undecided")
SHARE_ABOVE: Final = 0.5
"""A share of runs that end alike is wanted of a majority: below, two classes could both have it."""


class StateBasis(StrEnum):
    """What runs are put into classes by."""

    AUTO = "auto"
    ANSWERS = "answers"
    OUTCOME = "outcome"


@dataclass(frozen=True, slots=True)
class StateRule:
    """When a task is stable: the share of runs that must end alike, by what, and how sure."""

    share: float = 0.8
    basis: StateBasis = StateBasis.AUTO
    confidence: float = 0.95


def _no_interval(value: float | None, reason: str) -> Estimate:
    return Estimate.undefined(reason) if value is None else Estimate(value, reason="this figure has no interval")


def _pass_hat(task: GroupScore, k: int) -> Estimate:
    outcomes = [run.success for run in task.valid if run.success is not None]
    if len(outcomes) < k:
        return Estimate.undefined(f"{len(outcomes)} run(s) with a known outcome, pass^{k} needs {k}")
    return _no_interval(math.comb(sum(outcomes), k) / math.comb(len(outcomes), k), "")


TASK_FIGURES: Final[Mapping[str, Callable[[GroupScore], Estimate]]] = {
    "rsd": lambda task: task.rsd,
    "rsd_normalised": lambda task: task.rsd_normalised,
    "rsd_share": lambda task: task.rsd_share,
    "aligned_rsd": lambda task: task.aligned_rsd,
    "total_variance": lambda task: task.total_variance,
    "agreement": lambda task: task.agreement,
    "contradiction_share": lambda task: task.contradictions.share,
    "contradiction_max": lambda task: _no_interval(task.contradictions.max, "no pair of actions was judged"),
    "success_rate": lambda task: task.success_rate,
}
SUMMARY_FIGURES: Final[Mapping[str, Callable[[Summary], Estimate]]] = {
    "rsd": lambda summary: summary.rsd,
    "rsd_normalised": lambda summary: summary.rsd_normalised,
    "rsd_share": lambda summary: summary.rsd_share,
    "aligned_rsd": lambda summary: summary.aligned_rsd,
    "total_variance": lambda summary: summary.total_variance,
    "contradiction_share": lambda summary: summary.contradiction_share,
    "success_rate": lambda summary: summary.success_rate,
}
OPERATORS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<=": lambda value, limit: value <= limit,
    ">=": lambda value, limit: value >= limit,
    "<": lambda value, limit: value < limit,
    ">": lambda value, limit: value > limit,
}
_FORM = re.compile(r"\s*(mean\s+)?([A-Za-z_^]+?)(?:(?<=[_^])(\d{1,4}))?(\.low|\.high)?\s*(<=|>=|<|>)\s*(\S+)\s*")
_PASS = ("pass_hat_", "pass^")


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition under which to fail.

    Attributes:
        text: As it was written.
        figure: Figure it looks at, "pass_hat" for pass^k; "" for a state.
        k: k of pass^k, else 0.
        end: "low", "high" or "" for the value itself.
        operator: How the number that fails lies to the limit.
        limit: The limit.
        mean: Whether it looks at the mean over tasks.
        state: The state that fails; None for a figure.
    """

    text: str
    figure: str = ""
    k: int = 0
    end: str = ""
    operator: str = ""
    limit: float = 0.0
    mean: bool = False
    state: str | None = None

    @property
    def name(self) -> str:
        """`rsd.low`, `pass^4`."""
        return (f"pass^{self.k}" if self.k else self.figure) + (f".{self.end}" if self.end else "")

    @property
    def subject(self) -> str:
        """What it is about: the name in `skip`, and what a task's own gate replaces."""
        return self.state or (f"pass^{self.k}" if self.k else self.figure)

    def of_task(self, task: GroupScore) -> Estimate:
        """The figure of a task."""
        return _pass_hat(task, self.k) if self.k else TASK_FIGURES[self.figure](task)

    def of_summary(self, summary: Summary) -> Estimate:
        """The figure's mean over tasks."""
        if not self.k:
            return SUMMARY_FIGURES[self.figure](summary)
        missing = Estimate.undefined(f"no task has {self.k} known outcomes")
        return summary.pass_hat_k.get(self.k, missing)

    def band(self, task: GroupScore, gamma: float) -> tuple[float, float] | None:
        """What cut runs leave open of this figure; None where nothing."""
        scales = {"rsd": 1.0, "rsd_normalised": 1 - gamma, "rsd_share": 1 / task.rsd_largest}
        if self.end or task.rsd_band is None or self.figure not in scales:
            return None
        scale = scales[self.figure]
        return scale * task.rsd_band[0], scale * task.rsd_band[1]

    def pick(self, estimate: Estimate) -> tuple[float | None, str]:
        """The number that is looked at, or why there is none."""
        ends = {"": estimate.value, "low": estimate.low, "high": estimate.high}
        return ends[self.end], estimate.reason or "it has no interval"

    def beyond(self, value: float) -> bool:
        """Whether a number fails the gate."""
        return OPERATORS[self.operator](value, self.limit)


def parse_gate(text: str) -> Gate:
    """Read `[mean] FIGURE[.low|.high] OPERATOR NUMBER`, `flaky` or `undecided`.

    Raises:
        ValueError: The text is no gate (it says what would be), or one that no value fails, or every one.
    """
    if (word := text.strip()) in STATES:
        return Gate(text=word, state=word)
    found = _FORM.fullmatch(text)
    if found is None:
        known = ", ".join((*STATES, *TASK_FIGURES))
        hint = nearest(word, (*STATES, *TASK_FIGURES)) if word.isidentifier() and word not in TASK_FIGURES else ""
        raise ValueError(
            f"{text!r} is no gate{hint}; write FIGURE OPERATOR NUMBER, as in 'rsd > 1.5' or 'pass^4 < 0.8' "
            f"(figures and states: {known}, pass^K)"
        )
    mean, name, digits, end, operator, number = found.groups()
    try:
        limit = float(number)
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        raise ValueError(f"{text!r}: {number!r} is no number")
    figures = SUMMARY_FIGURES if mean else TASK_FIGURES
    k = int(digits) if digits and name in _PASS else 0
    if not k and (digits or name not in figures):
        where = " over tasks" if mean else ""
        raise ValueError(
            f"{text!r}: no figure {name + (digits or '')!r}{where}{nearest(name, figures)}; "
            f"there are {', '.join(figures)} and pass^K"
        )
    figure = "pass_hat" if k else name
    gate = Gate(text.strip(), figure, k, (end or "").removeprefix("."), operator, limit, bool(mean))
    if problem := out_of_range(gate):
        raise ValueError(problem)
    return gate


@dataclass(frozen=True, slots=True)
class TaskGates:
    """What is special about one task."""

    gates: tuple[Gate, ...] = ()
    skip: frozenset[str] = frozenset()
    rule: StateRule | None = None


@dataclass(frozen=True, slots=True)
class GateSettings:
    """All gates: for each task, over tasks, and what single tasks have of their own."""

    gates: tuple[Gate, ...] = ()
    means: tuple[Gate, ...] = ()
    rule: StateRule = StateRule()
    unmeasured_fails: bool = True
    tasks: Mapping[str, TaskGates] = field(default_factory=dict)

    def of_task(self, task_id: str) -> tuple[tuple[Gate, ...], StateRule]:
        """The gates that one task must pass, and what stable means for it."""
        own = self.tasks.get(task_id, TaskGates())
        replaced = {(gate.subject, gate.end) for gate in own.gates}
        shared = (gate for gate in self.gates if (gate.subject, gate.end) not in replaced)
        gates = tuple(gate for gate in (*shared, *own.gates) if gate.subject not in own.skip)
        return gates, own.rule or self.rule

    def with_gates(self, texts: Iterable[str]) -> GateSettings:
        """These and more gates, as `--fail-on` names them.

        Raises:
            ValueError: A text is no gate, or gates cannot be passed together.
        """
        more = [parse_gate(text) for text in texts]
        single = tuple(gate for gate in more if not gate.mean)
        whole = replace(self, gates=(*self.gates, *single), means=(*self.means, *(gate for gate in more if gate.mean)))
        if problem := conflict(whole):
            raise ValueError(problem)
        return whole

    def every(self) -> Iterator[Gate]:
        """All gates, of whatever task."""
        yield from (*self.gates, *self.means)
        for own in self.tasks.values():
            yield from own.gates

    @property
    def any(self) -> bool:
        """Whether there is anything to check."""
        return bool(self.gates or self.means or any(own.gates for own in self.tasks.values()))


def gate_settings(section: Table) -> GateSettings:
    """Read the `[gates]` section of a configuration.

    Args:
        section: That section; an empty one gives no gates.

    Raises:
        ConfigError: A key or a value is not understood, or gates cannot be passed together.
    """
    section.only(("fail_on", "stable_share", "state_by", "unmeasured", "tasks"))
    rule = _rule(section, StateRule())
    gates = _gates(section)
    unmeasured = section.choice("unmeasured", {"fail": True, "pass": False}) if "unmeasured" in section.values else True
    tasks = section.table("tasks")
    settings = GateSettings(
        gates=tuple(gate for gate in gates if not gate.mean),
        means=tuple(gate for gate in gates if gate.mean),
        rule=rule,
        unmeasured_fails=unmeasured,
        tasks={task: _own(tasks.table(task), rule) for task in tasks.values},
    )
    if problem := conflict(settings):
        raise section.refusal("fail_on", problem)
    return settings


def _own(section: Table, rule: StateRule) -> TaskGates:
    section.only(("fail_on", "stable_share", "state_by", "skip"))
    gates = _gates(section)
    for gate in gates:
        if gate.mean:
            raise section.refusal("fail_on", f"{gate.text!r} is about the mean over tasks, not about this one")
    skip = section.texts("skip")
    for name in skip:
        if name not in (*STATES, *TASK_FIGURES) and not re.fullmatch(r"pass\^\d{1,4}", name):
            problem = f"unknown figure {name!r}{nearest(name, (*STATES, *TASK_FIGURES))}"
            raise section.refusal("skip", problem, f"{', '.join((*STATES, *TASK_FIGURES))} or pass^K")
    return TaskGates(gates, frozenset(skip), _rule(section, rule))


def _rule(section: Table, rule: StateRule) -> StateRule:
    if "stable_share" in section.values:
        share = section.number("stable_share", SHARE_ABOVE, 1.0)
        if share in (SHARE_ABOVE, 1.0):
            raise section.refusal(
                "stable_share", f"{share:g} is out of range", "a number between 0.5 and 1, without them"
            )
        rule = replace(rule, share=share)
    if "state_by" in section.values:
        words = {basis.value: basis for basis in StateBasis if basis is not StateBasis.AUTO}
        rule = replace(rule, basis=section.choice("state_by", words))
    return rule


def _gates(section: Table) -> tuple[Gate, ...]:
    gates = []
    for text in section.texts("fail_on"):
        try:
            gates.append(parse_gate(text))
        except ValueError as problem:
            raise section.refusal("fail_on", str(problem)) from None
    return tuple(gates)
