"""The learned metric in one file: NumPy alone, gradients written out by hand, nothing of likewise imported.

Two rollouts from states s and s' diverge by U(s, s') = d(a, a') + gamma U(next s, next s'), expected over both. A
network phi learns U(s, s') = alpha (|phi(s)|^2 + |phi(s')|^2) + beta angle(phi(s), phi(s')) from sampled pairs, the
rest of the future coming from a slow copy of itself; RSD(s) is U(s, s). Run it: it learns three agents.

Source: arXiv:2610.33012, Eq. 2, Eq. 7, Algorithm 1; MICo, arXiv:2106.08229.
"""

from __future__ import annotations

import numpy as np

TINY = 1e-6  # lengths below this count as this


def fixed_point(chain: np.ndarray, immediate: np.ndarray, gamma: float, tolerance: float = 1e-13) -> np.ndarray:
    """U of each two states by applying U <- D + gamma P U P^T until it moves no more (a gamma-contraction)."""
    u = np.zeros_like(immediate)
    while True:
        nearer = immediate + gamma * chain @ u @ chain.T
        if np.abs(nearer - u).max() < tolerance:
            return nearer
        u = nearer


def start(width: int, hidden: int, latent: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Weights to start from: uniform within 1/sqrt(inputs)."""
    sizes = {"first": (hidden, width), "second": (latent, hidden), "third": (latent, latent)}
    weights = {"norm.weight": np.ones(hidden), "norm.bias": np.zeros(hidden)}
    for layer, (rows, inputs) in sizes.items():
        weights[f"{layer}.weight"] = rng.uniform(-1, 1, (rows, inputs)) / np.sqrt(inputs)
        weights[f"{layer}.bias"] = rng.uniform(-1, 1, rows) / np.sqrt(inputs)
    return weights


def phi(w: dict[str, np.ndarray], z: np.ndarray) -> tuple[np.ndarray, tuple]:
    """Embedding of each state, and what its gradient needs."""
    x = z @ w["first.weight"].T + w["first.bias"]
    scale = np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    unit = (x - x.mean(axis=1, keepdims=True)) / scale
    h1 = np.maximum(unit * w["norm.weight"] + w["norm.bias"], 0)
    h2 = np.maximum(h1 @ w["second.weight"].T + w["second.bias"], 0)
    return h2 @ w["third.weight"].T + w["third.bias"], (z, scale, unit, h1, h2)


def phi_gradient(w: dict[str, np.ndarray], kept: tuple, g: np.ndarray) -> dict[str, np.ndarray]:
    """Gradient of the weights, from that of the embedding."""
    z, scale, unit, h1, h2 = kept
    grad = {"third.weight": g.T @ h2, "third.bias": g.sum(0)}
    g = (g @ w["third.weight"]) * (h2 > 0)
    grad |= {"second.weight": g.T @ h1, "second.bias": g.sum(0)}
    g = (g @ w["second.weight"]) * (h1 > 0)
    grad |= {"norm.weight": (g * unit).sum(0), "norm.bias": g.sum(0)}
    g = g * w["norm.weight"]
    g = (g - g.mean(1, keepdims=True) - unit * (g * unit).mean(1, keepdims=True)) / scale
    return grad | {"first.weight": g.T @ z, "first.bias": g.sum(0)}


def length(x: np.ndarray, floor: float = TINY) -> np.ndarray:
    """Length of each row, at least the floor."""
    return np.sqrt(np.maximum((x * x).sum(-1, keepdims=True), floor**2))


def distance(a: np.ndarray, b: np.ndarray, alpha: float, beta: float, same: np.ndarray) -> np.ndarray:
    """U of each two embeddings; without the angle where both are one state."""
    u, v = a / length(a), b / length(b)
    angle = 2 / np.pi * np.arctan2(length(u - v), length(u + v, TINY * np.sqrt(1e3)))[:, 0]
    return alpha * ((a * a).sum(1) + (b * b).sum(1)) + beta * angle * ~same


def distance_gradient(
    a: np.ndarray, b: np.ndarray, alpha: float, beta: float, same: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Slope of each U in its two embeddings."""
    la, lb = length(a), length(b)
    u, v = a / la, b / lb
    near, far = length(u - v), length(u + v, TINY * np.sqrt(1e3))
    turn = 2 / np.pi * beta * ~same[:, None] / (near**2 + far**2)
    d_near = turn * far * (near > TINY) * (u - v) / near
    d_far = -turn * near * (far > TINY * np.sqrt(1e3)) * (u + v) / far
    d_u, d_v = d_near + d_far, d_far - d_near
    back = [
        (d - unit * (d * unit).sum(1, keepdims=True) * (size > TINY)) / size
        for d, unit, size in ((d_u, u, la), (d_v, v, lb))
    ]
    return back[0] + 2 * alpha * a, back[1] + 2 * alpha * b


def loss_and_gradient(
    w: dict[str, np.ndarray], z1: np.ndarray, z2: np.ndarray, target: np.ndarray, alpha: float, beta: float
) -> tuple[float, dict[str, np.ndarray]]:
    """Mean squared miss of the targets, and its slope in every weight."""
    same = (z1 == z2).all(axis=1)
    both, kept = phi(w, np.concatenate([z1, z2]))
    a, b = both[: len(z1)], both[len(z1) :]
    miss = distance(a, b, alpha, beta, same) - target
    slopes = distance_gradient(a, b, alpha, beta, same)
    g = np.concatenate([(2 * miss / len(miss))[:, None] * slope for slope in slopes])
    return float((miss**2).mean()), phi_gradient(w, kept, g)


def drawn(probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One number drawn by each last axis."""
    return (rng.random((*probabilities.shape[:-1], 1)) >= probabilities.cumsum(-1)[..., :-1]).sum(-1)


def learn(
    chain: np.ndarray,
    policy: np.ndarray,
    between: np.ndarray,
    gamma: float,
    *,
    steps: int,
    rng: np.random.Generator,
    alpha: float = 0.5,
    rate: float = 2e-3,
    mix: float = 0.02,
) -> tuple[dict[str, np.ndarray], float, float]:
    """Learn U from sampled turns of two rollouts, by Adam; gives the weights with alpha and beta."""
    n, beta = len(chain), 1 / (1 - gamma)
    w = start(n, 64, 32, rng)
    slow = {name: value.copy() for name, value in w.items()}
    mean, square = ({name: np.zeros_like(value) for name, value in w.items()} for _ in range(2))
    one_hot = np.eye(n)
    for step in range(1, steps + 1):
        s = rng.integers(n, size=(64, 2))
        s[::4, 1] = s[::4, 0]  # two rollouts from one state, as two runs of a task
        actions, after = (drawn(rows[s], rng) for rows in (policy, chain))
        guess, _ = phi(slow, one_hot[after.T.reshape(-1)])
        future = distance(guess[:64], guess[64:], alpha, beta, after[:, 0] == after[:, 1])
        target = np.clip(between[actions[:, 0], actions[:, 1]] + gamma * future, 0, 1 / (1 - gamma))
        _, grad = loss_and_gradient(w, one_hot[s[:, 0]], one_hot[s[:, 1]], target, alpha, beta)
        for name in w:
            mean[name] += 0.1 * (grad[name] - mean[name])
            square[name] += 0.001 * (grad[name] ** 2 - square[name])
            moved = mean[name] / (1 - 0.9**step) / (np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8)
            w[name] -= rate * moved
            slow[name] += mix * (w[name] - slow[name])
    return w, alpha, beta


def main() -> None:
    """Three states that never leave: always one action, an even choice of two that contradict, four in five the one."""
    policy = np.array([[1.0, 0.0], [0.5, 0.5], [0.8, 0.2]])
    between = np.array([[0.0, 1.0], [1.0, 0.0]])
    chain, gamma = np.eye(3), 0.5
    exact = fixed_point(chain, policy @ between @ policy.T, gamma)
    w, alpha, _ = learn(chain, policy, between, gamma, steps=2000, rng=np.random.default_rng(0))
    latent, _ = phi(w, np.eye(3))
    for state, (true, found) in enumerate(zip(np.diagonal(exact), 2 * alpha * (latent**2).sum(1), strict=True)):
        print(f"state {state}: RSD {true:.3f}, learned {found:.3f}")  # noqa: T201 - an example prints


if __name__ == "__main__":
    main()
