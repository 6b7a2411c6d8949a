"""When enough runs have been seen to say that the largest class is the agent's mode, at any time, with a stated error.

A wager against each possible mode m: that a class a, seen in the runs, is no likelier than m. Under that hypothesis a
run that is a or m is a with probability at most 1/2, so even odds on a cannot grow on average, however the bets are
chosen from the past (a test supermartingale). By Ville's inequality the probability that the wealth ever reaches
1/error is at most `error`, whenever one looks (Ville 1939; Shafer 2021; Ramdas et al. 2023, arXiv:2210.01948).

The starting wealth of 1 is laid out in advance, in three parts, for whatever class proves to be the leader:

* all-in: on the class of the first two runs, if they agree. The chance of two agreeing runs that are not the mode is
  at most 1/4 (sum over a != m of p_a^2 <= min(p_m, 1-p_m)(1-p_m)), so the bet pays 4, then doubles with each a and
  is lost with the first m;
* mixture: the same first two runs, then the mixture over all shares in (1/2, 1], which survives dissent;
* late: a part for each class from its second run on, 1/(j(j+1)) for the j-th class that appears, so that the leader
  need not be the first class, and the number of classes need not be known.

The all-in part is just large enough to stop after the fewest runs that can suffice, if all of them agree.
Assumes that runs are independent draws from one distribution, and that classes do not merge later (a chain of
entailments may merge them: the guarantee is then only as good as the judge). Failed runs are left out, as if whether a
run fails had nothing to do with what it would have said.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

__all__ = ["fewest_runs", "mode_evidence", "mode_is_settled"]

ALL_IN_AT_MOST = 0.9
LATE = 0.1
FIRST_TWO = 4.0


def mode_is_settled(classes: Sequence[int], error: float, fewest: int = 4) -> int | None:
    """The class that is the mode, up to the stated error, or None while that is open.

    Args:
        classes: Class of each good run in the order of the runs.
        error: Probability of ever naming a class that is not the mode, in (0, 0.5].
        fewest: Runs before which nothing is named.

    Returns:
        A class, or None.
    """
    if len(classes) < fewest:
        return None
    for kind in Counter(classes):
        if mode_evidence(classes, kind, error, fewest) >= 1 / error:
            return kind
    return None


def mode_evidence(classes: Sequence[int], kind: int, error: float, fewest: int = 4) -> float:
    """Wealth of the wager that `kind` is the mode, against the rival for which it is worst; 1/error settles it.

    Args:
        classes: Class of each good run in the order of the runs.
        kind: The class in question.
        error: Fixes how the wealth was laid out.
        fewest: Likewise.

    Returns:
        At least 0.

    Raises:
        ValueError: An error outside (0, 0.5], or fewer than two runs as the fewest.
    """
    if not 0 < error <= 0.5:
        raise ValueError(f"an error lies in (0, 0.5], got {error}")
    if fewest < 2:
        raise ValueError(f"the fewest runs are at least 2, got {fewest}")
    all_in = _all_in(error, fewest)
    mixture = 1 - LATE - all_in if all_in else 1 - LATE
    appeared = list(dict.fromkeys(classes))
    if kind not in appeared:
        return 0.0
    order = appeared.index(kind) + 1
    late = LATE / (order * (order + 1))
    began = list(classes).index(kind) + 1
    worst = math.inf
    for rival in [*(other for other in appeared if other != kind), None]:
        wealth = late * _mixture(*_counts(classes[began:], kind, rival))
        if len(classes) >= 2 and classes[0] == classes[1] == kind:
            wins, losses = _counts(classes[2:], kind, rival)
            wealth += FIRST_TWO * (mixture * _mixture(wins, losses) + (all_in * 2.0**wins if not losses else 0.0))
        worst = min(worst, wealth)
    return worst


def fewest_runs(error: float, fewest: int = 4) -> int:
    """Runs after which the mode is settled if all of them agree."""
    return next(n for n in range(fewest, 200) if mode_is_settled((0,) * n, error, fewest) is not None)


@lru_cache(maxsize=64)
def _all_in(error: float, fewest: int) -> float:
    """The smallest part that settles unanimous runs as early as a part of at most ALL_IN_AT_MOST can."""
    needed = 1 / error
    for n in range(fewest, 200):
        part = needed / 2.0**n
        if part <= ALL_IN_AT_MOST:
            return min(part * (1 + 1e-9), ALL_IN_AT_MOST)
    return ALL_IN_AT_MOST


def _counts(classes: Sequence[int], kind: int, rival: int | None) -> tuple[int, int]:
    return sum(c == kind for c in classes), sum(rival is not None and c == rival for c in classes)


@lru_cache(maxsize=4096)
def _mixture(wins: int, losses: int) -> float:
    """2^n times the mean over p uniform on (1/2, 1] of p^wins (1-p)^losses.

    The integral of p^w (1-p)^l over (1/2, 1] is B(w+1, l+1) times the probability that a Binomial(w+l+1, 1/2) is at
    most w (the regularised incomplete beta function in closed form).
    """
    n = wins + losses
    beta = 1 / ((n + 1) * math.comb(n, wins))
    tail = sum(math.comb(n + 1, i) for i in range(wins + 1)) / 2 ** (n + 1)
    return float(2 ** (n + 1) * beta * tail)
