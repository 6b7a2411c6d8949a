"""n-step targets of the learned metric: what is measured from a pair of states on, and from where the rest is guessed.

y_t = sum_{k<b} gamma^k d(a_{t+k}, a'_{t+k}) + gamma^b U(s_{t+b}, s'_{t+b}), with b = n where nothing stands in the way.
A plain loop, one pair and one turn at a time: the oracle that the trainer's arrays are compared with.

What stands in the way (this project's choice; the paper is silent):

- A rollout that ended by itself has no further state. The sum then runs to the last END and nothing is guessed; under
  ABSORB a turn at which only one acts counts 1, under TRUNCATE nothing after the first END counts.
- Past a pair that could not be judged nothing is known: the last pair of states before it is guessed from. Where there
  is none, there is no target.
- Past a cut from outside the last pair of states that was acted from is guessed from, and at that pair itself the
  divergence is taken to go on as it stands: known + gamma U(s, s') of the very same states. A state after the last
  action has no target, so nothing would hold a guess made there: with it, for any number c, the true values plus
  c gamma^(turns to the cut) fulfil all equations. With this rule every guess is one that is trained, and the solution
  is the only one; where runs agree throughout it is 0.

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
    """The measured part of a target, its steps (the rest counts gamma^steps; 0: nothing is guessed), and from where.

    `ahead` turns on are the states guessed from: as many as steps, but at the last turn before a cut 0.
    """

    known: float
    steps: int
    ahead: int


def td_target(
    distance: Float[np.ndarray, " turns"],
    turn: int,
    *,
    lengths: tuple[int, int],
    cut: tuple[bool, bool],
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
        n: Distances summed before guessing, at least 1.
        gamma: Discount in [0, 1).
        policy: What the turns after a rollout's own end count as.

    Returns:
        The measured sum in [0, 1/(1-gamma)], the steps it spans, at most n, and the turns to the states guessed from;
        None where the pair has no states at this turn, or nothing is known of its future.

    Raises:
        ValueError: n below 1, or a discount outside [0, 1).
    """
    if n < 1 or not 0 <= gamma < 1:
        raise ValueError(f"n is at least 1 and a discount lies in [0, 1); got {n} and {gamma}")
    both = min(lengths)
    if turn >= both:
        return None
    furthest = both - 1 - turn
    if n > furthest:
        over = max(lengths) if policy is LengthPolicy.ABSORB else min(lengths)
        own_ends = [length for length, was_cut in zip(lengths, cut, strict=True) if not was_cut]
        ends_here = not any(cut) or (policy is LengthPolicy.TRUNCATE and over in own_ends)
        if ends_here and not np.isnan(distance[turn:over]).any():
            return TdTarget(_discounted(distance[turn:over], gamma), 0, 0)
    goes_on = all(length > both or was_cut for length, was_cut in zip(lengths, cut, strict=True))
    if not furthest and goes_on and not np.isnan(distance[turn]):
        return TdTarget(float(distance[turn]), 1, 0)
    steps = 0
    while steps < min(n, furthest) and not np.isnan(distance[turn + steps]):
        steps += 1
    return TdTarget(_discounted(distance[turn : turn + steps], gamma), steps, steps) if steps else None


def _discounted(distance: Float[np.ndarray, " turns"], gamma: float) -> float:
    return float(sum(gamma**k * float(d) for k, d in enumerate(distance)))


def td_targets(
    turn_distance: Float[np.ndarray, "pairs turns"],
    pairs: Int[np.ndarray, "pairs 2"],
    lengths: Int[np.ndarray, " rollouts"],
    cut: Bool[np.ndarray, " rollouts"],
    guess: Float[np.ndarray, "pairs states"],
    *,
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
        n: Distances summed before guessing.
        gamma: Discount in [0, 1).
        policy: What the turns after a rollout's own end count as.

    Returns:
        Targets; NaN where there is none.
    """
    targets = np.full(turn_distance.shape, np.nan, dtype=np.float64)
    for p, (i, j) in enumerate(pairs.tolist()):
        for t in range(turn_distance.shape[1]):
            target = td_target(
                turn_distance[p],
                t,
                lengths=(int(lengths[i]), int(lengths[j])),
                cut=(bool(cut[i]), bool(cut[j])),
                n=n,
                gamma=gamma,
                policy=policy,
            )
            if target is not None:
                rest = gamma**target.steps * float(guess[p, t + target.ahead]) if target.steps else 0.0
                targets[p, t] = target.known + rest
    return targets
