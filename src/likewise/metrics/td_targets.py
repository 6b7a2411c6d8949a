"""n-step targets of the learned metric: what is measured from a pair of states on, and from where the rest is guessed.

y_t = sum_{k<b} gamma^k d(a_{t+k}, a'_{t+k}) + gamma^b U(s_{t+b}, s'_{t+b}), with b = n where nothing stands in the way.
A plain loop, one pair and one turn at a time: the oracle that the trainer's arrays are compared with.

What stands in the way (this project's choice; the paper is silent):

- A rollout that ended by itself has no further state. The sum then runs to the last END and nothing is guessed; under
  ABSORB a turn at which only one acts counts 1, under TRUNCATE nothing after the first END counts.
- Past a cut from outside, or a pair that could not be judged, nothing is known: the last pair of states before it is
  guessed from. Where there is none, there is no target.

No target looks at another pair of rollouts: trajectories never run into each other.

Source: arXiv:2610.33012, Eq. 7, Eq. 8 and Algorithm 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int

from likewise.core.group import LengthPolicy

__all__ = ["TdTarget", "td_target", "td_targets"]


class TdTarget(NamedTuple):
    """The measured part of a target, and how many turns on the rest is guessed; 0 steps: nothing is guessed."""

    known: float
    steps: int


def td_target(
    distance: Float[np.ndarray, " turns"],
    turn: int,
    *,
    lengths: tuple[int, int],
    cut: tuple[bool, bool],
    states: tuple[int, int],
    n: int,
    gamma: float,
    policy: LengthPolicy = LengthPolicy.ABSORB,
) -> TdTarget | None:
    """The target of one pair of rollouts at one turn.

    Args:
        distance: Distances of the pair, as `divergence.turn_distances` gives them; NaN where not measured.
        turn: Turn t of the two states.
        lengths: Actions of each rollout.
        cut: Whether each was cut from outside.
        states: States of each rollout: as many as actions, one more where what followed a cut rollout's last action
            was recorded.
        n: Distances summed before guessing, at least 1.
        gamma: Discount in [0, 1).
        policy: What the turns after a rollout's own end count as.

    Returns:
        The measured sum in [0, 1/(1-gamma)] and the steps to the state guessed from, at most n; None where the pair has
        no states at this turn, or nothing is known of its future.

    Raises:
        ValueError: n below 1, or a discount outside [0, 1).
    """
    if n < 1 or not 0 <= gamma < 1:
        raise ValueError(f"n is at least 1 and a discount lies in [0, 1); got {n} and {gamma}")
    if turn >= min(lengths):
        return None
    furthest = min(states) - 1 - turn
    if n > furthest:
        over = max(lengths) if policy is LengthPolicy.ABSORB else min(lengths)
        own_ends = [length for length, was_cut in zip(lengths, cut, strict=True) if not was_cut]
        ends_here = not any(cut) or (policy is LengthPolicy.TRUNCATE and over in own_ends)
        if ends_here and not np.isnan(distance[turn:over]).any():
            return TdTarget(_discounted(distance[turn:over], gamma), 0)
    steps = 0
    while steps < min(n, furthest) and not np.isnan(distance[turn + steps]):
        steps += 1
    return TdTarget(_discounted(distance[turn : turn + steps], gamma), steps) if steps else None


def _discounted(distance: Float[np.ndarray, " turns"], gamma: float) -> float:
    return float(sum(gamma**k * float(d) for k, d in enumerate(distance)))


def td_targets(
    turn_distance: Float[np.ndarray, "pairs turns"],
    pairs: Int[np.ndarray, "pairs 2"],
    lengths: Int[np.ndarray, " rollouts"],
    cut: Bool[np.ndarray, " rollouts"],
    guess: Float[np.ndarray, "pairs states"],
    *,
    states: Int[np.ndarray, " rollouts"] | None = None,
    n: int = 3,
    gamma: float = 0.8,
    policy: LengthPolicy = LengthPolicy.ABSORB,
) -> Float64[np.ndarray, "pairs turns"]:
    """Targets of all pairs of a task at all turns; see `td_target`.

    Args:
        turn_distance: Distances, as `divergence.turn_distances` gives them.
        pairs: The two rollouts of each pair.
        lengths: Actions of each rollout.
        cut: Whether each rollout was cut from outside.
        guess: U of each pair of states by the target network.
        states: States of each rollout; as many as actions where None.
        n: Distances summed before guessing.
        gamma: Discount in [0, 1).
        policy: What the turns after a rollout's own end count as.

    Returns:
        Targets; NaN where there is none.
    """
    states = lengths if states is None else states
    targets = np.full(turn_distance.shape, np.nan, dtype=np.float64)
    for p, (i, j) in enumerate(pairs.tolist()):
        for t in range(turn_distance.shape[1]):
            target = td_target(
                turn_distance[p],
                t,
                lengths=(int(lengths[i]), int(lengths[j])),
                cut=(bool(cut[i]), bool(cut[j])),
                states=(int(states[i]), int(states[j])),
                n=n,
                gamma=gamma,
                policy=policy,
            )
            if target is not None:
                rest = gamma**target.steps * float(guess[p, t + target.steps]) if target.steps else 0.0
                targets[p, t] = target.known + rest
    return targets
