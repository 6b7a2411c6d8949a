"""How many runs, and when to stop: modes as a pure state machine, which knows counts and never an agent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from likewise.reliability.stopping import fewest_runs, mode_is_settled

__all__ = ["Evidence", "Mode", "Policy", "Step"]


class Mode(StrEnum):
    """How runs are spent."""

    STANDARD = "standard"
    """`runs` runs at once; variance, contradiction, classes, advice."""
    FULL = "full"
    """The same, with entropy, both forms of variance and, where sources are given, grounding."""
    ADAPTIVE = "adaptive"
    """Two runs; more only where they disagree."""
    SEQUENTIAL = "sequential"
    """One run after another until the mode is known with a stated error, or the budget is spent."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known so far.

    Attributes:
        started: Runs started, failed ones included.
        reliability: 1 - mean total variance of the good runs; None where not measured.
        contradicts: Whether two runs contradict each other critically.
        classes: Class of each good run in the order of the runs; None where some pair could not be judged.
    """

    started: int = 0
    reliability: float | None = None
    contradicts: bool = False
    classes: tuple[int, ...] | None = ()


@dataclass(frozen=True, slots=True)
class Step:
    """What to do next: `more` runs, or stop (`more` = 0), and why."""

    more: int
    reason: str


@dataclass(frozen=True, slots=True)
class Policy:
    """A mode and its numbers.

    Attributes:
        mode: How runs are spent.
        runs: Runs of standard and full mode.
        escalate_threshold: Adaptive: stop after two runs only above this reliability.
        escalate_runs: Adaptive: runs in all, where two are not enough.
        error: Sequential: probability of ever naming a class that is not the mode.
        least: Sequential: runs before which nothing is named.
        budget: Sequential: most runs.
    """

    mode: Mode = Mode.STANDARD
    runs: int = 3
    escalate_threshold: float = 0.75
    escalate_runs: int = 5
    error: float = 0.1
    least: int = 4
    budget: int = 12

    def __post_init__(self) -> None:
        """Refuse numbers that cannot be.

        Raises:
            ValueError: An unknown mode, fewer than two runs, a threshold outside [0, 1], or an impossible error.
        """
        try:
            object.__setattr__(self, "mode", Mode(self.mode))
        except ValueError:
            raise ValueError(f"no mode {self.mode!r}; there are {', '.join(Mode)}") from None
        for name in ("runs", "escalate_runs", "least", "budget"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 2:
                raise ValueError(
                    f"{name} is a whole number of at least 2, got {value!r}: one run has nothing to differ from"
                )
        if not 0 <= self.escalate_threshold <= 1:
            raise ValueError(f"escalate_threshold lies in [0, 1], got {self.escalate_threshold!r}")
        if not 0 < self.error <= 0.5:
            raise ValueError(f"error lies in (0, 0.5], got {self.error!r}")
        if self.budget < self.least:
            raise ValueError(f"sequential mode takes at least {self.least} runs; the most are {self.budget}")
        if self.mode is Mode.SEQUENTIAL and (needed := fewest_runs(self.error, self.least)) > self.budget:
            raise ValueError(
                f"an error of {self.error:g} takes at least {needed} runs in sequential mode; "
                f"the most are {self.budget}"
            )

    @property
    def most(self) -> int:
        """Runs that are started at most."""
        return {Mode.ADAPTIVE: self.escalate_runs, Mode.SEQUENTIAL: self.budget}.get(self.mode, self.runs)

    def next_step(self, evidence: Evidence) -> Step:
        """What to do with what is known. The same evidence gives the same step."""
        if self.mode is Mode.ADAPTIVE:
            return self._adaptive(evidence)
        if self.mode is Mode.SEQUENTIAL:
            return self._sequential(evidence)
        if evidence.started == 0:
            return Step(self.runs, f"{self.runs} runs, as set")
        return Step(0, f"all {evidence.started} runs are done")

    def _adaptive(self, evidence: Evidence) -> Step:
        if evidence.started == 0:
            return Step(2, "two runs first")
        if evidence.started >= self.escalate_runs:
            return Step(0, f"all {evidence.started} runs are done")
        more = self.escalate_runs - evidence.started
        if evidence.started > 2:
            return Step(0, f"stopped after {evidence.started} runs")
        if evidence.contradicts:
            return Step(more, "the first two runs contradict each other")
        if evidence.reliability is None:
            return Step(more, "the first two runs could not be measured")
        if evidence.reliability > self.escalate_threshold:
            return Step(0, "the first two runs agree")
        return Step(more, f"the first two runs differ (reliability {evidence.reliability:.2f})")

    def _sequential(self, evidence: Evidence) -> Step:
        if evidence.started == 0:
            return Step(self.least, f"{self.least} runs first")
        if evidence.classes is not None and mode_is_settled(evidence.classes, self.error, self.least) is not None:
            return Step(0, f"the largest class is the mode, with an error of at most {self.error:g}")
        if evidence.started >= self.budget:
            return Step(0, f"the budget of {self.budget} runs is spent and the mode is not settled")
        return Step(1, "the mode is not settled")

    def settled(self, evidence: Evidence) -> bool | None:
        """Whether the mode is settled, in sequential mode; None in others, which make no such statement."""
        if self.mode is not Mode.SEQUENTIAL:
            return None
        return evidence.classes is not None and mode_is_settled(evidence.classes, self.error, self.least) is not None

    @property
    def fewest(self) -> int:
        """Runs after which this policy can stop."""
        if self.mode is Mode.SEQUENTIAL:
            return fewest_runs(self.error, self.least)
        return 2 if self.mode is Mode.ADAPTIVE else self.runs
