"""Progress of a run by the sub-goals that its log names: tool calls that its task expects.

`meta["progress"]` is p_0 .. p_T: the share of sub-goals met before the first action, then after each turn. What happens
in answer to an action counts to its turn.

A call meets a sub-goal as tau2's own check has it: the same tool, and equal arguments; where the task names the
arguments that count, only those, and none where it names none. One call may meet several equal sub-goals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from likewise.core.rollout import JsonValue, Turn

__all__ = ["Made", "SubGoal", "agent_calls", "progress_curve"]

Made: TypeAlias = "tuple[int, str, JsonValue]"
"""A call: the turns taken when it was made, its own included (0: before the first), its tool, its arguments."""


@dataclass(frozen=True, slots=True)
class SubGoal:
    """A call that a task expects.

    Attributes:
        tool: Its tool.
        arguments: Its arguments.
        compared: Names of the arguments that count; all where None.
        met: What the log says of it; None where the log does not say.
    """

    tool: str
    arguments: Mapping[str, JsonValue]
    compared: tuple[str, ...] | None = None
    met: bool | None = None

    def is_met_by(self, tool: str, arguments: JsonValue) -> bool:
        """Whether a call is the one expected."""
        if tool != self.tool or not isinstance(arguments, dict):
            return False
        if self.compared is None:
            return arguments == dict(self.arguments)
        made = {name: value for name, value in arguments.items() if name in self.compared}
        return made == {name: value for name, value in self.arguments.items() if name in self.compared}

    def turn(self, calls: Sequence[Made], turns: int) -> int | None:
        """The first turn after which it is met; None where never.

        Where the log has a verdict that stands: a goal that it calls met without a call that shows it is met at the
        end, and one that it calls missed is missed.
        """
        if self.met is False:
            return None
        first = next((turn for turn, tool, arguments in calls if self.is_met_by(tool, arguments)), None)
        return turns if first is None and self.met else first


def agent_calls(turns: Sequence[Turn]) -> Iterator[Made]:
    """The calls of the agent; one whose arguments are no object meets nothing."""
    for number, turn in enumerate(turns, start=1):
        for call in turn.action.tool_calls:
            yield number, call.name, call.arguments


def progress_curve(goals: Sequence[SubGoal], calls: Iterable[Made], turns: int) -> list[JsonValue]:
    """Share of sub-goals met before the first turn and after each; empty without sub-goals.

    Args:
        goals: The sub-goals of the task.
        calls: What was called in the run.
        turns: Turns of the run.

    Returns:
        turns + 1 shares in [0, 1] that never fall.
    """
    if not goals:
        return []
    ordered = sorted(calls, key=lambda call: call[0])
    met = [goal.turn(ordered, turns) for goal in goals]
    return [sum(turn is not None and turn <= point for turn in met) / len(goals) for point in range(turns + 1)]
