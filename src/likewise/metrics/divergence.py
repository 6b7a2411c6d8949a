"""Direct (Monte Carlo) Recursive Semantic Divergence of recorded rollouts: no learning.

D(tau, tau') = sum_t gamma^t d(a_t, a'_t), and RSD = its mean over all pairs of rollouts of a task.

A turn distance is NaN for one of two reasons, which the array alone does not tell apart. *Unmeasured*: a rollout was
cut from outside, so what it would have done is unknown; `first_unmeasured_turn` says from where and
`divergence_band` what that may add. *Left out*: under LengthPolicy.TRUNCATE, turns after the shorter rollout are not
part of the number at all.

Source: arXiv:2610.33012, Eq. 1 and Table 3; lengths and cuts are this project's choice (the paper is silent).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int, Int8, Int64

from likewise.core.estimate import Estimate
from likewise.core.group import LengthPolicy
from likewise.core.labels import NOT_MEASURED
from likewise.metrics.resampling import pair_mean

__all__ = [
    "DivergenceBand",
    "as_share",
    "discounted_sum",
    "divergence_band",
    "first_unmeasured_turn",
    "largest_divergence",
    "monte_carlo_rsd",
    "normalised",
    "per_turn_mean",
    "relation_shares",
    "rsd_from_turn",
    "turn_distances",
]


class DivergenceBand(NamedTuple):
    """What the discounted sum of each pair is at least and at most, given what was not measured."""

    low: Float64[np.ndarray, " pairs"]
    high: Float64[np.ndarray, " pairs"]


def first_unmeasured_turn(
    pairs: Int[np.ndarray, "pairs 2"],
    lengths: Int[np.ndarray, " rollouts"],
    cut: Bool[np.ndarray, " rollouts"],
    policy: LengthPolicy = LengthPolicy.ABSORB,
) -> Int64[np.ndarray, " pairs"]:
    """The first turn of each pair at which a rollout that was cut from outside has no action.

    That the other rollout ended earlier does not help under ABSORB: END is compared with what is not known. Under
    TRUNCATE it does: nothing after the end of a whole rollout is compared.

    Args:
        pairs: The two rollouts of each pair.
        lengths: Turns of each rollout.
        cut: Whether each rollout was cut from outside.
        policy: What the turns after a rollout's own end count as.

    Returns:
        Turn numbers; -1 where everything that counts was measured.
    """
    never = np.iinfo(np.int64).max
    cut_at = np.where(cut, lengths, never)[pairs].min(axis=1, initial=never)
    if policy is LengthPolicy.TRUNCATE:
        ended_at = np.where(cut, never, lengths)[pairs].min(axis=1, initial=never)
        cut_at = np.where(ended_at <= cut_at, never, cut_at)
    return np.asarray(np.where(cut_at == never, -1, cut_at), dtype=np.int64)


def turn_distances(
    distance: Float[np.ndarray, "pairs turns"],
    pairs: Int[np.ndarray, "pairs 2"],
    lengths: Int[np.ndarray, " rollouts"],
    cut: Bool[np.ndarray, " rollouts"],
    policy: LengthPolicy,
) -> Float64[np.ndarray, "pairs turns"]:
    """Distances at every turn that counts, with the turns after an end filled in.

    Under ABSORB a rollout that ended by itself acts END from then on: END against an action is 1, END against END 0.

    Args:
        distance: Distances of judged pairs of actions, in [0, 1]; NaN where a rollout has no action.
        pairs: The two rollouts of each pair.
        lengths: Turns of each rollout.
        cut: Whether each rollout was cut from outside; it has no END.
        policy: What the turns after a rollout's own end count as.

    Returns:
        Distances in [0, 1]. NaN from an outside cut on (unmeasured) and, under TRUNCATE, after the shorter rollout
        (left out).

    Raises:
        ValueError: Fewer turns than the longest rollout has; a distance outside [0, 1]; a distance that is missing
            where both rollouts act, or given where one does not.
    """
    turn = np.arange(distance.shape[1])
    ends = lengths[pairs]
    if ends.size and ends.max() > len(turn):
        raise ValueError(f"the longest rollout has {ends.max()} turns, the distances only {len(turn)}")
    _check_distances(distance, pairs, shared=turn < ends.min(axis=1, initial=np.iinfo(np.int64).max)[:, None])
    filled = distance.astype(np.float64)
    if policy is LengthPolicy.ABSORB:
        acting = turn < ends[:, :, None]
        filled[np.logical_xor(acting[:, 0], acting[:, 1])] = 1.0
        filled[~acting.any(axis=1)] = 0.0
        unmeasured_from = first_unmeasured_turn(pairs, lengths, cut)[:, None]
        filled[(unmeasured_from >= 0) & (turn >= unmeasured_from)] = np.nan
    return filled


def _check_distances(
    distance: Float[np.ndarray, "pairs turns"],
    pairs: Int[np.ndarray, "pairs 2"],
    shared: Bool[np.ndarray, "pairs turns"],
) -> None:
    if (distance < 0).any() or (distance > 1).any():
        raise ValueError("distances lie in [0, 1]")
    wrong = np.argwhere(np.isnan(distance) == shared)
    if len(wrong):
        pair, turn = wrong[0]
        fault = "both act but no distance was measured" if shared[pair, turn] else "a distance without two actions"
        raise ValueError(f"rollouts {pairs[pair, 0]} and {pairs[pair, 1]} at turn {turn}: {fault}")


def discounted_sum(turn_distance: Float[np.ndarray, "pairs turns"], gamma: float) -> Float64[np.ndarray, " pairs"]:
    """Divergence D of each pair: the discounted sum of its turn distances.

    NaN counts 0, so where turns are unmeasured this is the lower edge; `divergence_band` has both.

    Source: RSD paper, Eq. 1 (the sum inside the expectation).

    Args:
        turn_distance: Distances in [0, 1], as `turn_distances` gives them.
        gamma: Discount in [0, 1).

    Returns:
        Divergences in [0, 1/(1-gamma)].

    Raises:
        ValueError: A discount outside [0, 1).
    """
    _check_discount(gamma)
    weights = gamma ** np.arange(turn_distance.shape[1], dtype=np.float64)
    return np.asarray(np.nan_to_num(turn_distance.astype(np.float64)) @ weights, dtype=np.float64)


def largest_divergence(gamma: float, turns: int | None = None) -> float:
    """The divergence of two runs that contradict each other for so many turns, (1-gamma^T)/(1-gamma), or for ever.

    Args:
        gamma: Discount in [0, 1).
        turns: Turns T of the longer run, at least 1; None for ever, which gives 1/(1-gamma).

    Returns:
        At least 1; exactly 1 for one turn.

    Raises:
        ValueError: A discount outside [0, 1), or no turn.
    """
    _check_discount(gamma)
    if turns is None:
        return math.ceil(1e9 / (1 - gamma) - 1e-3) / 1e9  # 1/(1-0.8) is 5.000000000000001 in floats
    if turns < 1:
        raise ValueError(f"two runs diverge over at least one turn, got {turns}")
    return math.fsum(gamma**turn for turn in range(turns))


def divergence_band(
    turn_distance: Float[np.ndarray, "pairs turns"], unmeasured_from: Int[np.ndarray, " pairs"], gamma: float
) -> DivergenceBand:
    """The divergence of each pair with what its unmeasured turns may add: [D, D + gamma^c/(1-gamma)].

    Args:
        turn_distance: Distances in [0, 1], as `turn_distances` gives them.
        unmeasured_from: First unmeasured turn c of each pair, -1 for none; see `first_unmeasured_turn`.
        gamma: Discount in [0, 1).

    Returns:
        Lower and upper edge in [0, 1/(1-gamma)], equal where nothing is unmeasured.

    Raises:
        ValueError: A discount outside [0, 1).
    """
    low = discounted_sum(turn_distance, gamma)
    open_end = unmeasured_from >= 0
    at_most = gamma ** np.where(open_end, unmeasured_from, 0).astype(np.float64) / (1 - gamma)
    return DivergenceBand(low, np.minimum(low + np.where(open_end, at_most, 0.0), largest_divergence(gamma)))


def monte_carlo_rsd(
    turn_distance: Float[np.ndarray, "pairs turns"],
    pairs: Int[np.ndarray, "pairs 2"],
    n_rollouts: int,
    gamma: float,
    confidence: float = 0.95,
    largest: float | None = None,
) -> Estimate:
    """RSD of a task: the mean divergence over all pairs of its rollouts.

    A U-statistic: pairs share rollouts, so its standard error comes from leaving out one rollout at a time; its
    interval holds whatever the distribution (see `resampling.pair_mean`) and ends at the largest divergence that is
    possible. Where turns are unmeasured this is the lower edge.

    Source: RSD paper, Eq. 1 and Table 3.

    Args:
        turn_distance: Distances in [0, 1], as `turn_distances` gives them.
        pairs: The two rollouts of each pair; all K(K-1)/2 pairs, each once.
        n_rollouts: Rollouts K of the task.
        gamma: Discount in [0, 1).
        confidence: Least share of intervals that hold the true value, in (0, 1).
        largest: The largest divergence that two rollouts can have (`largest_divergence` of the turns that a rollout
            has at most); 1/(1-gamma) where None.

    Returns:
        RSD in [0, largest], n = K. Fewer than two rollouts are undefined.

    Raises:
        ValueError: A discount outside [0, 1), pairs that are not all pairs of K rollouts, or a divergence above the
            largest.
    """
    _check_discount(gamma)
    if {frozenset(pair) for pair in pairs.tolist()} != _all_pairs(n_rollouts) or len(pairs) != _n_pairs(n_rollouts):
        raise ValueError(f"RSD of {n_rollouts} rollouts takes all {_n_pairs(n_rollouts)} pairs of them, each once")
    if n_rollouts < 2:
        return Estimate.undefined(f"{n_rollouts} rollout(s): divergence needs at least two", n=n_rollouts)
    most = largest_divergence(gamma) if largest is None else largest
    return pair_mean(discounted_sum(turn_distance, gamma), pairs, most, confidence)


def _n_pairs(n: int) -> int:
    return n * (n - 1) // 2


def _all_pairs(n: int) -> set[frozenset[int]]:
    return {frozenset((i, j)) for i in range(n) for j in range(i)}


def normalised(estimate: Estimate, gamma: float) -> Estimate:
    """The estimate times (1 - gamma): RSD as a share of what two runs without end can have, in [0, 1].

    T turns reach 1 - gamma^T at most (one turn, with gamma 0.8: 0.2); `as_share` divides by what the turns allow.

    Args:
        estimate: RSD with its interval, or undefined.
        gamma: The discount it was made with, in [0, 1).

    Returns:
        The scaled estimate; a reason stays.

    Raises:
        ValueError: A discount outside [0, 1).
    """
    _check_discount(gamma)
    return _scaled(estimate, 1 - gamma)


def as_share(estimate: Estimate, largest: float) -> Estimate:
    """RSD as a share of the largest that the turns of the runs allow: 1 for runs apart at every turn, however few.

    Args:
        estimate: RSD with its interval, or undefined.
        largest: The largest RSD possible, above 0; see `largest_divergence`.

    Returns:
        The scaled estimate, in [0, 1] where the estimate lies in [0, largest]; a reason stays.

    Raises:
        ValueError: The largest is not above 0.
    """
    if not largest > 0:
        raise ValueError(f"the largest possible RSD is above 0, got {largest}")
    share = _scaled(estimate, 1 / largest)
    value, low, high = (
        1.0 if end is not None and 1 < end < 1 + 1e-9 else end  # what rounding put above 1
        for end in (share.value, share.low, share.high)
    )
    return replace(share, value=value, low=low, high=high)


def _scaled(estimate: Estimate, by: float) -> Estimate:
    value, low, high, stderr = (
        None if number is None else by * number
        for number in (estimate.value, estimate.low, estimate.high, estimate.stderr)
    )
    return Estimate(value, low, high, stderr, estimate.n, estimate.reason)


def per_turn_mean(turn_distance: Float[np.ndarray, "pairs turns"]) -> Float64[np.ndarray, " turns"]:
    """Mean distance at each turn over the pairs measured there, in [0, 1]; NaN where none was.

    Args:
        turn_distance: Distances in [0, 1], as `turn_distances` gives them.

    Returns:
        One mean per turn.
    """
    measured = np.count_nonzero(~np.isnan(turn_distance), axis=0)
    total = np.nan_to_num(turn_distance.astype(np.float64)).sum(axis=0)
    return np.asarray(np.where(measured, total / np.maximum(measured, 1), np.nan), dtype=np.float64)


def rsd_from_turn(turn_distance: Float[np.ndarray, "pairs turns"], gamma: float) -> Float64[np.ndarray, " turns"]:
    """RSD of the tail that starts at each turn: mean over pairs of sum_s gamma^s d_(t+s).

    The rollouts share no state after the first turn, so this describes the group and is no RSD of a state.

    Args:
        turn_distance: Distances in [0, 1], as `turn_distances` gives them; NaN counts 0 (the lower edge).
        gamma: Discount in [0, 1).

    Returns:
        Values in [0, 1/(1-gamma)], the first being the RSD of the task; NaN from where no pair is measured any more.

    Raises:
        ValueError: A discount outside [0, 1).
    """
    _check_discount(gamma)
    n_pairs, n_turns = turn_distance.shape
    tails = np.full(n_turns, np.nan)
    tail, measured = 0.0, False
    for turn in reversed(range(n_turns)):
        column = turn_distance[:, turn]
        measured = measured or not bool(np.isnan(column).all())
        if measured:
            tail = float(np.nansum(column, dtype=np.float64)) / n_pairs + gamma * tail
            tails[turn] = tail
    return tails


def relation_shares(relation: Int8[np.ndarray, "pairs turns"]) -> Float64[np.ndarray, "turns 3"]:
    """Share of equivalent, neutral and contradictory pairs at each turn, of those measured there.

    Args:
        relation: Relation labels; NOT_MEASURED where a rollout has no action.

    Returns:
        Shares that sum to 1 in each row; NaN rows where no pair was measured.
    """
    measured = np.count_nonzero(relation != NOT_MEASURED, axis=0)[:, None]
    counts = np.stack([np.count_nonzero(relation == kind, axis=0) for kind in range(3)], axis=1)
    return np.asarray(np.where(measured, counts / np.maximum(measured, 1), np.nan), dtype=np.float64)


def _check_discount(gamma: float) -> None:
    if not 0 <= gamma < 1:
        raise ValueError(f"a discount lies in [0, 1), got {gamma}")
