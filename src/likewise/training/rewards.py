"""Recursive Semantic Divergence as a reward: how settled is the agent after what it just did?

All completions of a group share the state they start from, so RSD of that state is the same for each of them and
cancels. What differs is where an action leads: the states *after* each action are scored.

Source: arXiv:2610.33012, section 6 and A.3 (reward -U(s, s)).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Float32

from likewise.backends.tool_rules import ToolRules
from likewise.core.group import LengthPolicy, RolloutGroup
from likewise.core.labels import NOT_MEASURED, PairLabels
from likewise.core.protocols import Encoder, Judge
from likewise.core.rollout import Rollout, StopReason
from likewise.learned.model import RSDModel
from likewise.metrics.divergence import discounted_sum, largest_divergence
from likewise.scoring.score import ScoringOptions
from likewise.training.completions import Columns, Completion
from likewise.training.in_group import Siblings, sibling_groups
from likewise.training.portable import ModelSource
from likewise.training.reward_base import CompletionScore, Reward, mean_of

__all__ = ["InGroupRSDReward", "RSDReward"]


class RSDReward(Reward):
    """Minus the learned RSD of the states after each action, averaged over the actions: -U(s, s).

    The state after an action is the history with the environment's answer to it, where there was one.
    """

    def __init__(
        self,
        model: str | Path | RSDModel,
        *,
        encoder: Encoder | None = None,
        normalised: bool = False,
        last: Literal["score", "skip", "end"] = "score",
    ) -> None:
        """Take a learned metric.

        Args:
            model: Its folder, or the model.
            encoder: The encoder it was trained with, beside a folder; the embedded one where None.
            normalised: Times (1 - gamma), so that values lie in [-1, 0].
            last: What becomes of the state after the last action. Training of the metric holds no such state where
                nothing was observed after it. "score" takes what the network says; "skip" leaves it out of the mean
                where nothing was observed (a completion of one action is then not measured); "end" takes 0 where the
                run ended by itself, as the metric's definition has it, which favours runs that end early.

        Raises:
            ValueError: Another word for `last`.
        """
        if last not in ("score", "skip", "end"):
            raise ValueError(f"last is 'score', 'skip' or 'end', got {last!r}")
        self._source, self._normalised, self._last = ModelSource(model, encoder), normalised, last

    @staticmethod
    def in_group(
        judge: str | Judge = "embedded",
        *,
        rules: ToolRules | None = None,
        gamma: float = 0.8,
        length_policy: LengthPolicy | str = LengthPolicy.ABSORB,
        soft: bool = False,
        normalised: bool = False,
        store: str | Path | None = None,
    ) -> InGroupRSDReward:
        """RSD without a learned metric, from the siblings of each completion; see `InGroupRSDReward`.

        Raises:
            ValueError: A name that no judge has, a discount outside [0, 1), or no such length policy.
        """
        if length_policy not in list(LengthPolicy):
            raise ValueError(f"length_policy is {' or '.join(LengthPolicy)}, got {length_policy!r}")
        options = ScoringOptions(float(gamma), LengthPolicy(length_policy), soft)
        return InGroupRSDReward(judge, rules=rules, options=options, normalised=normalised, store=store)

    @property
    def lowest(self) -> float:
        """-1/(1-gamma), or -1 where normalised."""
        return -1.0 if self._normalised else -self._source.model.largest

    def measure(self, completions: Sequence[Completion], columns: Columns) -> list[CompletionScore]:
        """Score completions; all their states go through the network at once."""
        del columns
        model = self._source.model
        whole = [_whole(completion) for completion in completions]
        model.states.prepare(whole)
        states = [self._states(completion) for completion in completions]
        values = self._values(np.concatenate([rows for rows, _ in states])) if states else np.zeros(0)
        scores, start = [], 0
        for completion, (rows, answered) in zip(completions, states, strict=True):
            turns = self._turns(values[start : start + len(rows)].tolist(), completion.rollout, answered)
            start += len(rows)
            value = mean_of(turns)
            scores.append(CompletionScore(value, turns, {} if value is None else {"rsd": -value}))
        return scores

    def _turns(self, values: list[float], rollout: Rollout, answered: bool) -> tuple[float | None, ...]:
        """The score of each action, the last one by the rule for it."""
        if values and self._last == "end" and rollout.stop is StopReason.FINISHED:
            return (*values[:-1], 0.0)
        if values and self._last == "skip" and not answered:
            return (*values[:-1], None)
        return tuple(values)

    def _states(self, completion: Completion) -> tuple[Float32[np.ndarray, "turns width"], bool]:
        """The state after each action, and whether anything was observed after the last."""
        model, rollout = self._source.model, completion.rollout
        live = model.start()
        for turn in completion.before:
            live.observe(turn.observations)
            live.act(turn.action)
        rows, answer = [], rollout.last_observations
        for number, turn in enumerate(rollout.turns):
            if number == 0:
                live.observe(turn.observations)
            live.act(turn.action)
            is_last = number + 1 == len(rollout.turns)
            live.observe(answer if is_last else rollout.turns[number + 1].observations)
            rows.append(live.vector)
        width = model.facts["width"]
        return (np.stack(rows) if rows else np.zeros((0, width), dtype=np.float32)), bool(answer)

    def _values(self, states: Float32[np.ndarray, "states width"]) -> Float[np.ndarray, " states"]:
        model = self._source.model
        rsd = np.minimum(model.values(states).mean(axis=0), model.largest)
        return np.asarray(-rsd / (model.largest if self._normalised else 1.0))


def _whole(completion: Completion) -> Rollout:
    rollout = completion.rollout
    return Rollout(
        rollout.task_id,
        rollout.run_id,
        (*completion.before, *rollout.turns),
        last_observations=rollout.last_observations,
    )


class InGroupRSDReward(Reward):
    """Minus the mean divergence from the siblings of the same prompt: direct RSD, split among its rollouts.

    The mean over a group is minus its direct RSD (`metrics.divergence.monte_carlo_rsd`): the discounted sum of turn
    distances. Turns behind a cut are not measured and add nothing, as there. A pair in which a judgement failed is
    left out; a completion that no sibling could be compared with is not measured.

    The score of an action is minus the mean divergence from that turn on, for siblings still comparable there.
    """

    def __init__(
        self,
        judge: str | Judge = "embedded",
        *,
        rules: ToolRules | None = None,
        options: ScoringOptions | None = None,
        normalised: bool = False,
        store: str | Path | None = None,
    ) -> None:
        """Load nothing yet.

        Args:
            judge: Name or judge, asked only for texts that no rule settles.
            rules: How tool calls are compared; the default table where None.
            options: Discount, length policy, hard or soft distances.
            normalised: Times (1 - gamma), so that values lie in [-1, 0].
            store: File that remembers judgements between processes; none where None.

        Raises:
            ValueError: A name that no judge has, or a discount outside [0, 1).
        """
        self._siblings = Siblings(judge, rules, store, options)
        largest_divergence(self._siblings.options.gamma)  # refuses a discount that cannot be
        self._normalised = normalised

    @property
    def lowest(self) -> float:
        """-1/(1-gamma), or -1 where normalised."""
        return -1.0 if self._normalised else -largest_divergence(self._siblings.options.gamma)

    def measure(self, completions: Sequence[Completion], columns: Columns) -> list[CompletionScore]:
        """Score completions against their siblings, wherever these are."""
        del columns
        scores = [CompletionScore(None)] * len(completions)
        scale = 1.0 if not self._normalised else 1.0 / largest_divergence(self._siblings.options.gamma)
        for group, here in sibling_groups(completions):
            labels, distance = self._siblings.distances(group)
            failed = _failed(group, labels)
            gamma = self._siblings.options.gamma
            for position, k in here:
                mine = (labels.pairs == k).any(axis=1) & ~failed & ~np.isnan(distance).all(axis=1)
                scores[position] = _score(distance[mine], group.lengths[k], gamma, scale)
        return scores

    def close(self) -> None:
        """Close the label store."""
        self._siblings.close()


def _failed(group: RolloutGroup, labels: PairLabels) -> Bool[np.ndarray, " pairs"]:
    """Pairs in which both rollouts act at some turn, and the judge could not say how these actions relate."""
    lengths = np.array(group.lengths, dtype=np.int64)
    shared = np.arange(labels.relation.shape[1]) < lengths[labels.pairs].min(axis=1)[:, None]
    return np.asarray((shared & (labels.relation == NOT_MEASURED)).any(axis=1), dtype=np.bool_)


def _score(rows: Float[np.ndarray, "siblings turns"], acted: int, gamma: float, scale: float) -> CompletionScore:
    """Reward of one rollout from its distances to each sibling."""
    if not len(rows):
        return CompletionScore(None, (None,) * acted)
    value = -scale * float(discounted_sum(rows, gamma).mean())
    turns: list[float | None] = []
    for turn in range(acted):
        behind = rows[~np.isnan(rows[:, turn]), turn:]
        turns.append(-scale * float(discounted_sum(behind, gamma).mean()) if len(behind) else None)
    return CompletionScore(value, tuple(turns), {"rsd": -value})
