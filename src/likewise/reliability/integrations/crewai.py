"""Crews and agents of CrewAI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from likewise.reliability.integrations.common import output_of, text_query, tokens
from likewise.reliability.runs import AgentOutput

__all__ = ["crewai_agent"]


def crewai_agent(
    crew: Any,  # noqa: ANN401 - crewai.Crew or crewai.Agent
    *,
    inputs: Callable[[Any], Mapping[str, Any]] | None = None,
) -> Callable[[Any], Awaitable[AgentOutput]]:
    """A crew, or a single agent, as an agent of the layer. Each run has a copy: tasks keep their outputs.

    Args:
        crew: A `crewai.Crew`, whose tasks name `{query}`, or a `crewai.Agent`.
        inputs: Makes the crew's inputs of the query; `{"query": query}` where None.

    Returns:
        A function of the query.
    """
    single = not hasattr(crew, "tasks")

    async def ask(query: Any) -> AgentOutput:  # noqa: ANN401 - the crew's own
        own = crew.copy()
        if single:
            result = await own.kickoff_async(text_query(query, "CrewAI"))
            used = getattr(result, "usage_metrics", None) or {}
        else:
            given = inputs(query) if inputs else {"query": text_query(query, "CrewAI")}
            result = await own.kickoff_async(inputs=dict(given))
            used = result.token_usage.model_dump() if result.token_usage is not None else {}
        answer = result.pydantic if result.pydantic is not None else getattr(result, "json_dict", None) or result.raw
        return output_of(answer, tokens(used.get("prompt_tokens"), used.get("completion_tokens")))

    return ask
