"""Compares tool calls as structures, before any model is asked.

Every decision is a row of RULES; docs/tool_rules.md explains them to users. `ToolRules.plan_action` says which texts
of a pair of actions a judge must see, and the plan's `resolve` makes the judgement from its answers.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from likewise.backends.call_text import opened
from likewise.backends.tool_names import (
    ToolClass,
    are_opposite,
    is_id,
    is_refusal,
    is_sentence,
    is_text_name,
    naming_arguments,
    stem,
    tool_class,
    tool_words,
)
from likewise.backends.tool_rules_plan import RULES, ActionPlan, CallSets, FreeText, Plan, Rule, TextPair
from likewise.core.labels import Judgement, Relation
from likewise.core.rollout import Action, JsonValue, ToolCall
from likewise.core.state_text import canonical_arguments, canonical_json, canonical_text, tool_call_text

__all__ = ["RULES", "ActionPlan", "CallSets", "FreeText", "Plan", "Rule", "ToolClass", "ToolRules"]


class ToolRules:
    """The table, with a user's changes to it."""

    def __init__(
        self,
        overrides: Mapping[str, Relation | None] = MappingProxyType({}),
        tool_classes: Mapping[str, ToolClass] = MappingProxyType({}),
        ignored_arguments: Collection[str] = (),
    ) -> None:
        """Take the user's changes.

        Args:
            overrides: New relations by rule name, with or without "tool:"; None hands free text to the judge.
            tool_classes: Tools that read or change state, by name, where the verb would tell wrongly.
            ignored_arguments: Names of arguments that never matter (a time stamp, a page size).

        Raises:
            ValueError: A rule or a class is unknown.
        """
        names = [rule.name for rule in RULES]
        table = {rule.name: rule.relation for rule in RULES if rule.relation is not None}
        free_text: Relation | None = None
        for name, relation in overrides.items():
            short = name.removeprefix("tool:")
            if short not in names:
                raise ValueError(f"no rule {name!r}; the rules are {', '.join(names)}")
            if short == "free-text":
                free_text = None if relation is None else Relation(relation)
            elif relation is None:
                raise ValueError(f"rule {name!r} needs a relation; only free-text can be left to the judge")
            else:
                table[short] = Relation(relation)
        self._table, self._free_text = table, free_text
        self._classes = {name: ToolClass(value) for name, value in tool_classes.items()}
        self._ignored = frozenset(ignored_arguments)

    @property
    def rules_id(self) -> str:
        """Names table and changes; two with one id decide alike. Part of a number's signature."""
        table = {**self._table, "free-text": self._free_text}
        content = [sorted(table.items()), sorted(self._classes.items()), sorted(self._ignored)]
        return "tool-rules-1-" + hashlib.blake2b(json.dumps(content).encode(), digest_size=4).hexdigest()

    def tool_class(self, name: str) -> ToolClass:
        """Whether a tool reads or changes state."""
        return tool_class(name, self._classes)

    def compare_calls(self, a: ToolCall, b: ToolCall) -> Judgement | FreeText:
        """Compare two calls; FreeText where a judge has to read their texts. Symmetric."""
        return self._compare(self._opened(a), self._opened(b))

    def _compare(self, a: _Call, b: _Call) -> Judgement | FreeText:
        values_a, values_b = a.values, b.values
        if a.name != b.name:
            return self._decide(
                "opposite-writes" if self._opposite(a.name, b.name, values_a, values_b) else "different-tools"
            )
        differing = _Differences.between(values_a, values_b)
        reads = self.tool_class(a.name) is ToolClass.READS
        if differing.nothing:
            return self._decide("same-call")
        if not reads and _other_object(a.name, values_a, values_b):
            return self._decide("other-object")
        if differing.values:
            return self._decide("other-look-up" if reads else "same-object-write")
        if differing.texts:
            if self._free_text is not None:
                return Judgement.certain(self._free_text, "tool:free-text")
            floor = Relation.NEUTRAL if differing.extra or differing.order else Relation.EQUIVALENT
            ceiling = Relation.NEUTRAL if reads else Relation.CONTRADICTORY
            return FreeText(differing.texts, floor, ceiling)
        return self._decide("list-order" if differing.order else "extra-argument")

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
        flat = dict(_flatten(opened(canonical_arguments(call.arguments))))
        values = {path: value for path, value in flat.items() if not self._ignored & {path, path.rpartition(".")[2]}}
        name = canonical_text(call.name)
        return _Call(name, values, f"{name}({canonical_json(values)})")

    def _opposite(self, a: str, b: str, values_a: Mapping[str, JsonValue], values_b: Mapping[str, JsonValue]) -> bool:
        """Whether two tools that change state do opposite things to one object."""
        if ToolClass.READS in (self.tool_class(a), self.tool_class(b)):
            return False
        (verb_a, *rest_a), (verb_b, *rest_b) = tool_words(a) or [""], tool_words(b) or [""]
        nouns_a, nouns_b = {stem(word) for word in rest_a}, {stem(word) for word in rest_b}
        if not are_opposite(verb_a, verb_b) or (nouns_a and nouns_b and not nouns_a & nouns_b):
            return False
        shared = values_a.keys() & values_b.keys()
        named = {key for key in shared if is_id(key)}
        differing = {key for key in shared if not _same(values_a[key], values_b[key])}
        other_thing = {
            key
            for key in differing
            if str in (type(values_a[key]), type(values_b[key])) and not _is_text(key, values_a, values_b)
        }
        return bool(named) and not named & differing and not other_thing


