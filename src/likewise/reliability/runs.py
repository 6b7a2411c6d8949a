"""One run of an agent as a record: what came back, or why nothing did. A failed run is data."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from dataclasses import fields as members
from enum import StrEnum
from typing import Any

from likewise.core.rollout import Action, JsonValue, ToolCall
from likewise.reliability.fields import (
    AnswerFields,
    Extractor,
    MalformedOutputError,
    Structure,
    action_of,
    fields_from_mapping,
    parse_fields,
)

__all__ = [
    "AgentOutput",
    "Failure",
    "FailureKind",
    "OutputReader",
    "RunRecord",
    "Usage",
    "WrongOutputError",
    "as_output",
]

LONGEST_OUTPUT = 200_000
"""Characters of an answer that are looked at; more is a failed run: a dump, which no judge compares."""
QUOTED = 2_000
"""Characters of an output that a failure keeps as evidence."""


class FailureKind(StrEnum):
    """Why a run has no answer."""

    EXCEPTION = "exception"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    EMPTY = "empty"
    MALFORMED = "malformed"
    TOO_LONG = "too long"
    WRONG_TYPE = "wrong type"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run has no answer; `excerpt` is the start of what it gave, where it gave something."""

    kind: FailureKind
    message: str
    excerpt: str = ""
    cause: BaseException | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        """`kind: message`."""
        return f"{self.kind}: {self.message}"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as the agent or its endpoint counts them; None where it does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None

    def __add__(self, other: Usage) -> Usage:
        """The sum of what is known."""
        return Usage(_plus(self.input_tokens, other.input_tokens), _plus(self.output_tokens, other.output_tokens))


