"""Progress of a single action from a recorded state, as far as recorded runs tell: no environment is asked.

Logs of tau-bench, tau2, ToolSandbox and others say how far a run had come after each turn. A call after which some run
of a task had come further is a sub-goal of that task: an action that makes it, in a run that had not made it yet, adds
what it added there. Sub-goals that no recorded run ever met, and those met by words, cannot be seen.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from likewise.backends.tool_rules import ToolRules
from likewise.core.rollout import Action, JsonValue, Rollout, Turn
from likewise.training.completions import Columns, Completion
from likewise.training.reward_base import AroundReward, CompletionScore, Reward

__all__ = ["RecordedGoals", "WithRecordedProgress", "recorded_curve"]


def recorded_curve(rollout: Rollout) -> list[float] | None:
    """Progress p_0 .. p_T that a log gives a run; None where it gives none that fits its turns."""
    curve: JsonValue = rollout.meta.get("progress")
    if not isinstance(curve, list) or len(curve) != len(rollout.turns) + 1:
        return None
    points = [float(point) for point in curve if isinstance(point, int | float) and 0 <= point <= 1]
    return points if len(points) == len(curve) and all(map(math.isfinite, points)) else None


class RecordedGoals:
    """The sub-goals of tasks that recorded runs met by calls.

    Attributes:
        rises: Turns after which a recorded run had come further.
        unseen: Those of them without a call, which tell nothing of what an action must be.
    """

    def __init__(self, rollouts: Iterable[Rollout], rules: ToolRules | None = None) -> None:
        """Look for the calls after which runs had come further.

        Args:
            rollouts: Recorded runs; those without progress are passed over.
            rules: How arguments are compared; the default table where None.
        """
        self._rules = rules or ToolRules()
        self._goals: dict[str, dict[frozenset[str], float]] = defaultdict(dict)
        self.rises = self.unseen = 0
        for rollout in rollouts:
            curve = recorded_curve(rollout) if rollout.valid else None
            if curve is not None:
                self._learn(rollout, curve)

    def _learn(self, rollout: Rollout, curve: Sequence[float]) -> None:
        made: set[str] = set()
        goals = self._goals[rollout.task_id]
        for turn, before, after in zip(rollout.turns, curve, curve[1:], strict=False):
            new = self._calls(turn.action) - made
            made |= new
            if after <= before:
                continue
            self.rises += 1
            if new:
                goals[new] = max(goals.get(new, 0.0), after - before)
            else:
                self.unseen += 1

    def _calls(self, action: Action) -> frozenset[str]:
        return frozenset(self._rules.call_key(call) for call in action.tool_calls)

    def gain(self, task_id: str, before: Iterable[Turn], action: Action) -> float | None:
        """What an action adds to the progress of a run that has come so far.

        Args:
            task_id: The task.
            before: The run up to the action.
            action: The action.

        Returns:
            A share in [0, 1]; None where no recorded run of the task had come further by a call.
        """
        goals = self._goals.get(task_id)
        if not goals:
            return None
        made = frozenset[str]().union(*(self._calls(turn.action) for turn in before))
        both = made | self._calls(action)
        return min(1.0, sum(added for calls, added in goals.items() if calls <= both and not calls <= made))


class WithRecordedProgress(AroundReward):
    """A reward whose completions are single actions from recorded states, given their progress by recorded runs.

    Needs the columns `task_id` and `reached`, the progress of the recorded run at the state.
    """

    def __init__(self, reward: Reward, goals: RecordedGoals) -> None:
        """Take the reward that reads progress, and what is known of the tasks."""
        super().__init__(reward)
        self._goals = goals

    def measure(self, completions: Sequence[Completion], columns: Columns) -> list[CompletionScore]:
        """Score completions with the column `progress` beside the others."""
        reached = columns.get("reached") or [None] * len(completions)
        curves = [self._curve(each, start) for each, start in zip(completions, reached, strict=True)]
        scores = self._reward.measure(completions, {**columns, "progress": curves})
        return [
            CompletionScore(score.value, score.turns, score.parts if curve is None else _told(score, curve[-1]))
            for score, curve in zip(scores, curves, strict=True)
        ]

    def _curve(self, completion: Completion, reached: float | None) -> list[float] | None:
        turns = completion.rollout.turns
        if reached is None or len(turns) != 1:
            return None
        gain = self._goals.gain(completion.rollout.task_id, completion.before, turns[0].action)
        return None if gain is None else [reached, min(1.0, reached + gain)]


def _told(score: CompletionScore, progress: float) -> dict[str, float]:
    return {**score.parts, "progress": progress}
