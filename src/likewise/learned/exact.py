"""The exact RSD of a finite Markov decision process with a known policy, and the processes themselves.

Two independent rollouts from s and s' diverge by U(s, s') = D(s, s') + gamma * E[U(next of s, next of s')], D being the
expected distance of their actions. The rollouts are independent and the expectation is linear, so only the chain
P = P(next | s) under the policy matters: U = D + gamma P U P^T, one linear system in the pairs of states.

Source: arXiv:2610.33012, Eq. 2 and section 4 (the operator is a gamma-contraction, so the solution is the only one).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

__all__ = ["Process", "Walk", "exact_rsd", "random_process"]

LARGEST = 80
"""States solved at most: the system has a row and a column for each pair of them."""
STAYS = 0.95
"""Probability that a random process stays in its region at a turn; without regions all states are soon alike."""


@dataclass(frozen=True, slots=True)
class Walk:
    """One sampled run: the states visited and the action taken in each."""

    states: Int64[np.ndarray, " turns"]
    actions: Int64[np.ndarray, " turns"]


@dataclass(frozen=True, slots=True)
class Process:
    """A finite Markov decision process with the agent's policy in it.

    Attributes:
        policy: Probability of each action in each state; rows sum to 1.
        transition: Probability of each next state after an action in a state; last axes sum to 1.
        distance: Distance of each two actions, symmetric, 0 on the diagonal, in [0, 1].
    """

    policy: Float64[np.ndarray, "states actions"]
    transition: Float64[np.ndarray, "states actions states"]
    distance: Float64[np.ndarray, "actions actions"]

    def __post_init__(self) -> None:
        """Refuse what is no process."""
        states, actions = self.policy.shape
        if self.transition.shape != (states, actions, states) or self.distance.shape != (actions, actions):
            raise ValueError("policy (S, A), transition (S, A, S) and distance (A, A) speak of the same S and A")
        for name, rows in (("policy", self.policy), ("transition", self.transition)):
            if (rows < 0).any() or not np.allclose(rows.sum(axis=-1), 1.0):
                raise ValueError(f"the probabilities of the {name} are at least 0 and sum to 1")
        d = self.distance
        if (d < 0).any() or (d > 1).any() or not np.array_equal(d, d.T) or np.diagonal(d).any():
            raise ValueError("distances are symmetric, lie in [0, 1] and are 0 on the diagonal")

    @property
    def chain(self) -> Float64[np.ndarray, "states states"]:
        """Probability of each next state under the policy."""
        return np.asarray(np.einsum("sa,sax->sx", self.policy, self.transition), dtype=np.float64)

    @property
    def immediate(self) -> Float64[np.ndarray, "states states"]:
        """Expected distance of the actions taken in each two states."""
        return np.asarray(self.policy @ self.distance @ self.policy.T, dtype=np.float64)

    def walk(self, start: int, turns: int, rng: np.random.Generator) -> Walk:
        """Sample a run of so many turns from a state."""
        states, actions = np.zeros(turns, dtype=np.int64), np.zeros(turns, dtype=np.int64)
        state = start
        for t in range(turns):
            states[t] = state
            actions[t] = rng.choice(self.policy.shape[1], p=self.policy[state])
            state = int(rng.choice(self.policy.shape[0], p=self.transition[state, actions[t]]))
        return Walk(states, actions)


def exact_rsd(process: Process, gamma: float) -> Float64[np.ndarray, "states states"]:
    """U of each two states: the fixed point, by a linear solve.

    Args:
        process: At most 80 states.
        gamma: Discount in [0, 1).

    Returns:
        A symmetric matrix in [0, 1/(1-gamma)]; its diagonal is the RSD of each state.

    Raises:
        ValueError: Too many states, or a discount outside [0, 1).
    """
    states = process.policy.shape[0]
    if not 0 <= gamma < 1:
        raise ValueError(f"a discount lies in [0, 1), got {gamma}")
    if states > LARGEST:
        raise ValueError(f"a process of at most {LARGEST} states is solved exactly, got {states}")
    chain = process.chain
    system = np.eye(states * states) - gamma * np.kron(chain, chain)
    flat = np.linalg.solve(system, process.immediate.reshape(-1))
    return np.asarray(flat.reshape(states, states), dtype=np.float64)


def random_process(states: int, rng: np.random.Generator, *, actions: int = 8, deterministic: bool = False) -> Process:
    """A process of regions in which the agent is more or less settled: from one sure action to an even choice.

    Actions fall into classes of equal meaning (distance 0); classes are neutral (0.5) or contradict (1).

    Args:
        states: At least 1.
        rng: Source of everything random.
        actions: Distinct wordings of actions, at least 2.
        deterministic: One action a state and one next state an action: the RSD of every state is 0.

    Returns:
        The process.
    """
    classes = rng.integers(0, max(2, actions // 2), size=actions)
    between = np.triu(rng.choice([0.5, 1.0], size=(actions, actions)), 1)
    between += between.T
    distance = between[np.ix_(classes, classes)] * (classes[:, None] != classes[None, :])
    if deterministic:
        policy = np.eye(actions)[rng.integers(0, actions, size=states)]
        transition = np.eye(states)[rng.integers(0, states, size=(states, actions))]
        return Process(policy, transition, distance)
    region = rng.integers(0, max(2, states // 5), size=states)
    settled = rng.choice([0.02, 0.2, 1.0, 5.0], size=region.max() + 1)
    policy, transition = np.zeros((states, actions)), np.zeros((states, actions, states))
    for s in range(states):
        few = rng.choice(actions, size=min(3, actions), replace=False)
        policy[s, few] = rng.dirichlet(np.full(len(few), settled[region[s]]))
        near = np.flatnonzero(region == region[s])
        for a in range(actions):
            stays = rng.choice(near, size=min(2, len(near)), replace=False)
            transition[s, a, stays] = STAYS * rng.dirichlet(np.full(len(stays), 0.5))
            transition[s, a, rng.integers(states)] += 1 - STAYS
    return Process(policy, transition, distance)
