"""Progress of an agent over the turns of a task, and how much it varies between trials.

A progress curve is p_0 .. p_T: the share of sub-goals met before the first turn, after the first, ... after turn T.

Source: arXiv:2610.33012, A.3.3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from likewise.core.estimate import Estimate
from likewise.metrics.resampling import jackknife_estimate

__all__ = ["CommonSupport", "coefficient_of_variation", "common_support", "progress_auc", "progress_per_turn"]


class CommonSupport(NamedTuple):
    """The tasks on which every model can be compared, and the others."""

    mask: Bool[np.ndarray, " tasks"]
    left_out: tuple[int, ...]


def progress_auc(curve: Float[np.ndarray, " points"], horizon: int) -> float:
    """Area under the progress curve over turns scaled to [0, 1]: earlier progress scores higher.

    A run that ends before the turn limit keeps its last progress up to the limit.

    Args:
        curve: Progress p_0 .. p_T in [0, 1].
        horizon: The turn limit, at least T and at least 1.

    Returns:
        Area in [0, 1], by the trapezoid rule.

    Raises:
        ValueError: Progress outside [0, 1], an empty curve, or more turns than the limit.
    """
    _check_curve(curve)
    if horizon < 1 or len(curve) > horizon + 1:
        raise ValueError(f"a curve of {len(curve) - 1} turn(s) does not fit a limit of {horizon}")
    padded = np.concatenate([curve.astype(np.float64), np.full(horizon + 1 - len(curve), curve[-1])])
    return float((padded[1:] + padded[:-1]).sum()) / (2 * horizon)


def progress_per_turn(curve: Float[np.ndarray, " points"]) -> float | None:
    """Best progress over the first turn that reaches it.

    Args:
        curve: Progress p_0 .. p_T in [0, 1].

    Returns:
        Progress per turn in [0, 1]; 0 if there is none, None if the best was there before the first turn.

    Raises:
        ValueError: Progress outside [0, 1], or an empty curve.
    """
    _check_curve(curve)
    turn = int(np.argmax(curve))
    best = float(curve[turn])
    if best == 0:
        return 0.0
    return best / turn if turn else None


def coefficient_of_variation(values: Float[np.ndarray, " trials"], confidence: float = 0.95) -> Estimate:
    """Standard deviation over mean of the trials of a task.

    The sample form (n - 1); the population form would be too lenient for few trials (0.96 and 1.04 give 0.0566).

    Args:
        values: One finite number per valid trial, at least 0.
        confidence: Share of intervals that should hold the true value, in (0, 1).

    Returns:
        CV in [0, sqrt(n)] with a jackknife interval from three trials on; below that, without spread, or where
        leaving out one trial leaves a mean of 0, a value with a reason. Undefined at mean 0 and below two trials.

    Raises:
        ValueError: A negative or non-finite value.
    """
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("a coefficient of variation takes finite values of at least 0; leave out invalid trials")
    n = len(values)
    if n < 2:
        return Estimate.undefined(f"{n} trial(s): variation needs at least two", n=n)
    value = _cv(values.astype(np.float64))
    if value is None:
        return Estimate.undefined("the mean is 0: variation relative to it is undefined", n=n)
    if n == 2:
        return Estimate(value, n=n, reason="two trials: an interval needs at least three")
    without_each = [_cv(np.delete(values.astype(np.float64), trial)) for trial in range(n)]
    defined = [cv for cv in without_each if cv is not None]
    if len(defined) < n:
        return Estimate(value, n=n, reason="one trial alone is above 0: without it the mean is 0")
    return jackknife_estimate(value, np.array(defined), (0.0, math.sqrt(n)), confidence)


def _cv(values: Float[np.ndarray, " trials"]) -> float | None:
    mean = float(values.mean())
    return None if mean == 0 else float(values.std(ddof=1)) / mean


def common_support(auc: Float[np.ndarray, "models tasks trials"]) -> CommonSupport:
    """The tasks on which every model has a mean AUC above 0, so that its CV is defined.

    Args:
        auc: Area under the progress curve of each trial, in [0, 1]; NaN for a trial that is not valid.

    Returns:
        A mask over tasks and the indices of the tasks left out; a task without a valid trial of some model is too.

    Raises:
        ValueError: An area outside [0, 1].
    """
    if (auc < 0).any() or (auc > 1).any():
        raise ValueError("areas under a progress curve lie in [0, 1]")
    # A sum above 0 is a mean above 0, and NaN trials add nothing to it.
    mask = np.asarray((np.nansum(auc, axis=2) > 0).all(axis=0), dtype=bool)
    return CommonSupport(mask, tuple(np.flatnonzero(~mask).tolist()))


def _check_curve(curve: Float[np.ndarray, " points"]) -> None:
    if len(curve) == 0:
        raise ValueError("a progress curve has at least its starting point")
    if not ((curve >= 0) & (curve <= 1)).all():
        raise ValueError("progress lies in [0, 1] at every turn")
