"""Logs of OpenAI's Responses API: a response a line, alone, beside its request, or as a batch wrote it.

    {"id": "resp_1", "object": "response", "status": "completed", "output": [...], ...}
    {"task_id": "t", "request": {"input": ...}, "response": {"object": "response", ...}}
    {"custom_id": "t", "response": {"status_code": 200, "body": {"object": "response", ...}}, "error": null}
    {"task_id": "t", "items": [...]}            a whole conversation, as one list of items

Decisions:
- One response is one action: its texts, and its calls, those of tools that the API ran itself among them. Reasoning is
  left out.
- Exchanges are put together into runs by `previous_response_id`, or where a request repeats what came before.
- The task is `task_id` (or its kin), else `custom_id` without a mark such as `-run-3` at its end, else what the user
  said.
- `completed` is FINISHED, or CUT where it ends in a call that waits for its result; `incomplete` is CUT; `failed` is
  INVALID.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from likewise.core.rollout import JsonValue
from likewise.formats.assemble import FINISHED, UNKNOWN_END, Ending, broken, cut
from likewise.formats.exchanges import Exchange, Message, part_of, read_exchanges
from likewise.formats.fields import FieldError, as_list, as_object, as_text, child, first_line, type_name
from likewise.formats.files import outline, read_values
from likewise.formats.rollout_set import Parsed

__all__ = ["DESCRIPTION", "NAME", "read", "sniff"]

NAME = "openai-responses"
DESCRIPTION = "OpenAI Responses API, responses or batches, a line each"

_HOLDERS: Final = ("", "response.", "response.body.")
_WAITS: Final = "the log ends before the agent's next action"


def sniff(head: str, path: Path) -> str | None:
    """None where the first record is a response, holds one, or is a list of items; else why not."""
    del path
    seen = outline(head)
    if seen.kind == "other":
        return "the file does not start with a JSON object or list"
    prefix = "[]." if seen.kind == "list" else ""
    for holder in _HOLDERS:
        if seen.texts.get(f"{prefix}{holder}object") == "response":
            return None
        if {f"{prefix}{holder}output[].type", f"{prefix}{holder}output[].role"} <= seen.keys:
            return None
    if f"{prefix}items[].type" in seen.keys and {f"{prefix}items[].call_id", f"{prefix}items[].role"} & seen.keys:
        return None
    return 'no "object": "response" in the first record'


def read(path: Path, label: str) -> Parsed:
    """Read a log; run ids are `label#n`, counted within each task.

    Raises:
        RolloutFormatError: The file cannot be read.
    """
    return read_exchanges(read_values(path), _Responses(), path, label)


class _Responses:
    """The Responses API, with the names of the tools called so far by the ids of their calls."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def is_response(self, value: dict[str, JsonValue]) -> bool:
        return value.get("object") == "response" or isinstance(value.get("output"), list)

    def instructions(self, exchange: Exchange) -> list[Message]:
        text = exchange.request.get("instructions")
        if not isinstance(text, str) or not text:
            return []
        message: JsonValue = {"role": "system", "content": text}
        return [Message.of(message, [(message, child(exchange.request_at, "instructions"))])]

    def given(self, exchange: Exchange) -> list[Message]:
        key = "items" if isinstance(exchange.request.get("items"), list) else "input"
        value, place = exchange.request.get(key), child(exchange.request_at, key)
        if value is None:
            return []
        items: list[JsonValue] = (
            [{"role": "user", "content": value}] if isinstance(value, str) else as_list(value, place)
        )
        return _messages(items, place, self.names)

    def done(self, response: dict[str, JsonValue], pointer: str) -> list[Message]:
        place = child(pointer, "output")
        found = _messages(as_list(response.get("output"), place), place, self.names)
        nothing: JsonValue = {"role": "assistant", "content": None}
        return found or [Message.of(nothing, [(nothing, place)])]

    def ending(self, response: dict[str, JsonValue]) -> Ending:
        status, error = response.get("status"), response.get("error")
        if error or status == "failed":
            said = part_of(response, "error").get("message")
            return broken(said if isinstance(said, str) else str(error or status))
        if status == "incomplete":
            reason = part_of(response, "incomplete_details").get("reason")
            return cut("stopped by the token limit" if reason == "max_output_tokens" else f"incomplete: {reason}")
        output = response.get("output")
        kinds = [each.get("type") for each in output if isinstance(each, dict)] if isinstance(output, list) else []
        if kinds and kinds[-1] in ("function_call", "custom_tool_call", "computer_call", "local_shell_call"):
            return cut(_WAITS)
        if status in ("completed", None):
            return FINISHED if status else UNKNOWN_END
        return cut(f"status: {first_line(str(status), 40)}")


