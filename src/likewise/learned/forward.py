"""The network without PyTorch: state vectors in, distances out.

phi = Linear(D, 512), LayerNorm, ReLU, then for each head Linear(512, 256), ReLU, Linear(256, 256).
U(s, s') = alpha (|phi(z)|^2 + |phi(z')|^2) + beta * angle, the angle from 0 to 1; U(s, s) = 2 alpha |phi(z)|^2.

Source: arXiv:2610.33012, Eq. 7 and Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from jaxtyping import Float32, Float64

__all__ = ["HIDDEN", "LATENT", "Weights", "angle", "forward", "pair_distance", "self_distance", "weight_shapes"]

HIDDEN = (512, 256)
LATENT = 256
NORM_EPSILON = 1e-5

Weights: TypeAlias = Mapping[str, np.ndarray]


def weight_shapes(width: int, heads: int = 1) -> dict[str, tuple[int, ...]]:
    """Name and shape of each array of a network.

    Args:
        width: Width of a state vector.
        heads: Networks over one first layer.
    """
    h1, h2 = HIDDEN
    return {
        "first.weight": (h1, width),
        "first.bias": (h1,),
        "norm.weight": (h1,),
        "norm.bias": (h1,),
        "second.weight": (heads, h2, h1),
        "second.bias": (heads, 1, h2),
        "third.weight": (heads, LATENT, h2),
        "third.bias": (heads, 1, LATENT),
    }


def forward(
    weights: Weights, states: Float32[np.ndarray, "states width"]
) -> Float32[np.ndarray, "heads states latent"]:
    """Phi of each state, by each head."""
    x = states @ weights["first.weight"].T + weights["first.bias"]
    centred = x - x.mean(axis=1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=1, keepdims=True) + NORM_EPSILON)
    x = np.maximum(centred / scale * weights["norm.weight"] + weights["norm.bias"], 0)
    x = np.maximum(x @ weights["second.weight"].transpose(0, 2, 1) + weights["second.bias"], 0)
    return np.asarray(x @ weights["third.weight"].transpose(0, 2, 1) + weights["third.bias"], dtype=np.float32)


def self_distance(
    latent: Float32[np.ndarray, "heads states latent"], alpha: float
) -> Float64[np.ndarray, "heads states"]:
    """U(s, s) by each head: at least 0, not limited above."""
    return np.asarray(2 * alpha * (latent.astype(np.float64) ** 2).sum(axis=-1), dtype=np.float64)


def angle(
    first: Float32[np.ndarray, "*rows latent"], second: Float32[np.ndarray, "*rows latent"]
) -> Float64[np.ndarray, "*rows"]:
    """The angle between vectors as a share of a half turn, in [0, 1]; 1/2 where one of them is zero, 0 where both are.

    2 atan2(|u - v|, |u + v|) of the unit vectors: exact for small angles, and of bounded slope, which arccos is not.

    Source: Kahan, "How futile are mindless assessments of roundoff", section 12.
    """
    u, v = (_unit(each.astype(np.float64)) for each in (first, second))
    difference = np.linalg.norm(u - v, axis=-1)
    total = np.linalg.norm(u + v, axis=-1)
    return np.asarray(2 / np.pi * np.arctan2(difference, total), dtype=np.float64)


def _unit(rows: Float64[np.ndarray, "*rows latent"]) -> Float64[np.ndarray, "*rows latent"]:
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, 1e-6), dtype=np.float64)


def pair_distance(
    first: Float32[np.ndarray, "heads states latent"],
    second: Float32[np.ndarray, "heads states latent"],
    alpha: float,
    beta: float,
) -> Float64[np.ndarray, "heads states"]:
    """U(s, s') by each head; symmetric, at least 0."""
    norms = (self_distance(first, alpha) + self_distance(second, alpha)) / 2
    return np.asarray(norms + beta * angle(first, second) if beta else norms, dtype=np.float64)
