"""How many runs or tasks a claim needs, before money is spent on them.

Sizes for a paired comparison use the sum of two Student-t quantiles, (t_(1-alpha/2) + t_power) sd / sqrt(n); for
n >= 5 that is within two tasks of the size by the noncentral t distribution, and seldom below it.

Sources: Cohen 1988 (power of the paired t test); the "rule of three" in its exact form, 1 - alpha^(1/n).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from likewise.metrics.intervals import largest_class_p
from likewise.metrics.resampling import student_t_quantile

__all__ = [
    "detectable_difference",
    "runs_for_claim",
    "runs_for_share",
    "smallest_claim",
    "tasks_for_difference",
    "tasks_for_width",
]

MOST = 1_000_000
"""Tasks or runs beyond which a plan is no plan; the functions give None there."""
ROUNDING = 1e-12
EXPANDED_FROM = 200
"""Degrees of freedom from which Student's t is expanded around the normal (error below 1e-6)."""


def smallest_claim(n: int, confidence: float = 0.95) -> float:
    """The smallest failure rate that n flawless independent trials can exclude: 1 - (1 - confidence)^(1/n).

    30 held-out tasks without a failure allow "at most 9.5 %", and no stronger claim.

    Args:
        n: Trials, at least 1.
        confidence: Confidence of the claim, in (0, 1).

    Returns:
        A rate in (0, 1).

    Raises:
        ValueError: No trial, or a confidence outside (0, 1).
    """
    _check_share(confidence, "a confidence")
    if n < 1:
        raise ValueError(f"a claim needs at least one trial, got {n}")
    return float(-math.expm1(math.log1p(-confidence) / n))


def runs_for_claim(rate: float, confidence: float = 0.95) -> int:
    """How many flawless independent trials show that a failure rate is at most `rate`; 5 % needs 59.

    Args:
        rate: The failure rate to claim, in (0, 1).
        confidence: Confidence of the claim, in (0, 1).

    Returns:
        The smallest n with 1 - (1 - confidence)^(1/n) <= rate.

    Raises:
        ValueError: A rate or a confidence outside (0, 1).
    """
    _check_share(rate, "a failure rate")
    _check_share(confidence, "a confidence")
    n = max(1, math.ceil(math.log1p(-confidence) / math.log1p(-rate) - 1e-9))
    return n


def runs_for_share(share: float, dissenting: int = 0, confidence: float = 0.95) -> int | None:
    """How many runs show that a share of `share` ends alike, if `dissenting` of them do otherwise.

    Args:
        share: The share of the largest class to show, in (0.5, 1).
        dissenting: Runs that do otherwise, at least 0.
        confidence: Confidence of the claim (`intervals.largest_class_p`), in (0, 1).

    Returns:
        The smallest number of runs; None above a million.

    Raises:
        ValueError: A share or a confidence out of range, or a negative number of runs.
    """
    _check_share(confidence, "a confidence")
    if dissenting < 0:
        raise ValueError(f"runs that do otherwise are at least 0, got {dissenting}")
    largest_class_p(1, 1, share)  # refuses a share out of range
    alpha = 1 - confidence
    return _smallest(
        lambda n: n > 2 * dissenting and largest_class_p(n - dissenting, n, share) <= alpha + ROUNDING, MOST
    )


def detectable_difference(stderr: float, tasks: int, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """The true mean difference that a paired comparison of so many tasks finds with the given power.

    Args:
        stderr: Standard error of the mean difference, at least 0.
        tasks: Tasks compared.
        power: Probability of finding it, in (0, 1).
        alpha: Two-sided level of the test, in (0, 1).

    Returns:
        A difference of at least 0; None for fewer than two tasks.

    Raises:
        ValueError: A power or a level outside (0, 1).
    """
    _check_share(power, "a power")
    _check_share(alpha, "a level")
    return None if tasks < 2 else (_t(1 - alpha / 2, tasks - 1) + _t(power, tasks - 1)) * stderr


def tasks_for_difference(sd: float, difference: float, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """How many tasks a paired comparison needs to find a mean difference.

    Args:
        sd: Standard deviation of the per-task differences, at least 0.
        difference: True mean difference to find, above 0.
        power: Probability of finding it, in (0, 1).
        alpha: Two-sided level of the test, in (0, 1).

    Returns:
        The smallest number of tasks, at least 2; None above a million.

    Raises:
        ValueError: A difference that is not positive, or a power or a level outside (0, 1).
    """
    if not 0 < difference < math.inf:
        raise ValueError(f"a difference to find is positive, got {difference}")
    _check_share(power, "a power")
    _check_share(alpha, "a level")

    def enough(n: int) -> bool:
        return n >= 2 and (_t(1 - alpha / 2, n - 1) + _t(power, n - 1)) * sd / math.sqrt(n) <= difference

    return _smallest(enough, MOST)


def tasks_for_width(sd: float, width: float, confidence: float = 0.95) -> int | None:
    """How many tasks a mean needs for an interval of plus or minus `width`.

    Args:
        sd: Standard deviation over tasks, at least 0.
        width: Half the width of the interval, above 0.
        confidence: Confidence of the interval, in (0, 1).

    Returns:
        The smallest number of tasks, at least 2; None above a million.

    Raises:
        ValueError: A width that is not positive, or a confidence outside (0, 1).
    """
    if not 0 < width < math.inf:
        raise ValueError(f"half a width is positive, got {width}")
    _check_share(confidence, "a confidence")
    return _smallest(lambda n: n >= 2 and _t(0.5 + confidence / 2, n - 1) * sd / math.sqrt(n) <= width, MOST)


def _smallest(enough: Callable[[int], bool], most: int) -> int | None:
    """The smallest n that is enough, for a condition that stays true once it is."""
    low, high = 0, 1
    while not enough(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _t(probability: float, df: int) -> float:
    """Quantile of Student's t. Source of the expansion: Abramowitz and Stegun 26.7.5."""
    if df <= EXPANDED_FROM:
        return student_t_quantile(probability, df)
    z = NormalDist().inv_cdf(probability)
    return z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)


def _check_share(value: float, what: str) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{what} lies in (0, 1), got {value}")
