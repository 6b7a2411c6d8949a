"""Compares tool calls as structures, before any model is asked.

Every decision is a row of RULES; docs/tool_rules.md explains them to users. `ToolRules.plan_action` says which texts
of a pair of actions a judge must see, and the plan's `resolve` makes the judgement from its answers.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from likewise.backends.argument_modes import ArgumentMode, ArgumentModes, Differences, Mode, same
from likewise.backends.call_text import opened
from likewise.backends.tool_classes import ClassVerdict, ToolClasses
from likewise.backends.tool_names import (
    ToolClass,
    are_opposite,
    is_id,
    is_refusal,
    naming_arguments,
    stem,
    tool_words,
)
from likewise.backends.tool_rules_plan import (
    RULES,
    ActionPlan,
    CallSets,
    FreeText,
    Plan,
    Rule,
    TextPair,
    changed_table,
)
from likewise.backends.tool_settings import ToolSettings, read_settings
from likewise.backends.tools_file import Hints
from likewise.core.config import Table, read_config
from likewise.core.labels import Judgement, Relation
from likewise.core.rollout import Action, JsonValue, ToolCall
from likewise.core.state_text import canonical_arguments, canonical_json, canonical_text, tool_call_text

__all__ = ["RULES", "ActionPlan", "CallSets", "FreeText", "Plan", "Rule", "ToolClass", "ToolRules", "ToolSettings"]


class ToolRules:
    """The table, with a user's changes to it."""

    def __init__(
        self,
        overrides: Mapping[str, Relation | None] = MappingProxyType({}),
        tool_classes: Mapping[str, ToolClass] = MappingProxyType({}),
        ignored_arguments: Collection[str] = (),
        *,
        arguments: Mapping[str, ArgumentMode] = MappingProxyType({}),
        tools: Mapping[str, ToolSettings] = MappingProxyType({}),
        hints: Hints = MappingProxyType({}),
    ) -> None:
        """Take the user's changes.

        Args:
            overrides: New relations by rule name, with or without "tool:"; None hands free text to the judge.
            tool_classes: Tools that read or change state, by name, where annotation or verb would tell wrongly.
            ignored_arguments: Names of arguments that never matter (a time stamp, a page size).
            arguments: How arguments of all tools are compared, by dotted path or bare name.
            tools: What holds for single tools, by name.
            hints: MCP annotations by tool name: a pin goes before them, they go before the verb.

        Raises:
            ValueError: A rule or a class is unknown, or a rule that is fixed would change.
        """
        self._table, self._free_text = changed_table(overrides)
        self._classes = ToolClasses.of_names(tool_classes, hints)
        self._common = {**arguments, **dict.fromkeys(ignored_arguments, Mode.IGNORE)}
        self._tools = {canonical_text(name): each for name, each in tools.items() if each != ToolSettings()}

    @classmethod
    def from_config(cls, config: Table | str | Path | None = None, tools_files: Sequence[str | Path] = ()) -> ToolRules:
        """The rules of a configuration file, or of one already read; the defaults where None.

        Args:
            config: As `core.config.read_config` gives it, or the file's path.
            tools_files: Answers to MCP's `tools/list`, beside those that the configuration names.

        Raises:
            ConfigError: The configuration or a tools file cannot be used.
        """
        table = config if isinstance(config, Table) else Table() if config is None else read_config(config)
        read = read_settings(table, tools_files)
        return cls(read.overrides, read.tool_classes, arguments=read.arguments, tools=read.tools, hints=read.hints)

    def with_hints(self, hints: Hints) -> ToolRules:
        """The same rules with further MCP annotations (of a log that carries definitions of its tools)."""
        if not hints:
            return self
        changed = copy.copy(self)
        changed._classes = self._classes.with_hints(hints)
        return changed

    @property
    def rules_id(self) -> str:
        """Names table and changes; two with one id decide alike. Part of a number's signature."""
        pins, hints = self._classes.content()
        content: list[object] = [
            sorted({**self._table, "free-text": self._free_text}.items()),
            pins,
            _modes_content(self._common),
        ]
        tools = [
            (
                name,
                _modes_content(each.arguments),
                each.list_order,
                None if each.objects is None else sorted(each.objects),
            )
            for name, each in sorted(self._tools.items())
        ]
        content += [hints, tools] if hints or tools else []
        return "tool-rules-1-" + hashlib.blake2b(json.dumps(content).encode(), digest_size=4).hexdigest()

    def tool_class(self, name: str) -> ToolClass:
        """Whether a tool reads or changes state."""
        return self._classes.of(name).tool_class

    def class_verdict(self, name: str) -> ClassVerdict:
        """The same, with who says so and why."""
        return self._classes.of(name)

    @property
    def configured_tools(self) -> set[str]:
        """Tools of which the user says something by name."""
        return {*self._classes.pins, *self._tools}

    @property
    def hinted_tools(self) -> set[str]:
        """Tools of which an annotation was read."""
        return set(self._classes.hints)

    def configured_arguments(self, tool: str) -> set[str]:
        """Dotted paths and bare names of the arguments of one tool of which the user says something."""
        own = self._tools.get(tool, ToolSettings())
        return {*own.arguments, *(own.objects or ())}

    def modes(self, tool: str) -> ArgumentModes:
        """How the arguments of a tool are compared."""
        own = self._tools.get(tool)
        return ArgumentModes(own.arguments if own else MappingProxyType({}), self._common)

    def naming_arguments(self, tool: str, paths: Collection[str]) -> set[str]:
        """Those of some arguments of a tool that name the object it changes."""
        objects = self._tools[tool].objects if tool in self._tools else None
        if objects is not None:
            return {path for path in paths if objects & {path, path.rpartition(".")[2]}}
        modes = self.modes(tool)
        return naming_arguments(tool, [path for path in paths if modes.at(path) is not Mode.TEXT])

    def call_key(self, call: ToolCall) -> str:
        """Equal for calls that are the same but for what is ignored or has no order; tolerances do not enter."""
        return self._opened(call).key

    def compare_calls(self, a: ToolCall, b: ToolCall) -> Judgement | FreeText:
        """Compare two calls; FreeText where a judge has to read their texts. Symmetric."""
        return self._compare(self._opened(a), self._opened(b))

    def _compare(self, a: _Call, b: _Call) -> Judgement | FreeText:
        if a.name != b.name:
            return self._decide("opposite-writes" if self._opposite(a, b) else "different-tools")
        differing = Differences.between(a.values, b.values, self.modes(a.name))
        reads = self.tool_class(a.name) is ToolClass.READS
        if differing.nothing:
            return self._decide("same-call")
        if not reads and self._other_object(a, b, differing):
            return self._decide("other-object")
        if differing.other:
            return self._decide("other-look-up" if reads else "same-object-write")
        beside = self._beside(a.name, differing)
        if not differing.texts:
            return max(beside, key=lambda judgement: judgement.relation)
        floor = max((judgement.relation for judgement in beside), default=Relation.EQUIVALENT)
        if self._free_text is None:
            ceiling = Relation.NEUTRAL if reads else Relation.CONTRADICTORY
            return FreeText(tuple(differing.texts), floor, max(floor, ceiling))
        return Judgement.certain(max(self._free_text, floor), "tool:free-text")

    def _beside(self, tool: str, differing: Differences) -> list[Judgement]:
        """What is to be said of reordered lists and of extra arguments, the earlier row first."""
        found = []
        if differing.reordered:
            found.append(Judgement.certain(self._list_order(tool), "tool:list-order"))
        if differing.extra:
            found.append(self._decide("extra-argument"))
        return found

    def _list_order(self, tool: str) -> Relation:
        own = self._tools[tool].list_order if tool in self._tools else None
        return self._table["list-order"] if own is None else own

    def _other_object(self, a: _Call, b: _Call, differing: Differences) -> bool:
        """Whether two changes by one tool are of different objects, as far as the arguments that name them tell."""
        naming = self.naming_arguments(a.name, a.values.keys() | b.values.keys())
        shared = {key for key in naming if key in a.values and key in b.values}
        unlike = differing.paths
        if self._list_order(a.name) is Relation.EQUIVALENT:
            unlike = unlike - differing.reordered
        return bool(shared & unlike) or (bool(naming) and not shared)

    def plan(self, a: Sequence[ToolCall], b: Sequence[ToolCall]) -> Plan:
        """Compare two sets of parallel calls.

        Equal calls are paired first. The others are matched so that the sum of distances is least (exactly up
        to 8 calls a side, beyond that nearest first), of equal sums the one with fewer contradictions; calls
        without a partner are neutral. The relation is the worst of all.
        """
        rest_a, rest_b, common = _without_common([self._opened(call) for call in a], [self._opened(call) for call in b])
        grid = tuple(tuple(self._compare(x, y) for y in rest_b) for x in rest_a)
        return Plan(
            (
                CallSets(
                    grid,
                    self._decide("unmatched-call") if len(rest_a) != len(rest_b) else None,
                    self._decide("same-call") if common or not (rest_a or rest_b) else None,
                ),
            )
        )

    def compare_call_sets(
        self,
        a: Sequence[ToolCall],
        b: Sequence[ToolCall],
        judge_texts: Callable[[Sequence[TextPair]], Sequence[Judgement]],
    ) -> Judgement:
        """Compare two sets of parallel calls at once; `judge_texts` is called at most once."""
        plan = self.plan(a, b)
        needed = plan.needed_texts
        return plan.resolve(dict(zip(needed, judge_texts(needed), strict=True)) if needed else {})

    def plan_action(self, a: Action, b: Action) -> ActionPlan:
        """Compare two actions: text with text, calls with calls; of both the larger distance."""
        text_a, text_b = canonical_text(a.text), canonical_text(b.text)
        if text_a == text_b and _call_texts(a) == _call_texts(b):
            return Plan((Judgement.certain(self._table["identical"], "identical"),))
        if a.is_empty or b.is_empty:
            return Plan((Judgement.certain(self._table["empty-action"], "empty-action"),))
        texts: tuple[TextPair, ...] = ((text_a, text_b),) if text_a and text_b and text_a != text_b else ()
        if a.tool_calls and b.tool_calls:
            spoken = (FreeText(texts, rule=None),) if texts else ()
            return Plan((*self.plan(a.tool_calls, b.tool_calls).parts, *spoken))
        if not a.tool_calls and not b.tool_calls:
            return Plan((FreeText(texts, rule=None),))
        calling, speaking = (a, b) if a.tool_calls else (b, a)
        changes = any(self.tool_class(call.name) is ToolClass.CHANGES for call in calling.tool_calls)
        if changes and is_refusal(speaking.text):
            return Plan((self._decide("executes-against-refuses"),))
        against = self._decide("call-against-text")
        return Plan((against, FreeText(texts, rule=None)) if texts else (against,))

    def _decide(self, name: str) -> Judgement:
        return Judgement.certain(self._table[name], f"tool:{name}")

    def _opened(self, call: ToolCall) -> _Call:
        name = canonical_text(call.name)
        values = self.modes(name).values(opened(canonical_arguments(call.arguments)))
        return _Call(name, values, f"{name}({canonical_json(values)})")

    def _opposite(self, a: _Call, b: _Call) -> bool:
        """Whether two tools that change state do opposite things to one object."""
        if ToolClass.READS in (self.tool_class(a.name), self.tool_class(b.name)):
            return False
        (verb_a, *rest_a), (verb_b, *rest_b) = tool_words(a.name) or [""], tool_words(b.name) or [""]
        nouns_a, nouns_b = {stem(word) for word in rest_a}, {stem(word) for word in rest_b}
        if not are_opposite(verb_a, verb_b) or (nouns_a and nouns_b and not nouns_a & nouns_b):
            return False
        shared = a.values.keys() & b.values.keys()
        named = {key for key in shared if self._may_name(a.name, key) or self._may_name(b.name, key)}
        differing = {key for key in shared if not same(a.values[key], b.values[key])}
        other_thing = {
            key
            for key in differing
            if str in (type(a.values[key]), type(b.values[key])) and not self._is_text(a, b, key)
        }
        return bool(named) and not named & differing and not other_thing

    def _may_name(self, tool: str, path: str) -> bool:
        objects = self._tools[tool].objects if tool in self._tools else None
        return is_id(path) if objects is None else bool(objects & {path, path.rpartition(".")[2]})

    def _is_text(self, a: _Call, b: _Call, path: str) -> bool:
        """Whether an argument that two tools share is free text in both."""
        x, y = a.values[path], b.values[path]
        return (
            isinstance(x, str)
            and isinstance(y, str)
            and self.modes(a.name).is_text(path, x, y)
            and self.modes(b.name).is_text(path, x, y)
        )


def _modes_content(modes: Mapping[str, ArgumentMode]) -> list[tuple[str, str]]:
    return sorted((path, mode.value if isinstance(mode, Mode) else repr(mode)) for path, mode in modes.items())


@dataclass(frozen=True, slots=True)
class _Call:
    """A call with its arguments by dotted path."""

    name: str
    values: dict[str, JsonValue]
    key: str


def _call_texts(action: Action) -> list[str]:
    return sorted(tool_call_text(call) for call in action.tool_calls)


def _without_common(a: list[_Call], b: list[_Call]) -> tuple[list[_Call], list[_Call], int]:
    """Both sides in canonical order without the calls they share, counted as often as they occur, and how many."""
    common = Counter(call.key for call in a) & Counter(call.key for call in b)
    return _less(a, common), _less(b, common), common.total()


def _less(calls: list[_Call], common: Counter[str]) -> list[_Call]:
    left, rest = common.copy(), []
    for call in sorted(calls, key=lambda call: call.key):
        if left[call.key]:
            left[call.key] -= 1
        else:
            rest.append(call)
    return rest
