"""Total variance of a set of runs: half the mean squared distance of two of them.

TV = 1/(2n(n-1)) sum_i sum_j |x_i - x_j|^2 (arXiv:2602.23271, Eq. 6). Two forms, each number says which: *canonical*
(one-hot answers, binary findings and citations) and *embedding* (sentence embeddings). A published listing averages
over i < j without the one half and so gives exactly twice this number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float64, Int, Real

from likewise.core.estimate import Estimate
from likewise.core.labels import NOT_MEASURED
from likewise.metrics.resampling import pair_mean

__all__ = [
    "answer_total_variance",
    "canonical_answer_vectors",
    "canonical_set_vectors",
    "embedding_total_variance",
    "normalise_rows",
    "total_variance",
    "volume_total_variance",
]

UNIT_LENGTH = 1e-3
"""How far an embedding's length may be from 1 (float16 encoders round)."""


def total_variance(vectors: Float[np.ndarray, "runs dim"]) -> float:
    """Total variance of vectors, by its closed form sum_i |x_i - mean|^2 / (n - 1).

    Source: arXiv:2602.23271, Eq. 6.

    Args:
        vectors: One row per run.

    Returns:
        At least 0; at most n/(n-1) for unit vectors, at most 1 if they also have no negative entry.

    Raises:
        ValueError: Fewer than two runs.
    """
    n = len(vectors)
    if n < 2:
        raise ValueError(f"total variance needs at least two runs, got {n}")
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    return float(np.square(centred).sum()) / (n - 1)


def normalise_rows(vectors: Float[np.ndarray, "runs dim"]) -> Float64[np.ndarray, "runs dim"]:
    """Rows scaled to length 1; a zero row (an empty set) stays zero.

    Args:
        vectors: One row per run.

    Returns:
        Rows of length 1 or 0.
    """
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return np.asarray(np.divide(vectors, np.where(lengths == 0, 1.0, lengths)), dtype=np.float64)


def canonical_answer_vectors(classes: Int[np.ndarray, " runs"]) -> Float64[np.ndarray, "runs answers"]:
    """Answers as one-hot vectors over the distinct answers.

    Source: arXiv:2602.23271, section on canonical vectors (Eq. 13 is their total variance).

    Args:
        classes: Equivalence class of each run's answer, at least 0.

    Returns:
        One row of a single 1 per run.

    Raises:
        ValueError: A run without an answer; it is not measured, not a class of its own.
    """
    if (classes < 0).any():
        raise ValueError("a run without an answer (class below 0) is not measured; leave it out and count it")
    return np.asarray(classes[:, None] == np.unique(classes)[None, :], dtype=np.float64)


def canonical_set_vectors(sets: Sequence[frozenset[str]]) -> Float64[np.ndarray, "runs union"]:
    """Sets (findings, citations) as binary vectors over their union, scaled to length 1; an empty set is zero.

    Source: arXiv:2602.23271, section on canonical vectors (Eq. 15 is their total variance where no set is empty).

    Args:
        sets: One set of canonical items per run.

    Returns:
        One row per run, columns in sorted order of the items.
    """
    union = sorted(frozenset().union(*sets))
    binary = np.array([[item in members for item in union] for members in sets], dtype=np.float64)
    return normalise_rows(binary.reshape(len(sets), len(union)))


def volume_total_variance(counts: Real[np.ndarray, " runs"]) -> float:
    """Total variance of how many items each run gave: Eq. 6 on the bare counts, not normalised.

    Source: arXiv:2602.23271, Eq. 7.

    Args:
        counts: Items of each run.

    Returns:
        At least 0, in items squared; no part of a mean with the variances in [0, 1].

    Raises:
        ValueError: Fewer than two runs, or a negative count.
    """
    if (counts < 0).any():
        raise ValueError("counts are at least 0")
    return total_variance(counts[:, None].astype(np.float64))


def answer_total_variance(classes: Int[np.ndarray, " runs"], confidence: float = 0.95) -> Estimate:
    """Probability that two runs give different answers; canonical total variance of the answers.

    Source: arXiv:2602.23271, Eq. 13.

    Args:
        classes: Equivalence class of each run's answer; NOT_MEASURED runs are left out.
        confidence: Share of intervals that should hold the true probability, in (0, 1).

    Returns:
        Probability in [0, 1], n = measured runs. Fewer than two runs are undefined.
    """
    measured = classes[classes != NOT_MEASURED]
    n = len(measured)
    if n < 2:
        return Estimate.undefined(f"{n} measured run(s): total variance needs at least two", n=n)
    pairs = _pairs(n)
    differs = (measured[pairs[:, 0]] != measured[pairs[:, 1]]).astype(np.float64)
    return pair_mean(differs, pairs, 1.0, confidence)


def embedding_total_variance(unit_vectors: Float[np.ndarray, "runs dim"], confidence: float = 0.95) -> Estimate:
    """Total variance of sentence embeddings: n/(n-1) (1 - |mean|^2), with its interval over runs.

    Source: the blog post's formula; Eq. 6 on unit vectors.

    Args:
        unit_vectors: One embedding of length 1 per run.
        confidence: Share of intervals that should hold the true value, in (0, 1).

    Returns:
        Value in [0, n/(n-1)], so 1 - TV can be negative; the true value lies in [0, 1]. Fewer than two runs are
        undefined.

    Raises:
        ValueError: A row whose length is not 1.
    """
    vectors = unit_vectors.astype(np.float64)
    n = len(vectors)
    if (np.abs(np.linalg.norm(vectors, axis=1) - 1) > UNIT_LENGTH).any():
        raise ValueError("embeddings have length 1; an empty text has none and is left out")
    if n < 2:
        return Estimate.undefined(f"{n} measured run(s): total variance needs at least two", n=n)
    pairs = _pairs(n)
    half_squares = np.square(vectors[pairs[:, 0]] - vectors[pairs[:, 1]]).sum(axis=1) / 2
    # Rows a little longer than 1 may exceed 2, the half square of two opposite unit vectors.
    estimate = pair_mean(np.minimum(half_squares, 2.0), pairs, 2.0, confidence)
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return estimate
    high = max(min(estimate.high, n / (n - 1)), estimate.value)
    return Estimate(estimate.value, estimate.low, high, estimate.stderr, estimate.n)


def _pairs(n: int) -> Int[np.ndarray, "pairs 2"]:
    return np.stack(np.triu_indices(n, k=1), axis=1)
