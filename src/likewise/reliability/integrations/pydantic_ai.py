"""Agents of pydantic-ai."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from likewise.core.rollout import ToolCall
from likewise.reliability.integrations.common import output_of, text_query, tokens
from likewise.reliability.runs import AgentOutput

__all__ = ["pydantic_ai_agent"]


def pydantic_ai_agent(
    agent: Any,  # noqa: ANN401 - pydantic_ai.Agent
    *,
    deps: Callable[[], object] | None = None,
    **settings: Any,  # noqa: ANN401 - the framework's own
) -> Callable[[Any], Awaitable[AgentOutput]]:
    """An agent of pydantic-ai as an agent of the layer.

    Args:
        agent: A `pydantic_ai.Agent`; its output may be text, or a model with a `main_answer`.
        deps: Makes the dependencies of one run; runs must not share what they change.
        **settings: Further arguments of `agent.run`, the same for each run.

    Returns:
        A function of the query, a text. Calls that the agent leaves to others are the run's tool calls.
    """

    async def ask(query: Any) -> AgentOutput:  # noqa: ANN401 - checked
        own = settings | ({"deps": deps()} if deps else {})
        result = await agent.run(text_query(query, "pydantic-ai"), **own)
        usage = result.usage if hasattr(result.usage, "input_tokens") else result.usage()  # a method before 2.0
        used = tokens(usage.input_tokens, usage.output_tokens)
        waiting = [*(getattr(result.output, "approvals", None) or ()), *(getattr(result.output, "calls", None) or ())]
        if waiting:
            calls = tuple(ToolCall(str(call.tool_name), call.args_as_dict()) for call in waiting)
            return AgentOutput("", calls, None, used)
        return output_of(result.output, used)

    return ask
