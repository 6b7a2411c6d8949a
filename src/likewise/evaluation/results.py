"""What evaluating a set of rollouts gives: one score a task, a summary, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass, field

from likewise.core.estimate import Estimate
from likewise.core.rollout import Excluded
from likewise.core.signature import Signature
from likewise.evaluation.uncertain import Uncertain
from likewise.scoring.results import GroupScore

__all__ = ["Evaluation", "JudgeUse", "Summary"]


@dataclass(frozen=True, slots=True)
class JudgeUse:
    """What judging cost: distinct pairs asked for, how each was settled, and what the judge tells of itself."""

    distinct_pairs: int
    by_rule: dict[str, int]
    from_store: int
    from_model: int
    notes: tuple[str, ...] = ()


NO_REPEATS = Estimate.undefined("no task has two outcomes", n=0)


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures over tasks; intervals come from a bootstrap over tasks.

    `pass_at_k` and `pass_hat_k` are keyed by k; a task counts for k where it has at least k valid rollouts with a
    known outcome, and `pass_left_out` names those that have fewer. Where runs failed in the harness,
    `success_rate_all` counts them as failures, beside `success_rate`, which leaves them out; None where none did.
    `tasks_without_valid` have no run that could be scored. `outcomes_flip` is the share of tasks that both succeed and
    fail, of those with at least two outcomes; `single_run_gap` how far two scores from a single run of these tasks lie
    apart by luck alone (see `metrics.pass_k`).
    """

    tasks: int
    rollouts: int
    valid: int
    success_rate: Estimate
    rsd: Estimate
    rsd_normalised: Estimate
    rsd_share: Estimate
    aligned_rsd: Estimate
    total_variance: Estimate
    contradiction_share: Estimate
    pass_at_k: dict[int, Estimate]
    pass_hat_k: dict[int, Estimate]
    forks_by_cause: dict[str, int]
    forks_by_kind: dict[str, int]
    success_rate_all: Estimate | None = None
    pass_left_out: dict[int, tuple[str, ...]] = field(default_factory=dict)
    tasks_without_valid: tuple[str, ...] = ()
    outcomes_flip: Estimate = NO_REPEATS
    single_run_gap: Estimate = NO_REPEATS


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The whole result; `tasks` are in order of the file, worst-first order is the report's business."""

    signature: Signature
    summary: Summary
    tasks: tuple[GroupScore, ...]
    excluded: tuple[Excluded, ...]
    warnings: tuple[str, ...]
    judge_use: JudgeUse
    files: tuple[tuple[str, str], ...] = ()
    uncertain: Uncertain = field(default_factory=Uncertain)