@dataclass(frozen=True, slots=True)
class _Call:
    """A call with its arguments by dotted path; an unparsed string is one argument without a name."""

    name: str
    values: dict[str, JsonValue]
    key: str


@dataclass(frozen=True, slots=True)
class _Differences:
    """How two argument lists differ."""

    extra: bool
    order: bool
    values: bool
    texts: tuple[TextPair, ...]

    @property
    def nothing(self) -> bool:
        return not (self.extra or self.order or self.values or self.texts)

    @classmethod
    def between(cls, a: Mapping[str, JsonValue], b: Mapping[str, JsonValue]) -> _Differences:
        order = values = False
        texts: list[TextPair] = []
        for key in sorted(key for key in a.keys() & b.keys() if not _same(a[key], b[key])):
            first, second = a[key], b[key]
            if _is_text(key, a, b):
                pair = (str(first), str(second))
                if pair[0].casefold() != pair[1].casefold():
                    texts.append(pair)
            elif isinstance(first, list) and isinstance(second, list) and _as_bag(first) == _as_bag(second):
                order = True
            else:
                values = True
        return cls(a.keys() != b.keys(), order, values, tuple(texts))


def _flatten(value: JsonValue, path: str = "") -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, dict) and (value or not path):
        for key, item in value.items():
            yield from _flatten(item, f"{path}.{key}" if path else key)
    else:
        yield path, value


def _same(a: JsonValue, b: JsonValue) -> bool:
    """Equal in canonical JSON; a number equals the string that spells it the same way."""
    text_a, text_b = canonical_json(a), canonical_json(b)
    if (isinstance(a, str) and _is_number(b)) or (isinstance(b, str) and _is_number(a)):
        return text_a.strip('"') == text_b.strip('"')
    return text_a == text_b


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _as_bag(items: list[JsonValue]) -> list[str]:
    return sorted(canonical_json(item) for item in items)


def _is_text(path: str, a: Mapping[str, JsonValue], b: Mapping[str, JsonValue]) -> bool:
    """Whether a shared argument is free text: by its name, or because both values read like a sentence."""
    first, second = a[path], b[path]
    if not isinstance(first, str) or not isinstance(second, str) or is_id(path):
        return False
    return is_text_name(path) or (is_sentence(first) and is_sentence(second))


def _other_object(tool: str, a: Mapping[str, JsonValue], b: Mapping[str, JsonValue]) -> bool:
    """Whether two changes by one tool are of different objects, as far as their ids tell."""
    naming = naming_arguments(tool, a.keys() | b.keys())
    shared = [key for key in naming if key in a and key in b]
    return any(not _same(a[key], b[key]) for key in shared) or (bool(naming) and not shared)


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
