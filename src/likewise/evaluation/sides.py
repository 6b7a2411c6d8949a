"""One side of a comparison: the figures of each task, from an evaluation or from a JSON report written earlier."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import numpy as np

from likewise.core.errors import RolloutFormatError
from likewise.core.estimate import Estimate
from likewise.evaluation.results import Evaluation
from likewise.metrics.progress_rate import coefficient_of_variation
from likewise.scoring.results import GroupScore

__all__ = [
    "FIGURES",
    "REPORT_SCHEMA",
    "Figure",
    "Scores",
    "Side",
    "TaskFigures",
    "is_report",
    "opened_report",
    "read_side",
    "side_of",
]

REPORT_SCHEMA: Final = "likewise.report/1"
LARGEST: Final = 2**30
"""Bytes of a JSON report that is read."""
_REPORT = re.compile(rb'\s*\{\s*"schema"\s*:\s*"' + re.escape(REPORT_SCHEMA.encode()) + b'"')


class Scores(StrEnum):
    """What the runs of a task are scored by, for their coefficient of variation."""

    REWARD = "reward"
    OUTCOME = "outcome"


@dataclass(frozen=True, slots=True)
class TaskFigures:
    """What a comparison needs to know of one task on one side.

    Attributes:
        task_id: The task.
        rollouts: Recorded runs, invalid ones included.
        valid: Runs that were scored.
        rsd: Monte Carlo RSD.
        aligned_rsd: The same over aligned turns.
        total_variance: Probability that two runs end with different answers.
        judged: Judged pairs of actions.
        contradictory: How many of them contradict each other.
        outcomes: Known outcomes of valid runs.
        rewards: Rewards of valid runs; None where a run has none.
        alike: Runs in the largest class of final answers, and runs with an answer; None below two.
        partly_measured: Whether a cut or a failed judgement makes the RSD a lower edge.
    """

    task_id: str
    rollouts: int
    valid: int
    rsd: Estimate
    aligned_rsd: Estimate
    total_variance: Estimate
    judged: int
    contradictory: int
    outcomes: tuple[bool, ...]
    rewards: tuple[float, ...] | None
    alike: tuple[int, int] | None = None
    partly_measured: bool = False

    def pass_hat(self, k: int) -> float | str:
        """Unbiased pass^k, C(successes, k)/C(n, k), or the reason why there is none."""
        n = len(self.outcomes)
        if n < k:
            return f"{n} known outcome(s), pass^{k} needs {k}"
        return math.comb(sum(self.outcomes), k) / math.comb(n, k)

    def variation(self, scores: Scores) -> float | str:
        """Coefficient of variation of the runs' scores, or the reason why there is none."""
        values = self.rewards if scores is Scores.REWARD else tuple(map(float, self.outcomes))
        if values is None or (scores is Scores.OUTCOME and len(values) < self.valid):
            return "a run has no outcome"
        cv = coefficient_of_variation(np.array(values, dtype=np.float64))
        return cv.value if cv.value is not None else (cv.reason or "undefined")


