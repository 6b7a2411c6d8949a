"""What the layer says of one query: the answer, how far to trust it, why, and what to change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from likewise.core.estimate import Estimate
from likewise.core.rollout import Action, JsonValue, ToolCall
from likewise.reliability.clashes import CriticalPair
from likewise.reliability.grounding import GroundingReport
from likewise.reliability.runs import RunRecord
from likewise.reliability.scores import Measurement, VarianceReport

__all__ = [
    "Decision",
    "Label",
    "Recommendation",
    "RemediationReport",
    "Severity",
    "Verdict",
    "label_of",
]


class Label(StrEnum):
    """How far to trust the answer."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"
    CRITICAL = "CRITICAL"
    NOT_MEASURED = "NOT_MEASURED"


THRESHOLDS = ((Label.HIGH, 0.85), (Label.MEDIUM, 0.70), (Label.LOW, 0.50))
"""A label holds from its number on; below all of them is CRITICAL."""


def label_of(reliability: float | None, contradicts: bool) -> Label:
    """The label of a reliability; a critical contradiction caps it: runs that contradict each other are no MEDIUM."""
    if contradicts:
        return Label.CRITICAL
    if reliability is None:
        return Label.NOT_MEASURED
    return next((label for label, least in THRESHOLDS if reliability >= least), Label.CRITICAL)


class Decision(StrEnum):
    """What is done with the answer."""

    SERVE = "serve"
    FLAG = "flag"
    REFUSE = "refuse"


class Severity(StrEnum):
    """How much a recommendation matters."""

    CRITICAL = "CRITICAL"
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to change: the dimension that calls for it, and what is known to speak for it and against it."""

    rule: str
    dimension: str
    severity: Severity
    fix: str
    detail: str
    evidence: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """The fields by name."""
        return {
            "rule": self.rule,
            "dimension": self.dimension,
            "severity": self.severity,
            "fix": self.fix,
            "detail": self.detail,
            "evidence": list(self.evidence),
        }


@dataclass(frozen=True, slots=True)
class RemediationReport:
    """Recommendations, the most severe first."""

    recommendations: tuple[Recommendation, ...] = ()
    needs_human_review: bool = False

    @property
    def priority_fix(self) -> str | None:
        """The fix to try first; None where nothing is wrong."""
        return self.recommendations[0].fix if self.recommendations else None

    def as_json(self) -> dict[str, object]:
        """The fields by name."""
        return {
            "recommendations": [each.as_json() for each in self.recommendations],
            "priority_fix": self.priority_fix,
            "needs_human_review": self.needs_human_review,
        }


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Verdict:
    """The answer to one query and how far to trust it.

    Attributes:
        query: What was asked.
        answer: What is served; None where it is refused, or where there is none.
        decision: Serve, flag or refuse.
        reasons: Why it is not simply served, one sentence each.
        label: How far to trust it.
        measurement: All scores.
        records: All runs, failed ones too, in order of their numbers.
        remediation_report: What to change.
        metadata: How the verdict was made: mode, calls, stop reason, judge, cost, seconds.
        consensus_answer: What most runs agree on, also where it is not served.
        grounding: How the answer's sentences stand to the sources; None where none were given.
    """

    query: str
    answer: str | None
    decision: Decision
    reasons: tuple[str, ...]
    label: Label
    measurement: Measurement
    records: tuple[RunRecord, ...]
    remediation_report: RemediationReport
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    consensus_answer: str | None = None
    grounding: GroundingReport | None = None

    @property
    def reliability(self) -> float | None:
        """1 - mean total variance, in [0, 1]; None where it was not measured."""
        return self.measurement.reliability.value

    @property
    def reliability_estimate(self) -> Estimate:
        """The same with its interval, or the reason why there is none."""
        return self.measurement.reliability

    @property
    def contradiction_score(self) -> float | None:
        """The highest contradiction score of two answers, in [0, 1]; None where no pair was judged."""
        return self.measurement.contradiction.value

    @property
    def critical_pairs(self) -> tuple[CriticalPair, ...]:
        """Runs that contradict each other, and the sentences in which they do."""
        return self.measurement.critical

    @property
    def has_critical_contradiction(self) -> bool:
        """Whether two runs contradict each other beyond the threshold."""
        return bool(self.measurement.critical)

    @property
    def runs_agreed(self) -> str:
        """`4/5`: runs that agree with the answer, of the runs that gave one."""
        return self.measurement.consensus.runs_agreed

    @property
    def runs_failed(self) -> int:
        """Runs that gave no answer."""
        return self.measurement.failed

    @property
    def variance_report(self) -> VarianceReport:
        """Total variance of answers, findings and citations."""
        return self.measurement.variance

    @property
    def audit_trail(self) -> list[JsonValue]:
        """Every run in full: text, fields, failure, time, tokens. Nothing is cut."""
        return [record.as_json() for record in self.records]

    @property
    def chosen(self) -> RunRecord | None:
        """The run whose answer is the consensus."""
        position = self.measurement.consensus.run
        if position is None:
            return None
        number = self.measurement.runs[position]
        return next(record for record in self.records if record.index == number)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls that the majority class makes; none where the answer is refused."""
        chosen = self.chosen
        return chosen.tool_calls if chosen is not None and self.decision is not Decision.REFUSE else ()

    @property
    def action(self) -> Action:
        """What is served, as an action."""
        return Action(self.answer or "", self.tool_calls)

    def as_json(self) -> dict[str, object]:
        """Everything, texts in full."""
        found = self.measurement
        return {
            "query": self.query,
            "answer": self.answer,
            "tool_calls": [{"name": call.name, "arguments": call.arguments} for call in self.tool_calls],
            "consensus_answer": self.consensus_answer,
            "decision": self.decision,
            "reasons": list(self.reasons),
            "reliability": self.reliability,
            "reliability_interval": found.reliability.as_json(),
            "label": self.label,
            "contradiction_score": self.contradiction_score,
            "contradiction_mean": found.contradiction_mean.as_json(),
            "has_critical_contradiction": self.has_critical_contradiction,
            "critical_pairs": [pair.as_json() for pair in found.critical],
            "finding_clashes": [pair.as_json() for pair in found.finding_clashes],
            "runs_agreed": self.runs_agreed,
            "runs_failed": self.runs_failed,
            "majority": found.consensus.majority,
            "tie": found.consensus.tie,
            "classes": dict(zip(map(str, found.runs), found.classes, strict=True)),
            "divergence": found.divergence.as_json(),
            "agreement": found.agreement.as_json(),
            "semantic_entropy": found.entropy.as_json(),
            "grounding": None if self.grounding is None else self.grounding.as_json(),
            "variance_report": found.variance.as_json(),
            "remediation_report": self.remediation_report.as_json(),
            "audit_trail": self.audit_trail,
            "metadata": dict(self.metadata),
        }
