"""Everything measured on the rollouts of one task: the only place that calls several metrics.

Scoring goes in two steps, because the judge must be asked for whole files at once: `needed_pairs` and
`fork_pairs` list what must be judged, `score_group` turns the answers into numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int, Int8

from likewise.backends.tool_rules import ToolRules
from likewise.core.estimate import Estimate
from likewise.core.group import LengthPolicy, RolloutGroup
from likewise.core.labels import NOT_MEASURED, Judgement, PairLabels, Relation
from likewise.core.protocols import Encoder
from likewise.core.rollout import Action
from likewise.core.state_text import action_text
from likewise.metrics import bounds, divergence, equivalence, forks, tool_sequences, total_variance
from likewise.metrics.alignment import Block
from likewise.metrics.contradiction import summarise
from likewise.metrics.nli_distance import hard_distance, soft_distance
from likewise.metrics.resampling import pair_mean, wilson_interval
from likewise.scoring.answers import answer_pairs, score_answers
from likewise.scoring.fork import describe_fork, observation_pairs
from likewise.scoring.label import ActionLabels, pair_labels, time_aligned_pairs
from likewise.scoring.results import Clash, Contradictions, GroupScore, PairTurn, ToolUse, TurnScore
from likewise.scoring.turn_alignment import Profile, align_profiles, block_actions

__all__ = [
    "Alignments",
    "GroupLabels",
    "ScoringOptions",
    "align_group",
    "fork_pairs",
    "group_distances",
    "label_group",
    "largest_rsd",
    "needed_pairs",
    "score_group",
]

Alignments: TypeAlias = "Sequence[tuple[Block, ...] | None]"

GAP_DISTANCE = 0.5
"""Distance of an action that the other run, still going on, did not take: a neutral extra (aligned form only)."""


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """What moves the numbers: discount, length policy, and whether distances use labels or probabilities."""

    gamma: float = 0.8
    length_policy: LengthPolicy = LengthPolicy.ABSORB
    soft: bool = False
    confidence: float = 0.95


def align_group(group: RolloutGroup) -> Alignments:
    """The alignment of each pair of valid rollouts, in order of `group.pairs`; None where it is too long to find."""
    profiles = [[Profile.of(action) for action in rollout.actions] for rollout in group.valid]
    return [align_profiles(profiles[i], profiles[j]) for i, j in group.pairs]


def needed_pairs(group: RolloutGroup, alignments: Alignments | None = None) -> Iterator[tuple[Action, Action]]:
    """Pairs that must be judged before anything is known: time-aligned, edit-aligned, final answers."""
    yield from time_aligned_pairs(group)
    for (i, j), blocks in zip(group.pairs, alignments or align_group(group), strict=True):
        first, second = group.valid[i].actions, group.valid[j].actions
        for block in blocks or ():
            together = block_actions(block, first, second)
            if together is not None:
                yield together
    yield from answer_pairs(group)


@dataclass(frozen=True, slots=True)
class GroupLabels:
    """What the answers to `needed_pairs` say of a group, turn by turn.

    Attributes:
        pairs: Relations of its pairs.
        classes: Equivalence classes; see `turn_classes`.
        fork_turn: First turn at which its runs part; None where they never do.
    """

    pairs: PairLabels
    classes: Int[np.ndarray, "turns runs"]
    fork_turn: int | None


def label_group(group: RolloutGroup, labels: ActionLabels) -> GroupLabels:
    """Arrange answers by pair and turn; those to `fork_pairs` need not be there yet."""
    pairs = pair_labels(group, labels)
    classes = turn_classes(group, pairs)
    return GroupLabels(pairs, classes, forks.first_fork_turn(classes))


def fork_pairs(group: RolloutGroup, found: GroupLabels) -> Iterator[tuple[Action, Action]]:
    """Texts of the environment that must be judged to tell who caused the first fork."""
    if found.fork_turn is not None:
        yield from observation_pairs(group, found.classes, found.fork_turn)


def turn_classes(group: RolloutGroup, labels: PairLabels) -> Int[np.ndarray, "turns runs"]:
    """Equivalence class of each run at each turn: runs that ended are one class, runs that were cut none (-1).

    A pair that could not be judged counts as alike here: a judge's failure must not make runs part. A run of which no
    pair could be judged is not measured.
    """
    k, turns = len(group.valid), labels.relation.shape[1]
    pairs, lengths, cut = group.pairs, group.lengths, group.cut
    classes = np.full((turns, k), NOT_MEASURED, dtype=np.int64)
    for t, judged in enumerate(labels.relation.T.tolist()):  # lists: cell by cell they are faster than arrays
        acting = [length > t for length in lengths]
        relation: Int8[np.ndarray, "runs runs"] = np.full((k, k), NOT_MEASURED, dtype=np.int8)
        known = [False] * k
        for (i, j), label in zip(pairs, judged, strict=True):
            if (cut[i] and not acting[i]) or (cut[j] and not acting[j]):
                continue
            failed = acting[i] and acting[j] and label == NOT_MEASURED
            if not failed:
                known[i] = known[j] = True
            if acting[i] != acting[j]:
                value = int(Relation.CONTRADICTORY)
            elif acting[i] and not failed:
                value = label
            else:
                value = int(Relation.EQUIVALENT)
            relation[i, j] = relation[j, i] = value
        classes[t] = np.where(known, equivalence.equivalence_classes(relation).classes, NOT_MEASURED)
    return classes


def group_distances(
    group: RolloutGroup, labels: PairLabels, options: ScoringOptions
) -> tuple[Float[np.ndarray, "pairs turns"], tuple[float, float] | None]:
    """Distances with ends filled in, and the band that cuts and failed judgements leave open."""
    distance = soft_distance(labels.forward, labels.backward) if options.soft else hard_distance(labels.relation)
    lengths = np.array(group.lengths, dtype=np.int64)
    cut = np.array(group.cut, dtype=np.bool_)
    shared = np.arange(distance.shape[1]) < lengths[labels.pairs].min(axis=1)[:, None]
    failed: Bool[np.ndarray, "pairs turns"] = shared & np.isnan(distance)
    filled = np.where(failed, 0.0, distance)
    turn_distance = divergence.turn_distances(filled, labels.pairs, lengths, cut, options.length_policy)
    turn_distance[failed] = np.nan
    open_from = divergence.first_unmeasured_turn(labels.pairs, lengths, cut, options.length_policy)
    if not failed.any() and not (open_from >= 0).any():
        return turn_distance, None
    band = divergence.divergence_band(turn_distance, open_from, options.gamma)
    possible = divergence.discounted_sum(failed.astype(np.float64), options.gamma)
    return turn_distance, (float(band.low.mean()), float((band.high + possible).mean()))


def _nothing_measured(group: RolloutGroup, turn_distance: Float[np.ndarray, "pairs turns"]) -> bool:
    """Whether runs share turns, and not one could be judged: the lower edge 0 would then pass for agreement."""
    share = any(min(group.lengths[i], group.lengths[j]) for i, j in group.pairs)
    return share and bool(np.isnan(turn_distance).all())


def _aligned_rsd(
    group: RolloutGroup, labels: ActionLabels, alignments: Alignments, options: ScoringOptions
) -> Estimate:
    """The discounted sum over turns aligned by edit distance, in [0, 1/(1-gamma)]; see scoring.turn_alignment."""
    if len(group.valid) < 2:
        return Estimate.undefined(f"{len(group.valid)} valid rollout(s): divergence needs at least two")
    sums = []
    for (i, j), blocks in zip(group.pairs, alignments, strict=True):
        if blocks is None:
            return Estimate.undefined(f"runs of {group.lengths[i]} and {group.lengths[j]} turns are too long to align")
        first, second = group.valid[i].actions, group.valid[j].actions
        distances = []
        for block in blocks:
            together = block_actions(block, first, second)
            if together is not None:
                judgement = labels.of(*together)
                distances.append(np.nan if judgement is None else _distance(judgement, options.soft))
            else:
                distances.append(_gap(group, (i, j), block.first, block.second, options.length_policy))
        row = np.array(distances, dtype=np.float64)[None, :]
        sums.append(float(divergence.discounted_sum(row, options.gamma)[0]))
    pairs = np.array(group.pairs, dtype=np.int64).reshape(-1, 2)
    steps = None if any(group.cut) else max(1, *(len(found or ()) for found in alignments))
    return pair_mean(np.array(sums), pairs, divergence.largest_divergence(options.gamma, steps), options.confidence)


def largest_rsd(group: RolloutGroup, options: ScoringOptions) -> float:
    """The largest RSD that the turns of a group's runs allow.

    Of the longest run, since from its end on nothing differs any more; of the second longest where only shared turns
    count. Where a run was cut nobody knows how long it would have been: then the limit of endless runs.
    """
    if any(group.cut):
        return divergence.largest_divergence(options.gamma)
    longest = sorted((0, 0, *group.lengths))[-2 if options.length_policy is LengthPolicy.TRUNCATE else -1]
    return divergence.largest_divergence(options.gamma, max(1, longest))


def _distance(judgement: Judgement, soft: bool) -> float:
    if soft:
        forward, backward = (np.array([p], dtype=np.float32) for p in (judgement.forward, judgement.backward))
        return float(soft_distance(forward, backward)[0])
    return float(hard_distance(np.array([judgement.relation], dtype=np.int8))[0])


def _gap(
    group: RolloutGroup, pair: tuple[int, int], first: tuple[int, int], second: tuple[int, int], policy: LengthPolicy
) -> float:
    """Distance of a turn without partner: as after an end where the other run is over, else a neutral extra."""
    run, at = (pair[1], second) if first[1] > first[0] else (pair[0], first)
    if at[0] < group.lengths[run]:
        return GAP_DISTANCE
    if group.cut[run] or policy is LengthPolicy.TRUNCATE:
        return float("nan")
    return 1.0


def _turn_scores(
    group: RolloutGroup,
    labels: PairLabels,
    turn_distance: Float[np.ndarray, "pairs turns"],
    options: ScoringOptions,
) -> tuple[TurnScore, ...]:
    mean, tail = divergence.per_turn_mean(turn_distance), divergence.rsd_from_turn(turn_distance, options.gamma)
    lengths, cut = np.array(group.lengths, dtype=np.int64), np.array(group.cut, dtype=np.bool_)
    open_from = divergence.first_unmeasured_turn(labels.pairs, lengths, cut, options.length_policy)
    scores = []
    for t in range(turn_distance.shape[1]):
        relation, acting = labels.relation[:, t], lengths[labels.pairs] > t
        ended = acting.any(axis=1) & (~acting & ~cut[labels.pairs]).any(axis=1)
        failed = acting.all(axis=1) & (relation == NOT_MEASURED)
        scores.append(
            TurnScore(
                turn=t,
                mean_distance=None if np.isnan(mean[t]) else float(mean[t]),
                rsd_from_here=float(tail[t]),
                equivalent=int((relation == Relation.EQUIVALENT).sum()),
                neutral=int((relation == Relation.NEUTRAL).sum()),
                contradictory=int((relation == Relation.CONTRADICTORY).sum()),
                ended=int(ended.sum()),
                unmeasured=int((failed | ((open_from >= 0) & (open_from <= t))).sum()),
            )
        )
    return tuple(scores)


def _contradiction_score(labels: PairLabels) -> Float[np.ndarray, "pairs turns"]:
    """The larger probability of contradiction of the two directions; 0 to 1, NaN where not measured."""
    return np.asarray(np.maximum(labels.forward[..., 2], labels.backward[..., 2]), dtype=np.float64)


def _contradictions(group: RolloutGroup, labels: PairLabels, options: ScoringOptions) -> Contradictions:
    score = _contradiction_score(labels)
    summary = summarise(score, labels.relation, pairs=labels.pairs, confidence=options.confidence)
    clashes = []
    for p, t in summary.critical:
        i, j = group.pairs[p]
        a, b = group.valid[i].actions[t], group.valid[j].actions[t]
        clashes.append(
            Clash(
                run_i=group.valid[i].run_id,
                run_j=group.valid[j].run_id,
                turn=t,
                text_i=action_text(a),
                text_j=action_text(b),
                score=float(score[p, t]),
                rule=labels.rule[p][t] or "",
            )
        )
    return Contradictions(
        summary.pairs, summary.contradictory, summary.share, summary.max, summary.mean, tuple(clashes)
    )


def _tool_use(group: RolloutGroup, rules: ToolRules) -> ToolUse:
    calls = [[call for action in rollout.actions for call in action.tool_calls] for rollout in group.valid]
    names = [[call.name for call in run] for run in calls]
    arguments = []
    for run in calls:
        by_tool: dict[str, list[str]] = {}
        for call in run:
            by_tool.setdefault(call.name, []).append(rules.call_key(call))
        arguments.append(by_tool)
    return ToolUse(
        sequence_similarity=tool_sequences.mean_sequence_similarity(names),
        argument_consistency=tool_sequences.argument_consistency(arguments),
        unique_paths=tool_sequences.unique_paths([tuple(run) for run in names]),
    )


def _success_rate(group: RolloutGroup, confidence: float) -> Estimate:
    known = [rollout.success for rollout in group.valid if rollout.success is not None]
    if not known:
        return Estimate.undefined("the log gives no outcome for any valid rollout")
    low, high = wilson_interval(sum(known), len(known), confidence)
    return Estimate(sum(known) / len(known), low, high, n=len(known))


def score_group(
    group: RolloutGroup,
    labels: ActionLabels,
    *,
    alignments: Alignments | None = None,
    found: GroupLabels | None = None,
    encoder: Encoder | None = None,
    options: ScoringOptions | None = None,
    rules: ToolRules | None = None,
) -> GroupScore:
    """Score the rollouts of one task.

    Args:
        group: Rollouts of one task; invalid ones are counted, not scored.
        labels: Answers for everything that `needed_pairs` and `fork_pairs` list.
        alignments: What `align_group` gave, to spare finding it again.
        found: What `label_group` gave, to spare finding it again.
        encoder: For the embedding form of total variance; that number is undefined without.
        options: Discount, length policy, hard or soft distances.
        rules: Which arguments of tool calls count (those that gave the labels); the default table where None.

    Returns:
        All numbers of the task, each with an interval or a reason.
    """
    options = options or ScoringOptions()
    found = found or label_group(group, labels)
    arrays, classes, fork_turn = found.pairs, found.classes, found.fork_turn
    turn_distance, band = group_distances(group, arrays, options)
    largest = largest_rsd(group, options)
    if _nothing_measured(group, turn_distance):
        rsd = aligned = Estimate.undefined("no pair of actions could be judged", n=len(group.valid))
    else:
        rsd = divergence.monte_carlo_rsd(
            turn_distance, arrays.pairs, len(group.valid), options.gamma, options.confidence, largest
        )
        aligned = _aligned_rsd(group, labels, alignments or align_group(group), options)
    answers = score_answers(group, labels, encoder, options.confidence)
    score = _contradiction_score(arrays)
    return GroupScore(
        task_id=group.task_id,
        rollouts=group.rollouts,
        success_rate=_success_rate(group, options.confidence),
        rsd=rsd,
        rsd_band=band,
        rsd_normalised=divergence.normalised(rsd, options.gamma),
        rsd_share=divergence.as_share(rsd, largest),
        rsd_largest=largest,
        aligned_rsd=aligned,
        total_variance=answers.total_variance,
        embedding_total_variance=answers.embedding_total_variance,
        volume_total_variance=_volume_variance(group),
        semantic_entropy=answers.semantic_entropy,
        agreement=answers.agreement,
        answer_classes=answers.classes,
        transitivity_violations=answers.transitivity_violations,
        turns=_turn_scores(group, arrays, turn_distance, options),
        classes=tuple(tuple(int(label) for label in row) for row in classes),
        contradictions=_contradictions(group, arrays, options),
        first_fork=None
        if fork_turn is None
        else describe_fork(group, classes, fork_turn, labels, turn_distance, options.gamma),
        tool_use=_tool_use(group, rules or ToolRules()),
        bounds=_bounds(rsd),
        pairs=tuple(
            PairTurn(i, j, t, Relation(arrays.relation[p, t]), arrays.rule[p][t] or "", float(score[p, t]))
            for p, (i, j) in enumerate(group.pairs)
            for t in np.flatnonzero(arrays.relation[p] != NOT_MEASURED).tolist()
        ),
    )


def _volume_variance(group: RolloutGroup) -> Estimate:
    counts = [sum(len(action.tool_calls) for action in rollout.actions) for rollout in group.valid]
    if len(counts) < 2:
        return Estimate.undefined(f"{len(counts)} valid rollout(s): variance needs at least two")
    value = float(total_variance.volume_total_variance(np.array(counts, dtype=np.float64)))
    return Estimate(value, n=len(counts), reason="no interval: a description of these runs, not of the agent")


def _bounds(rsd: Estimate) -> dict[str, bounds.Bound]:
    """Theorems of RSD at its upper confidence limit; see metrics.bounds."""
    return {
        "trajectory_agreement": bounds.trajectory_agreement_at_root(rsd),
        "immediate_contradiction": bounds.immediate_contradiction(rsd),
        "dominant_class": bounds.dominant_class(rsd),
        "dominant_class_sharp": bounds.dominant_class_sharp(rsd),
    }
