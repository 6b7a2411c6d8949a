"""From what a judge says in two directions to one distance between two actions.

Def. 1 (arXiv:2610.33012, Eq. 5): 0 if each entails the other, 1 if either direction contradicts, 0.5 otherwise.
Contradiction is looked at first: a model may give high entailment one way and contradiction the other.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float64, Int8

from likewise.core.labels import NOT_MEASURED, Entailment, Relation

__all__ = ["hard_distance", "relation_from_entailment", "soft_distance"]

ROUNDING = 1e-3
"""How far three float16 or float32 probabilities may sum from 1."""


def relation_from_entailment(
    forward: Int8[np.ndarray, "*shape"], backward: Int8[np.ndarray, "*shape"]
) -> Int8[np.ndarray, "*shape"]:
    """The relation of two actions from the entailment labels of both directions.

    Source: RSD paper, Def. 1. "No contradiction either way" is not equivalence; only mutual entailment is.

    Args:
        forward: Entailment labels with the first action as premise; NOT_MEASURED where there is none.
        backward: The same with the second as premise.

    Returns:
        Relation labels; NOT_MEASURED where a direction is missing.

    Raises:
        ValueError: A label that is neither an Entailment nor NOT_MEASURED.
    """
    _check_labels(forward, "entailment")
    _check_labels(backward, "entailment")
    missing = (forward == NOT_MEASURED) | (backward == NOT_MEASURED)
    contradicts = (forward == Entailment.CONTRADICTS) | (backward == Entailment.CONTRADICTS)
    mutual = (forward == Entailment.ENTAILS) & (backward == Entailment.ENTAILS)
    choices = [NOT_MEASURED, int(Relation.CONTRADICTORY), int(Relation.EQUIVALENT)]
    relation = np.select([missing, contradicts, mutual], choices, default=int(Relation.NEUTRAL))
    return np.asarray(relation, dtype=np.int8)


def hard_distance(relation: Int8[np.ndarray, "*shape"]) -> Float64[np.ndarray, "*shape"]:
    """Distance of a relation: 0 equivalent, 0.5 neutral, 1 contradictory.

    Source: RSD paper, Eq. 5.

    Args:
        relation: Relation labels; NOT_MEASURED where there is none.

    Returns:
        Distances in {0, 0.5, 1}; NaN where not measured.

    Raises:
        ValueError: A label that is neither a Relation nor NOT_MEASURED.
    """
    _check_labels(relation, "relation")
    # Relation counts 0, 1, 2 in the order of the distance.
    return np.asarray(np.where(relation == NOT_MEASURED, np.nan, relation / 2.0), dtype=np.float64)


def soft_distance(
    forward: Float[np.ndarray, "*shape 3"], backward: Float[np.ndarray, "*shape 3"]
) -> Float64[np.ndarray, "*shape"]:
    """Distance from class probabilities, the soft variant of Eq. 5: p_c + 0.5 (1 - p_c - p_e).

    p_c is the larger contradiction probability of the two directions (either is enough), p_e the smaller entailment
    probability (both are needed), at most 1 - p_c.

    Args:
        forward: Probabilities of (entails, neutral, contradicts), the first action as premise; NaN if not measured.
        backward: The same with the second as premise.

    Returns:
        Distances in [0, 1]; NaN where not measured. On one-hot rows they are the hard distances.

    Raises:
        ValueError: Rows that are not probabilities.
    """
    _check_probabilities(forward)
    _check_probabilities(backward)
    contradiction = np.maximum(forward[..., Entailment.CONTRADICTS], backward[..., Entailment.CONTRADICTS])
    entailment = np.minimum(forward[..., Entailment.ENTAILS], backward[..., Entailment.ENTAILS])
    p_c = np.clip(contradiction.astype(np.float64), 0.0, 1.0)
    p_e = np.minimum(np.clip(entailment.astype(np.float64), 0.0, 1.0), 1.0 - p_c)
    return np.asarray(p_c + 0.5 * (1.0 - p_c - p_e), dtype=np.float64)


def _check_labels(labels: Int8[np.ndarray, "..."], kind: str) -> None:
    strange = labels[(labels < NOT_MEASURED) | (labels > 2)]
    if strange.size:
        raise ValueError(f"{kind} labels are 0, 1, 2 or {NOT_MEASURED} (not measured), got {int(strange.flat[0])}")


def _check_probabilities(rows: Float[np.ndarray, "... 3"]) -> None:
    # Comparisons with NaN are false, so rows that were not measured pass.
    total = rows.sum(axis=-1, dtype=np.float64)
    if (rows < -ROUNDING).any() or (rows > 1 + ROUNDING).any() or (np.abs(total - 1) > ROUNDING).any():
        raise ValueError("class probabilities lie in [0, 1] and sum to 1; are these logits?")
