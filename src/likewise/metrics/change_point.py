"""Has an agent become worse, or was it a bad day? A test that may be looked at after every verdict.

While nothing changes, the values of one stratum (verdicts on the same task) come in no particular order, so the rank
of each among those before it is uniform and independent of all earlier ranks. A bettor who stakes on low ranks from
some day on then wins nothing on average. A change may begin at the start of any block (a day, a new version); the
bettor spreads a capital of 1 over these starts, half of it over the blocks that are marked as likelier. By Ville's
inequality the capital ever reaches 1/alpha with probability alpha at most: over the whole life of the series, however
often one looks, whatever the distribution of the values.

Ties are broken by a number in (0, 1) that belongs to the observation, so what was once decided stays decided.

Sources: conformal test martingales, Vovk, Nouretdinov and Gammerman 2003 and Vovk et al. 2021, "Retrain or not
retrain"; capital spread over starts, as in e-detectors, Shin, Ramdas and Rinaldo 2024; Ville 1939.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int

__all__ = ["LEAST_HISTORY", "Alarm", "Evidence", "change_evidence", "sequential_ranks"]

LEAST_HISTORY = 4
"""Earlier values of its stratum that an observation needs before anything is staked on its rank."""
_LOW = (0.05, 0.1, 0.2, 0.35, 0.5)
_SHARES = (0.15, 0.35, 0.7)
STAKES = np.array([(low, low + (1 - low) * share) for low in _LOW for share in _SHARES])
"""Each bettor's belief after a change: ranks at or below the first number come with the second as probability."""

_AT_ONCE = 128
"""Observations of one step: even if all were as low as can be, their product is a number."""


class Alarm(NamedTuple):
    """The first moment at which the evidence sufficed.

    Attributes:
        at: Position of the observation that completed the evidence.
        start: Position at which the block begins from which the change most likely holds.
    """

    at: int
    start: int


class Evidence(NamedTuple):
    """What a series says about a change in one direction.

    Attributes:
        alarm: The first alarm; None where there is none.
        capital: Capital at the end, or at the alarm: 1 says nothing, 1/alpha is an alarm.
    """

    alarm: Alarm | None
    capital: float


def sequential_ranks(
    values: Float[np.ndarray, " n"], ties: Float[np.ndarray, " n"], strata: Sequence[Hashable]
) -> Float64[np.ndarray, " n"]:
    """Rank of each value among those of its stratum so far, in (0, 1); small where it is low.

    Independent and uniform as long as the values of each stratum are exchangeable. NaN where fewer than
    `LEAST_HISTORY` values of the stratum came before: on those nothing is staked.

    Args:
        values: One figure an observation, in order of time.
        ties: A number in (0, 1) for each that has nothing to do with the values; it breaks ties.
        strata: What an observation is comparable with; observations of different strata are never compared.

    Returns:
        Ranks in (0, 1), or NaN.
    """
    seen: dict[Hashable, list[float]] = {}
    ranks = np.full(len(values), math.nan)
    for i, (value, tie, stratum) in enumerate(zip(values.tolist(), ties.tolist(), strata, strict=True)):
        history = seen.setdefault(stratum, [])
        if len(history) >= LEAST_HISTORY:
            below = bisect_left(history, value)
            equal = bisect_right(history, value) - below
            ranks[i] = (below + tie * (equal + 1)) / (len(history) + 1)
        insort(history, value)
    return ranks


def change_evidence(
    ranks: Float[np.ndarray, " n"],
    block_starts: Int[np.ndarray, " blocks"],
    marked: Bool[np.ndarray, " blocks"],
    alpha: float,
) -> Evidence:
    """Do the values fall from the beginning of some block on? For a rise, pass 1 - ranks.

    Args:
        ranks: What `sequential_ranks` gives.
        block_starts: Position of the first observation of each block, ascending, from 0.
        marked: Blocks from which a change is likelier, such as those that begin a version.
        alpha: Largest probability that an alarm is ever raised while nothing changes, in (0, 1).

    Returns:
        The first alarm, if any, and the capital.

    Raises:
        ValueError: An alpha outside (0, 1), or blocks that do not begin at 0 and ascend.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"a false alarm rate lies in (0, 1), got {alpha}")
    if len(ranks) == 0:
        return Evidence(None, 1.0)
    starts = block_starts.tolist()
    if starts[:1] != [0] or sorted(set(starts)) != starts:
        raise ValueError("blocks begin at position 0, ascend")
    gains = _gains(ranks)
    shares = _capital_shares(marked)
    staked, kept = np.zeros(len(STAKES)), 1.0
    for block, (start, end) in enumerate(zip(starts, [*starts[1:], len(ranks)], strict=True)):
        staked, kept = staked + shares[block], kept - shares[block]
        for first in range(start, end, _AT_ONCE):
            path = staked * np.cumprod(gains[first : min(first + _AT_ONCE, end)], axis=0)
            capital = kept + path.mean(axis=1)
            reached = np.flatnonzero(capital >= 1 / alpha)
            if reached.size:
                at = first + int(reached[0])
                alarm = Alarm(at, _likeliest_start(gains[: at + 1], starts[1 : block + 1]))
                return Evidence(alarm, float(capital[reached[0]]))
            staked = path[-1]
    return Evidence(None, float(kept + staked.mean()))


def _gains(ranks: Float[np.ndarray, " n"]) -> Float64[np.ndarray, "n stakes"]:
    """What each bettor's stake is multiplied by: the density believed in, over the uniform one."""
    low, belief = STAKES[:, 0], STAKES[:, 1]
    gains = np.where(ranks[:, None] <= low, belief / low, (1 - belief) / (1 - low))
    return np.where(np.isnan(ranks)[:, None], 1.0, gains)


def _capital_shares(marked: Bool[np.ndarray, " blocks"]) -> Float64[np.ndarray, " blocks"]:
    """Capital set aside for each block: nothing for the first, which there must be to compare with.

    The d-th start gets 1/(d (d + 1)) of one half, the d-th marked start as much of the other: 1 at most in all.
    """
    order = np.arange(len(marked), dtype=np.float64)
    later = np.asarray(marked, dtype=bool) & (order > 0)
    count = np.cumsum(later)
    everyone = np.where(order > 0, 0.5 / np.maximum(order * (order + 1), 1), 0.0)
    return everyone + np.where(later, 0.5 / np.maximum(count * (count + 1), 1), 0.0)


def _likeliest_start(gains: Float64[np.ndarray, "n stakes"], starts: Sequence[int]) -> int:
    """The start from which the stakes have grown most."""
    from_end = np.cumsum(np.log(gains)[::-1], axis=0)[::-1]
    grown = [float(np.logaddexp.reduce(from_end[start])) for start in starts]
    return starts[int(np.argmax(grown))]
