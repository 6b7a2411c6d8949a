"""Two versions of an agent, both read as recorded runs: their evaluations, and their runs compared with each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from likewise.backends.judges import embedded_judge
from likewise.backends.label_store import LabelStore
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.backends.tool_rules import ToolRules
from likewise.core.group import RolloutGroup, group_rollouts
from likewise.core.protocols import Encoder, Judge, Progress, no_progress
from likewise.core.rollout import Rollout
from likewise.evaluation.evaluate import evaluate
from likewise.evaluation.results import Evaluation
from likewise.metrics.testing import TwoVersions, compare_runs
from likewise.scoring.label import Labeller
from likewise.scoring.score import ScoringOptions
from likewise.scoring.stored_judge import StoredJudge
from likewise.scoring.tool_inventory import logged_hints
from likewise.scoring.versions import pooled, pooled_distances, pooled_pairs

__all__ = ["Measuring", "compare_task_runs"]


@dataclass(frozen=True, slots=True)
class Measuring:
    """How runs are measured: alike on both sides.

    Attributes:
        judge: Gives the relation of two texts; the embedded one where None.
        encoder: Gives vectors; the embedded one where None.
        rules: How tool calls are compared.
        store: Remembers judgements; only while a call lasts where None.
        options: Discount, length policy, hard or soft distances.
        seed: Seed of resampling.
        progress: Display of what is going on.
        pool: Treat runs of different models, agents or prompts on one side as repeats.
    """

    judge: Judge | None = None
    encoder: Encoder | None = None
    rules: ToolRules | None = None
    store: LabelStore | None = None
    options: ScoringOptions = field(default_factory=ScoringOptions)
    seed: int = 0
    progress: Progress = no_progress
    pool: bool = False

    def one(self, rollouts: Iterable[Rollout]) -> Evaluation:
        """Measure the runs of one version.

        Raises:
            GroupError: There are no rollouts, or a task has a run id twice or mixes agents.
        """
        return evaluate(
            rollouts,
            judge=self.judge,
            encoder=self.encoder,
            rules=self.rules,
            store=self.store,
            options=self.options,
            seed=self.seed,
            progress=self.progress,
            pool=self.pool,
        )

    def both(
        self, base: Iterable[Rollout], candidate: Iterable[Rollout]
    ) -> tuple[Evaluation, Evaluation, dict[str, TwoVersions]]:
        """Measure both versions alike, and compare their runs with each other.

        Judging runs across versions costs about as much again as judging each version's own.

        Returns:
            Both evaluations, and the comparison of runs for each shared task with a run on both sides.

        Raises:
            GroupError: As for one version.
        """
        base, candidate = _kept(base), _kept(candidate)
        rules = (self.rules or ToolRules()).with_hints(logged_hints([*base, *candidate]))
        # What one side needed judged the other may need too: without a store, one that lasts as long as this call.
        with nullcontext(self.store) if self.store is not None else LabelStore(None) as known:
            alike = replace(
                self,
                judge=self.judge or embedded_judge(),
                encoder=self.encoder or embedded_encoder(),
                rules=rules,
                store=known,
            )
            first, second = alike.one(base), alike.one(candidate)
            labeller = Labeller(StoredJudge(alike.judge or embedded_judge(), known, self.progress), rules)
            groups = group_rollouts(base), group_rollouts(candidate)
            return first, second, compare_task_runs(*groups, labeller, self.options, self.seed, self.progress)


def _kept(rollouts: Iterable[Rollout]) -> Iterable[Rollout]:
    """Rollouts that can be gone through more than once, with what a `RolloutSet` says beside them."""
    return rollouts if hasattr(rollouts, "__len__") else list(rollouts)


def compare_task_runs(
    base: Iterable[RolloutGroup],
    candidate: Iterable[RolloutGroup],
    labeller: Labeller,
    options: ScoringOptions,
    seed: int = 0,
    progress: Progress = no_progress,
) -> dict[str, TwoVersions]:
    """Compare the runs of each shared task that has a scored run on both sides; by task id."""
    others: Mapping[str, RolloutGroup] = {group.task_id: group for group in candidate}
    shared = [(group, other) for group in base if (other := others.get(group.task_id)) and group.valid and other.valid]
    groups = [pooled(group, other) for group, other in shared]
    labels = labeller.settle(pair for group in groups for pair in pooled_pairs(group))
    found = {}
    with progress("comparing runs", total=len(groups)) as task:
        for (one, _), group in zip(shared, groups, strict=True):
            found[group.task_id] = compare_runs(pooled_distances(group, labels, options), len(one.valid), seed=seed)
            task.advance()
    return found
