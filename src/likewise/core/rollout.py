"""A recorded run of an agent: what it saw and what it did, turn by turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

__all__ = ["Action", "Excluded", "JsonValue", "Observation", "Rollout", "StopReason", "ToolCall", "Turn"]

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"


class StopReason(StrEnum):
    """Why a rollout ended. It decides what the turns after its last one mean."""

    FINISHED = "finished"
    """The agent or its user ended the conversation: from then on the rollout acts END."""
    CUT = "cut"
    """A limit from outside (turns, time, tokens) ended it: the turns after the cut are not measured."""
    INVALID = "invalid"
    """The harness failed, not the agent: the rollout is counted and shown, and never scored."""


def _shows(text: str) -> bool:
    """Whether a reader sees anything: spaces, control and zero-width characters alone say nothing."""
    return any(character.isprintable() and not character.isspace() for character in text)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of one tool.

    `arguments` is an object where the log held one (or a string that parses to one), else the raw string.
    """

    name: str
    arguments: dict[str, JsonValue] | str


@dataclass(frozen=True, slots=True)
class Observation:
    """One thing the environment said: `source` is "system", "user" or "tool"; `name` is the tool's name."""

    source: str
    text: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """What the agent did in one turn: its text, its tool calls (parallel calls are one action), or both."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said and nothing was called."""
        return not _shows(self.text) and not self.tool_calls


@dataclass(frozen=True, slots=True)
class Turn:
    """All the environment said since the last action, then one action."""

    observations: tuple[Observation, ...]
    action: Action


@dataclass(frozen=True, slots=True)
class Rollout:
    """One recorded run. `(task_id, run_id)` is unique within what one call read.

    Attributes:
        task_id: Task that was run; rollouts of one task form a group.
        run_id: Run of that task, made by the reader (`file#task#trial` where the log has no id of its own).
        turns: Observations and actions in order; turns count from 0.
        stop: Why it ended.
        reward: Reward in the log; None where the log has none. Not measured is not zero.
        success: Whether the run solved its task; None where the log does not say.
        problem: What makes the rollout invalid (set exactly where `stop` is INVALID).
        path: File it was read from.
        notes: What a reader of the report should know ("tool call in text"), one phrase each.
        meta: Further facts of the log (model, domain, seed), kept as they were.
        last_observations: What the environment said after the last action.
    """

    task_id: str
    run_id: str
    turns: tuple[Turn, ...]
    stop: StopReason = StopReason.FINISHED
    reward: float | None = None
    success: bool | None = None
    problem: str | None = None
    path: str = ""
    notes: tuple[str, ...] = ()
    meta: Mapping[str, JsonValue] = field(default_factory=dict)
    last_observations: tuple[Observation, ...] = ()

    def __post_init__(self) -> None:
        """Refuse an invalid rollout without a reason, and a reason without an invalid rollout."""
        if (self.stop is StopReason.INVALID) != (self.problem is not None):
            raise ValueError("a rollout has a problem exactly where its stop reason is INVALID")

    @property
    def valid(self) -> bool:
        """Whether the rollout may be scored."""
        return self.stop is not StopReason.INVALID

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions, one a turn."""
        return tuple(turn.action for turn in self.turns)

    @property
    def answer(self) -> str | None:
        """Text of the last action that says something; None where no action does, or the last one is empty.

        A run that ends in an empty completion gave no answer, whatever it said on the way.
        """
        if self.turns and self.turns[-1].action.is_empty:
            return None
        return next((turn.action.text for turn in reversed(self.turns) if _shows(turn.action.text)), None)


@dataclass(frozen=True, slots=True)
class Excluded:
    """A record that was not scored, and why. `run_id` and `task_id` are None where the record has none."""

    task_id: str | None
    run_id: str | None
    reason: str
    path: str = ""
    line: int | None = None
    pointer: str | None = None
