"""What the attributes of a span mean: the GenAI conventions (new and old), OpenInference, Vercel AI SDK, OpenLLMetry.

Sources: OpenTelemetry semantic conventions for generative AI (1.28 to 1.41), OpenInference semantic conventions, AI SDK
telemetry (v4 to v6), OpenLLMetry's `gen_ai.prompt.N` and `gen_ai.completion.N`.
"""

from __future__ import annotations

from typing import Final

from likewise.core.rollout import JsonValue
from likewise.formats.message_shapes import Messages, messages_of, parsed, text_of
from likewise.formats.otel_spans import Attributes, Span, nested
from likewise.formats.traces import Kind, Step

__all__ = ["SUCCESS_NAMES", "kind_of", "step_of", "verdict"]

SUCCESS_NAMES: Final = ("success", "passed", "pass", "correct", "correctness")

_OPERATIONS: Final = {
    "chat": Kind.GENERATION,
    "text_completion": Kind.GENERATION,
    "generate_content": Kind.GENERATION,
    "execute_tool": Kind.TOOL,
}
_KINDS: Final = {"LLM": Kind.GENERATION, "TOOL": Kind.TOOL, "EVALUATOR": Kind.JUDGE, "GUARDRAIL": Kind.JUDGE}
_WRAPPERS: Final = frozenset({"message", "tool_call", "message_content"})
_TOOL_NAMES: Final = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name")
_TOOL_ARGUMENTS: Final = (
    "gen_ai.tool.call.arguments",
    "tool.parameters",
    "ai.toolCall.args",
    "input.value",
    "traceloop.entity.input",
)
_TOOL_RESULTS: Final = ("gen_ai.tool.call.result", "ai.toolCall.result", "output.value", "traceloop.entity.output")
_DETAILS: Final = "gen_ai.client.inference.operation.details"
_YES: Final = frozenset({"pass", "passed", "yes", "true", "correct", "success"})
_NO: Final = frozenset({"fail", "failed", "no", "false", "incorrect", "failure"})
_DEEPEST: Final = 40


def kind_of(span: Span) -> Kind:
    """What a span is about, by the first convention that says so."""
    facts = span.attributes
    if (kind := str(facts.get("openinference.span.kind") or facts.get("span_kind") or "").upper()) in _KINDS:
        return _KINDS[kind]
    if kind:
        return Kind.OTHER
    if operation := str(facts.get("ai.operationId") or ""):
        if operation == "ai.toolCall":
            return Kind.TOOL
        spoken = operation.startswith(("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"))
        return Kind.GENERATION if spoken else Kind.OTHER
    if isinstance(operation_name := facts.get("gen_ai.operation.name"), str):
        return _OPERATIONS.get(operation_name, Kind.OTHER)
    if str(facts.get("traceloop.span.kind")).lower() == "tool":
        return Kind.TOOL
    if str(facts.get("llm.request.type")).lower() in ("chat", "completion"):
        return Kind.GENERATION
    asked = "gen_ai.system" in facts and "gen_ai.request.model" in facts and "gen_ai.response.model" in facts
    return Kind.GENERATION if asked and not span.name.startswith("embeddings") else Kind.OTHER


def step_of(span: Span) -> Step:
    """The span as a step of a trace."""
    kind, facts = kind_of(span), span.attributes
    generation, tool = kind is Kind.GENERATION, kind is Kind.TOOL
    output = _output(span) if generation else None
    return Step(
        id=span.id,
        parent=span.parent,
        kind=kind,
        start=span.start,
        end=span.end,
        name=str(_first(facts, _TOOL_NAMES) or span.name.removeprefix("execute_tool ")) if tool else span.name,
        input=_input(span) if generation else None,
        output=output,
        structured=bool(output and (len(output) > 1 or output[0]["tool_calls"])),
        arguments=parsed(_first(facts, _TOOL_ARGUMENTS)) if tool else None,
        result=text_of(_first(facts, _TOOL_RESULTS)) if tool else "",
        error=span.error,
        finish=_finish(facts),
    )


def _first(facts: Attributes, keys: tuple[str, ...]) -> JsonValue:
    return next((facts[key] for key in keys if facts.get(key) is not None), None)


