"""Messages in Anthropic's form (content blocks) into chat messages, which `read_messages` turns into turns.

A result of a tool that the provider ran itself stands inside the assistant's message: it ends the action before it.
Results are named by their call's id, the latest call of that id: ids may return in later messages.
"""

from __future__ import annotations

from likewise.core.rollout import JsonValue
from likewise.formats.fields import FieldError, as_object, as_text, child, type_name

__all__ = ["chat_from_blocks", "split_message"]

_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def chat_from_blocks(messages: list[JsonValue], pointer: str) -> list[JsonValue]:
    """Chat messages of `[{"role", "content": text or blocks}]`.

    Raises:
        FieldError: A message or a block has the wrong type.
    """
    names: dict[str, str] = {}
    chat: list[JsonValue] = []
    for index, item in enumerate(messages):
        place = child(pointer, index)
        message = as_object(item, place)
        role = as_text(message.get("role"), child(place, "role"))
        chat += split_message(role, message.get("content"), child(place, "content"), names)
    return chat


def split_message(role: str, content: JsonValue, pointer: str, names: dict[str, str]) -> list[JsonValue]:
    """Chat messages of one message: several where it holds results of tools.

    Args:
        role: Who speaks.
        content: A text or a list of blocks.
        pointer: JSON pointer of the content, for errors.
        names: Names of tools by the ids of their calls, read and added to.

    Raises:
        FieldError: A block has the wrong type.
    """
    if content is None or isinstance(content, str):
        return [{"role": role, "content": content}]
    if isinstance(content, list):
        return _split(role, content, pointer, names)
    raise FieldError(pointer, f"{type_name(content)} (expected a string or a list of blocks)")


def _split(role: str, blocks: list[JsonValue], pointer: str, names: dict[str, str]) -> list[JsonValue]:
    found: list[JsonValue] = []
    parts: list[JsonValue] = []
    calls: list[JsonValue] = []

    def end_message() -> None:
        if parts or calls:
            found.append({"role": role, "content": list(parts), "tool_calls": list(calls) or None})
        parts.clear()
        calls.clear()

    for index, item in enumerate(blocks):
        place = child(pointer, index)
        if isinstance(item, str):
            parts.append(item)
            continue
        block = as_object(item, place)
        kind = as_text(block.get("type"), child(place, "type"))
        if kind in _CALLS:
            name = as_text(block.get("name"), child(place, "name"))
            if not name.strip():
                raise FieldError(child(place, "name"), "a tool call without a name")
            names[str(block.get("id"))] = name
            calls.append({"name": name, "arguments": block.get("input")})
        elif kind.endswith("tool_result"):
            end_message()
            result = _result(block.get("content"), child(place, "content"))
            found.append({"role": "tool", "name": names.get(str(block.get("tool_use_id"))), "content": result})
        else:
            parts.append(_part(block, place))
    if not found and not parts and not calls:
        found.append({"role": role, "content": None})
    end_message()
    return found


def _result(content: JsonValue, pointer: str) -> JsonValue:
    """What a tool gave: a text, a list of parts, or one object of the provider's own tools."""
    if isinstance(content, list):
        return [_part(item, child(pointer, index)) for index, item in enumerate(content)]
    if isinstance(content, dict):
        return [_part(content, pointer)]
    if content is None or isinstance(content, str):
        return content
    raise FieldError(pointer, f"{type_name(content)} (expected a string or a list of parts)")


def _part(item: JsonValue, pointer: str) -> JsonValue:
    """A part that `read_messages` cannot refuse: refused here, the error has the pointer of the log."""
    if isinstance(item, str):
        return item
    part = as_object(item, pointer)
    kind = as_text(part.get("type"), child(pointer, "type"))
    return (
        {"type": kind, "text": as_text(part.get("text"), child(pointer, "text"))} if kind == "text" else {"type": kind}
    )
