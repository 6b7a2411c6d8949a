"""From recorded rollouts to one result: group, judge everything once, score each task, summarise over tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from likewise.backends.judges import embedded_judge
from likewise.backends.label_store import LabelStore
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.backends.tool_rules import ToolRules
from likewise.core.errors import GroupError, RolloutFormatError
from likewise.core.estimate import Estimate
from likewise.core.group import RolloutGroup, group_rollouts
from likewise.core.labels import UNCERTAIN_BELOW
from likewise.core.protocols import Accountable, Encoder, Judge, Progress, no_progress
from likewise.core.rollout import Excluded, Rollout
from likewise.core.signature import Signature
from likewise.core.state_text import STATE_TEXT_VERSION
from likewise.core.version import VERSION
from likewise.evaluation.cautions import cautions, refuse_mixtures
from likewise.evaluation.results import Evaluation, JudgeUse, Summary
from likewise.evaluation.uncertain import find_uncertain
from likewise.metrics.pass_k import pass_at_k, pass_hat_k, single_run_gap
from likewise.metrics.resampling import bootstrap_mean, wilson_share
from likewise.scoring.label import Labeller
from likewise.scoring.results import GroupScore
from likewise.scoring.score import (
    Alignments,
    ScoringOptions,
    align_group,
    fork_pairs,
    label_group,
    needed_pairs,
    score_group,
)
from likewise.scoring.stored_encoder import StoredEncoder
from likewise.scoring.stored_judge import StoredJudge
from likewise.scoring.tool_inventory import logged_hints

__all__ = ["evaluate"]

SHOWN_REASONS = 10
"""Reasons for pairs that were not measured, each a warning; further ones are counted together."""


def evaluate(
    rollouts: Iterable[Rollout],
    *,
    judge: Judge | None = None,
    encoder: Encoder | None = None,
    rules: ToolRules | None = None,
    store: LabelStore | None = None,
    options: ScoringOptions | None = None,
    resamples: int = 2000,
    seed: int = 0,
    progress: Progress = no_progress,
    pool: bool = False,
    uncertain_below: float = UNCERTAIN_BELOW,
    excluded: Sequence[Excluded] = (),
    warnings: Sequence[str] = (),
    files: Sequence[tuple[str, str]] = (),
) -> Evaluation:
    """Measure how alike the runs of each task are, where they part, and how often they succeed.

    Args:
        rollouts: Recorded runs; a `RolloutSet` also brings what it excluded and its warnings.
        judge: Gives the relation of two texts; the embedded one where None.
        encoder: Gives vectors for the embedding form of total variance; the embedded one where None.
        rules: How tool calls are compared; MCP annotations that the logs carry are added to them.
        store: Remembers judgements between calls.
        options: Discount, length policy, hard or soft distances.
        resamples: Bootstrap resamples over tasks.
        seed: Seed of the bootstrap; same rollouts and seed, same result.
        progress: Display of what is going on.
        pool: Score a task whose runs are of different models, agents or prompts as one, with a warning.
        uncertain_below: Confidence below which a judgement is listed as uncertain, in [0, 1].
        excluded: Records that never became rollouts, carried into the result.
        warnings: What else a reader should know, carried into the result.
        files: (path, format) of what was read, carried into the result.

    Returns:
        One score a task, a summary over tasks, and what was left out.

    Raises:
        GroupError: There are no rollouts, run ids occur twice within a task, or a task mixes runs of different models,
            agents or prompts and `pool` is not set.
    """
    options = options or ScoringOptions()
    excluded = (*getattr(rollouts, "excluded", ()), *excluded)
    warnings = (*getattr(rollouts, "warnings", ()), *warnings)
    files = (*getattr(rollouts, "files", ()), *files)
    groups = group_rollouts(rollouts)
    if not groups:
        raise GroupError(f"there are no rollouts to evaluate{_left_out(excluded)}")
    if not pool:
        refuse_mixtures(groups)
    warnings = (*warnings, *cautions(groups))
    judge, encoder = judge or embedded_judge(), StoredEncoder(encoder or embedded_encoder(), store)
    rules = (rules or ToolRules()).with_hints(logged_hints(r for group in groups for r in group.rollouts))
    labeller = Labeller(StoredJudge(judge, store, progress), rules)
    alignments = _align(groups, progress)
    labels = labeller.settle(
        pair for group, found in zip(groups, alignments, strict=True) for pair in needed_pairs(group, found)
    )
    known = [label_group(group, labels) for group in groups]
    labels = labeller.settle(pair for group, one in zip(groups, known, strict=True) for pair in fork_pairs(group, one))
    scores = []
    with progress("scoring tasks", total=len(groups)) as task:
        for group, found, one in zip(groups, alignments, known, strict=True):
            scores.append(
                score_group(group, labels, alignments=found, found=one, encoder=encoder, options=options, rules=rules)
            )
            task.advance()
    warnings = (*warnings, *_not_measured(labels.failures.values()))
    return Evaluation(
        signature=Signature(
            version=VERSION,
            judge=judge.judge_id,
            rules=rules.rules_id,
            encoder=encoder.encoder_id,
            state_text=STATE_TEXT_VERSION,
            distance="soft" if options.soft else "hard",
            gamma=options.gamma,
            length_policy=options.length_policy,
            interval=f"{options.confidence:.0%}",
            resamples=resamples,
            seed=seed,
        ),
        summary=_summary(scores, resamples, seed, options.confidence),
        tasks=tuple(scores),
        excluded=excluded,
        warnings=warnings,
        judge_use=JudgeUse(
            distinct_pairs=sum(labels.rules.values()) + len(labels.failures),
            by_rule=dict(labels.rules.most_common()),
            from_store=labeller.judge.from_store,
            from_model=labeller.judge.from_judge,
            notes=judge.account() if isinstance(judge, Accountable) else (),
        ),
        files=files,
        uncertain=find_uncertain(groups, labels, uncertain_below),
    )


def _left_out(excluded: Sequence[Excluded]) -> str:
    """Of records that could not be read: how many, and where and why the first."""
    if not excluded:
        return ""
    first = excluded[0]
    place = RolloutFormatError(first.path, first.reason, line=first.line, pointer=first.pointer)
    return f"; {len(excluded)} record(s) left out, the first: {place if first.path else first.reason}"


def _not_measured(failures: Iterable[str]) -> Iterator[str]:
    """One warning a reason, the commonest first; an endpoint may word each of its failures anew."""
    reasons = Counter(failures).most_common()
    for reason, count in reasons[:SHOWN_REASONS]:
        yield f"{count} pair(s) not measured: {reason}"
    if rest := reasons[SHOWN_REASONS:]:
        yield f"{sum(count for _, count in rest)} pair(s) not measured for {len(rest)} further reason(s)"


def _align(groups: Sequence[RolloutGroup], progress: Progress) -> list[Alignments]:
    with progress("aligning turns", total=len(groups)) as task:
        alignments = []
        for group in groups:
            alignments.append(align_group(group))
            task.advance()
    return alignments


def _summary(scores: Sequence[GroupScore], resamples: int, seed: int, confidence: float) -> Summary:
    def over_tasks(pick: Callable[[GroupScore], Estimate], what: str) -> Estimate:
        values = [value for score in scores if (value := pick(score).value) is not None]
        return _mean(values, what, confidence, resamples, seed)

    repeated = any(len(score.valid) > 1 for score in scores)
    pairs = "a pair of runs that was measured" if repeated else "two valid rollouts"
    forks = [score.first_fork for score in scores if score.first_fork is not None]
    outcomes = {score.task_id: [r.success for r in score.valid if r.success is not None] for score in scores}
    failed = any(len(score.valid) < len(score.rollouts) for score in scores)
    largest = max((len(known) for known in outcomes.values()), default=0)
    return Summary(
        tasks=len(scores),
        rollouts=sum(len(score.rollouts) for score in scores),
        valid=sum(len(score.valid) for score in scores),
        success_rate=over_tasks(lambda s: s.success_rate, "an outcome"),
        rsd=over_tasks(lambda s: s.rsd, pairs),
        rsd_normalised=over_tasks(lambda s: s.rsd_normalised, pairs),
        rsd_share=over_tasks(lambda s: s.rsd_share, pairs),
        aligned_rsd=over_tasks(lambda s: s.aligned_rsd, pairs),
        total_variance=over_tasks(lambda s: s.total_variance, "two final answers"),
        contradiction_share=over_tasks(lambda s: s.contradictions.share, "a judged pair of actions"),
        pass_at_k=_pass_figures(scores, pass_at_k, resamples, seed, confidence),
        pass_hat_k=_pass_figures(scores, pass_hat_k, resamples, seed, confidence),
        forks_by_cause=dict(Counter(str(fork.cause) for fork in forks)),
        forks_by_kind=dict(Counter(str(fork.kind) for fork in forks)),
        success_rate_all=_mean(_shares_of_all(scores), "a run", confidence, resamples, seed) if failed else None,
        pass_left_out={
            k: short
            for k in range(1, largest + 1)
            if (short := tuple(task for task, known in outcomes.items() if len(known) < k))
        },
        tasks_without_valid=tuple(score.task_id for score in scores if not score.valid),
        **_luck(outcomes.values(), confidence),
    )


def _luck(outcomes: Iterable[Sequence[bool]], confidence: float) -> dict[str, Estimate]:
    """What the outcomes of repeated tasks say of a single run: which flip, and how far that moves a whole score."""
    repeated = np.array([[sum(known), len(known)] for known in outcomes if len(known) > 1], dtype=np.int64)
    if not len(repeated):
        return {}
    successes, attempts = repeated.T
    flips = int(((successes > 0) & (successes < attempts)).sum())
    gap = single_run_gap(successes, attempts, confidence)
    return {
        "outcomes_flip": wilson_share(flips, len(repeated), "task", confidence),
        "single_run_gap": Estimate(gap, n=len(repeated), reason="itself a limit, of which none is given"),
    }


def _shares_of_all(scores: Sequence[GroupScore]) -> list[float]:
    """Share of each task's runs that succeeded, a run that failed in the harness being a failure."""
    shares = []
    for score in scores:
        known = [run.success for run in score.valid if run.success is not None]
        runs = len(known) + len(score.rollouts) - len(score.valid)
        shares += [sum(known) / runs] if runs else []
    return shares


def _mean(values: Sequence[float], what: str, confidence: float, resamples: int, seed: int) -> Estimate:
    if not values:
        return Estimate.undefined(f"no task has {what}", n=0)
    return bootstrap_mean(np.array(values, dtype=np.float64), confidence, resamples, seed)


def _pass_figures(
    scores: Sequence[GroupScore],
    figure: Callable[..., np.ndarray],
    resamples: int,
    seed: int,
    confidence: float,
) -> dict[int, Estimate]:
    """pass@k or pass^k for every k that some task has outcomes for; a task counts from its own n >= k on."""
    outcomes = [[r.success for r in score.valid if r.success is not None] for score in scores]
    counts = np.array([[sum(known), len(known)] for known in outcomes], dtype=np.int64).reshape(-1, 2)
    figures = {}
    for k in range(1, int(counts[:, 1].max(initial=0)) + 1):
        enough = counts[counts[:, 1] >= k]
        values = figure(enough[:, 0], enough[:, 1], k)
        figures[k] = _mean(values.tolist(), f"{k} outcomes", confidence, resamples, seed)
    return figures
