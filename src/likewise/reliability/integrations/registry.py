"""Which adapter an object of a framework needs, told by its classes; nothing is imported to find out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, Final

from likewise.reliability.runs import AgentOutput

__all__ = ["adapted"]

_ADAPTERS: Final = {
    "agents": ("openai_agents", "openai_agent", {"Agent"}),
    "langchain_core": ("langchain", "langchain_agent", {"Runnable"}),
    "langgraph": ("langchain", "langchain_agent", {"Pregel"}),
    "pydantic_ai": ("pydantic_ai", "pydantic_ai_agent", {"AbstractAgent", "Agent"}),
    "crewai": ("crewai", "crewai_agent", {"Crew", "Agent"}),
    "ag2": ("ag2", "ag2_agent", {"Agent"}),
    "autogen_agentchat": ("autogen", "autogen_agent", {"BaseChatAgent", "BaseGroupChat"}),
}
"""Package of a class -> module and function here, and the names of the classes that are agents."""


def adapted(agent: object) -> Callable[[Any], Awaitable[AgentOutput]] | None:
    """A function of the query that runs a framework's agent; None where it is no framework's.

    Raises:
        TypeError: An agent that runs cannot share.
    """
    for kind in type(agent).__mro__:
        package = kind.__module__.partition(".")[0]
        module, name, classes = _ADAPTERS.get(package, ("", "", set()))
        if kind.__name__ in classes:
            adapt = getattr(import_module(f"likewise.reliability.integrations.{module}"), name)
            made: Callable[[Any], Awaitable[AgentOutput]] = adapt(agent)
            return made
    return None
