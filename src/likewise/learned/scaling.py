"""What the network sees of a state vector while it trains: centred, scaled, and turned onto its main axes.

All of it is linear, so it is folded into the first layer afterwards: a checkpoint is the paper's network and nothing
beside it. Few axes make a step of training several times cheaper, and leave less to learn by heart from few tasks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64

from likewise.learned.state_encoding import COUNTS

__all__ = ["Scaling", "scaling_of"]

FLAT = 1e-4
"""Axes along which states spread less than this share of the widest are left out: they are rounding."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """A linear map of states.

    Attributes:
        centre: Taken away from each column.
        scale: What each column is then divided by.
        axes: What the result is turned onto; None leaves it as it is.
    """

    centre: Float32[np.ndarray, " width"]
    scale: Float32[np.ndarray, " width"]
    axes: Float32[np.ndarray, "width inputs"] | None = None

    def applied(self, states: Float32[np.ndarray, "states width"]) -> Float32[np.ndarray, "states inputs"]:
        """The states as the network in training sees them."""
        scaled = ((states - self.centre) / self.scale).astype(np.float32)
        return scaled if self.axes is None else np.asarray(scaled @ self.axes, dtype=np.float32)

    def folded(self, weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The same network for states as they come: W A (z - m)/s + b = (W A/s) z + (b - (W A/s) m)."""
        first = weights["first.weight"].astype(np.float64)
        if self.axes is not None:
            first = first @ self.axes.T.astype(np.float64)
        first = first / self.scale.astype(np.float64)
        bias = weights["first.bias"].astype(np.float64) - first @ self.centre.astype(np.float64)
        return {**weights, "first.weight": first.astype(np.float32), "first.bias": bias.astype(np.float32)}


def scaling_of(
    states: Float32[np.ndarray, "states width"], *, standardise: bool = True, components: int = 0
) -> Scaling:
    """The map for the states of some tasks.

    Args:
        states: All states that are learned from.
        standardise: Whether columns are centred and scaled; those that hardly vary are not blown up.
        components: Principal axes of the embeddings that are kept, each scaled to a spread of one; the counts are kept
            beside them. 0 keeps everything.
    """
    width = states.shape[1]
    centre, scale = np.zeros(width, dtype=np.float32), np.ones(width, dtype=np.float32)
    if standardise:
        spread = states.std(axis=0, dtype=np.float64)
        floor = max(0.1 * float(np.median(spread)), 1e-3)
        centre = states.mean(axis=0, dtype=np.float64).astype(np.float32)
        scale = np.maximum(spread, floor).astype(np.float32)
    if not components:
        return Scaling(centre, scale)
    return Scaling(centre, scale, _axes((states - centre) / scale, components))


def _axes(scaled: Float32[np.ndarray, "states width"], components: int) -> Float32[np.ndarray, "width inputs"]:
    width, counts = scaled.shape[1], len(COUNTS)
    texts = scaled[:, : width - counts].astype(np.float64)
    squares, turned = np.linalg.eigh(texts.T @ texts / len(texts))
    spread: Float64[np.ndarray, " axes"] = np.sqrt(np.maximum(squares[::-1], 0.0))
    kept = min(components, int((spread > FLAT * spread[0]).sum()))
    axes = np.zeros((width, kept + counts))
    axes[: width - counts, :kept] = turned[:, ::-1][:, :kept] / spread[:kept]
    axes[width - counts :, kept:] = np.eye(counts)
    return axes.astype(np.float32)
