"""Intervals that hold whatever the distribution: for a mean over pairs of runs, and for a share.

K runs give K(K-1)/2 pairs, but no more evidence than K/2 independent pairs. That is Finner's inequality: for
functions f_e >= 0 of the pairs e and weights w_e that sum to at most 1 at every run, E prod f_e <= prod
E(f_e^(1/w_e))^(w_e). With f_e = (1 + t (h_e - m))^(w_e) and w_e = 1/(K-1), the product W over all pairs of h has an
expectation of at most 1 where m is the true mean, so Pr(W >= 1/alpha) <= alpha: a true mean is refused with
probability alpha at most, for every K >= 2 and every distribution of values in [0, 1].

The stake t(m) is fixed before the data: it is the best one for values of 0 and 1 that are just refuted. So the limit is
never wider than Chernoff's for a U-statistic of K/2 pairs (all pairs 0: an upper limit of 1 - alpha^(2/K), which some
distributions need), and narrower where the values lie inside the range.

Sources: Finner 1992, "A generalization of Hölder's inequality and some probability inequalities"; Hoeffding 1963,
section 5; stakes: Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting"; shares:
Clopper and Pearson 1934.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Float, Float64, Int

__all__ = [
    "clopper_pearson",
    "largest_class_p",
    "lower_share_limit",
    "pair_evidence",
    "pair_mean_limits",
    "pair_share_limits",
    "upper_tail",
]

TABLE = np.linspace(-20.0, 20.0, 2049)
"""Log odds of the means for which a stake is tabled; stakes between are interpolated, which any fixed rule may be."""
PASSES, STEPS = 3, 33
"""Search for a limit: so often, among so many means, each time between the two found last."""


def pair_evidence(pairs: Int[np.ndarray, "pairs 2"]) -> float:
    """To how many independent pairs the measured pairs of runs amount: pairs over the most that one run is in.

    Args:
        pairs: The two runs of each measured pair, at least one pair.

    Returns:
        K/2 where all pairs of K runs are measured; 1 where one run is in every pair.

    Raises:
        ValueError: There is no pair.
    """
    if len(pairs) == 0:
        raise ValueError("no pair of runs was measured")
    return len(pairs) / int(np.unique(pairs, return_counts=True)[1].max())


def pair_mean_limits(
    values: Float[np.ndarray, " pairs"], evidence: float, confidence: float = 0.95
) -> tuple[float, float]:
    """Lower and upper limit of the true mean over pairs; distribution-free and never of zero width.

    Args:
        values: A symmetric function of each measured pair of runs, in [0, 1].
        evidence: What `pair_evidence` gives for these pairs.
        confidence: Least share of intervals that hold the true mean, in (0, 1); half the rest is left to each side.

    Returns:
        Limits in [0, 1] with the mean of the values between them.
    """
    return pair_share_limits(values, np.ones(len(values)), evidence, confidence)


def pair_share_limits(
    part: Float[np.ndarray, " pairs"], whole: Float[np.ndarray, " pairs"], evidence: float, confidence: float = 0.95
) -> tuple[float, float]:
    """The same for a share of things that pairs have in different numbers: sum of parts over sum of wholes.

    Pairs of runs with more turns have more pairs of actions, but no more evidence than other pairs. The true share is
    E part / E whole; the largest whole is taken as the most there can be.

    Args:
        part: What is counted of each measured pair, from 0 to its whole.
        whole: What it is counted of; above 0 for some pair.
        evidence: What `pair_evidence` gives for these pairs.
        confidence: Least share of intervals that hold the true share, in (0, 1); half the rest is left to each side.

    Returns:
        Limits in [0, 1] with the share between them.
    """
    alpha = (1 - confidence) / 2
    most = float(whole.max())
    parts, wholes = part.astype(np.float64) / most, whole.astype(np.float64) / most
    return _lower_limit(parts, wholes, evidence, alpha), 1 - _lower_limit(wholes - parts, wholes, evidence, alpha)


def _lower_limit(
    parts: Float64[np.ndarray, " pairs"], wholes: Float64[np.ndarray, " pairs"], evidence: float, alpha: float
) -> float:
    """The largest share of which all below are refuted; where a search finds the edge, its refuted side is taken."""
    top = float(parts.sum() / wholes.sum())
    low, high = 1e-8, min(top, 1 - 1e-8)
    if high <= low:
        return 0.0
    distinct, counts = np.unique(np.stack([parts, wholes]), axis=1, return_counts=True)
    for _ in range(PASSES):
        odds = np.linspace(math.log(low / (1 - low)), math.log(high / (1 - high)), STEPS)
        means = 1 / (1 + np.exp(-odds))
        refuted = _refuted(distinct, counts, means, evidence, alpha)
        if not refuted[0]:
            return low if low > 1e-8 else 0.0
        edge = int(np.argmin(refuted)) if not refuted.all() else STEPS - 1
        low, high = float(means[edge - 1]), float(means[edge])
    return min(low, top)


def _refuted(
    distinct: Float64[np.ndarray, "2 kinds"],
    counts: Int[np.ndarray, " kinds"],
    means: Float64[np.ndarray, " means"],
    evidence: float,
    alpha: float,
) -> Bool[np.ndarray, " means"]:
    """Whether each share is refuted as too small: whether W, the product of the pairs' gains, reaches 1/alpha.

    Pairs with the same part and whole are of one kind, counted.
    """
    stake = np.interp(np.log(means / (1 - means)), TABLE, _stakes(evidence, alpha)) / means
    with np.errstate(divide="ignore"):  # all staked on a value above 0, and a 0 came: nothing is left
        gains = np.log(np.maximum(1 + stake * (distinct[0][:, None] - distinct[1][:, None] * means), 0.0))
    return np.asarray(evidence * (counts @ gains) / counts.sum() >= math.log(1 / alpha), dtype=np.bool_)


@lru_cache(maxsize=256)
def _stakes(evidence: float, alpha: float) -> Float64[np.ndarray, " table"]:
    """t(m) m for each m of the table: (u - m)/(1 - m), where a share u of ones is the first to refute m.

    Such a u solves evidence * KL(u || m) = log(1/alpha); where even u = 1 would not refute m, all is staked.
    """
    means = 1 / (1 + np.exp(-TABLE))
    needed = math.log(1 / alpha) / evidence
    low, high = means.copy(), np.ones_like(means)
    for _ in range(60):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.where(middle < 1, (1 - middle) * np.log((1 - middle) / (1 - means)), 0.0)
        enough = middle * np.log(middle / means) + rest > needed
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray((high - means) / (1 - means), dtype=np.float64)


def clopper_pearson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact interval of a share: it holds the true share at least as often as it says, for every n.

    Its ends are quantiles of beta distributions, found here from the binomial tails. Never of zero width.

    Source: Clopper and Pearson 1934.

    Args:
        successes: Counted successes, 0 to n.
        n: Independent trials, at least 1.
        confidence: Least share of intervals that hold the true share, in (0, 1).

    Returns:
        Lower and upper limit in [0, 1].

    Raises:
        ValueError: No trial, successes outside [0, n], or a confidence outside (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies in (0, 1), got {confidence}")
    alpha = (1 - confidence) / 2
    return lower_share_limit(successes, n, alpha), 1 - lower_share_limit(n - successes, n, alpha)


def lower_share_limit(successes: int, n: int, alpha: float = 0.05) -> float:
    """One-sided lower limit of a share: the p at which so many successes or more have probability alpha.

    All of n successes give alpha^(1/n); the upper limit is 1 minus the lower limit of the failures.

    Args:
        successes: Counted successes, 0 to n.
        n: Independent trials, at least 1.
        alpha: Largest probability that the limit exceeds the true share, in (0, 1).

    Returns:
        A limit in [0, 1); 0 without a success.

    Raises:
        ValueError: No trial, or successes outside [0, n].
    """
    _check_counts(successes, n)
    if successes == 0:
        return 0.0
    if successes == n:
        return float(alpha ** (1 / n))
    low, high = 0.0, successes / n
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if upper_tail(successes, n, middle) > alpha else (middle, high)
    return low


def upper_tail(successes: int, n: int, share: float) -> float:
    """Probability of so many successes or more in n independent trials of one probability.

    Args:
        successes: Counted successes, 0 to n.
        n: Trials, at least 1.
        share: Probability of a success, in [0, 1].

    Returns:
        A probability in [0, 1].

    Raises:
        ValueError: No trial, or successes outside [0, n].
    """
    _check_counts(successes, n)
    if successes == 0 or share >= 1:
        return 1.0
    if share <= 0:
        return 0.0
    counts, ways = _ways(successes, n)
    return min(1.0, float(np.exp(ways + counts * math.log(share) + (n - counts) * math.log1p(-share)).sum()))


def largest_class_p(alike: int, runs: int, share: float) -> float:
    """p-value of "no class has a share of `share` or more" where the largest of n runs has so many.

    The class was chosen for being the largest, so every class counts: sum of Pr(class reaches c) is largest for two
    classes of `share` and 1 - `share`.

    Args:
        alike: Runs in the largest class, 1 to `runs`.
        runs: Runs, at least 1.
        share: The share asked for, in (0.5, 1).

    Returns:
        A p-value in [0, 1].

    Raises:
        ValueError: A count or a share out of range.
    """
    if not 0.5 < share < 1:
        raise ValueError(f"a share that runs must end alike lies in (0.5, 1), got {share}")
    return min(1.0, upper_tail(alike, runs, share) + upper_tail(alike, runs, 1 - share))


@lru_cache(maxsize=64)
def _ways(successes: int, n: int) -> tuple[Int[np.ndarray, " counts"], Float64[np.ndarray, " counts"]]:
    """Counts from `successes` to n, and the logarithm of the number of ways to each."""
    counts = np.arange(successes, n + 1)
    ways = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in counts.tolist()]
    return counts, np.array(ways)


def _check_counts(successes: int, n: int) -> None:
    if n < 1:
        raise ValueError(f"a share needs at least one trial, got {n}")
    if not 0 <= successes <= n:
        raise ValueError(f"successes lie in [0, {n}], got {successes}")
