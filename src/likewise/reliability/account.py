"""The account of one query: how many runs, why no more, what they cost, how long they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic

from likewise.core.rollout import JsonValue
from likewise.core.version import VERSION
from likewise.reliability.policy import Mode, Policy
from likewise.reliability.runner import Runner
from likewise.reliability.runs import RunRecord, Usage
from likewise.reliability.under_way import Refusal
from likewise.scoring.label import Labeller

__all__ = ["Session", "account"]


@dataclass(slots=True)
class Session:
    """One query under way.

    Attributes:
        labeller: Knows what was judged for it.
        ends: When to stop waiting for runs, on the clock of `time.monotonic`.
        running: Seconds spent on runs.
        judging: Seconds spent on judging, up to `judging_since`.
        judging_since: When the judging under way began; None where none is.
        stop: Why no further run was started.
        reasked: How often it was asked anew.
        earlier: Audit trail of the askings before.
    """

    labeller: Labeller
    ends: float
    running: float = 0.0
    judging: float = 0.0
    judging_since: float | None = None
    stop: str = ""
    reasked: int = 0
    earlier: list[JsonValue] = field(default_factory=list)


def account(
    policy: Policy, records: Sequence[RunRecord], session: Session, runner: Runner | None
) -> dict[str, JsonValue]:
    """How a verdict came about: mode, runs, stop reason, tokens, cost, seconds."""
    usage = sum((record.usage for record in records), Usage())
    good = [record for record in records if record.good]
    live = runner is not None
    refused = runner.scope.refused() if runner is not None else {}
    meta: dict[str, JsonValue] = {
        "likewise": VERSION,
        "mode": policy.mode.value if live else "recorded",
        "stop_reason": session.stop,
        "runs_started": len(records),
        "runs_good": len(good),
        "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
        "replayed_runs": [record.index for record in records if record.replayed],
        "notes": _notes(records, len(good), refused),
    }
    if runner is not None:
        budget = runner.budget
        meta |= {
            "calls": runner.calls,
            "runs_saved": policy.most - len(records) if policy.mode in (Mode.ADAPTIVE, Mode.SEQUENTIAL) else 0,
            "cost": budget.cost(usage.input_tokens or 0, usage.output_tokens or 0) if budget.priced else None,
            "seconds_running": round(session.running, 4),
            "seconds_judging": round(
                session.judging + (monotonic() - session.judging_since if session.judging_since else 0.0), 4
            ),
            "abandoned_threads": runner.abandoned,
            "reasked": session.reasked,
            "earlier_runs": session.earlier,
            "refused_calls": [
                {"run": call.run, "tool": call.tool, "reason": call.reason, "times": times}
                for call, times in refused.items()
            ],
        }
    return meta


def _notes(records: Sequence[RunRecord], good: int, refused: Mapping[Refusal, int]) -> list[JsonValue]:
    notes: list[JsonValue] = []
    if 2 <= good <= 3:
        notes.append(f"{good} runs: the interval is wide; what did not come up in them may still be frequent")
    if good < len(records):
        notes.append(f"{len(records) - good} of {len(records)} runs failed and enter no score")
    if refused:  # an agent that swallows the error may say that it did what it was refused
        tools = ", ".join(sorted({call.tool for call in refused}))
        runs = ", ".join(
            "not known" if run is None else str(run) for run in dict.fromkeys(call.run for call in refused)
        )
        notes.append(f"calls of {tools} were refused (run {runs}): what an answer says of them may not have been done")
    return notes
