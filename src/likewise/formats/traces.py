"""From the spans of a trace to a conversation; shared by the readers of tracers' exports.

Decisions:
- Generations in order of their start, then of their place in the tree: exports are in no order, equal times happen.
- Of a generation and the one generation inside it, which report one call twice, that with the better structure counts;
  of several inside it, those. Generations inside a tool are a sub-agent's doing: the tool's result stands for them.
- Every generation repeats the history before it, so only what is new in its input is observed. Where the input is of no
  use, the results of the tools that ran in between are; where nothing ran either, the generation goes on with the
  action before it (parallel calls that an exporter took apart).
- Calls are those in the output; where an output shows none, the tools that ran before the next generation are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Final

from likewise.core.rollout import JsonValue
from likewise.formats.assemble import FINISHED, Ending, broken, cut
from likewise.formats.fields import first_line
from likewise.formats.message_shapes import Message, Messages
from likewise.formats.messages import Conversation, read_messages

__all__ = ["Kind", "Step", "Trace", "read_trace"]

SUBAGENT = "sub-agent inside a tool left out"
RETRIED = "a model call that failed was tried again"
SILENT = "a model call without a recorded answer left out"
_LIMITS: Final = (
    "recursion limit",
    "max_turns",
    "maxturns",
    "max turns",
    "max iterations",
    "max_iterations",
    "step limit",
)
_DEEPEST: Final = 1_000


class Kind(StrEnum):
    """What a span is about."""

    GENERATION = "generation"
    TOOL = "tool"
    JUDGE = "judge"
    """An evaluator or a guard; the generations inside are not the agent's."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Step:
    """One span.

    Attributes:
        id: Its id.
        parent: Id of the span around it, if any.
        kind: What it is about.
        start: Start in seconds, for order only.
        end: End in seconds; the start where it is not known.
        name: Name of a tool; of other spans, whatever the log calls them.
        input: What a generation was given, as messages; None where the log has none that are of use.
        output: What a generation gave, as messages; None likewise.
        structured: Whether the output was more than a plain text.
        arguments: What a tool was called with.
        result: What a tool gave.
        error: What went wrong in it; None where nothing did.
        finish: Why the model stopped ("length": its limit).
    """

    id: str
    parent: str | None
    kind: Kind
    start: float
    end: float
    name: str = ""
    input: Messages | None = None
    output: Messages | None = None
    structured: bool = False
    arguments: JsonValue = None
    result: str = ""
    error: str | None = None
    finish: str | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """A conversation, how it ended, what a user said before the first action, and the generations that count."""

    talk: Conversation
    ending: Ending
    asked: str
    generations: tuple[Step, ...]


@dataclass(slots=True)
class _Builder:
    messages: Messages = field(default_factory=list)
    scripted: int = 0
    history: list[tuple[JsonValue, JsonValue]] = field(default_factory=list)
    acted: bool = False

    def observe(self, new: Messages) -> None:
        """Add what was seen; what an assistant said outside this trace is no action of the run."""
        for message in new:
            if message["role"] == "assistant" and self.acted:
                message = {**message, "role": "user", "name": "assistant"}
            self.messages.append(message)
        if not self.acted:
            self.scripted = len(self.messages)

    def act(self, text: str, calls: list[JsonValue]) -> None:
        self.messages.append({"role": "assistant", "content": text, "tool_calls": calls or None})
        self.acted = True

    def go_on(self, text: str, calls: list[JsonValue]) -> None:
        """Add to the action before, which is the last message."""
        last = self.messages[-1]
        before = last["tool_calls"]
        last["content"] = "\n".join(each for each in (last["content"], text) if isinstance(each, str) and each)
        last["tool_calls"] = [*(before if isinstance(before, list) else ()), *calls] or None


def read_trace(steps: Sequence[Step], pointer: str) -> Trace:
    """Turn the spans of one trace into a conversation.

    Args:
        steps: Its spans, in any order; equal times keep theirs.
        pointer: JSON pointer of the spans, for errors.

    Raises:
        FieldError: A message cannot be read.
    """
    tree = {step.id: step for step in steps}
    ordered = sorted(steps, key=lambda step: (step.start, len(_above(step, tree))))
    tools = [step for step in ordered if step.kind is Kind.TOOL and not _inside(step, tree)]
    found = [step for step in ordered if step.kind is Kind.GENERATION]
    outer = [step for step in found if not _inside(step, tree)]
    counted = _once(outer, tree)
    notes = [SUBAGENT] if len(outer) < len(found) else []
    worked = [step for step in counted if step.output or not step.error]
    if len(worked) < len(counted) and worked and worked[-1].start >= max(step.start for step in counted):
        notes.append(RETRIED)
    builder = _Builder()
    between = _tools_after(worked, tools)
    spoke = [step for step, ran in zip(worked, between, strict=True) if step.output or ran]
    if spoke and len(spoke) < len(worked):
        notes.append(SILENT)
        worked, between = spoke, _tools_after(spoke, tools)
    for index, step in enumerate(worked):
        _take(step, between[index - 1] if index else [], between[index], builder)
    builder.observe([_result(tool) for tool in between[-1]] if between else [])
    talk = read_messages(builder.messages, pointer, scripted=builder.scripted)
    talk = Conversation(talk.turns, talk.last_observations, tuple(dict.fromkeys((*talk.notes, *notes))))
    asked = [str(each["content"]) for each in builder.messages[: builder.scripted] if each["role"] == "user"]
    return Trace(talk, _ending(ordered, counted, worked), "\n".join(asked), tuple(worked))


