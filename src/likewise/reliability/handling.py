"""What is done with an answer that does not hold: serve, flag, refuse, ask again, raise, or a user's own way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from likewise.reliability.grounding import GroundingReport
from likewise.reliability.scores import Measurement
from likewise.reliability.verdict import Decision

if TYPE_CHECKING:
    from likewise.reliability.verdict import Verdict

__all__ = ["Custom", "Finding", "Handling", "OnFail", "decide"]


class OnFail(StrEnum):
    """What to do where a check fails."""

    NOOP = "noop"
    """Serve all the same; the reason stands in the verdict."""
    FLAG = "flag"
    """Serve, marked."""
    REASK = "reask"
    """Run the query once more from the start, then refuse if it still fails."""
    REFUSE = "refuse"
    """Serve nothing."""
    RAISE = "raise"
    """Raise UnreliableAnswerError."""


Custom: TypeAlias = Callable[["Verdict"], "Verdict | str | None"]
"""A user's own way: gets the verdict, returns another one, an answer to serve flagged, or None to refuse."""

_STRICT = {OnFail.NOOP: 0, OnFail.FLAG: 1, OnFail.REASK: 3, OnFail.REFUSE: 4, OnFail.RAISE: 5}
_CUSTOM = 2


@dataclass(frozen=True, slots=True)
class Handling:
    """What to do where what fails. The strictest verb of all checks that fail is done.

    Attributes:
        critical: Two runs contradict each other.
        low: Reliability is below `min_reliability`.
        unmeasured: Fewer than two good runs, or answers that could not be judged.
        no_majority: No class holds more than half of the good runs.
        ungrounded: A sentence of the answer is contradicted by the sources given, too few are supported, or some could
            not be checked (another language, a fragment, more than are read).
        min_reliability: In [0, 1].
        min_grounded: Share of sentences that the sources must support, in [0, 1].
        reasks: How often a query is run anew at most.
    """

    critical: OnFail | Custom | str = OnFail.REFUSE
    low: OnFail | Custom | str = OnFail.FLAG
    unmeasured: OnFail | Custom | str = OnFail.FLAG
    no_majority: OnFail | Custom | str = OnFail.FLAG
    ungrounded: OnFail | Custom | str = OnFail.FLAG
    min_reliability: float = 0.5
    min_grounded: float = 0.5
    reasks: int = 1

    def __post_init__(self) -> None:
        """Refuse unknown verbs and impossible numbers.

        Raises:
            ValueError: A verb that is none, or a number outside its range.
        """
        for name in ("critical", "low", "unmeasured", "no_majority", "ungrounded"):
            verb = getattr(self, name)
            if isinstance(verb, str):
                try:
                    object.__setattr__(self, name, OnFail(verb))
                except ValueError:
                    known = ", ".join(OnFail)
                    raise ValueError(f"{name}: no verb {verb!r}; there are {known}, or a function") from None
            elif not callable(verb):
                raise ValueError(f"{name} is a verb or a function, got {type(verb).__name__}")
        for name in ("min_reliability", "min_grounded"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} lies in [0, 1], got {getattr(self, name)!r}")
        if self.reasks < 0:
            raise ValueError(f"reasks is at least 0, got {self.reasks}")


@dataclass(frozen=True, slots=True)
class Finding:
    """A check that failed, in one sentence, and what is to be done about it."""

    reason: str
    verb: OnFail | Custom


def decide(
    found: Measurement, handling: Handling, grounding: GroundingReport | None = None
) -> tuple[Decision, tuple[str, ...], OnFail | Custom]:
    """What to do with the answer.

    Returns:
        The decision, the reasons for it, and the strictest verb; a custom one is left to the caller to call.
    """
    findings = [*_answer_findings(found, handling), *_grounding_findings(found, handling, grounding)]
    if not findings:
        return Decision.SERVE, (), OnFail.NOOP
    verb = max((finding.verb for finding in findings), key=_strictness)
    decision = Decision.FLAG
    if verb is OnFail.NOOP:
        decision = Decision.SERVE
    elif isinstance(verb, OnFail) and _STRICT[verb] >= _STRICT[OnFail.REASK]:
        decision = Decision.REFUSE
    return decision, tuple(finding.reason for finding in findings), verb


def _strictness(verb: OnFail | Custom) -> int:
    return _STRICT[verb] if isinstance(verb, OnFail) else _CUSTOM


def _verb(verb: OnFail | Custom | str) -> OnFail | Custom:
    return OnFail(verb) if isinstance(verb, str) else verb


def _answer_findings(found: Measurement, handling: Handling) -> list[Finding]:
    findings = []
    for pair in found.critical[:1]:
        others = f" and {len(found.critical) - 1} more pair(s)" if len(found.critical) > 1 else ""
        said = f"runs {pair.run_i} and {pair.run_j}{others} contradict each other: {_short(pair.text_i)}"
        findings.append(Finding(f"{said} / {_short(pair.text_j)}", _verb(handling.critical)))
    reliability = found.reliability
    if reliability.value is None:
        findings.append(Finding(f"not measured: {reliability.reason}", _verb(handling.unmeasured)))
        return findings
    if reliability.value < handling.min_reliability:
        said = f"reliability {reliability.value:.2f} is below {handling.min_reliability:g}"
        findings.append(Finding(said, _verb(handling.low)))
    if not found.consensus.majority:
        tie = ", and another answer is as frequent" if found.consensus.tie else ""
        said = f"no majority: {found.consensus.runs_agreed} runs agree{tie}"
        findings.append(Finding(said, _verb(handling.no_majority)))
    return findings


def _grounding_findings(found: Measurement, handling: Handling, grounding: GroundingReport | None) -> list[Finding]:
    if grounding is None:
        return []
    told = "consistent but ungrounded" if found.consensus.majority else "ungrounded"
    findings = [
        Finding(f"not checked against the sources: {what}", _verb(handling.ungrounded)) for what in grounding.unchecked
    ]
    if grounding.contradicted:
        first = grounding.contradicted[0]
        findings.append(
            Finding(
                f"{told}: the sources contradict {_short(first.text)} ({_short(first.passage or '')})",
                _verb(handling.ungrounded),
            )
        )
    if grounding.share.value is not None and grounding.share.value < handling.min_grounded:
        said = f"{told}: the sources support {grounding.share.value:.0%} of the answer's sentences"
        findings.append(Finding(said, _verb(handling.ungrounded)))
    return findings


def _short(text: str) -> str:
    words = " ".join(text.split())
    return f'"{words[:160]}{"..." if len(words) > 160 else ""}"'
