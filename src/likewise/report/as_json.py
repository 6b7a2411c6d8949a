"""The whole evaluation as one JSON object of a documented, versioned form (docs/report_schema.md)."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from likewise.core.estimate import Estimate
from likewise.core.rollout import Rollout
from likewise.evaluation.results import Evaluation, JudgeUse, Summary
from likewise.report.text import TEXT_CAP
from likewise.report.words import Quadrant, left_out, quadrant, unplaced_reason
from likewise.scoring.results import Clash, Contradictions, Fork, GroupScore, ToolUse, TurnScore

__all__ = ["SCHEMA", "evaluation_as_json"]

SCHEMA = "likewise.report/1"
"""Raised when a field is renamed, removed or changes its meaning; a new field leaves it as it is."""

Json: TypeAlias = dict[str, Any]


def evaluation_as_json(evaluation: Evaluation) -> Json:
    """The evaluation as plain dictionaries, lists, strings, finite numbers, booleans and None.

    Tasks keep the order of the file. Texts of agents appear only where two of them contradict each other.

    Returns:
        An object with `"schema": "likewise.report/1"`, ready for a strict JSON writer.
    """
    return {
        "schema": SCHEMA,
        "signature": evaluation.signature.as_json(),
        "summary": _summary(evaluation.summary),
        "tasks": [_task(task) for task in evaluation.tasks],
        "excluded": [
            {
                "task_id": record.task_id,
                "run_id": record.run_id,
                "reason": record.reason,
                "path": record.path,
                "line": record.line,
                "pointer": record.pointer,
            }
            for record in left_out(evaluation)
        ],
        "warnings": list(evaluation.warnings),
        "judge_use": _judge_use(evaluation.judge_use),
        "uncertain": evaluation.uncertain.as_json(),
        "files": [{"path": path, "format": kind} for path, kind in evaluation.files],
    }


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _summary(summary: Summary) -> Json:
    return {
        "tasks": summary.tasks,
        "rollouts": summary.rollouts,
        "valid": summary.valid,
        "success_rate": summary.success_rate.as_json(),
        "success_rate_all": None if summary.success_rate_all is None else summary.success_rate_all.as_json(),
        "tasks_without_valid": list(summary.tasks_without_valid),
        "rsd": summary.rsd.as_json(),
        "rsd_normalised": summary.rsd_normalised.as_json(),
        "rsd_share": summary.rsd_share.as_json(),
        "aligned_rsd": summary.aligned_rsd.as_json(),
        "total_variance": summary.total_variance.as_json(),
        "contradiction_share": summary.contradiction_share.as_json(),
        "pass_at_k": _by_k(summary.pass_at_k),
        "pass_hat_k": _by_k(summary.pass_hat_k),
        "outcomes_flip": summary.outcomes_flip.as_json(),
        "single_run_gap": summary.single_run_gap.as_json(),
        "pass_left_out": {str(k): list(tasks) for k, tasks in sorted(summary.pass_left_out.items())},
        "forks_by_cause": dict(summary.forks_by_cause),
        "forks_by_kind": dict(summary.forks_by_kind),
    }


def _by_k(estimates: dict[int, Estimate]) -> Json:
    return {str(k): estimates[k].as_json() for k in sorted(estimates)}


def _task(task: GroupScore) -> Json:
    band, standing = task.rsd_band, quadrant(task)
    return {
        "task_id": task.task_id,
        "rollouts": len(task.rollouts),
        "valid": len(task.valid),
        "success_rate": task.success_rate.as_json(),
        "outcomes": _outcomes(task),
        "quadrant": None if standing is Quadrant.UNKNOWN else standing.value,
        "quadrant_reason": unplaced_reason(task),
        "rsd": task.rsd.as_json(),
        "rsd_band": None if band is None else {"low": _finite(band[0]), "high": _finite(band[1])},
        "rsd_largest": task.rsd_largest,
        "rsd_normalised": task.rsd_normalised.as_json(),
        "rsd_share": task.rsd_share.as_json(),
        "aligned_rsd": task.aligned_rsd.as_json(),
        "total_variance": task.total_variance.as_json(),
        "embedding_total_variance": task.embedding_total_variance.as_json(),
        "volume_total_variance": task.volume_total_variance.as_json(),
        "semantic_entropy": task.semantic_entropy.as_json(),
        "agreement": task.agreement.as_json(),
        "transitivity_violations": task.transitivity_violations,
        "contradictions": _contradictions(task.contradictions),
        "first_fork": None if task.first_fork is None else _fork(task.first_fork),
        "tool_use": _tool_use(task.tool_use),
        "bounds": {name: bound.as_json() for name, bound in task.bounds.items()},
        "turns": [_turn(turn) for turn in task.turns],
        "classes": [[int(label) for label in turn] for turn in task.classes],
        "runs": _runs(task),
    }


def _outcomes(task: GroupScore) -> Json:
    known = [run.success for run in task.valid if run.success is not None]
    return {"successes": sum(known), "known": len(known), "invalid": len(task.rollouts) - len(task.valid)}


def _runs(task: GroupScore) -> list[Json]:
    answers = iter(task.answer_classes)
    return [_run(run, next(answers, None) if run.valid else None) for run in task.rollouts]


def _run(run: Rollout, answer_class: int | None) -> Json:
    return {
        "run_id": run.run_id,
        "turns": len(run.turns),
        "stop": run.stop.value,
        "success": run.success,
        "reward": _finite(run.reward),
        "valid": run.valid,
        "problem": run.problem,
        "answer_class": None if answer_class is None or answer_class < 0 else int(answer_class),
        "notes": list(run.notes),
        "path": run.path,
    }


def _fork(fork: Fork) -> Json:
    return {
        "turn": fork.turn,
        "kind": fork.kind.value,
        "cause": fork.cause.value,
        "classes": [list(members) for members in fork.classes],
        "share_behind": _finite(fork.share_behind),
    }


def _contradictions(found: Contradictions) -> Json:
    return {
        "judged": found.judged,
        "contradictory": found.contradictory,
        "share": found.share.as_json(),
        "max": _finite(found.max),
        "mean": _finite(found.mean),
        "critical": [_clash(clash) for clash in found.critical],
    }


def _clash(clash: Clash) -> Json:
    return {
        "run_i": clash.run_i,
        "run_j": clash.run_j,
        "turn": clash.turn,
        "text_i": clash.text_i[:TEXT_CAP],
        "text_j": clash.text_j[:TEXT_CAP],
        "score": _finite(clash.score),
        "rule": clash.rule,
    }


def _tool_use(use: ToolUse) -> Json:
    return {
        "sequence_similarity": use.sequence_similarity.as_json(),
        "argument_consistency": use.argument_consistency.as_json(),
        "unique_paths": use.unique_paths,
    }


def _turn(turn: TurnScore) -> Json:
    return {
        "turn": turn.turn,
        "mean_distance": _finite(turn.mean_distance),
        "rsd_from_here": _finite(turn.rsd_from_here),
        "equivalent": turn.equivalent,
        "neutral": turn.neutral,
        "contradictory": turn.contradictory,
        "ended": turn.ended,
        "unmeasured": turn.unmeasured,
    }


def _judge_use(use: JudgeUse) -> Json:
    return {
        "distinct_pairs": use.distinct_pairs,
        "by_rule": dict(use.by_rule),
        "from_store": use.from_store,
        "from_model": use.from_model,
        "notes": list(use.notes),
    }
