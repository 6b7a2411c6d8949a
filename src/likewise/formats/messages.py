"""OpenAI-style message lists into turns; shared by the readers of logs that hold such lists.

A turn's observations are all messages since the previous assistant message; two assistant messages in a row are two
turns. Results are paired with calls by position: call ids repeat within one trajectory in real logs.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from likewise.core.rollout import Action, JsonValue, Observation, ToolCall, Turn
from likewise.formats.fields import DEEPEST, FieldError, as_list, as_object, as_text, child, nesting, type_name
from likewise.formats.literals import python_object

__all__ = ["Conversation", "read_messages"]

_SOURCES = {"system": "system", "developer": "system", "user": "user", "tool": "tool", "function": "tool"}
_TEXT_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_THOUGHT_PARTS = frozenset({"reasoning", "thinking", "redacted_thinking"})
_ENVELOPES = frozenset({"message", "response", "content", "text", "answer"})
_CALL_KEYS = frozenset({"function_call", "tool_call", "tool_calls", "tool_use", "action_input", "tool_input"})
_CALL_KEY = re.compile(rf'"(?:{"|".join(sorted(_CALL_KEYS))})"\s*:')
_LABELS = frozenset({"type", "role"})  # say what an envelope is, not what is in it
_CALL_TAGS = ("<tool_call>", "<function_call>", "<function=", "<tool_use>", "<invoke ")

UNPARSED = "arguments that do not parse"
LITERAL = "arguments written as a Python literal"
NOT_OBJECT = "arguments that are not an object"
TOO_DEEP = "arguments nested too deeply, kept as text"
EMPTY = "empty action"
CALL_IN_TEXT = "tool call in text"
ENVELOPE = "text unwrapped from a JSON envelope"
NOT_TEXT = "content that is not text"
THOUGHTS = "reasoning left out"


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns, what came after the last action, and notes (each once, in order of appearance)."""

    turns: tuple[Turn, ...]
    last_observations: tuple[Observation, ...]
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Builder:
    turns: list[Turn] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)  # names of calls without a result yet, in order
    notes: dict[str, None] = field(default_factory=dict)

    def note(self, phrase: str) -> None:
        self.notes[phrase] = None

    def observe(self, source: str, text: str, name: str | None = None) -> None:
        self.observations.append(Observation(source, text, name))

    def act(self, action: Action) -> None:
        self.turns.append(Turn(tuple(self.observations), action))
        self.observations.clear()
        if action.is_empty:
            self.note(EMPTY)


def read_messages(messages: object, pointer: str, *, scripted: int = 0) -> Conversation:
    """Turn a message list into turns.

    Args:
        messages: The list, as parsed.
        pointer: JSON pointer of the list, for errors.
        scripted: How many messages at the start were written by the task's author, not by the agent (a greeting, a
            prepared history): the assistant's ones among them are observations with source "assistant".

    Raises:
        FieldError: A message or a field of it has the wrong type.
    """
    builder = _Builder()
    for index, item in enumerate(as_list(messages, pointer)):
        place = child(pointer, index)
        message = as_object(item, place)
        role = as_text(message.get("role"), child(place, "role"))
        if role == "assistant" and index < scripted:
            _read_observation(message, role, place, builder)
        elif role == "assistant":
            _read_action(message, place, builder)
        elif role in _SOURCES:
            _read_observation(message, _SOURCES[role], place, builder)
        else:
            expected = f"assistant, {', '.join(_SOURCES)}"
            raise FieldError(child(place, "role"), f"unknown role {role[:40]!r} (expected {expected})")
    return Conversation(tuple(builder.turns), tuple(builder.observations), tuple(builder.notes))


def _read_action(message: dict[str, JsonValue], place: str, builder: _Builder) -> None:
    text = _content(message, place, builder)
    refusal = message.get("refusal")
    if not text and isinstance(refusal, str):
        text = refusal
    calls = _calls(message, place, builder)
    if text.lstrip()[:1] == "{" or "<" in text or "```" in text:
        text = _plain_text(text, builder)
    builder.waiting = [call.name for call in calls]
    builder.act(Action(text, calls))


