"""Agents of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from likewise.core.errors import MissingExtraError
from likewise.reliability.integrations.common import output_of, tokens
from likewise.reliability.runs import AgentOutput

__all__ = ["openai_agent"]


def openai_agent(
    agent: Any,  # noqa: ANN401 - agents.Agent
    *,
    max_turns: int = 10,
    context: Callable[[], object] | None = None,
    hooks: Callable[[], object] | None = None,
    run_config: Any = None,  # noqa: ANN401 - agents.RunConfig
) -> Callable[[Any], Awaitable[AgentOutput]]:
    """An agent of the SDK as an agent of the layer: each run is a `Runner.run` without a session.

    Args:
        agent: An `agents.Agent`.
        max_turns: Model calls of one run at most.
        context: Makes the context object of one run; runs must not share what they change.
        hooks: Makes the run hooks of one run (as `likewise.learned.callbacks.agent_hooks` of a new monitor).
        run_config: An `agents.RunConfig` for all runs.

    Returns:
        A function of the query: a text, or a list of the SDK's input items.

    Raises:
        MissingExtraError: The SDK is not installed.
    """
    try:
        from agents import Runner  # type: ignore[import-not-found, unused-ignore]
    except ImportError as problem:
        raise MissingExtraError("an agent of the OpenAI Agents SDK", "openai-agents") from problem

    async def ask(query: Any) -> AgentOutput:  # noqa: ANN401 - text, or input items
        result = await Runner.run(
            agent,
            query,
            context=context() if context else None,
            hooks=hooks() if hooks else None,
            max_turns=max_turns,
            run_config=run_config,
        )
        waiting = getattr(result, "interruptions", None)
        if waiting:
            names = ", ".join(sorted({str(getattr(item, "name", "a tool")) for item in waiting}))
            raise RuntimeError(f"the run waits for a person to approve {names}")
        usage = result.context_wrapper.usage
        return output_of(
            result.final_output,
            tokens(usage.input_tokens, usage.output_tokens),
            last_agent=str(result.last_agent.name),
        )

    return ask