def _tools_after(generations: list[Step], tools: list[Step]) -> list[list[Step]]:
    """The tools that started after each generation and before the next."""
    starts = [bisect_left(tools, step.start, key=lambda tool: tool.start) for step in generations]
    return [tools[start:end] for start, end in pairwise([*starts, len(tools)])]


def _above(step: Step, tree: dict[str, Step]) -> list[Step]:
    """The spans around a span, from the inside out; a circle of parents ends it."""
    found: list[Step] = []
    seen = {step.id}
    while step.parent is not None and step.parent not in seen and len(found) < _DEEPEST:
        above = tree.get(step.parent)
        if above is None:
            break
        found.append(above)
        seen.add(above.id)
        step = above
    return found


def _inside(step: Step, tree: dict[str, Step]) -> bool:
    """Whether a span is a part of what a tool or a judge did."""
    return any(above.kind in (Kind.TOOL, Kind.JUDGE) for above in _above(step, tree))


def _once(generations: list[Step], tree: dict[str, Step]) -> list[Step]:
    """The generations without those that report another one's call once more."""
    inner: dict[str, list[Step]] = {}
    for step in generations:
        around = next((above for above in _above(step, tree) if above.kind is Kind.GENERATION), None)
        if around is not None:
            inner.setdefault(around.id, []).append(step)
    dropped: set[str] = set()
    for outer_id, steps in inner.items():
        outer, only = tree[outer_id], steps[0]
        poorer = len(steps) == 1 and (not only.output or (outer.structured and not only.structured))
        dropped.update([only.id] if poorer and outer.output else [outer_id])
    return [step for step in generations if step.id not in dropped]


def _take(step: Step, before: list[Step], after: list[Step], builder: _Builder) -> None:
    """Add one generation: what was new to it, then what it did."""
    text = "\n".join(str(message["content"]) for message in step.output or () if message["content"])
    calls = [call for message in step.output or () for call in _listed(message["tool_calls"])]
    if not calls:
        calls = [{"name": tool.name, "arguments": tool.arguments} for tool in after if tool.name.strip()]
    results = [_result(tool) for tool in before]
    if step.input is None and builder.acted:
        if not results:
            builder.go_on(text, calls)
        else:
            builder.observe(results)
            builder.act(text, calls)
        return
    new = _new(step.input or [], builder)
    if results and not any(message["role"] == "tool" for message in new):
        new = [*results, *new]
    builder.observe(new)
    builder.act(text, calls)
    builder.history = [_gist(message) for message in step.input or ()]


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _result(tool: Step) -> Message:
    text = tool.result or (f"error: {tool.error}" if tool.error else "")
    return {"role": "tool", "content": text, "name": tool.name or None, "tool_calls": []}


def _new(messages: Messages, builder: _Builder) -> Messages:
    """What of a generation's input was not there before it."""
    if not builder.acted:
        return messages
    gists = [_gist(message) for message in messages]
    if builder.history and gists[: len(builder.history)] == builder.history:
        rest = messages[len(builder.history) :]
        own = next((i for i, message in enumerate(rest) if message["role"] != "assistant"), len(rest))
        return rest[own:]
    last = max((i for i, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
    known = set(builder.history)
    return [message for i, message in enumerate(messages) if i > last and gists[i] not in known]


def _gist(message: Message) -> tuple[JsonValue, JsonValue]:
    return message["role"], message["content"]


def _ending(steps: list[Step], counted: list[Step], worked: list[Step]) -> Ending:
    """How a run ended, by the errors of its spans and by why its last generation stopped."""
    failed = [step for step in counted if step.error and not step.output]
    if failed and (not worked or failed[-1].start > worked[-1].start):
        return broken(failed[-1].error)
    roots = [step for step in steps if step.kind is Kind.OTHER and step.error and step.parent is None]
    if roots:
        error = first_line(str(roots[0].error))
        if any(limit in error.lower() for limit in _LIMITS):
            return cut(f"stopped by a limit: {error}")
        return broken(error)
    if worked and worked[-1].finish in ("length", "max_tokens"):
        return cut("stopped by the model's length limit")
    return FINISHED
