"""Calls written as text: `name({...})` as people and logs print it, and objects that were sent as strings."""

from __future__ import annotations

import ast
import json
import re
import warnings

from likewise.core.rollout import Action, JsonValue, ToolCall
from likewise.core.state_text import canonical_arguments

__all__ = ["literal", "opened", "parse_call_text"]

LONGEST_LITERAL = 50_000
"""Characters up to which a string is read as a Python list or object."""

_CALL = re.compile(r"\s*(?:\[TOOLS?(?:[_ ]CALLS?)?\]:?\s*)?([A-Za-z_][\w.:/-]*)\(")
_WORD = re.compile(r"\S")
_CLOSE = re.compile(r"\s*\)\s*(?:[,;](?=\s*\S))?")


def parse_call_text(text: str) -> Action | None:
    """Read calls written as `name({...})`, one or several; None where the text is anything else.

    Arguments may be JSON, a Python dict (as some logs print them), a JSON string or nothing.
    """
    calls: list[ToolCall] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        head = _CALL.match(text, position)
        if head is None:
            return None
        read = _read_arguments(text, head.end())
        if read is None:
            return None
        arguments, position = read
        close = _CLOSE.match(text, position)
        if close is None:
            return None
        calls.append(ToolCall(head.group(1), arguments))
        position = close.end()
    return Action(tool_calls=tuple(calls)) if calls else None


def _read_arguments(text: str, start: int) -> tuple[dict[str, JsonValue] | str, int] | None:
    """Arguments that start here, and where they end."""
    if _CLOSE.match(text, start):
        return {}, start
    try:
        value, end = json.JSONDecoder().raw_decode(text, _past_space(text, start))
    except (ValueError, RecursionError):
        line_end = text.find("\n", start)
        closing = text.rfind(")", start, len(text) if line_end < 0 else line_end)
        value, end = literal(text[start : max(closing, start)].strip()), closing
    return (value, end) if isinstance(value, dict | str) else None


def opened(value: JsonValue) -> JsonValue:
    """The value with lists and objects that were sent as Python text ("['a']") as the lists and objects they are."""
    if isinstance(value, dict):
        return {key: opened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [opened(item) for item in value]
    if isinstance(value, str) and value[:1] in "{[" and value[-1:] in "}]" and 2 <= len(value) <= LONGEST_LITERAL:
        read = literal(value)
        return value if read is None else read
    return value


def literal(text: str) -> JsonValue:
    """A Python list or dict that is also JSON; None where the text is neither."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\\d" in a foreign string is not our reader's concern
            value = ast.literal_eval(text)
        return canonical_arguments(json.loads(json.dumps(value))) if isinstance(value, list | dict) else None
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _past_space(text: str, start: int) -> int:
    word = _WORD.search(text, start)
    return len(text) if word is None else word.start()
