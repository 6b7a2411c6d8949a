"""The tools that rollouts call: how often, in how many tasks, and how the rules take them and their arguments."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from likewise.backends.argument_modes import ArgumentMode, Mode, flatten
from likewise.backends.call_text import opened
from likewise.backends.tool_classes import ClassVerdict
from likewise.backends.tool_names import is_id, is_sentence, is_text_name
from likewise.backends.tool_rules import ToolRules
from likewise.backends.tools_file import merged_hints
from likewise.core.config import nearest
from likewise.core.rollout import JsonValue, Rollout, ToolCall
from likewise.core.state_text import canonical_arguments, canonical_text
from likewise.core.tool_hints import META_KEY, hints_of

__all__ = ["ArgumentRole", "ArgumentSummary", "ToolSummary", "logged_hints", "tool_inventory"]

MAX_ARGUMENTS = 200
"""Arguments of one tool that are listed; a log in which each call has keys of its own would fill the screen."""


class ArgumentRole(StrEnum):
    """What the rules take an argument for."""

    OBJECT = "names the object"
    TEXT = "free text"
    VALUE = "value"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class ArgumentSummary:
    """One argument of a tool.

    Attributes:
        path: Dotted path; "" for arguments that could not be parsed.
        calls: Calls that have it.
        role: What the rules take it for.
        mode: How the user wants it compared; None where the defaults hold.
    """

    path: str
    calls: int
    role: ArgumentRole
    mode: str | None


@dataclass(frozen=True, slots=True)
class ToolSummary:
    """One tool: its calls, the rollouts and tasks with at least one, its class and arguments (frequent first)."""

    name: str
    calls: int
    rollouts: int
    tasks: int
    verdict: ClassVerdict
    arguments: tuple[ArgumentSummary, ...]
    more_arguments: int = 0
    """How many arguments beyond the first MAX_ARGUMENTS are not listed."""
    unknown_arguments: tuple[str, ...] = ()
    """Arguments that the user speaks of and no call has, each with the nearest that one has."""


@dataclass(slots=True)
class _Seen:
    calls: int = 0
    runs: set[tuple[str, str]] = field(default_factory=set)
    tasks: set[str] = field(default_factory=set)
    arguments: Counter[str] = field(default_factory=Counter)
    inner: Counter[str] = field(default_factory=Counter)  # objects and what is in lists too
    texts: Counter[str] = field(default_factory=Counter)  # calls whose value of the argument is free text by itself
    strings: Counter[str] = field(default_factory=Counter)

    def add(self, call: ToolCall, rollout: Rollout) -> None:
        self.calls += 1
        self.runs.add((rollout.task_id, rollout.run_id))
        self.tasks.add(rollout.task_id)
        arguments = opened(canonical_arguments(call.arguments))
        self.inner.update(set(_inner_paths(arguments)))
        for path, value in flatten(arguments):
            if path or value != {}:  # no arguments at all
                self.arguments[path] += 1
                if isinstance(value, str):
                    self.strings[path] += 1
                    self.texts[path] += is_text_name(path) or is_sentence(value)


def _inner_paths(value: JsonValue, path: str = "") -> Iterator[str]:
    """Every path there is, through objects and lists."""
    if isinstance(value, dict):
        for key, item in value.items():
            inner = f"{path}.{key}" if path else key
            yield inner
            yield from _inner_paths(item, inner)
    elif isinstance(value, list):
        for item in value:
            yield from _inner_paths(item, path)


def logged_hints(rollouts: Iterable[Rollout]) -> dict[str, dict[str, bool]]:
    """MCP annotations that the logs themselves carry (see `core.tool_hints`)."""
    distinct: dict[str, Mapping[str, JsonValue]] = {}
    for rollout in rollouts:
        logged = rollout.meta.get(META_KEY)
        if isinstance(logged, Mapping):
            distinct.setdefault(repr(logged), logged)
    return merged_hints(*({name: hints_of(given) for name, given in logged.items()} for logged in distinct.values()))


def tool_inventory(rollouts: Iterable[Rollout], rules: ToolRules) -> tuple[ToolSummary, ...]:
    """Count the calls of each tool, invalid rollouts included, and say how the rules take it.

    Args:
        rollouts: Recorded runs; annotations in their logs must already be among the rules (`logged_hints`).
        rules: How tool calls are compared.

    Returns:
        The tools, most called first, of equal ones by name.
    """
    seen: dict[str, _Seen] = defaultdict(_Seen)
    for rollout in rollouts:
        for action in rollout.actions:
            for call in action.tool_calls:
                seen[canonical_text(call.name)].add(call, rollout)
    return tuple(
        _summary(name, found, rules) for name, found in sorted(seen.items(), key=lambda item: (-item[1].calls, item[0]))
    )


def _summary(name: str, found: _Seen, rules: ToolRules) -> ToolSummary:
    objects = rules.naming_arguments(name, found.arguments.keys())
    configured = rules.configured_arguments(name)
    inside = {path: found.inner[path] for path in configured if path in found.inner and path not in found.arguments}
    listed = sorted((found.arguments | inside).items(), key=lambda item: (-item[1], item[0]))
    known = {*found.inner, *found.arguments, *(path.rpartition(".")[2] for path in found.inner)}
    return ToolSummary(
        name=name,
        calls=found.calls,
        rollouts=len(found.runs),
        tasks=len(found.tasks),
        verdict=rules.class_verdict(name),
        arguments=tuple(_argument(name, path, found, objects, rules) for path, _ in listed[:MAX_ARGUMENTS]),
        more_arguments=max(len(listed) - MAX_ARGUMENTS, 0),
        unknown_arguments=tuple(f"{path!r}{nearest(path, known)}" for path in sorted(configured - known)),
    )


def _argument(tool: str, path: str, found: _Seen, objects: Collection[str], rules: ToolRules) -> ArgumentSummary:
    mode = rules.modes(tool).at(path)
    return ArgumentSummary(
        path,
        found.arguments[path] or found.inner[path],
        _role(path, mode, found, objects),
        None if mode is None else str(mode),
    )


def _role(path: str, mode: ArgumentMode | None, found: _Seen, objects: Collection[str]) -> ArgumentRole:
    """Free text by its values where at least half of the strings are; the rules look at each pair of values."""
    if mode is Mode.IGNORE:
        return ArgumentRole.IGNORED
    if path in objects:
        return ArgumentRole.OBJECT
    if mode is Mode.TEXT:
        return ArgumentRole.TEXT
    mostly = found.strings[path] > 0 and 2 * found.texts[path] >= found.strings[path]
    if mostly and mode is not Mode.EXACT and not is_id(path):
        return ArgumentRole.TEXT
    return ArgumentRole.VALUE
