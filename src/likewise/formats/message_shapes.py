"""What SDKs and tracers log as messages, in whatever vendor's shape, as the chat messages that `read_messages` reads.

Shapes: OpenAI chat completions and Responses, Anthropic blocks, Gemini and ADK parts, Vercel AI SDK, LangChain,
OpenTelemetry GenAI parts and events, and the text that some tracers write instead. Traces hold anything, so nothing
here raises: what is no message is None.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from likewise.core.rollout import JsonValue

__all__ = ["Message", "Messages", "messages_of", "parsed", "text_of"]

Message: TypeAlias = "dict[str, JsonValue]"
Messages: TypeAlias = "list[Message]"

_ROLES: Final = {
    "system": "system", "developer": "system", "instruction": "system", "instructions": "system",
    "user": "user", "human": "user", "customer": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "bot": "assistant",
    "aimessagechunk": "assistant",
    "tool": "tool", "function": "tool",
}  # fmt: skip
_TEXTS: Final = frozenset({"text", "input_text", "output_text", "summary_text"})
_THOUGHTS: Final = frozenset({"reasoning", "thinking", "redacted_thinking"})
_CALLS: Final = frozenset(
    {"tool_use", "server_tool_use", "mcp_tool_use", "tool-call", "tool_call", "function_call", "server_tool_call"}
)
_CALL_NAMES: Final = ("name", "toolName", "tool_name")
_CALL_ARGUMENTS: Final = ("arguments", "args", "input", "parameters", "server_tool_call")
_CALL_IDS: Final = ("call_id", "tool_call_id", "toolCallId", "tool_use_id", "id")
_RESULTS: Final = ("output", "result", "response", "content", "server_tool_call_response")
_WRAPPERS: Final = ("messages", "new_message", "message", "generations", "candidates", "kwargs", "outputs", "update")
_TRANSCRIPT: Final = re.compile(r"^(system|developer|user|assistant|tool): ", re.MULTILINE)
_REPR: Final = re.compile(r"^role='(\w+)' content=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|None)", re.DOTALL)
_DEEPEST: Final = 12
_GARBAGE: Final = "role"  # what one exporter writes for the content of a message


def parsed(value: JsonValue) -> JsonValue:
    """A value out of the JSON strings that it is wrapped in, up to three deep; a text that is no JSON stays."""
    for _ in range(3):
        if not isinstance(value, str) or value.strip()[:1] not in ("{", "[", '"'):
            break
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            break
    return value


def messages_of(value: JsonValue, role: str) -> Messages | None:
    """The messages in a logged input or output.

    Args:
        value: What was logged, JSON in a string or parsed.
        role: Whose a text without a role is: "user" for inputs, "assistant" for outputs.

    Returns:
        Messages with `role`, `content` (a string), `tool_calls` (name and arguments) and, for results, `name` where it
        is known; None where there are none.
    """
    found = _Found(role)
    try:
        found.read(parsed(value), 0)
    except RecursionError:
        return None
    return found.messages or None


def text_of(value: JsonValue) -> str:
    """A value as the text that an agent would have seen: strings as they are, parts joined, anything else as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, dict) and isinstance(value.get("content"), str | list):
        value = value["content"]
    if isinstance(value, list) and value and all(isinstance(part, dict) and _kind(part) in _TEXTS for part in value):
        return "\n".join(_part_text(part) for part in value if isinstance(part, dict))
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    except RecursionError:
        return "[nested too deeply]"


def _kind(part: Message) -> str:
    kind = part.get("type")
    return kind if isinstance(kind, str) else ""


def _part_text(part: Message) -> str:
    text = next((part[key] for key in ("text", "content") if isinstance(part.get(key), str)), "")
    return text if isinstance(text, str) else ""


def _first(fields: Message, keys: Iterable[str]) -> JsonValue:
    return next((fields[key] for key in keys if fields.get(key) is not None), None)


