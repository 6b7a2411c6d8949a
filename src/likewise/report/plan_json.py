"""A plan as one JSON object of a versioned form, `likewise.plan/1`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from likewise.evaluation.plan import DetectPlan, Plan
from likewise.reliability.mode_plan import ModePlan

__all__ = ["plan_as_json"]


def plan_as_json(plan: Plan, agreement: float | None = None, modes: Sequence[ModePlan] | None = None) -> dict[str, Any]:
    """Plain dictionaries, lists, strings, finite numbers and None; what was not asked is None."""
    return {
        "schema": "likewise.plan/1",
        "confidence": plan.confidence,
        "detect": None if plan.detect is None else _detect_json(plan.detect),
        "pass_hat": None
        if plan.pass_hat is None
        else {
            "k": plan.pass_hat.k,
            "within": plan.pass_hat.within,
            "sd": plan.pass_hat.sd,
            "source": plan.pass_hat.source,
            "tasks": plan.pass_hat.tasks,
        },
        "stable": None
        if plan.stable is None
        else {
            "share": plan.stable.share,
            "rows": [{"dissenting": d, "runs": runs} for d, runs in plan.stable.rows],
            "further_runs": dict(plan.stable.tasks),
        },
        "claim": None
        if plan.claim is None
        else {
            "rate": plan.claim.rate,
            "trials": plan.claim.trials,
            "at_hand": plan.claim.at_hand,
            "smallest": plan.claim.smallest,
        },
        "modes": None if modes is None else {"agreement": agreement, "rows": [asdict(mode) for mode in modes]},
        "top_up": None
        if plan.top_up is None
        else [
            {"task_id": t.task_id, "valid": t.valid, "invalid": t.invalid, "missing": t.missing} for t in plan.top_up
        ],
    }


def _detect_json(plan: DetectPlan) -> dict[str, Any]:
    return {
        "figure": plan.spread.figure,
        "difference": plan.difference,
        "power": plan.power,
        "run_sd": plan.spread.run_sd,
        "effect_sd": plan.effect_sd,
        "source": plan.spread.source,
        "rows": [{"runs": runs, "tasks": tasks, "runs_in_all": total} for runs, tasks, total in plan.rows],
    }