def _read_observation(message: dict[str, JsonValue], source: str, place: str, builder: _Builder) -> None:
    text = _content(message, place, builder)
    name = message.get("name")
    if source == "tool":
        paired = builder.waiting.pop(0) if builder.waiting else None
        builder.observe(source, text, name if isinstance(name, str) else paired)
        return
    calls = _calls(message, place, builder)  # of a simulated user or a prepared history: not the agent's doing
    if text or not calls:
        builder.observe(source, text, name if isinstance(name, str) else None)
    for call in calls:
        arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
        builder.observe(source, f"{call.name}({arguments})", call.name)
    if calls:
        builder.waiting = [call.name for call in calls]


def _content(message: dict[str, JsonValue], place: str, builder: _Builder) -> str:
    content, pointer = message.get("content"), child(place, "content")
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise FieldError(pointer, f"{type_name(content)} (expected a string, null or a list of parts)")
    parts = [_part(part, child(pointer, index), builder) for index, part in enumerate(content)]
    return "\n".join(part for part in parts if part is not None)


def _part(part: JsonValue, pointer: str, builder: _Builder) -> str | None:
    if isinstance(part, str):
        return part
    fields = as_object(part, pointer)
    kind = as_text(fields.get("type", "text"), child(pointer, "type"))
    if kind in _TEXT_PARTS:
        return as_text(fields.get(_TEXT_PARTS[kind]), child(pointer, _TEXT_PARTS[kind]))
    if kind in _THOUGHT_PARTS:
        builder.note(THOUGHTS)
        return None
    builder.note(NOT_TEXT)
    return f"[{kind}]"


def _calls(message: dict[str, JsonValue], place: str, builder: _Builder) -> tuple[ToolCall, ...]:
    listed = message.get("tool_calls")
    pointer = child(place, "tool_calls")
    calls = [] if listed is None else as_list(listed, pointer)
    read = [_call(call, child(pointer, index), builder) for index, call in enumerate(calls)]
    legacy = message.get("function_call")
    if legacy is not None and not read:
        read = [_call(legacy, child(place, "function_call"), builder)]
    return tuple(read)


def _call(call: JsonValue, pointer: str, builder: _Builder) -> ToolCall:
    fields = as_object(call, pointer)
    function = fields.get("function")
    if isinstance(function, str):
        name, name_at = function, child(pointer, "function")
    else:
        if function is not None:
            pointer = child(pointer, "function")
            fields = as_object(function, pointer)
        name_at = child(pointer, "name")
        name = as_text(fields.get("name"), name_at)
    if not name.strip():
        raise FieldError(name_at, "a tool call without a name")
    return ToolCall(name, _arguments(fields.get("arguments"), builder))


def _arguments(value: JsonValue, builder: _Builder) -> dict[str, JsonValue] | str:
    parsed = value
    for _ in range(2):  # some exporters encode the string once more
        if isinstance(parsed, str) and parsed.strip():
            try:
                parsed = json.loads(parsed)
            except (ValueError, RecursionError):
                literal = python_object(parsed)
                builder.note(UNPARSED if literal is None else LITERAL)
                parsed = parsed if literal is None else literal
                break
    raw = value if isinstance(value, str) else json.dumps(value)
    if parsed is None or (isinstance(parsed, str) and not parsed.strip()):
        return {}
    if isinstance(parsed, dict) and nesting(parsed) <= DEEPEST:
        return parsed
    if isinstance(parsed, dict):
        builder.note(TOO_DEEP)
    elif UNPARSED not in builder.notes or not isinstance(parsed, str):
        builder.note(NOT_OBJECT)
    return raw


def _plain_text(text: str, builder: _Builder) -> str:
    """Take a text out of its JSON envelope; leave a tool call that was written as text, and note it."""
    if any(tag in text for tag in _CALL_TAGS):
        builder.note(CALL_IN_TEXT)
        return text
    body = text.strip()
    if body.startswith("```") and body.endswith("```") and "\n" in body:
        body = body[body.index("\n") : -3].strip()
    if not body.startswith("{"):
        return text
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        if _CALL_KEY.search(body):  # real models put comments into such JSON
            builder.note(CALL_IN_TEXT)
        return text
    if _CALL_KEYS & value.keys() or ("arguments" in value and {"name", "tool", "function"} & value.keys()):
        builder.note(CALL_IN_TEXT)
        return text
    wrapped = [key for key in value if key not in _LABELS]
    if len(wrapped) == 1 and wrapped[0] in _ENVELOPES and isinstance(value[wrapped[0]], str):
        builder.note(ENVELOPE)
        return str(value[wrapped[0]])
    return text
