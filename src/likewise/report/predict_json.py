"""A prediction as one JSON object of a versioned form, `likewise.predict/1` (docs/predict.md)."""

from __future__ import annotations

from typing import Any

from likewise.core.estimate import Estimate
from likewise.evaluation.predict import Prediction, Predictor
from likewise.report.predict_words import answer

__all__ = ["prediction_as_json"]


def prediction_as_json(prediction: Prediction) -> dict[str, Any]:
    """Plain dictionaries, lists, strings, finite numbers and None."""
    return {
        "schema": "likewise.predict/1",
        "answer": list(answer(prediction)),
        "confidence": prediction.confidence,
        "failures": prediction.failures,
        "successes": prediction.successes,
        "without_outcome": list(prediction.without_outcome),
        "numbers": [_predictor(each) for each in prediction.predictors],
        "tasks": [
            {"task_id": task.task_id, "failures": task.failures, "successes": task.successes, "values": {**task.values}}
            for task in prediction.tasks
        ],
        "notes": list(prediction.notes),
    }


def _predictor(each: Predictor) -> dict[str, Any]:
    return {
        "name": each.name,
        "title": each.title,
        "tasks": each.tasks,
        "auroc": each.auroc.as_json(),
        "auroc_p_value": each.auroc_p,
        "auroc_p_adjusted": each.auroc_p_adjusted,
        "auroc_beside_length": _optional(each.beside_length),
        "rank_correlation": each.correlation.as_json(),
        "rank_correlation_p_value": each.correlation_p,
        "given_length": _optional(each.partial),
        "given_length_p_value": each.partial_p,
        "given_length_p_adjusted": each.partial_p_adjusted,
        "left_out": list(each.left_out),
    }


def _optional(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else estimate.as_json()