def _plain(value: JsonValue, depth: int = 0) -> JsonValue:
    """OpenInference's objects without the layer that names their type (`{"message": {...}}`)."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, dict):
        if len(value) == 1 and (key := next(iter(value))) in _WRAPPERS:
            return _plain(value[key], depth + 1)
        plain = {key: _plain(item, depth + 1) for key, item in value.items()}
        if plain.get("content") is None and isinstance(plain.get("contents"), list):
            plain["content"] = plain.pop("contents")
        if plain.get("content") is None and isinstance(name := plain.get("function_call_name"), str):
            plain["function_call"] = {"name": name, "arguments": plain.get("function_call_arguments_json")}
        return plain
    return value


def _details(span: Span) -> Attributes:
    """The span's attributes with those of the event that may carry its messages."""
    return span.attributes | next((found for name, found in span.events if name == _DETAILS), {})


def _input(span: Span) -> Messages | None:
    facts = _details(span)
    given = (
        facts.get("gen_ai.input.messages"),
        _plain(nested(facts, "llm.input_messages")),
        facts.get("ai.prompt.messages"),
        facts.get("ai.prompt"),
        nested(facts, "gen_ai.prompt"),
        _spoken(span, output=False),
        facts.get("input.value"),
    )
    found = next((messages for value in given if value is not None and (messages := messages_of(value, "user"))), None)
    instructions = messages_of(facts.get("gen_ai.system_instructions"), "system")
    return [*instructions, *(found or [])] if instructions else found


def _output(span: Span) -> Messages | None:
    facts = _details(span)
    text, calls = facts.get("ai.response.text"), parsed(facts.get("ai.response.toolCalls"))
    if text is None and isinstance(facts.get("ai.response.object"), str):
        text = facts["ai.response.object"]
    vercel: list[JsonValue] = [text] if isinstance(text, str) and text else []
    given = (
        facts.get("gen_ai.output.messages"),
        _plain(nested(facts, "llm.output_messages")),
        {"role": "assistant", "content": vercel, "tool_calls": calls} if vercel or calls else None,
        nested(facts, "gen_ai.completion"),
        _spoken(span, output=True),
        facts.get("output.value"),
    )
    return next((said for value in given if value is not None and (said := messages_of(value, "assistant"))), None)


def _spoken(span: Span, output: bool) -> JsonValue:
    """Messages written as events: the conventions' old form, on the span or as a list in its attribute `events`."""
    listed = parsed(span.attributes.get("events"))
    events: list[tuple[str, Attributes]] = list(span.events)
    for event in listed if isinstance(listed, list) else []:
        if isinstance(event, dict):
            events.append((str(event.get("event.name") or event.get("name")), event))
    found: list[JsonValue] = []
    for name, fields in events:
        if name == "gen_ai.choice" and output:
            message = parsed(fields.get("message"))
            found.append({"role": "assistant", **(message if isinstance(message, dict) else _loaded(fields))})
        elif name in ("gen_ai.content.completion" if output else "gen_ai.content.prompt",):
            found.append(parsed(fields.get("gen_ai.completion" if output else "gen_ai.prompt")))
        elif name.startswith("gen_ai.") and name.endswith(".message") and not output:
            role = name.removeprefix("gen_ai.").removesuffix(".message")
            found.append({"role": role, **_loaded(fields)})
    return found or None


def _loaded(fields: Attributes) -> Attributes:
    """A message's fields; attributes can hold no lists of objects, so calls come as JSON in a string."""
    kept = {key: fields[key] for key in ("role", "content", "tool_calls", "name", "id") if fields.get(key) is not None}
    return kept | ({"tool_calls": parsed(kept["tool_calls"])} if "tool_calls" in kept else {})


def _finish(facts: Attributes) -> str | None:
    reasons = parsed(facts.get("gen_ai.response.finish_reasons"))
    first = reasons[0] if isinstance(reasons, list) and reasons else facts.get("ai.response.finishReason")
    return first.lower() if isinstance(first, str) else None


def verdict(score: Attributes | None) -> bool | None:
    """What an evaluation says of success; None where it is no yes or no."""
    if score is None:
        return None
    label = str(score.get("gen_ai.evaluation.score.label") or "").lower()
    if label in _YES | _NO:
        return label in _YES
    value = score.get("gen_ai.evaluation.score.value")
    return bool(value) if value in (0, 1) else None
