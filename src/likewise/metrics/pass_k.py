"""Estimators of success over repeated attempts: pass@k (any of k) and pass^k (all of k).

Both draw k of a task's n recorded attempts without replacement, so both are unbiased for k fresh attempts; the
plug-in (c/n)^k is not, and is not offered. n may differ between tasks.

Sources: pass@k, Chen et al. 2021 (arXiv:2107.03374), Eq. 1; pass^k, Yao et al. 2024 (arXiv:2406.12045).
"""

from __future__ import annotations

import math
from math import comb
from statistics import NormalDist

import numpy as np
from jaxtyping import Float64, Int

__all__ = ["pass_at_k", "pass_hat_k", "single_run_gap"]


def pass_at_k(
    successes: Int[np.ndarray, " tasks"], attempts: Int[np.ndarray, " tasks"], k: int
) -> Float64[np.ndarray, " tasks"]:
    """Probability that at least one of k attempts succeeds, per task: 1 - C(n-c, k)/C(n, k).

    Args:
        successes: Successful attempts c of each task.
        attempts: Valid attempts n of each task; a run cut by its step limit is valid and failed.
        k: Attempts drawn, 1 <= k <= n of every task.

    Returns:
        Probabilities in [0, 1]; average over tasks for the benchmark figure.

    Raises:
        ValueError: k outside [1, n] for some task, or successes outside [0, n].
    """
    return 1.0 - pass_hat_k(attempts - successes, attempts, k)


def pass_hat_k(
    successes: Int[np.ndarray, " tasks"], attempts: Int[np.ndarray, " tasks"], k: int
) -> Float64[np.ndarray, " tasks"]:
    """Probability that all of k attempts succeed, per task: C(c, k)/C(n, k); see `pass_at_k`."""
    if ((successes < 0) | (successes > attempts)).any():
        raise ValueError("successes lie in [0, attempts] of their task")
    if k < 1:
        raise ValueError(f"k is at least 1, got {k}")
    short = np.flatnonzero(attempts < k)
    if short.size:
        raise ValueError(
            f"k = {k} draws need as many attempts; {short.size} task(s) have fewer, the first at index {short[0]} "
            f"with {attempts[short[0]]}"
        )
    # Exact integers before the division: a product of floats would drift for large n.
    counts = zip(successes.tolist(), attempts.tolist(), strict=True)
    return np.array([comb(c, k) / comb(n, k) for c, n in counts], dtype=np.float64)


def single_run_gap(
    successes: Int[np.ndarray, " tasks"], attempts: Int[np.ndarray, " tasks"], confidence: float = 0.95
) -> float:
    """How far two scores of one agent, each from a single run of every task, lie apart by luck alone.

    A task of true success p scores 0 or 1 with variance p (1 - p), which c successes of n attempts estimate without
    bias by c (n - c) / (n (n - 1)). Two scores over N tasks differ with twice the mean variance over N.

    Args:
        successes: Successes c of each task.
        attempts: Attempts n of each task, at least two.
        confidence: Share of such pairs of scores that lie within the gap, in (0, 1).

    Returns:
        A difference of mean success, in [0, 1]; 0 where no task both succeeds and fails.

    Raises:
        ValueError: No task, a task of fewer than two attempts, or a confidence outside (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies in (0, 1), got {confidence}")
    if len(attempts) == 0 or attempts.min() < 2:
        raise ValueError("the luck of a run shows in tasks of at least two attempts")
    variance = float((successes * (attempts - successes) / (attempts * (attempts - 1))).mean())
    return min(1.0, NormalDist().inv_cdf(0.5 + confidence / 2) * math.sqrt(2 * variance / len(attempts)))