def _plus(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b


@dataclass(frozen=True, slots=True)
class AgentOutput:
    """What an agent returned, in our words.

    Attributes:
        text: What it said.
        tool_calls: What it wants to be called.
        fields: Its answer field by field, where it returned an object; else read from the text.
        usage: Tokens used.
        meta: Further facts (finish reason, model), kept as they are.
        cut: Why the answer is not whole, where it is known not to be; the run has then failed.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    fields: AnswerFields | None = None
    usage: Usage = Usage()
    meta: Mapping[str, JsonValue] = field(default_factory=dict)
    cut: str = ""


class WrongOutputError(TypeError):
    """An agent returned something that is neither text nor fields."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run: either an answer or a failure, never both.

    Attributes:
        index: Place among the runs of its query, from 0.
        text: What the agent said, in full; "" where it failed.
        fields: Its answer field by field; None exactly where it failed.
        tool_calls: What it wants to be called.
        failure: Why it has no answer.
        seconds: From start to end, retries included.
        attempts: How often the agent was called.
        usage: Tokens used.
        replayed: Tool calls answered from the record instead of by the tool.
        meta: Further facts.
    """

    index: int
    text: str = ""
    fields: AnswerFields | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    failure: Failure | None = None
    seconds: float = 0.0
    attempts: int = 1
    usage: Usage = Usage()
    replayed: int = 0
    meta: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a record that is both or neither."""
        if (self.fields is None) == (self.failure is None):
            raise ValueError("a run has either fields or a failure")

    @property
    def good(self) -> bool:
        """Whether there is an answer."""
        return self.failure is None

    @property
    def action(self) -> Action:
        """What is compared between runs."""
        if self.fields is None:
            raise ValueError(f"run {self.index} failed: it has no action to compare")
        return action_of(self.fields, Action(self.text, self.tool_calls))

    def as_json(self) -> dict[str, JsonValue]:
        """One entry of the audit trail; texts in full."""
        failure = self.failure
        return {
            "run": self.index,
            "status": "ok" if failure is None else "failed",
            "text": self.text,
            "fields": None if self.fields is None else self.fields.as_json(),
            "tool_calls": [{"name": call.name, "arguments": call.arguments} for call in self.tool_calls],
            "failure": None
            if failure is None
            else {"kind": failure.kind, "message": failure.message, "excerpt": failure.excerpt},
            "seconds": round(self.seconds, 6),
            "attempts": self.attempts,
            "usage": {"input_tokens": self.usage.input_tokens, "output_tokens": self.usage.output_tokens},
            "replayed": self.replayed,
            "meta": dict(self.meta),
        }


def as_output(value: object, longest: int = LONGEST_OUTPUT) -> AgentOutput:
    """What an agent returned, in our words.

    Args:
        value: Text, fields, an OpenAI-style message, an `Action`, a pydantic model, a dataclass or an `AgentOutput`.
        longest: Characters of an object beyond which it is not read.

    Raises:
        WrongOutputError: Something else; `None` above all.
        MalformedOutputError: Fields without a main answer, or what no JSON can hold.
    """
    if isinstance(value, AgentOutput):
        return value
    if isinstance(value, str):
        return AgentOutput(value)
    if isinstance(value, Action):
        return AgentOutput(value.text, value.tool_calls)
    if isinstance(value, AnswerFields):
        return AgentOutput(value.main_answer, fields=value)
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        value = dump()
    elif is_dataclass(value) and not isinstance(value, type):
        value = {each.name: getattr(value, each.name) for each in members(value)}
    if isinstance(value, Mapping):
        return _from_mapping(value, longest)
    pieces = "; join what it yields into one text" if isinstance(value, Iterator | AsyncIterator) else ""
    raise WrongOutputError(
        f"the agent returned {type(value).__name__}; expected text, fields or a message (or give an extractor){pieces}"
    )


def _from_mapping(value: Mapping[str, Any], longest: int) -> AgentOutput:
    if "tool_calls" in value or ("content" in value and "main_answer" not in value):
        return AgentOutput(_content(value.get("content")), _tool_calls(value.get("tool_calls")))
    return AgentOutput(_dumped(value, longest), fields=fields_from_mapping(value))


def _dumped(value: Mapping[str, Any], longest: int) -> str:
    """An object as text; looked at before its findings are taken apart, which takes long where there are too many.

    Raises:
        _TooLongError: It is longer than is read.
    """
    long = next((each for each in value.values() if isinstance(each, str) and len(each) > longest), None)
    text = json.dumps(dict(value), ensure_ascii=False, default=str) if long is None else long
    if len(text) > longest:
        raise _TooLongError(text, longest)
    return text


def _content(content: object) -> str:
    """The text of a message's content, which may be in parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else () if content is None else (content,)
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    if any(not isinstance(text, str | None) for text in texts):
        raise MalformedOutputError("a message's content is neither text nor parts with a text")
    return "".join(text for text in texts if text)


def _tool_calls(value: object) -> tuple[ToolCall, ...]:
    calls = []
    for item in value if isinstance(value, Sequence) and not isinstance(value, str) else ():
        function = item.get("function", item) if isinstance(item, Mapping) else {}
        name, arguments = function.get("name"), function.get("arguments", {})
        if not isinstance(name, str):
            raise MalformedOutputError("a tool call has no name")
        calls.append(ToolCall(name, _arguments(arguments)))
    return tuple(calls)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")  # NaN and its kin: the audit log could not hold them


def _arguments(value: object) -> dict[str, JsonValue] | str:
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return _as_json(value, "the arguments of a tool call")
    text = value if isinstance(value, str) else json.dumps(_as_json({"": value}, "the arguments of a tool call")[""])
    try:
        parsed = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return text
    return parsed if isinstance(parsed, dict) else text


def _as_json(value: Mapping[str, Any], what: str) -> dict[str, JsonValue]:
    """An object as JSON has it, since audit logs and judges read JSON.

    Raises:
        MalformedOutputError: It holds what JSON cannot.
    """
    try:
        held: dict[str, JsonValue] = json.loads(json.dumps(dict(value), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as problem:
        raise MalformedOutputError(f"{what} cannot be written as JSON: {problem}") from problem
    return held


@dataclass(frozen=True, slots=True)
class OutputReader:
    """Turns what an agent returned into a run's record, or into the failure that it is.

    Attributes:
        structure: How texts are read.
        extractor: A user's own way to fields, in place of ours.
        longest: Characters beyond which an output is a failure.
    """

    structure: Structure = Structure.AUTO
    extractor: Extractor | None = None
    longest: int = LONGEST_OUTPUT

    def read(self, index: int, value: object, *, seconds: float = 0.0, attempts: int = 1) -> RunRecord:
        """The record of one run that returned."""
        try:
            output, fields = self._read(value)
        except _TooLongError as problem:
            failure = Failure(FailureKind.TOO_LONG, str(problem), problem.text[:QUOTED])
        except MalformedOutputError as problem:
            failure = Failure(FailureKind.MALFORMED, str(problem), _excerpt(value), problem)
        except WrongOutputError as problem:
            failure = Failure(FailureKind.WRONG_TYPE, str(problem), cause=problem)
        except Exception as problem:  # a user's extractor or a model's dump may raise anything
            message = f"the output could not be read: {type(problem).__name__}: {problem}"
            failure = Failure(FailureKind.MALFORMED, message, _excerpt(value), problem)
        else:
            if not Action(fields.main_answer, output.tool_calls).is_empty:
                return RunRecord(
                    index,
                    output.text,
                    fields,
                    output.tool_calls,
                    seconds=seconds,
                    attempts=attempts,
                    usage=output.usage,
                    meta=output.meta,
                )
            failure = Failure(FailureKind.EMPTY, "the answer is empty", _excerpt(output.text))
        usage = value.usage if isinstance(value, AgentOutput) else Usage()
        return RunRecord(index, failure=failure, seconds=seconds, attempts=attempts, usage=usage)

    def _read(self, value: object) -> tuple[AgentOutput, AnswerFields]:
        if isinstance(value, AgentOutput) and value.cut:
            raise MalformedOutputError(f"the answer was cut off: {value.cut}")
        if self.extractor is not None:
            fields = self.extractor(value.text if isinstance(value, AgentOutput) else value)
            if not isinstance(fields, AnswerFields):
                raise WrongOutputError(f"the extractor returned {type(fields).__name__}, not AnswerFields")
            self._check_length(fields.main_answer)
            text = value if isinstance(value, str) else fields.main_answer
            return (_written(value) if isinstance(value, AgentOutput) else AgentOutput(text)), fields
        if isinstance(value, str):
            self._check_length(value)
        output = _written(as_output(value, self.longest))
        self._check_length(output.text)
        fields = output.fields or self._fields(output)
        self._check_length(fields.main_answer)
        return output, fields

    def _fields(self, output: AgentOutput) -> AnswerFields:
        if output.tool_calls or not output.text.strip():
            return AnswerFields(output.text.strip())  # a call is no structured answer, and neither is nothing
        return parse_fields(output.text, self.structure)

    def _check_length(self, text: str) -> None:
        if len(text) > self.longest:
            raise _TooLongError(text, self.longest)


def _written(output: AgentOutput) -> AgentOutput:
    """The same with arguments and facts that an audit log can hold.

    Raises:
        MalformedOutputError: They hold what JSON cannot.
    """
    if not output.tool_calls and not output.meta:
        return output
    calls = tuple(ToolCall(call.name, _arguments(call.arguments)) for call in output.tool_calls)
    return replace(output, tool_calls=calls, meta=_as_json(output.meta, "what the agent says of its run (meta)"))


class _TooLongError(ValueError):
    def __init__(self, text: str, longest: int) -> None:
        super().__init__(f"the output has {len(text):,} characters, more than {longest:,}")
        self.text = text


def _excerpt(value: object) -> str:
    text = value.text if isinstance(value, AgentOutput) else value
    return text[:QUOTED] if isinstance(text, str) else ""
