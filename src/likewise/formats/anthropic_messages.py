"""Logs of Anthropic's Messages API: a message a line, alone, beside its request, or as a batch wrote it.

    {"id": "msg_1", "type": "message", "role": "assistant", "content": [...], "stop_reason": "end_turn", ...}
    {"task_id": "t", "request": {"system": ..., "messages": [...]}, "response": {"type": "message", ...}}
    {"custom_id": "t", "result": {"type": "succeeded", "message": {"type": "message", ...}}}
    {"task_id": "t", "messages": [...]}         a whole conversation with `tool_use` and `tool_result` blocks

Decisions:
- One response is one action; what the provider's own tools gave inside it parts it into several. Thinking is left out.
- A request that repeats an earlier one with its response goes on with that run: clients send the whole conversation.
- The task is `task_id` (or its kin), else `custom_id` without a mark such as `-run-3` at its end, else what the user
  said.
- `end_turn`, `stop_sequence` and `refusal` are FINISHED, `max_tokens` is CUT, and so is a run that ends in a call. In a
  batch, `errored`, `canceled` and `expired` are INVALID.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from likewise.core.rollout import JsonValue
from likewise.formats.assemble import FINISHED, UNKNOWN_END, Ending, cut
from likewise.formats.blocks import split_message
from likewise.formats.exchanges import Exchange, Message, read_exchanges
from likewise.formats.fields import as_list, as_object, as_text, child, first_line
from likewise.formats.files import outline, read_values
from likewise.formats.rollout_set import Parsed

__all__ = ["DESCRIPTION", "NAME", "read", "sniff"]

NAME = "anthropic-messages"
DESCRIPTION = "Anthropic Messages API, messages or batches, a line each"

_HOLDERS: Final = ("", "response.", "result.message.")
_LIMITS: Final = ("max_tokens", "model_context_window_exceeded")


def sniff(head: str, path: Path) -> str | None:
    """None where the first record is a message with a stop reason, holds one, or is a conversation of blocks."""
    del path
    seen = outline(head)
    if seen.kind == "other":
        return "the file does not start with a JSON object or list"
    prefix = "[]." if seen.kind == "list" else ""
    for holder in _HOLDERS:
        if {f"{prefix}{holder}stop_reason", f"{prefix}{holder}content[].type"} <= seen.keys:
            return None
    if seen.texts.get(f"{prefix}result.type") in ("succeeded", "errored", "canceled", "expired"):
        return None
    blocks = f"{prefix}messages[].content[]"
    if f"{blocks}.tool_use_id" in seen.keys or {f"{blocks}.input", f"{blocks}.name"} <= seen.keys:
        return None
    return "no message with `content` and `stop_reason` in the first record"


def read(path: Path, label: str) -> Parsed:
    """Read a log; run ids are `label#n`, counted within each task.

    Raises:
        RolloutFormatError: The file cannot be read.
    """
    return read_exchanges(read_values(path), _Messages(), path, label)


class _Messages:
    """The Messages API, with the names of the tools called so far by the ids of their calls."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def is_response(self, value: dict[str, JsonValue]) -> bool:
        return isinstance(value.get("content"), list) and ("stop_reason" in value or value.get("type") == "message")

    def instructions(self, exchange: Exchange) -> list[Message]:
        system, place = exchange.request.get("system"), child(exchange.request_at, "system")
        return [self.message("system", system, place)] if system else []

    def given(self, exchange: Exchange) -> list[Message]:
        place = child(exchange.request_at, "messages")
        value = exchange.request.get("messages")
        found = []
        for index, item in enumerate(as_list([] if value is None else value, place)):
            message = as_object(item, child(place, index))
            role = as_text(message.get("role"), child(child(place, index), "role"))
            found.append(self.message(role, message.get("content"), child(child(place, index), "content")))
        return found

    def done(self, response: dict[str, JsonValue], pointer: str) -> list[Message]:
        return [self.message("assistant", response.get("content"), child(pointer, "content"))]

    def message(self, role: str, content: JsonValue, pointer: str) -> Message:
        chat = [(message, pointer) for message in split_message(role, content, pointer, self.names)]
        blocks = content if isinstance(content, list) else [content]
        return Message.of([role, *(_facts(block) for block in blocks)], chat)

    def ending(self, response: dict[str, JsonValue]) -> Ending:
        reason = response.get("stop_reason")
        if reason in ("end_turn", "stop_sequence", "refusal"):
            return FINISHED
        if reason in _LIMITS:
            return cut("stopped by the token limit")
        if reason in ("tool_use", "pause_turn"):
            return cut("the log ends before the agent's next action")
        return UNKNOWN_END if reason is None else cut(f"stop reason: {first_line(str(reason), 40)}")


def _facts(block: JsonValue) -> JsonValue:
    """What tells a block from others, however it was written down: marks for caching and citations aside."""
    if not isinstance(block, dict):
        return {"type": "text", "text": block}
    kept = ("type", "text", "id", "name", "input", "tool_use_id", "content")
    return {key: block[key] for key in kept if block.get(key) is not None}
