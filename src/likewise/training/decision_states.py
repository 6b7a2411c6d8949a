"""The learned reward over the states that the agent acted from, and no others.

A metric learned from finished runs has seen every state before an action and none after the last one: there, the
network extrapolates, and what it should say by definition (0, nothing can part any more) pays for ending early. The
mean over the states acted from, the opening included, rests on what was learned. The opening is the same for all
siblings: it moves nothing but the weight of the rest, and gives a run of one action a value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from likewise.learned.model import RSDModel
from likewise.training.completions import Columns, Completion
from likewise.training.reward_base import CompletionScore
from likewise.training.rewards import RSDReward

__all__ = ["DecisionRSDReward"]


class DecisionRSDReward(RSDReward):
    """Minus the learned RSD, averaged over the states that the agent acted from: -U(s_t, s_t), t = 0 .. T-1."""

    def __init__(self, model: RSDModel, *, normalised: bool = False) -> None:
        """Take a learned metric.

        Args:
            model: The metric.
            normalised: Times (1 - gamma), so that values lie in [-1, 0].
        """
        super().__init__(model, normalised=normalised)

    def measure(self, completions: Sequence[Completion], columns: Columns) -> list[CompletionScore]:
        """Score completions; an action's own score is that of the state it led to.

        The last one led to none: it gets that of the state it was taken from, so that ending is no merit.
        """
        openings = self._openings(completions)
        scores = []
        for score, opening in zip(super().measure(completions, columns), openings, strict=True):
            after = [value for value in score.turns[:-1] if value is not None]
            acted_from = [opening, *after]
            value = float(np.mean(acted_from)) if score.turns else None
            turns = (*after, acted_from[-1]) if score.turns else ()
            scores.append(CompletionScore(value, turns, {} if value is None else {"rsd": -value}))
        return scores

    def _openings(self, completions: Sequence[Completion]) -> list[float]:
        model, rows = self._source.model, []
        for completion in completions:
            live = model.start()
            for turn in completion.before:
                live.observe(turn.observations)
                live.act(turn.action)
            if completion.rollout.turns:
                live.observe(completion.rollout.turns[0].observations)
            rows.append(live.vector)
        return [float(value) for value in self._values(np.stack(rows))] if rows else []
