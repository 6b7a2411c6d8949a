"""Agents of AG2."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from likewise.reliability.integrations.common import output_of, text_query, tokens
from likewise.reliability.runs import AgentOutput

__all__ = ["ag2_agent"]


def ag2_agent(
    agent: Any,  # noqa: ANN401 - ag2.Agent
    **settings: Any,  # noqa: ANN401 - the framework's own
) -> Callable[[Any], Awaitable[AgentOutput]]:
    """An agent of AG2 (1.0 and later) as an agent of the layer. Each run is a conversation of its own.

    Args:
        agent: An `ag2.Agent`; with a `response_schema` that has a `main_answer`, its fields are read.
        **settings: Further arguments of `agent.ask`, the same for each run.

    Returns:
        A function of the query, a text.
    """

    async def ask(query: Any) -> AgentOutput:  # noqa: ANN401 - checked
        reply = await agent.ask(text_query(query, "AG2"), **settings)
        used = (await reply.usage()).total
        content = await reply.content()
        return output_of("" if content is None else content, tokens(used.prompt_tokens, used.completion_tokens))

    return ask
