"""What adapters share: a query as text, tokens that were counted or not, and fields of whatever a framework returns."""

from __future__ import annotations

from typing import Any

from likewise.reliability.runs import AgentOutput, Usage, as_output

__all__ = ["output_of", "text_query", "tokens"]


def text_query(query: object, framework: str) -> str:
    """A query that can only be a text.

    Raises:
        TypeError: It is something else.
    """
    if isinstance(query, str):
        return query
    raise TypeError(f"an agent of {framework} is asked a text, got {type(query).__name__}")


def tokens(read: object, written: object) -> Usage:
    """Tokens as a framework counts them. Frameworks start at 0: nothing counted at all is not measured."""
    counts = [count if isinstance(count, int) and count >= 0 else None for count in (read, written)]
    return Usage(*counts) if any(counts) else Usage()


def output_of(value: Any, usage: Usage, **meta: str | None) -> AgentOutput:  # noqa: ANN401 - the framework's own
    """An output with its tokens, of text or of a structured answer.

    Raises:
        WrongOutputError: Neither text, nor fields, nor a message.
        MalformedOutputError: Fields without a main answer.
    """
    read = as_output(value)
    return AgentOutput(read.text, read.tool_calls, read.fields, usage, {**read.meta, **meta})