def _messages(items: list[JsonValue], pointer: str, names: dict[str, str]) -> list[Message]:
    """One message an item; neighbouring items of the assistant are one action, held by the first of them."""
    found: list[Message] = []
    text: list[JsonValue] = []
    calls: list[JsonValue] = []
    open_at: int | None = None

    def close() -> None:
        nonlocal open_at
        if open_at is not None:
            action: JsonValue = {"role": "assistant", "content": [*text] or None, "tool_calls": [*calls] or None}
            found[open_at] = Message(found[open_at].key, ((action, child(pointer, open_at)),))
        text.clear()
        calls.clear()
        open_at = None

    for index, value in enumerate(items):
        place = child(pointer, index)
        item = as_object(value, place)
        kind = _kind(item, place)
        if kind == "called":
            names[str(item.get("call_id"))] = _name(item)
        if kind in ("said", "called"):
            open_at = index if open_at is None else open_at
            (text if kind == "said" else calls).extend(_parts(item, place) if kind == "said" else [_call(item, place)])
            found.append(Message.of(_facts(item), ()))
        elif kind == "left out":
            found.append(Message.of(_facts(item), ()))
        else:
            close()
            found.append(Message.of(_facts(item), [(_observed(item, place, names), place)]))
        if kind == "called" and item.get("output") is not None:  # the API ran the tool itself
            close()
            result: JsonValue = {"role": "tool", "name": _name(item), "content": _said(item.get("output"), place)}
            found[-1] = Message(found[-1].key, (*found[-1].chat, (result, place)))
    close()
    return found


def _kind(item: dict[str, JsonValue], place: str) -> str:
    kind = item.get("type", "message")
    kind = as_text(kind, child(place, "type"))
    if kind == "message":
        return "said" if item.get("role") == "assistant" else "observed"
    if kind.endswith("_call"):
        return "called"
    return "observed" if kind.endswith("_output") else "left out"


def _facts(item: dict[str, JsonValue]) -> JsonValue:
    """What tells an item from others, however it was written down: ids of items and of statuses aside."""
    kept = ("role", "name", "arguments", "call_id", "output", "input", "action")
    facts: dict[str, JsonValue] = {"type": item.get("type", "message")}
    facts |= {key: item[key] for key in kept if item.get(key) is not None}
    content = item.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [each.get("text") or each.get("refusal") if isinstance(each, dict) else each for each in parts]
    return facts | {"content": [text for text in texts if text is not None]}


def _parts(item: dict[str, JsonValue], place: str) -> list[JsonValue]:
    content, at = item.get("content"), child(place, "content")
    return [content] if isinstance(content, str) else as_list(content, at)


def _name(item: dict[str, JsonValue]) -> str:
    name = item.get("name")
    return name if isinstance(name, str) and name.strip() else str(item.get("type")).removesuffix("_call")


def _call(item: dict[str, JsonValue], place: str) -> JsonValue:
    if item.get("type") == "function_call":
        as_text(item.get("name"), child(place, "name"))
    for key in ("arguments", "action"):
        if isinstance(item.get(key), str | dict):
            return {"name": _name(item), "arguments": item[key]}
    inner = {key: item[key] for key in ("input", "queries", "code", "operation") if item.get(key) is not None}
    return {"name": _name(item), "arguments": inner}


def _observed(item: dict[str, JsonValue], place: str, names: dict[str, str]) -> JsonValue:
    if item.get("type", "message") == "message":
        return {"role": item.get("role"), "content": item.get("content")}
    name = names.get(str(item.get("call_id")))
    return {"role": "tool", "name": name, "content": _said(item.get("output"), child(place, "output"))}


def _said(value: JsonValue, pointer: str) -> JsonValue:
    """What a tool gave, as content of a message."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return [value]
    raise FieldError(pointer, f"{type_name(value)} (expected a string or a list of parts)")
