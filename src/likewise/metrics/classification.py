"""How often and how far a classifier is wrong, from its confusion matrix: accuracy, F1, mean error, with intervals.

F1 is averaged over the classes that occur among the true labels: a class without examples says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from likewise.core.estimate import Estimate
from likewise.metrics.resampling import wilson_interval

__all__ = ["ClassScore", "accuracy", "class_scores", "confusion_matrix", "macro_f1", "mean_distance_error"]


@dataclass(frozen=True, slots=True)
class ClassScore:
    """Precision, recall and F1 of one class in [0, 1]; None where the denominator is zero. `support` counts truth."""

    precision: float | None
    recall: float | None
    f1: float | None
    support: int


def confusion_matrix(
    truth: Int[np.ndarray, " rows"], guess: Int[np.ndarray, " rows"], classes: int
) -> Int[np.ndarray, "classes classes"]:
    """Counts by true class (row) and guessed class (column)."""
    return np.bincount(truth * classes + guess, minlength=classes * classes).reshape(classes, classes)


def accuracy(confusion: Int[np.ndarray, "classes classes"], confidence: float = 0.95) -> Estimate:
    """Share of rows on the diagonal, with a Wilson interval; undefined without rows."""
    n, right = int(confusion.sum()), int(np.trace(confusion))
    if n == 0:
        return Estimate.undefined("no pair was judged", n=0)
    low, high = wilson_interval(right, n, confidence)
    return Estimate(right / n, low, high, n=n)


def class_scores(confusion: Int[np.ndarray, "classes classes"]) -> tuple[ClassScore, ...]:
    """Precision, recall and F1 of each class, in order."""
    scores = []
    for c in range(len(confusion)):
        hits, true, guessed = int(confusion[c, c]), int(confusion[c].sum()), int(confusion[:, c].sum())
        scores.append(
            ClassScore(
                precision=hits / guessed if guessed else None,
                recall=hits / true if true else None,
                f1=2 * hits / (true + guessed) if true + guessed else None,
                support=true,
            )
        )
    return tuple(scores)


def _macro_f1(confusion: Float[np.ndarray, "*batch classes classes"]) -> Float[np.ndarray, "*batch"]:
    hits = np.diagonal(confusion, axis1=-2, axis2=-1)
    true, guessed = confusion.sum(axis=-1), confusion.sum(axis=-2)
    f1 = np.divide(2 * hits, true + guessed, out=np.zeros_like(hits), where=true + guessed > 0)
    present = true > 0
    return np.asarray((f1 * present).sum(axis=-1) / np.maximum(present.sum(axis=-1), 1))


def macro_f1(
    confusion: Int[np.ndarray, "classes classes"], confidence: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Estimate:
    """Mean F1 over the classes that occur, with a percentile bootstrap over rows.

    Drawing n rows with replacement is drawing the confusion cells from their multinomial, which is what is done.

    Args:
        confusion: Counts by true and guessed class.
        confidence: Share of intervals that should hold the true value.
        resamples: Bootstrap resamples.
        seed: Seed of the resampling.

    Returns:
        Macro F1 in [0, 1]; undefined without rows.
    """
    return _resampled(confusion, _macro_f1, confidence, resamples, seed)


def _mean_distance_error(confusion: Float[np.ndarray, "*batch classes classes"]) -> Float[np.ndarray, "*batch"]:
    classes = confusion.shape[-1]
    steps = np.abs(np.subtract.outer(np.arange(classes), np.arange(classes))) / (classes - 1)
    return np.asarray((confusion * steps).sum(axis=(-1, -2)) / np.maximum(confusion.sum(axis=(-1, -2)), 1))


def mean_distance_error(
    confusion: Int[np.ndarray, "classes classes"], confidence: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Estimate:
    """Mean |d_hat - d*| of distances 0, 0.5, 1 for classes in the order of the distance.

    Source: RSD paper, the judge's error in the error-propagation theorem, as a mean instead of a supremum.

    Args:
        confusion: Counts by true and guessed class, at least two classes.
        confidence: Share of intervals that should hold the true value.
        resamples: Bootstrap resamples over rows.
        seed: Seed of the resampling.

    Returns:
        An error in [0, 1]; undefined without rows.
    """
    return _resampled(confusion, _mean_distance_error, confidence, resamples, seed)


def _resampled(
    confusion: Int[np.ndarray, "classes classes"],
    statistic: Callable[[Float[np.ndarray, "..."]], Float[np.ndarray, "..."]],
    confidence: float,
    resamples: int,
    seed: int,
) -> Estimate:
    n = int(confusion.sum())
    if n == 0:
        return Estimate.undefined("no pair was judged", n=0)
    cells = confusion.astype(np.float64).ravel()
    draws = np.random.default_rng(seed).multinomial(n, cells / n, size=resamples)
    values = statistic(draws.reshape(-1, *confusion.shape).astype(np.float64))
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    value = float(statistic(confusion.astype(np.float64)))
    if low == high:
        return Estimate(value, n=n, reason=f"resampling {n} pair(s) shows no spread")
    return Estimate(value, min(float(low), value), max(float(high), value), n=n)
