"""Runnables of LangChain, and graphs of LangGraph."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from likewise.core.rollout import ToolCall
from likewise.reliability.integrations.common import output_of, tokens
from likewise.reliability.runs import AgentOutput, Usage

__all__ = ["langchain_agent"]

_ANSWERS = ("structured_response", "output", "answer", "result")
"""Keys under which chains and agents give their answer, the most specific first."""


def langchain_agent(
    runnable: Any,  # noqa: ANN401 - a Runnable
    *,
    config: Mapping[str, Any] | None = None,
    prepare: Callable[[Any], Any] | None = None,
    read: Callable[[Any], object] | None = None,
) -> Callable[[Any], Awaitable[AgentOutput]]:
    """A runnable or graph as an agent of the layer. Each run is a thread of its own for a graph that keeps state.

    Args:
        runnable: Anything with `ainvoke`: a graph, a chain, a chat model.
        config: For each run; its `configurable.thread_id` is replaced.
        prepare: Makes the input of the query; where None, `{"messages": [...]}` for a graph, else the query itself.
        read: Makes text, fields or an `AgentOutput` of what comes back; messages and usual keys are read where None.

    Returns:
        A function of the query.
    """
    graph = any(kind.__module__.startswith("langgraph.") for kind in type(runnable).__mro__)

    async def ask(query: Any) -> AgentOutput:  # noqa: ANN401 - the runnable's own
        given = prepare(query) if prepare else _as_state(query) if graph else query
        own = dict(config or {})
        own["configurable"] = {**own.get("configurable", {}), "thread_id": uuid4().hex}
        result = await runnable.ainvoke(given, config=own)
        if read is not None:
            return output_of(read(result), Usage())
        return _read(result, len(given["messages"]) if isinstance(given, Mapping) and "messages" in given else 0)

    return ask


def _as_state(query: object) -> Mapping[str, Any]:
    if isinstance(query, Mapping):
        return query
    return {"messages": [{"role": "user", "content": query}] if isinstance(query, str) else query}


def _read(result: Any, asked: int) -> AgentOutput:  # noqa: ANN401 - a message, a state, text
    if hasattr(result, "content") and hasattr(result, "type"):
        return _message(result, [result])
    if not isinstance(result, Mapping):
        return output_of(result, Usage())
    if result.get("__interrupt__"):
        raise RuntimeError("the graph stopped to wait for a person; it gave no answer")
    messages = result.get("messages")
    said = [m for m in messages[asked:] if getattr(m, "type", None) == "ai"] if isinstance(messages, Sequence) else []
    for key in _ANSWERS:
        if result.get(key) is not None:
            return output_of(result[key], _used(said))
    if said and messages:
        if messages[-1] is not said[-1]:
            raise RuntimeError(f"the graph ended with a message of type {messages[-1].type}, not with an answer")
        return _message(said[-1], said)
    return output_of(result, Usage())


def _message(message: Any, said: Sequence[Any]) -> AgentOutput:  # noqa: ANN401 - an AIMessage
    calls = tuple(
        ToolCall(str(call["name"]), dict(call["args"])) for call in getattr(message, "tool_calls", None) or ()
    )
    return AgentOutput(_text(message.content), calls, None, _used(said))


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = (
        [part if isinstance(part, str) else part.get("text") for part in content] if isinstance(content, list) else []
    )
    return "".join(part for part in parts if isinstance(part, str))


def _used(said: Sequence[Any]) -> Usage:
    """Tokens of all messages of the model; nothing where one of them was not counted."""
    counts = [getattr(message, "usage_metadata", None) or {} for message in said]
    if not counts or not all(counts):
        return Usage()
    return tokens(sum(c.get("input_tokens", 0) for c in counts), sum(c.get("output_tokens", 0) for c in counts))
