"""Semantic entropy: how spread the runs are over the classes of what they mean.

Source: Kuhn et al. 2023 (arXiv:2302.09664), its discrete form: classes by mutual entailment, shares by counting. With
likelihood weights each *distinct* string counts once, however often it was drawn; otherwise a class weight could
exceed 1 (lm-polygraph#223).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float64, Int

__all__ = ["normalised_entropy", "semantic_entropy", "unique_string_weights"]


def semantic_entropy(
    classes: Sequence[int] | Int[np.ndarray, " runs"], weights: Float[np.ndarray, " runs"] | None = None
) -> float:
    """Entropy of the class shares, in nats.

    Args:
        classes: Class of each run; -1 for runs that were not measured, which are left out.
        weights: Weight of each run, scaled here to sum to 1 (see `unique_string_weights`); None counts each run once.

    Returns:
        Entropy in [0, log(number of classes)]; 0 if all runs are in one class.

    Raises:
        ValueError: No measured run, weights of another number than the runs, a negative or non-finite weight, or
            weights that sum to 0.
    """
    ids, weight = _measured(classes, weights)
    _, position = np.unique(ids, return_inverse=True)
    shares = np.bincount(position.ravel(), weights=weight) / weight.sum()
    positive = shares[shares > 0]
    return max(0.0, -float(positive @ np.log(positive)))


def normalised_entropy(
    classes: Sequence[int] | Int[np.ndarray, " runs"], weights: Float[np.ndarray, " runs"] | None = None
) -> float:
    """Semantic entropy over log n, the entropy of n runs that all differ.

    Args:
        classes: Class of each run; -1 for runs that were not measured, which are left out.
        weights: Weight of each run, as in `semantic_entropy`.

    Returns:
        Share in [0, 1].

    Raises:
        ValueError: Fewer than two measured runs, or as `semantic_entropy`.
    """
    n = len(_measured(classes, weights)[0])
    if n < 2:
        raise ValueError("one run can't differ from itself: normalised entropy needs at least two measured runs")
    return min(1.0, semantic_entropy(classes, weights) / math.log(n))


def unique_string_weights(texts: Sequence[str], likelihoods: Sequence[float]) -> Float64[np.ndarray, " runs"]:
    """Likelihood weights in which each distinct string counts once: repeats get 0, the rest sums to 1.

    Args:
        texts: Text of each run.
        likelihoods: Likelihood of each run's text; equal texts have equal likelihoods.

    Returns:
        One weight per run, in [0, 1], that sum to 1.

    Raises:
        ValueError: Texts and likelihoods differ in number, or the likelihoods sum to 0.
    """
    if len(texts) != len(likelihoods):
        raise ValueError(f"{len(texts)} texts need as many likelihoods, got {len(likelihoods)}")
    first = [text not in texts[:run] for run, text in enumerate(texts)]
    weights = np.where(first, np.asarray(likelihoods, dtype=np.float64), 0.0)
    if not weights.sum() > 0:
        raise ValueError("likelihoods sum to 0")
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _measured(
    classes: Sequence[int] | Int[np.ndarray, " runs"], weights: Float[np.ndarray, " runs"] | None
) -> tuple[Int[np.ndarray, " measured"], Float64[np.ndarray, " measured"]]:
    ids = np.asarray(classes, dtype=np.int64)
    weight = np.ones(len(ids)) if weights is None else weights.astype(np.float64)
    if len(weight) != len(ids):
        raise ValueError(f"{len(ids)} runs need as many weights, got {len(weight)}")
    ids, weight = ids[ids >= 0], weight[ids >= 0]
    if len(ids) == 0:
        raise ValueError("no run was measured: entropy is undefined, not 0")
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.sum() > 0:
        raise ValueError("weights are finite, at least 0 and not all 0")
    return ids, weight
