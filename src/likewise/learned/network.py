"""The network in PyTorch, for training only; `forward` is the same without it.

Weights are a plain table of tensors under the names of `forward.weight_shapes`; PyTorch is loaded on use.

Source: arXiv:2610.33012, Eq. 7; MICo, Castro et al. 2021 (arXiv:2106.08229), for the norms and the angle.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from likewise.core.errors import MissingExtraError
from likewise.learned.forward import NORM_EPSILON, Weights, weight_shapes
from likewise.learned.options import Loss

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Tensors", "as_arrays", "as_tensors", "load_torch", "miss", "pair_distance", "phi", "start_weights", "unit_angle",
]  # fmt: skip

Tensors: TypeAlias = "Mapping[str, Any]"

SMALLEST_VALUE = 1e-3
"""Added to guess and target in a Poisson deviance, whose slope at 0 has no limit."""
SMALLEST = 1e-6
"""Lengths below this count as this: the root has no finite slope at 0."""


def load_torch() -> Any:  # noqa: ANN401 - a module
    """PyTorch.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        import torch
    except ImportError as problem:
        raise MissingExtraError("training a learned metric", "learned") from problem
    return torch


def start_weights(width: int, heads: int, seed: int) -> dict[str, np.ndarray]:
    """PyTorch's own start of linear layers, uniform within 1/sqrt(inputs); the same for the same seed."""
    rng = np.random.default_rng(seed)
    weights: dict[str, np.ndarray] = {}
    inputs = {"first": width, "second": weight_shapes(width)["second.weight"][2]}
    inputs["third"] = weight_shapes(width)["third.weight"][2]
    for name, shape in weight_shapes(width, heads).items():
        layer = name.split(".")[0]
        if layer == "norm":
            weights[name] = np.full(shape, float(name == "norm.weight"), dtype=np.float32)
        else:
            limit = 1 / math.sqrt(inputs[layer])
            weights[name] = rng.uniform(-limit, limit, size=shape).astype(np.float32)
    return weights


def as_tensors(weights: Weights, trained: bool = False) -> dict[str, Any]:
    """Tensors of their own, with gradients if to be trained."""
    torch = load_torch()
    return {name: torch.tensor(value, requires_grad=trained) for name, value in weights.items()}


def as_arrays(tensors: Tensors) -> dict[str, np.ndarray]:
    """Arrays of their own."""
    return {name: value.detach().cpu().numpy().copy() for name, value in tensors.items()}


def phi(tensors: Tensors, states: Any) -> Any:  # noqa: ANN401 - tensors
    """Phi of each state, by each head: (states, width) -> (heads, states, latent)."""
    torch = load_torch()
    x = torch.nn.functional.linear(states, tensors["first.weight"], tensors["first.bias"])
    x = torch.nn.functional.layer_norm(x, x.shape[-1:], tensors["norm.weight"], tensors["norm.bias"], NORM_EPSILON)
    x = torch.relu(x) @ tensors["second.weight"].transpose(1, 2) + tensors["second.bias"]
    return torch.relu(x) @ tensors["third.weight"].transpose(1, 2) + tensors["third.bias"]


def _length(vectors: Any) -> Any:  # noqa: ANN401 - tensors
    return (vectors * vectors).sum(-1).clamp_min(SMALLEST**2).sqrt()


def unit_angle(first: Any, second: Any) -> Any:  # noqa: ANN401 - tensors
    """The angle as a share of a half turn, in [0, 1]; see `forward.angle`. Gradients are finite everywhere.

    Of unit vectors, 2 atan2(|u - v|, |u + v|) has a bounded slope; only the lengths need a safe root.
    """
    torch = load_torch()
    u, v = first / _length(first)[..., None], second / _length(second)[..., None]
    # Where both are zero they are the same vector: the sum's floor is the larger, so that the angle is next to 0.
    total = ((u + v) ** 2).sum(-1).clamp_min(1e3 * SMALLEST**2).sqrt()
    return 2 / math.pi * torch.atan2(_length(u - v), total)


def pair_distance(first: Any, second: Any, alpha: float, beta: float, same: Any = None) -> Any:  # noqa: ANN401 - tensors
    """U(s, s') of embeddings (heads, pairs, latent); without an angle where both count as one state."""
    norms = alpha * ((first * first).sum(-1) + (second * second).sum(-1))
    if not beta:
        return norms
    turned = beta * unit_angle(first, second)
    return norms + (turned if same is None else turned * ~same)


def miss(loss: Loss, guess: Any, aim: Any) -> Any:  # noqa: ANN401 - tensors
    """What each guess costs beside its target; the mean of the targets costs least, but for Huber's on a long tail.

    Source: Bregman divergences are the losses of the mean (Banerjee et al. 2005, Theorem 1); the Poisson deviance is
    one, McCullagh and Nelder 1989, section 2.3.
    """
    functional = load_torch().nn.functional
    if loss is Loss.POISSON:
        u, y = guess + SMALLEST_VALUE, aim.clamp_min(0.0) + SMALLEST_VALUE
        return 2 * (y * (y.log() - u.log()) - y + u)
    one = functional.huber_loss if loss is Loss.HUBER else functional.mse_loss
    return one(guess, aim, reduction="none")