@dataclass(frozen=True, slots=True)
class Side:
    """One version: its name, how its numbers were made, and its tasks in order."""

    name: str
    signature: Mapping[str, Any]
    tasks: Mapping[str, TaskFigures]
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that is compared.

    Attributes:
        name: Its key in JSON and on the command line.
        title: Its name for readers.
        lower_is_better: Which way is better.
        share: Whether it reads as a percentage.
        value: The number of a task (given k of pass^k and what runs are scored by), or the reason why there is none.
        noise: Variance of that number between repetitions of the runs; None where it is not known.
    """

    name: str
    title: str
    lower_is_better: bool
    share: bool
    value: Callable[[TaskFigures, int, Scores], float | str]
    noise: Callable[[TaskFigures], float | None] = lambda task: None


def _value(estimate: Estimate) -> float | str:
    return estimate.value if estimate.value is not None else (estimate.reason or "undefined")


def _spread(estimate: Estimate) -> float | None:
    """Squared standard error; 0 where at least three runs show no spread, unknown for two."""
    if estimate.stderr is not None:
        return estimate.stderr**2
    return 0.0 if estimate.value is not None and (estimate.n or 0) > 2 else None


def _success(task: TaskFigures) -> float | str:
    return sum(task.outcomes) / len(task.outcomes) if task.outcomes else "no outcome is known"


def _success_noise(task: TaskFigures) -> float | None:
    n = len(task.outcomes)
    share = sum(task.outcomes) / n if n else 0.0
    return share * (1 - share) / (n - 1) if n > 1 else None


FIGURES: Final[Mapping[str, Figure]] = {
    figure.name: figure
    for figure in (
        Figure("rsd", "RSD", True, False, lambda t, k, s: _value(t.rsd), lambda t: _spread(t.rsd)),
        Figure(
            "aligned_rsd",
            "aligned RSD",
            True,
            False,
            lambda t, k, s: _value(t.aligned_rsd),
            lambda t: _spread(t.aligned_rsd),
        ),
        Figure(
            "total_variance",
            "answers disagree",
            True,
            True,
            lambda t, k, s: _value(t.total_variance),
            lambda t: _spread(t.total_variance),
        ),
        Figure(
            "contradiction_share",
            "contradictions",
            True,
            True,
            lambda t, k, s: t.contradictory / t.judged if t.judged else "no pair of actions was judged",
        ),
        Figure("success_rate", "success", False, True, lambda t, k, s: _success(t), _success_noise),
        Figure("pass_hat_k", "pass^k", False, True, lambda t, k, s: t.pass_hat(k)),
        Figure("cv", "CV of outcomes", True, False, lambda t, k, s: t.variation(s)),
    )
}
"""The numbers of a comparison, in the order shown, under the names that a report has for them."""


def side_of(evaluation: Evaluation, name: str) -> Side:
    """The side that an evaluation is."""
    files = tuple(path for path, _ in evaluation.files)
    tasks = {score.task_id: _figures(score) for score in evaluation.tasks}
    return Side(name, evaluation.signature.as_json(), tasks, files)


def _figures(score: GroupScore) -> TaskFigures:
    rewards = [run.reward for run in score.valid]
    return TaskFigures(
        task_id=score.task_id,
        rollouts=len(score.rollouts),
        valid=len(score.valid),
        rsd=score.rsd,
        aligned_rsd=score.aligned_rsd,
        total_variance=score.total_variance,
        judged=score.contradictions.judged,
        contradictory=score.contradictions.contradictory,
        outcomes=tuple(run.success for run in score.valid if run.success is not None),
        rewards=_usable(rewards),
        alike=_alike(score.answer_classes),
        partly_measured=score.rsd_band is not None,
    )


def _usable(rewards: list[float | None]) -> tuple[float, ...] | None:
    """Rewards that a CV can be made of: one a run, none negative or infinite."""
    known = tuple(reward for reward in rewards if reward is not None and 0 <= reward < math.inf)
    return known if known and len(known) == len(rewards) else None


def _alike(classes: Iterable[int | None]) -> tuple[int, int] | None:
    """Size of the largest class and runs in classes; -1 and None are in none."""
    sizes = Counter(label for label in classes if label is not None and label >= 0)
    return (max(sizes.values()), sizes.total()) if sizes.total() > 1 else None


def is_report(path: Path) -> bool:
    """Whether a file begins like a JSON report of ours."""
    try:
        with path.open("rb") as file:
            head = file.read(200)
    except OSError:
        return False
    return _REPORT.match(head) is not None


@contextmanager
def opened_report(path: Path) -> Iterator[Mapping[str, Any]]:
    """A JSON report that `likewise report --json` wrote; what fails to be taken from it inside is told by its name.

    Raises:
        RolloutFormatError: The file is no such report, or a field of it is missing or wrong.
    """
    if path.stat().st_size > LARGEST:
        raise RolloutFormatError(str(path), f"a report of over {LARGEST:,} bytes is not read")
    try:
        report = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as problem:
        wanted = "a file that `likewise report --json` wrote"
        line = getattr(problem, "lineno", None)
        raise RolloutFormatError(str(path), "no report: it is not JSON", line=line, expected=wanted) from None
    if not isinstance(report, dict) or report.get("schema") != REPORT_SCHEMA:
        raise RolloutFormatError(
            str(path), "no report", pointer="/schema", expected=f"{REPORT_SCHEMA}, by `likewise report --json`"
        )
    place = ""

    def tasks() -> Iterator[Any]:
        nonlocal place
        for i, record in enumerate(report["tasks"]):
            place = f"/tasks/{i}"
            yield record

    try:
        yield {**report, "tasks": tasks()} if "tasks" in report else report
    except KeyError as missing:
        raise RolloutFormatError(str(path), f"lacks the field {missing}", pointer=place) from None
    except (TypeError, ValueError, AttributeError) as problem:
        raise RolloutFormatError(str(path), f"is not as likewise writes it: {problem}", pointer=place) from None


def read_side(path: Path) -> Side:
    """Read a JSON report that `likewise report --json` wrote.

    Raises:
        RolloutFormatError: The file is no such report, or a field of it is missing or wrong.
    """
    tasks: dict[str, TaskFigures] = {}
    with opened_report(path) as report:
        signature = dict(report["signature"])
        for record in report["tasks"]:
            figures = _read_task(record)
            if figures.task_id in tasks:
                raise ValueError(f"task {figures.task_id!r} stands twice")
            tasks[figures.task_id] = figures
        files = tuple(str(each["path"]) for each in report.get("files", ()))
    return Side(str(path), signature, tasks, files)


def _read_task(record: Mapping[str, Any]) -> TaskFigures:
    runs = [run for run in record["runs"] if run["valid"] is True]
    contradictions = record["contradictions"]
    judged, contradictory = int(contradictions["judged"]), int(contradictions["contradictory"])
    if not 0 <= contradictory <= judged:
        raise ValueError(f"{contradictory} of {judged} pairs contradict")
    if not isinstance(record["task_id"], str):
        raise TypeError("a task id is text")
    return TaskFigures(
        task_id=record["task_id"],
        rollouts=len(record["runs"]),
        valid=len(runs),
        rsd=_read_estimate(record["rsd"]),
        aligned_rsd=_read_estimate(record["aligned_rsd"]),
        total_variance=_read_estimate(record["total_variance"]),
        judged=judged,
        contradictory=contradictory,
        outcomes=tuple(bool(run["success"]) for run in runs if run["success"] is not None),
        rewards=_usable([None if run["reward"] is None else float(run["reward"]) for run in runs]),
        alike=_alike(run["answer_class"] for run in runs),
        partly_measured=record.get("rsd_band") is not None,
    )


def _read_estimate(record: Mapping[str, Any]) -> Estimate:
    if record["value"] is None:
        return Estimate.undefined(str(record.get("reason") or "undefined"))
    low, high, stderr = (None if record.get(key) is None else float(record[key]) for key in ("low", "high", "stderr"))
    whole = Estimate(float(record["value"]), n=record.get("n"), reason="no interval in the report")
    if low is None or high is None:
        return replace(whole, stderr=stderr, reason=str(record.get("reason") or whole.reason))
    return replace(whole, low=low, high=high, stderr=stderr, reason=None)
