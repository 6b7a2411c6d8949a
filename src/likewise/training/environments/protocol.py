"""What a world offers that agents act in: tasks, tools, a user, and sub-goals.

One object is one run at a time: `reset` begins a task, each `step` takes one action. Progress never falls, as in the
sub-goals of tau2 and the milestones of ToolSandbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from likewise.core.rollout import Action, JsonValue, Observation, StopReason

__all__ = ["Environment", "Step", "Tool"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that an agent may call.

    Attributes:
        name: Its name.
        description: What it does, in a sentence.
        parameters: JSON schema of its arguments.
        read_only: Whether it leaves the world as it is.
    """

    name: str
    description: str
    parameters: dict[str, JsonValue]
    read_only: bool

    @property
    def definition(self) -> dict[str, JsonValue]:
        """The tool as OpenAI's chat API takes it."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        }

    @property
    def hints(self) -> dict[str, JsonValue]:
        """What MCP's annotations would say of it; rollouts carry them, so that its calls are compared rightly."""
        return {"readOnlyHint": self.read_only}


@dataclass(frozen=True, slots=True)
class Step:
    """What the world answers to an action; `stop` is None where the run goes on."""

    observations: tuple[Observation, ...]
    stop: StopReason | None = None


class Environment(Protocol):
    """A world with tasks. Its answers depend on the task and the actions alone."""

    @property
    def name(self) -> str:
        """Names world and version; runs of two names are not runs of one task."""
        ...

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that may be called."""
        ...

    @property
    def tasks(self) -> tuple[str, ...]:
        """Ids of the tasks."""
        ...

    @property
    def turn_limit(self) -> int:
        """Actions after which a run is cut."""
        ...

    def reset(self, task_id: str) -> tuple[Observation, ...]:
        """Begin a task anew: the policy as the system's words, then the user's first.

        Raises:
            ValueError: There is no such task.
        """
        ...

    def step(self, action: Action) -> Step:
        """Take an action. A call that cannot be made is answered by what is wrong with it, never by an exception."""
        ...

    def sub_goals(self) -> Mapping[str, bool]:
        """Each sub-goal of the task, and whether it was met so far."""
        ...

    @property
    def spoiled(self) -> bool:
        """Whether something was changed that nobody asked for; such a run is no success."""
        ...
