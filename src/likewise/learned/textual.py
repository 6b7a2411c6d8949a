"""Recorded runs of a finite process in words: the same thing as texts, as samples, and as an exact number.

Each state has a sentence that names it, each action another; the distance of two actions is the process's own, so
nothing need be judged. A run is cut after its turns, as an agent is by a limit; what it saw last is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from likewise.core.group import RolloutGroup
from likewise.core.rollout import Action, Observation, Rollout, StopReason, Turn
from likewise.learned.exact import Process

__all__ = ["TextualTask", "action_words", "state_words", "textual_tasks"]

_COLOURS = ("amber", "blue", "crimson", "dusty", "emerald", "frosted", "golden", "hollow", "ivory", "jagged")
_PLACES = ("harbour", "library", "kitchen", "bank", "airport", "forest", "hospital", "garage")
_VERBS = ("open", "sell", "paint", "repair", "deliver", "photograph", "cancel", "inspect")
_THINGS = ("the crate", "a ticket", "the old clock", "an invoice")


class TextualTask(NamedTuple):
    """Runs from one state, the distance of each pair at each turn, and the number of each run's state at each turn."""

    group: RolloutGroup
    distance: Float64[np.ndarray, "pairs turns"]
    visited: np.ndarray


def state_words(state: int) -> str:
    """The sentence of a state, one of 80."""
    return f"You are at the {_COLOURS[state % 10]} {_PLACES[state // 10]}; what do you do?"


def action_words(action: int) -> str:
    """The sentence of an action, one of 32."""
    return f"I {_VERBS[action % 8]} {_THINGS[action // 8]}."


def textual_tasks(
    process: Process, starts: Sequence[int], *, runs: int, turns: int, rng: np.random.Generator
) -> list[TextualTask]:
    """Sample runs from each starting state.

    Args:
        process: At most 80 states and 32 actions.
        starts: A task for each.
        runs: Runs a task, at least two.
        turns: Turns a run, after which it is cut.
        rng: Source of everything random.
    """
    tasks = []
    for number, start in enumerate(starts):
        walks = [process.walk(start, turns + 1, rng) for _ in range(runs)]
        rollouts = tuple(_rollout(f"{number}", f"{run}", walk.states, walk.actions) for run, walk in enumerate(walks))
        group = RolloutGroup(f"{number}", rollouts)
        actions = np.stack([walk.actions[:turns] for walk in walks])
        i, j = np.array(group.pairs).T
        visited = np.stack([walk.states for walk in walks])
        tasks.append(TextualTask(group, process.distance[actions[i], actions[j]], visited))
    return tasks


def _rollout(task: str, run: str, states: np.ndarray, actions: np.ndarray) -> Rollout:
    said = [(Observation("user", state_words(int(state))),) for state in states]
    turns = tuple(
        Turn(seen, Action(action_words(int(action)))) for seen, action in zip(said[:-1], actions[:-1], strict=True)
    )
    return Rollout(task, run, turns, stop=StopReason.CUT, last_observations=said[-1])
