"""Everything measured on the rollouts of one task: the only place that calls several metrics.

Scoring goes in two steps, because the judge must be asked for whole files at once: `needed_pairs` and
`fork_pairs` list what must be judged, `score_group` turns the answers into numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float, Int, Int8

from likewise.core.estimate import Estimate
from likewise.core.group import LengthPolicy, RolloutGroup
from likewise.core.labels import NOT_MEASURED, PairLabels, Relation
from likewise.core.protocols import Encoder
from likewise.core.rollout import Action
from likewise.core.state_text import action_text, canonical_json, canonical_text
from likewise.metrics import bounds, divergence, equivalence, forks, tool_sequences, total_variance
from likewise.metrics.contradiction import summarise
from likewise.metrics.entropy import semantic_entropy
from likewise.metrics.nli_distance import hard_distance, soft_distance
from likewise.metrics.resampling import pair_mean, wilson_interval
from likewise.scoring.fork import describe_fork, observation_pairs
from likewise.scoring.label import ActionLabels, pair_labels, time_aligned_pairs
from likewise.scoring.results import Clash, Contradictions, GroupScore, PairTurn, ToolUse, TurnScore
from likewise.scoring.turn_alignment import align_actions, block_actions

__all__ = ["ScoringOptions", "fork_pairs", "needed_pairs", "score_group"]

GAP_DISTANCE = 0.5
"""Distance of an action that the other run, still going on, did not take: a neutral extra (aligned form only)."""


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """What moves the numbers: discount, length policy, and whether distances use labels or probabilities."""

    gamma: float = 0.8
    length_policy: LengthPolicy = LengthPolicy.ABSORB
    soft: bool = False
    confidence: float = 0.95


def _answers(group: RolloutGroup) -> list[Action | None]:
    """What each valid rollout told its user last; None where it said nothing."""
    return [Action(rollout.answer) if rollout.answer else None for rollout in group.valid]


def needed_pairs(group: RolloutGroup) -> Iterator[tuple[Action, Action]]:
    """Pairs that must be judged before anything is known: time-aligned, edit-aligned, final answers."""
    yield from time_aligned_pairs(group)
    for i, j in group.pairs:
        first, second = group.valid[i].actions, group.valid[j].actions
        for block in align_actions(first, second):
            together = block_actions(block, first, second)
            if together is not None:
                yield together
    for a, b in combinations(_answers(group), 2):
        if a is not None and b is not None:
            yield a, b


def fork_pairs(group: RolloutGroup, labels: ActionLabels) -> Iterator[tuple[Action, Action]]:
    """Texts of the environment that must be judged to tell who caused the first fork."""
    classes = turn_classes(group, pair_labels(group, labels))
    turn = forks.first_fork_turn(classes)
    if turn is not None:
        yield from observation_pairs(group, classes, turn)


def turn_classes(group: RolloutGroup, labels: PairLabels) -> Int[np.ndarray, "turns runs"]:
    """Equivalence class of each run at each turn: runs that ended are one class, runs that were cut none (-1)."""
    k, turns = len(group.valid), labels.relation.shape[1]
    lengths, cut = np.array(group.lengths, dtype=np.int64), np.array(group.cut, dtype=np.bool_)
    classes = np.full((turns, k), NOT_MEASURED, dtype=np.int64)
    for t in range(turns):
        ended = (lengths <= t) & ~cut
        relation: Int8[np.ndarray, "runs runs"] = np.full((k, k), NOT_MEASURED, dtype=np.int8)
        for p, (i, j) in enumerate(group.pairs):
            both_ended, one_ended = ended[i] and ended[j], ended[i] != ended[j]
            value = labels.relation[p, t]
            if both_ended:
                value = np.int8(Relation.EQUIVALENT)
            elif one_ended and not ((lengths[i] <= t and cut[i]) or (lengths[j] <= t and cut[j])):
                value = np.int8(Relation.CONTRADICTORY)
            relation[i, j] = relation[j, i] = value
        measured = (lengths > t) | ended
        for run in np.flatnonzero(measured):
            relation[run, run] = Relation.EQUIVALENT
        classes[t] = equivalence.equivalence_classes(relation).classes
    return classes


def _turn_distance(
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
    possible = failed @ (options.gamma ** np.arange(failed.shape[1]))
    return turn_distance, (float(band.low.mean()), float((band.high + possible).mean()))


def _aligned_rsd(group: RolloutGroup, labels: ActionLabels, options: ScoringOptions) -> Estimate:
    """The discounted sum over turns aligned by edit distance, in [0, 1/(1-gamma)]; see scoring.turn_alignment."""
    sums = []
    for i, j in group.pairs:
        first, second = group.valid[i].actions, group.valid[j].actions
        distances = []
        for block in align_actions(first, second):
            together = block_actions(block, first, second)
            if together is not None:
                judgement = labels.of(*together)
                distances.append(np.nan if judgement is None else _distance(judgement.relation))
            else:
                distances.append(_gap(group, (i, j), block.first, block.second, options.length_policy))
        weights = options.gamma ** np.arange(len(distances))
        sums.append(float(np.nansum(np.array(distances, dtype=np.float64) * weights)))
    pairs = np.array(group.pairs, dtype=np.int64).reshape(-1, 2)
    return pair_mean(np.array(sums), pairs, 1 / (1 - options.gamma), options.confidence)


def _distance(relation: Relation) -> float:
    return float(hard_distance(np.array([relation], dtype=np.int8))[0])


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
    group: RolloutGroup, labels: PairLabels, turn_distance: Float[np.ndarray, "pairs turns"], gamma: float
) -> tuple[TurnScore, ...]:
    mean, tail = divergence.per_turn_mean(turn_distance), divergence.rsd_from_turn(turn_distance, gamma)
    scores = []
    for t in range(turn_distance.shape[1]):
        relation, distance = labels.relation[:, t], turn_distance[:, t]
        judged = relation != NOT_MEASURED
        scores.append(
            TurnScore(
                turn=t,
                mean_distance=None if np.isnan(mean[t]) else float(mean[t]),
                rsd_from_here=float(tail[t]),
                equivalent=int((relation == Relation.EQUIVALENT).sum()),
                neutral=int((relation == Relation.NEUTRAL).sum()),
                contradictory=int((relation == Relation.CONTRADICTORY).sum()),
                ended=int((~judged & (distance == 1.0)).sum()),
                unmeasured=int(np.isnan(distance).sum()),
            )
        )
    return tuple(scores)


def _contradiction_score(labels: PairLabels) -> Float[np.ndarray, "pairs turns"]:
    """The larger probability of contradiction of the two directions; 0 to 1, NaN where not measured."""
    return np.asarray(np.maximum(labels.forward[..., 2], labels.backward[..., 2]), dtype=np.float64)


def _contradictions(group: RolloutGroup, labels: PairLabels, options: ScoringOptions) -> Contradictions:
    score = _contradiction_score(labels)
    summary = summarise(score, labels.relation)
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


def _answer_relation(group: RolloutGroup, labels: ActionLabels) -> Int8[np.ndarray, "runs runs"]:
    answers = _answers(group)
    relation: Int8[np.ndarray, "runs runs"] = np.full((len(answers), len(answers)), NOT_MEASURED, dtype=np.int8)
    for i, answer in enumerate(answers):
        if answer is not None:
            relation[i, i] = Relation.EQUIVALENT
    for i, j in combinations(range(len(answers)), 2):
        a, b = answers[i], answers[j]
        if a is not None and b is not None and (judgement := labels.of(a, b)) is not None:
            relation[i, j] = relation[j, i] = judgement.relation
    return relation


def _tool_use(group: RolloutGroup) -> ToolUse:
    calls = [[call for action in rollout.actions for call in action.tool_calls] for rollout in group.valid]
    names = [[call.name for call in run] for run in calls]
    arguments = []
    for run in calls:
        by_tool: dict[str, list[str]] = {}
        for call in run:
            by_tool.setdefault(call.name, []).append(canonical_json(call.arguments))
        arguments.append(by_tool)
    return ToolUse(
        sequence_similarity=tool_sequences.mean_sequence_similarity(names),
        argument_consistency=tool_sequences.argument_consistency(arguments),
        unique_paths=tool_sequences.unique_paths([tuple(run) for run in names]),
    )


def _embedding_variance(texts: Sequence[str], encoder: Encoder | None) -> Estimate:
    if encoder is None:
        return Estimate.undefined("no encoder was given")
    if len(texts) < 2:
        return Estimate.undefined(f"{len(texts)} rollout(s) with an answer: variance needs at least two")
    return total_variance.embedding_total_variance(encoder.encode([canonical_text(text) for text in texts]))


def _success_rate(group: RolloutGroup, confidence: float) -> Estimate:
    known = [rollout.success for rollout in group.valid if rollout.success is not None]
    if not known:
        return Estimate.undefined("the log gives no outcome for any valid rollout")
    low, high = wilson_interval(sum(known), len(known), confidence)
    return Estimate(sum(known) / len(known), low, high, n=len(known))


def score_group(
    group: RolloutGroup, labels: ActionLabels, *, encoder: Encoder | None = None, options: ScoringOptions | None = None
) -> GroupScore:
    """Score the rollouts of one task.

    Args:
        group: Rollouts of one task; invalid ones are counted, not scored.
        labels: Answers for everything that `needed_pairs` and `fork_pairs` list.
        encoder: For the embedding form of total variance; that number is undefined without.
        options: Discount, length policy, hard or soft distances.

    Returns:
        All numbers of the task, each with an interval or a reason.
    """
    options = options or ScoringOptions()
    arrays = pair_labels(group, labels)
    turn_distance, band = _turn_distance(group, arrays, options)
    classes = turn_classes(group, arrays)
    fork_turn = forks.first_fork_turn(classes)
    rsd = divergence.monte_carlo_rsd(turn_distance, arrays.pairs, len(group.valid), options.gamma, options.confidence)
    answers = equivalence.equivalence_classes(_answer_relation(group, labels))
    answered = np.array([label for label in answers.classes if label >= 0], dtype=np.int64)
    score = _contradiction_score(arrays)
    return GroupScore(
        task_id=group.task_id,
        rollouts=group.rollouts,
        success_rate=_success_rate(group, options.confidence),
        rsd=rsd,
        rsd_band=band,
        rsd_normalised=divergence.normalised(rsd, options.gamma),
        aligned_rsd=_aligned_rsd(group, labels, options) if len(group.valid) > 1 else rsd,
        total_variance=_answer_variance(answered, options.confidence),
        embedding_total_variance=_embedding_variance([r.answer for r in group.valid if r.answer], encoder),
        volume_total_variance=_volume_variance(group),
        semantic_entropy=_entropy(answered),
        agreement=equivalence.dominant_share(answers),
        answer_classes=tuple(answers.classes),
        transitivity_violations=answers.transitivity_violations,
        turns=_turn_scores(group, arrays, turn_distance, options.gamma),
        classes=tuple(tuple(int(label) for label in row) for row in classes),
        contradictions=_contradictions(group, arrays, options),
        first_fork=None
        if fork_turn is None
        else describe_fork(group, classes, fork_turn, labels, turn_distance, options.gamma),
        tool_use=_tool_use(group),
        bounds=_bounds(rsd),
        pairs=tuple(
            PairTurn(i, j, t, Relation(arrays.relation[p, t]), arrays.rule[p][t] or "", float(score[p, t]))
            for p, (i, j) in enumerate(group.pairs)
            for t in np.flatnonzero(arrays.relation[p] != NOT_MEASURED).tolist()
        ),
    )


def _answer_variance(classes: Int[np.ndarray, " runs"], confidence: float) -> Estimate:
    if len(classes) < 2:
        return Estimate.undefined(f"{len(classes)} rollout(s) with an answer: variance needs at least two")
    return total_variance.answer_total_variance(classes, confidence)


def _volume_variance(group: RolloutGroup) -> Estimate:
    counts = [sum(len(action.tool_calls) for action in rollout.actions) for rollout in group.valid]
    if len(counts) < 2:
        return Estimate.undefined(f"{len(counts)} valid rollout(s): variance needs at least two")
    value = float(total_variance.volume_total_variance(np.array(counts, dtype=np.float64)))
    return Estimate(value, n=len(counts), reason="no interval: a description of these runs, not of the agent")


def _entropy(classes: Int[np.ndarray, " runs"]) -> Estimate:
    if len(classes) < 2:
        return Estimate.undefined(f"{len(classes)} rollout(s) with an answer: entropy needs at least two")
    value = float(semantic_entropy(classes))
    return Estimate(value, n=len(classes), reason="no interval: entropy of few runs is biased downward")


def _bounds(rsd: Estimate) -> dict[str, bounds.Bound]:
    """Theorems of RSD at its upper confidence limit; see metrics.bounds."""
    return {
        "trajectory_agreement": bounds.trajectory_agreement_at_root(rsd),
        "immediate_contradiction": bounds.immediate_contradiction(rsd),
        "dominant_class": bounds.dominant_class(rsd),
        "dominant_class_sharp": bounds.dominant_class_sharp(rsd),
    }


def count_rules(score: GroupScore) -> Counter[str]:
    """How often each rule decided a judged pair of actions of this group."""
    return Counter(pair.rule for pair in score.pairs)
