"""How far a state is from those that training saw: a score of a strange state is a guess, and says so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32, Float64

__all__ = ["familiar_up_to", "nearest", "reference_states"]

KEPT = 512
"""States kept for comparison."""
SHARE = 0.95
"""Share of the states of a task left out that count as familiar to the others."""


def nearest(
    states: Float32[np.ndarray, "states width"], references: Float32[np.ndarray, "references width"]
) -> Float64[np.ndarray, " states"]:
    """Euclidean distance of each state to the nearest reference."""
    a, b = states.astype(np.float64), references.astype(np.float64)
    squares = (a**2).sum(1)[:, None] + (b**2).sum(1)[None] - 2 * a @ b.T
    return np.asarray(np.sqrt(np.maximum(squares.min(axis=1), 0.0)), dtype=np.float64)


def reference_states(
    tasks: Sequence[Float32[np.ndarray, "states width"]], seed: int
) -> Float32[np.ndarray, "references width"]:
    """States to compare with: all, or as many of each task as fit."""
    rng = np.random.default_rng((seed, 4))
    share = max(1, KEPT // len(tasks))
    kept = [states if len(states) <= share else states[rng.permutation(len(states))[:share]] for states in tasks]
    rows = np.concatenate(kept)
    return rows if len(rows) <= KEPT else rows[np.sort(rng.permutation(len(rows))[:KEPT])]


def familiar_up_to(tasks: Sequence[Float32[np.ndarray, "states width"]], seed: int) -> float:
    """Distance up to which a state of a new task is like those of the training: each task is left out once.

    Args:
        tasks: States of each task; with a single one there is nothing to compare, and no state is familiar but its own.
        seed: Seed of which states are kept.
    """
    if len(tasks) < 2:
        return 0.0
    distances = []
    for number, states in enumerate(tasks):
        others = [each for other, each in enumerate(tasks) if other != number]
        distances.append(nearest(states, reference_states(others, seed)))
    return float(np.quantile(np.concatenate(distances), SHARE))
