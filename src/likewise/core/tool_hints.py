"""What tools say of themselves: the MCP annotations `readOnlyHint` and `destructiveHint` of tool definitions.

A log that carries definitions of tools hands their hints on in `Rollout.meta[META_KEY]`, by the tools' names; whoever
compares tool calls reads them there.

Source: Model Context Protocol, schema 2025-06-18, `ToolAnnotations`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from likewise.core.rollout import JsonValue

__all__ = ["HINTS", "META_KEY", "hints_of", "tool_hints"]

HINTS: Final = ("readOnlyHint", "destructiveHint")
META_KEY: Final = "tool_hints"


def hints_of(annotations: object) -> dict[str, bool]:
    """Those of the two hints that are there and are true or false."""
    if not isinstance(annotations, Mapping):
        return {}
    return {hint: annotations[hint] for hint in HINTS if isinstance(annotations.get(hint), bool)}


def tool_hints(definitions: object) -> dict[str, JsonValue]:
    """The hints of each tool that gives any, from a list of definitions as logs carry them.

    Args:
        definitions: MCP tools (`name`, `annotations`) or OpenAI tools (`function.name`, `annotations` beside or in
            `function`); anything else in the list, or instead of it, says nothing.

    Returns:
        Tool name -> {"readOnlyHint": ..., "destructiveHint": ...}; both optional, never both missing.
    """
    found: dict[str, JsonValue] = {}
    for item in definitions if isinstance(definitions, list) else []:
        if not isinstance(item, Mapping):
            continue
        function = item.get("function")
        inner = function if isinstance(function, Mapping) else item
        name = inner.get("name")
        hints = hints_of(item.get("annotations")) or hints_of(inner.get("annotations"))
        if isinstance(name, str) and name.strip() and hints:
            found[name] = dict(hints)
    return found
