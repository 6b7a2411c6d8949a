"""A comparison as one JSON object of a versioned form, `likewise.compare/1` (docs/compare.md)."""

from __future__ import annotations

from typing import Any

from likewise.evaluation.change import Comparison, Difference, TaskChange
from likewise.evaluation.sides import TaskFigures

__all__ = ["comparison_as_json"]


def comparison_as_json(comparison: Comparison) -> dict[str, Any]:
    """Plain dictionaries, lists, strings, finite numbers, booleans and None."""
    return {
        "schema": "likewise.compare/1",
        "verdict": comparison.verdict.value,
        "deciding": list(comparison.deciding),
        "base": comparison.base,
        "candidate": comparison.candidate,
        "signature": dict(comparison.signature),
        "confidence": comparison.confidence,
        "power": comparison.power,
        "k": comparison.k,
        "cv_of": comparison.scores.value,
        "figures": {difference.figure: _difference(difference) for difference in comparison.differences},
        "tasks": [_task(task) for task in comparison.tasks],
        "only_base": list(comparison.only_base),
        "only_candidate": list(comparison.only_candidate),
        "warnings": list(comparison.warnings),
    }


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        "title": difference.title,
        "lower_is_better": difference.lower_is_better,
        "base": difference.base.as_json(),
        "candidate": difference.candidate.as_json(),
        "difference": difference.difference.as_json(),
        "p_value": difference.p_value,
        "p_reason": difference.p_reason,
        "p_adjusted": difference.p_adjusted,
        "adjusted_by": "Holm, within the figures that decide and within the others",
        "verdict": difference.change.value,
        "tasks": difference.tasks,
        "left_out": dict(difference.left_out),
        "minimum_detectable_difference": difference.detectable,
        "needed": {
            "further_runs_per_task_and_side": difference.needed.runs,
            "further_tasks": difference.needed.tasks,
            "reason": difference.needed.reason,
        },
    }


def _task(task: TaskChange) -> dict[str, Any]:
    runs = task.runs
    return {
        "task_id": task.task_id,
        "base": _figures(task.base),
        "candidate": _figures(task.candidate),
        "rsd_difference": task.rsd_difference,
        "rsd_p_value": None if runs is None else runs.difference_p,
        "rsd_p_adjusted": task.rsd_p_adjusted,
        "rsd_verdict": task.rsd.value,
        "success_p_value": task.success_p,
        "success_p_adjusted": task.success_p_adjusted,
        "success_verdict": task.success.value,
        "between": None if runs is None else runs.between,
        "shift": None if runs is None else runs.shift,
        "shift_p_value": None if runs is None else runs.shift_p,
        "shift_p_adjusted": task.shift_p_adjusted,
        "acts_otherwise": task.acts_otherwise,
        "adjusted_by": "Benjamini-Hochberg over tasks",
    }


def _figures(task: TaskFigures) -> dict[str, Any]:
    return {
        "rollouts": task.rollouts,
        "valid": task.valid,
        "rsd": task.rsd.as_json(),
        "aligned_rsd": task.aligned_rsd.as_json(),
        "successes": sum(task.outcomes),
        "outcomes": len(task.outcomes),
        "contradictory": task.contradictory,
        "judged": task.judged,
    }
