"""Many turns: at each, several actions are sampled from the same history, one is chosen, and the conversation goes on.

All samples of a turn see the same history, so what they differ in is the agent's own randomness, without the
environment's (D_0 of that turn). The recorded conversation is a group of rollouts with shared observations, which
`likewise report` reads turn by turn.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from likewise.core.estimate import Estimate
from likewise.core.rollout import Action, JsonValue, Observation, Rollout, StopReason, Turn
from likewise.reliability.verdict import Decision, Verdict
from likewise.reliability.wrapped import WrappedAgent

__all__ = ["Conversation", "aconverse", "converse"]

Message = Mapping[str, Any]
Environment = Callable[[Sequence[Message]], Sequence[Message] | Awaitable[Sequence[Message] | None] | None]
"""Gets the messages so far, the last action included; gives what comes next (user, tool), or None at the end."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation that was held.

    Attributes:
        verdicts: One a turn.
        observed: The messages that came before each turn's action and after the one before.
        messages: All messages, the chosen actions among them.
        ended: Why it ended: "the environment ended it", "turn limit", or why an action was refused.
    """

    verdicts: tuple[Verdict, ...]
    observed: tuple[tuple[Message, ...], ...]
    messages: tuple[Message, ...]
    ended: str

    @property
    def divergence(self) -> tuple[Estimate, ...]:
        """D_0 of each turn: mean distance of two actions taken from the same history."""
        return tuple(verdict.measurement.divergence for verdict in self.verdicts)

    def rollouts(self, task_id: str) -> list[Rollout]:
        """One rollout for each sample: shared observations, its own action at each turn.

        A sample that failed in some turn has no action there, and its rollout is cut before that turn.
        """
        count = max((len(verdict.records) for verdict in self.verdicts), default=0)
        return [self._rollout(task_id, number) for number in range(count)]

    def _rollout(self, task_id: str, number: int) -> Rollout:
        turns: list[Turn] = []
        stop = StopReason.FINISHED
        for verdict, seen in zip(self.verdicts, self.observed, strict=True):
            record = next((r for r in verdict.records if r.index == number and r.good), None)
            if record is None:
                stop = StopReason.CUT
                break
            turns.append(Turn(tuple(map(_observation, seen)), Action(record.text, record.tool_calls)))
        meta: dict[str, Any] = {"same_history": True}
        if not turns:
            return Rollout(task_id, f"{task_id}#{number}", (), StopReason.INVALID, problem="no action", meta=meta)
        return Rollout(task_id, f"{task_id}#{number}", tuple(turns), stop, meta=meta)


def converse(
    agent: WrappedAgent, opening: str | Sequence[Message], environment: Environment, *, turns: int = 20
) -> Conversation:
    """Hold a conversation; see `aconverse`. Not for use inside a running event loop."""

    async def all_of_it() -> Conversation:
        return await aconverse(agent, opening, environment, turns=turns)

    return anyio.run(all_of_it)


async def aconverse(
    agent: WrappedAgent, opening: str | Sequence[Message], environment: Environment, *, turns: int = 20
) -> Conversation:
    """Hold a conversation.

    Args:
        agent: A wrapped agent that takes a list of messages; standard mode gives each turn as many samples.
        opening: The first user message, or the messages so far.
        environment: Says what comes next. It is asked once a turn, after the choice: its side effects happen once.
        turns: Turns at most.

    Returns:
        The conversation; an action that is refused is not taken, and ends it.

    Raises:
        AgentError: All samples of a turn failed.
        UnreliableAnswerError: The handling says so.
    """
    fresh: list[Message] = [{"role": "user", "content": opening}] if isinstance(opening, str) else list(opening)
    messages: list[Message] = list(fresh)
    verdicts, observed = [], []
    ended = "turn limit"
    for _ in range(turns):
        verdict = await agent.aquery([dict(message) for message in messages])
        verdicts.append(verdict)
        observed.append(tuple(fresh))
        if verdict.decision is Decision.REFUSE:
            ended = f"refused: {'; '.join(verdict.reasons)}"
            break
        messages.append(_message(verdict))
        following = environment(tuple(messages))
        if inspect.isawaitable(following):
            following = await following
        if following is None:
            ended = "the environment ended it"
            break
        fresh = list(following)
        messages += fresh
    return Conversation(tuple(verdicts), tuple(observed), tuple(messages), ended)


def _message(verdict: Verdict) -> Message:
    """The chosen action as an OpenAI-style message."""
    chosen = verdict.chosen
    text = chosen.text if chosen is not None else verdict.answer or ""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if verdict.tool_calls:
        message["tool_calls"] = [
            {"id": f"call_{i}", "type": "function", "function": {"name": c.name, "arguments": _json(c.arguments)}}
            for i, c in enumerate(verdict.tool_calls)
        ]
    return message


def _json(arguments: dict[str, JsonValue] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _observation(message: Message) -> Observation:
    role = str(message.get("role", "user"))
    source = {"developer": "system", "function": "tool"}.get(role, role)
    return Observation(source, str(message.get("content") or ""), message.get("name"))
