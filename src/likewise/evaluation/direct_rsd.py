"""Direct RSD of a method's tasks, for Table 3 of arXiv:2610.33012."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from likewise.backends.label_store import LabelStore
from likewise.backends.tool_rules import ToolRules
from likewise.core.protocols import Judge, Progress, no_progress
from likewise.core.rollout import Rollout
from likewise.evaluation.measured_tasks import measure_tasks
from likewise.metrics.divergence import monte_carlo_rsd
from likewise.scoring.score import ScoringOptions

__all__ = ["DirectRsd", "direct_rsd"]


@dataclass(frozen=True, slots=True)
class DirectRsd:
    """Monte Carlo RSD of each task that could be measured, with what, and what a reader should know."""

    by_task: Mapping[str, float]
    judge_id: str
    warnings: tuple[str, ...]


def direct_rsd(
    rollouts: Iterable[Rollout],
    *,
    judge: Judge | None = None,
    rules: ToolRules | None = None,
    store: LabelStore | None = None,
    options: ScoringOptions | None = None,
    progress: Progress = no_progress,
    pool: bool = False,
) -> DirectRsd:
    """Monte Carlo RSD of the tasks of one method, for Table 3; see `measure_tasks` for the arguments.

    Raises:
        GroupError: No task has two valid runs, or a task mixes agents and `pool` is not set.
    """
    options = options or ScoringOptions()
    measured = measure_tasks(
        rollouts, judge=judge, rules=rules, store=store, options=options, progress=progress, pool=pool
    )
    found: dict[str, float] = {}
    partly = 0
    for task in measured.tasks:
        pairs = np.array(task.group.pairs, dtype=np.int64)
        value = monte_carlo_rsd(task.distance, pairs, len(task.group.valid), options.gamma).value
        if value is not None and not np.isnan(task.distance).all():
            found[task.group.task_id] = value
            partly += bool(np.isnan(task.distance).any())
    lower = (f"{partly} task(s) have runs that were cut or pairs that could not be judged: their RSD is a lower edge",)
    return DirectRsd(found, measured.judge_id, (*measured.warnings, *(lower if partly else ())))
