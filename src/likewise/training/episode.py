"""One run of an environment as it grows, and the rollout it becomes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from likewise.core.rollout import Action, JsonValue, Observation, Rollout, StopReason, Turn
from likewise.core.tool_hints import META_KEY
from likewise.training.environments.protocol import Environment

__all__ = ["Episode", "chat_messages"]


def chat_messages(
    turns: Iterable[Turn], observations: Iterable[Observation] = (), *, objects: bool = False
) -> list[dict[str, Any]]:
    """A conversation as OpenAI's chat API has it: turns, then what was observed since.

    Calls get ids by their place, so that the same conversation is the same messages.

    Args:
        turns: Turns so far.
        observations: What was observed since.
        objects: Whether arguments are objects, as chat templates want them, and not their JSON, as the API does.
    """
    messages: list[dict[str, Any]] = []
    waiting: list[str] = []
    for number, turn in enumerate(turns):
        messages += _answers(turn.observations, waiting)
        waiting = [f"call-{number}-{k}" for k in range(len(turn.action.tool_calls))]
        message: dict[str, Any] = {"role": "assistant", "content": turn.action.text}
        if waiting:
            message["tool_calls"] = [
                {
                    "id": name,
                    "type": "function",
                    "function": {
                        "name": call.name,
                        "arguments": call.arguments
                        if objects or isinstance(call.arguments, str)
                        else json.dumps(call.arguments),
                    },
                }
                for name, call in zip(waiting, turn.action.tool_calls, strict=True)
            ]
        messages.append(message)
    return [*messages, *_answers(observations, waiting)]


def _answers(observations: Iterable[Observation], waiting: list[str]) -> list[dict[str, Any]]:
    """Observations as messages; those of tools answer the waiting calls in order."""
    ids = iter(waiting)
    messages = []
    for each in observations:
        message: dict[str, Any] = {"role": each.source, "content": each.text}
        if each.source == "tool":
            message |= {"tool_call_id": next(ids, "call"), "name": each.name or ""}
        messages.append(message)
    return messages


class Episode:
    """A run under way: `observations` wait for an action until `done`.

    Attributes:
        environment: The world; this run's own.
        task_id: The task.
        run_id: The run.
        observations: What was observed since the last action.
        turns: Turns so far.
        progress: Share of sub-goals met before the first action, then after each.
        stop: Why the run is over; None while it goes on.
    """

    def __init__(self, environment: Environment, task_id: str, run_id: str = "0") -> None:
        """Begin the task.

        Raises:
            ValueError: The environment has no such task, or the task no sub-goals.
        """
        self.environment, self.task_id, self.run_id = environment, task_id, run_id
        self.observations: tuple[Observation, ...] = environment.reset(task_id)
        self.turns: list[Turn] = []
        self.progress = [self._share()]
        self.stop: StopReason | None = None

    @property
    def done(self) -> bool:
        """Whether the run is over."""
        return self.stop is not None

    def _share(self) -> float:
        met = self.environment.sub_goals().values()
        if not met:
            raise ValueError(f"task {self.task_id!r} has no sub-goals, so no share of them is met")
        return sum(met) / len(met)

    def act(self, action: Action) -> tuple[Observation, ...]:
        """Take the agent's action; gives what was observed in answer.

        Raises:
            ValueError: The run is over.
        """
        if self.done:
            raise ValueError(f"run {self.run_id!r} of task {self.task_id!r} is over")
        self.turns.append(Turn(self.observations, action))
        self.observations = ()  # seen; an environment that fails now gives no others
        step = self.environment.step(action)
        self.observations = step.observations
        self.progress.append(self._share())
        self.stop = step.stop
        if self.stop is None and len(self.turns) >= self.environment.turn_limit:
            self.stop = StopReason.CUT
        return step.observations

    def rollout(self, *, problem: str | None = None, meta: dict[str, JsonValue] | None = None) -> Rollout:
        """The run as a rollout: cut where it is not over, invalid where `problem` says what failed around it.

        `meta` gets the progress curve p_0 .. p_T, the sub-goals, and what the tools say of themselves.
        """
        hints: dict[str, JsonValue] = {tool.name: tool.hints for tool in self.environment.tools}
        curve: Sequence[JsonValue] = list(self.progress)
        facts: dict[str, JsonValue] = {
            "environment": self.environment.name,
            "progress": list(curve),
            "sub_goals": dict(self.environment.sub_goals()),
            META_KEY: hints,
        }
        success = self.progress[-1] == 1.0 and not self.environment.spoiled
        return Rollout(
            task_id=self.task_id,
            run_id=self.run_id,
            turns=tuple(self.turns),
            stop=StopReason.INVALID if problem is not None else self.stop or StopReason.CUT,
            reward=None if problem is not None else self.progress[-1],
            success=None if problem is not None else success,
            problem=problem,
            meta={**(meta or {}), **facts},
            last_observations=self.observations,
        )