@dataclass(slots=True)
class _Found:
    """Messages found so far; `names` knows the tool of each call id."""

    role: str
    messages: Messages = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def say(self, role: str, text: str, calls: list[JsonValue] | None = None) -> None:
        """Add a message; what an assistant's items say one after another is one message."""
        last = self.messages[-1] if self.messages else None
        if role == "assistant" and self.role == "assistant" and last is not None and last["role"] == role:
            old, more = last["tool_calls"], list(calls or ())
            last["content"] = "\n".join(each for each in (last["content"], text) if isinstance(each, str) and each)
            last["tool_calls"] = [*(old if isinstance(old, list) else ()), *more]
            return
        self.messages.append({"role": role, "content": text, "tool_calls": list(calls or ())})

    def result(self, fields: Message, value: JsonValue) -> None:
        """Add what a tool gave, under its name where the log or its call tells it."""
        name = _first(fields, _CALL_NAMES)
        identity = _first(fields, ("tool_use_id", "call_id", "tool_call_id", "toolCallId", "id"))
        name = name if isinstance(name, str) and name else self.names.get(str(identity))
        self.messages.append({"role": "tool", "content": text_of(value), "name": name, "tool_calls": []})

    def call(self, fields: Message) -> JsonValue:
        """One tool call as name and arguments; None where it has no name."""
        function = fields.get("function")
        inner = function if isinstance(function, dict) else fields
        name = function if isinstance(function, str) else _first(inner, _CALL_NAMES)
        if not isinstance(name, str) or not name.strip():
            return None
        identity = _first(fields, _CALL_IDS)
        if identity is not None:
            self.names[str(identity)] = name
        return {"name": name, "arguments": _first(inner, _CALL_ARGUMENTS)}

    def calls(self, listed: JsonValue) -> list[JsonValue]:
        found = [self.call(each) for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        return [call for call in found if call is not None]

    def read(self, value: JsonValue, depth: int) -> None:
        """Find the messages in a value, whatever wraps them."""
        if depth > _DEEPEST:
            return
        if isinstance(value, str):
            self.read_text(value)
        elif isinstance(value, list):
            self.read_list(value, depth)
        elif isinstance(value, dict):
            self.read_object(value, depth)

    def read_text(self, text: str) -> None:
        if written := _REPR.match(text):
            self.say(_ROLES.get(written[1].lower(), self.role), _literal(written[2]))
            return
        starts = list(_TRANSCRIPT.finditer(text)) if self.role == "user" else []
        if starts and starts[0].start() == 0:
            for start, end in zip(starts, [*starts[1:], None], strict=True):
                said = text[start.end() : end.start() if end else len(text)].rstrip("\n")
                self.say(_ROLES[start[1]], "" if said == "None" else said)
        elif text:
            self.say(self.role, text)

    def read_list(self, items: list[JsonValue], depth: int) -> None:
        objects = [item for item in items if isinstance(item, dict)]
        if objects and len(objects) == len(items) and all(_first(each, ("toolCallId", "toolName")) for each in objects):
            self.say("assistant", "", self.calls(items))
        elif objects and all(_kind(each) in _TEXTS | _THOUGHTS | _CALLS and "role" not in each for each in objects):
            self.read_message({"role": self.role, "content": items}, depth)
        else:
            for item in items:
                if not isinstance(item, str) or _REPR.match(item):
                    self.read(item, depth + 1)

    def read_object(self, fields: Message, depth: int) -> None:
        kind = _kind(fields)
        if isinstance(fields.get("role"), str) or kind in (
            "message",
            "human",
            "ai",
            "tool",
            "system",
            "AIMessageChunk",
        ):
            self.read_message(fields, depth)
        elif kind in ("function_call", "custom_tool_call") or (kind in _CALLS and "role" not in fields):
            self.say("assistant", "", self.calls([fields]))
        elif kind.endswith("call_output"):
            self.result(fields, fields.get("output"))
        elif kind == "reasoning":
            self.say("assistant", "")
        elif isinstance(choices := fields.get("choices"), list):
            self.read(choices[0] if choices else None, depth + 1)
        elif fields.get("object") == "response" and isinstance(fields.get("output"), list):
            self.read(fields["output"], depth + 1)
        elif isinstance(fields.get("contents"), list):
            self.read_request(fields, depth)
        elif isinstance(content := fields.get("content"), dict):
            self.read(content, depth + 1)
        elif isinstance(fields.get("parts"), list) or (isinstance(content, str | list) and content != _GARBAGE):
            self.read_message({**fields, "role": self.role}, depth)
        elif "prompt" in fields:
            for key, role in (("system", "system"), ("prompt", "user")):
                if isinstance(text := fields.get(key), str) and text:
                    self.say(role, text)
                elif key == "prompt":
                    self.read(fields[key], depth + 1)
        else:
            self.read_wrapped(fields, depth)

    def read_request(self, fields: Message, depth: int) -> None:
        """A request to Gemini: its instruction stands in its settings."""
        settings = fields.get("config")
        instruction = _first(
            settings if isinstance(settings, dict) else fields, ("system_instruction", "systemInstruction")
        )
        if instruction is not None:
            self.say("system", instruction if isinstance(instruction, str) else _gemini_text(instruction))
        self.read(fields["contents"], depth + 1)

    def read_wrapped(self, fields: Message, depth: int) -> None:
        """A wrapper around messages; any other object says nothing."""
        for key in _WRAPPERS:
            if isinstance(inner := fields.get(key), dict | list):
                if key == "kwargs" and "content" in inner and isinstance(inner, dict):
                    kind = str(inner.get("type") or "ai").lower()
                    inner = {**inner, "role": _ROLES.get(kind, self.role)}
                self.read(inner, depth + 1)
                return

    def read_message(self, fields: Message, depth: int) -> None:
        """One message with a role, in any of the shapes."""
        named = str(fields.get("role") or _kind(fields)).lower()
        role = _ROLES.get(named, "assistant" if named == "message" else self.role)
        content = parsed(fields["content"]) if isinstance(fields.get("content"), dict | list) else fields.get("content")
        if isinstance(fields.get("parts"), list):
            content = fields["parts"]
        if isinstance(content, dict) and _kind(content) == "function":
            return  # the definition of a tool, logged as if a tool had said it
        parts = _Parts(self, role)
        parts.read(content, depth)
        extra = fields.get("additional_kwargs")
        for source in (fields, extra if isinstance(extra, dict) else {}):
            if not parts.calls:
                listed = _first(source, ("tool_calls", "toolCalls"))
                single = source.get("function_call")
                parts.calls += self.calls(listed if isinstance(listed, list) else [single] if single else [])
        text = "\n".join(parts.texts)
        if not text and isinstance(refusal := fields.get("refusal"), str):
            text = refusal
        if role == "tool" and not parts.results:
            self.result(fields, text if parts.texts else content)
            return
        for part, value in parts.results:
            self.result(part, value)
        if text or parts.calls or not parts.results:
            self.say(role, text, parts.calls)


def _literal(written: str) -> str:
    """The text that a Python string literal, or None, spells."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a backslash that Python does not know is the log's business
            return ast.literal_eval(written) or ""
    except (ValueError, SyntaxError, MemoryError):
        return written[1:-1]


@dataclass(slots=True)
class _Parts:
    """What one message's content holds."""

    found: _Found
    role: str
    texts: list[str] = field(default_factory=list)
    calls: list[JsonValue] = field(default_factory=list)
    results: list[tuple[Message, JsonValue]] = field(default_factory=list)

    def read(self, content: JsonValue, depth: int) -> None:
        if isinstance(content, str):
            self.texts += [content] if content else []
        elif isinstance(content, list) and depth <= _DEEPEST:
            for part in content:
                self.read_part(part, depth)
        elif content is not None:
            self.texts.append(text_of(content))

    def read_part(self, part: JsonValue, depth: int) -> None:
        if not isinstance(part, dict):
            self.read(part, depth + 1)
            return
        kind = _kind(part)
        wrapped = _first(part, ("function_call", "functionCall"))
        answer = _first(part, ("function_response", "functionResponse"))
        if kind in _THOUGHTS or part.get("thought") is True:
            return
        if isinstance(wrapped, dict):
            self.calls += self.found.calls([wrapped])
        elif isinstance(answer, dict):
            self.results.append((answer, answer.get("response")))
        elif kind in _CALLS:
            self.calls += self.found.calls([part])
        elif kind.endswith(("tool_result", "tool-result", "call_response")):
            self.results.append((part, _first(part, _RESULTS)))
        elif kind in _TEXTS or not kind:
            self.texts += [text] if (text := _part_text(part)) else []
        elif kind == "refusal":
            self.texts += [refusal] if isinstance(refusal := part.get("refusal"), str) else []
        else:
            self.texts.append(f"[{kind[:40]}]")


def _gemini_text(value: JsonValue) -> str:
    parts = value.get("parts") if isinstance(value, dict) else None
    texts = [_part_text(part) for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "\n".join(texts) or text_of(value)
