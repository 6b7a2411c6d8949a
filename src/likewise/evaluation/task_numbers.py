"""What each task is measured by, beside how often its runs fail: from an evaluation or from a JSON report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from likewise.evaluation.results import Evaluation
from likewise.evaluation.sides import opened_report
from likewise.scoring.results import GroupScore, TurnScore

__all__ = ["LENGTH", "NUMBERS", "TaskNumbers", "numbers_of", "read_numbers"]

LENGTH: Final = "turns"
"""The rival: how long the runs of a task are."""
NUMBERS: Final[Mapping[str, str]] = {
    "rsd": "RSD",
    "aligned_rsd": "aligned RSD",
    "mean_distance": "mean distance, not discounted",
    "contradiction_share": "contradictions",
    "total_variance": "answers disagree",
    "semantic_entropy": "entropy of answers",
    "unique_paths": "unique tool paths",
    "tool_sequences": "tool sequences differ",
    LENGTH: "run length",
}
"""Numbers of a task under which more means less alike, and the rival, with their names for readers."""


@dataclass(frozen=True, slots=True)
class TaskNumbers:
    """One task.

    Attributes:
        task_id: The task.
        values: Its numbers by name; None where one is undefined.
        failures: Valid runs known to have failed.
        successes: Valid runs known to have succeeded.
    """

    task_id: str
    values: Mapping[str, float | None]
    failures: int
    successes: int


def numbers_of(evaluation: Evaluation) -> tuple[TaskNumbers, ...]:
    """The numbers of each task of an evaluation."""
    return tuple(_of_score(score) for score in evaluation.tasks)


def _of_score(score: GroupScore) -> TaskNumbers:
    runs = score.valid
    known = [run.success for run in runs if run.success is not None]
    use = score.tool_use
    return _numbers(
        score.task_id,
        known,
        [len(run.turns) for run in runs],
        score.turns,
        rsd=score.rsd.value,
        aligned_rsd=score.aligned_rsd.value,
        contradiction_share=score.contradictions.share.value,
        total_variance=score.total_variance.value,
        semantic_entropy=score.semantic_entropy.value,
        paths=use.unique_paths,
        similarity=use.sequence_similarity.value,
    )


def _numbers(
    task_id: str,
    known: list[bool],
    lengths: list[int],
    turns: tuple[TurnScore, ...],
    *,
    paths: int,
    similarity: float | None,
    **plain: float | None,
) -> TaskNumbers:
    compared = len(lengths) >= 2
    values: dict[str, float | None] = {
        **plain,
        "mean_distance": _mean_distance(turns),
        "unique_paths": paths / len(lengths) if compared else None,
        "tool_sequences": None if similarity is None else 1 - similarity,
        LENGTH: sum(lengths) / len(lengths) if lengths else None,
    }
    return TaskNumbers(task_id, {name: values[name] for name in NUMBERS}, len(known) - sum(known), sum(known))


def _mean_distance(turns: tuple[TurnScore, ...]) -> float | None:
    """Mean distance over all measured pairs and turns, each counting the same."""
    rows = [
        (turn.mean_distance, turn.equivalent + turn.neutral + turn.contradictory + turn.ended)
        for turn in turns
        if turn.mean_distance is not None
    ]
    pairs = sum(count for _, count in rows)
    return sum(mean * count for mean, count in rows) / pairs if pairs else None


def read_numbers(path: Path) -> tuple[TaskNumbers, ...]:
    """The numbers of each task of a report that `likewise report --json` wrote.

    Raises:
        RolloutFormatError: The file is no such report, or a field of it is missing or wrong.
    """
    with opened_report(path) as report:
        return tuple(_of_record(record) for record in report["tasks"])


def _of_record(record: Mapping[str, Any]) -> TaskNumbers:
    runs = [run for run in record["runs"] if run["valid"] is True]
    turns = tuple(TurnScore(**turn) for turn in record["turns"])
    if not isinstance(record["task_id"], str):
        raise TypeError("a task id is text")
    return _numbers(
        record["task_id"],
        [bool(run["success"]) for run in runs if run["success"] is not None],
        [int(run["turns"]) for run in runs],
        turns,
        rsd=_finite(record["rsd"]["value"]),
        aligned_rsd=_finite(record["aligned_rsd"]["value"]),
        contradiction_share=_finite(record["contradictions"]["share"]["value"]),
        total_variance=_finite(record["total_variance"]["value"]),
        semantic_entropy=_finite(record["semantic_entropy"]["value"]),
        paths=int(record["tool_use"]["unique_paths"]),
        similarity=_finite(record["tool_use"]["sequence_similarity"]["value"]),
    )


def _finite(value: float | None) -> float | None:
    """A number of a report, which strict JSON keeps finite and other hands may not."""
    if value is not None and not math.isfinite(value):
        raise ValueError(f"{value} is no finite number")
    return None if value is None else float(value)
