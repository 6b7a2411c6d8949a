"""Agents and teams of AutoGen (autogen-agentchat)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from likewise.reliability.integrations.common import output_of, text_query, tokens
from likewise.reliability.runs import AgentOutput

__all__ = ["autogen_agent"]


def autogen_agent(make: Callable[[], Any]) -> Callable[[Any], Awaitable[AgentOutput]]:
    """An agent or team of AutoGen as an agent of the layer.

    Args:
        make: Makes the agent or team of one run, as a function or a coroutine function. An AutoGen agent keeps its
            conversation and a team takes one task at a time: runs cannot share one.

    Returns:
        A function of the query, a text.

    Raises:
        TypeError: An agent instead of a function that makes one.
    """
    if hasattr(make, "run_stream") or not callable(make):
        raise TypeError(
            "an AutoGen agent or team keeps its conversation, so that runs cannot share one: "
            "give a function that makes it, autogen_agent(lambda: AssistantAgent(...))"
        )

    async def ask(query: Any) -> AgentOutput:  # noqa: ANN401 - checked
        made = make()
        agent = await made if inspect.isawaitable(made) else made
        result = await agent.run(task=text_query(query, "AutoGen"))
        said = [m for m in result.messages if getattr(m, "source", "user") != "user"]
        used = [usage for m in said if (usage := getattr(m, "models_usage", None)) is not None]
        answer = next((m for m in reversed(said) if hasattr(m, "content")), None)
        return output_of(
            None if answer is None else answer.content,
            tokens(sum(u.prompt_tokens for u in used), sum(u.completion_tokens for u in used)),
            stop_reason=result.stop_reason,
        )

    return ask
