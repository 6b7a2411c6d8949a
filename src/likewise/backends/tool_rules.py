"""Compares tool calls as structures, before any model is asked.

Every decision is a row of RULES; docs/tool_rules.md explains them to users. Comparing is done in two steps,
so that texts of many actions can be judged in one batch: `plan_action` says which texts a judge must see, and
`Plan.resolve` makes the judgement from its answers.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from types import MappingProxyType
from typing import TypeAlias

from likewise.core.errors import LabelError
from likewise.core.labels import Judgement, Relation
from likewise.core.rollout import Action, JsonValue, ToolCall
from likewise.core.state_text import canonical_arguments, canonical_json, canonical_text, tool_call_text

__all__ = [
    "RULES",
    "ActionPlan",
    "CallSets",
    "FreeText",
    "Plan",
    "Rule",
    "ToolClass",
    "ToolRules",
    "is_refusal",
    "parse_call_text",
    "tool_class",
]

TextPair: TypeAlias = tuple[str, str]


class ToolClass(StrEnum):
    """Whether a call leaves the world as it was."""

    READS = "reads"
    CHANGES = "changes"


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: its name (shown as `tool:name`), when it applies, what it decides (None: the judge decides)."""

    name: str
    condition: str
    relation: Relation | None


RULES: tuple[Rule, ...] = (
    Rule("identical", "both actions have the same canonical text and calls", Relation.EQUIVALENT),
    Rule("empty-action", "one action says and calls nothing", Relation.NEUTRAL),
    Rule(
        "executes-against-refuses",
        "one action calls a tool that changes state, the other only says that it cannot",
        Relation.CONTRADICTORY,
    ),
    Rule("call-against-text", "one action calls, the other only speaks", Relation.NEUTRAL),
    Rule("unmatched-call", "one set of parallel calls has more calls than the other", Relation.NEUTRAL),
    Rule("same-call", "same tool, same arguments", Relation.EQUIVALENT),
    Rule("opposite-writes", "two tools with opposite verbs change the same object", Relation.CONTRADICTORY),
    Rule("different-tools", "two tools", Relation.NEUTRAL),
    Rule("other-object", "same tool, changes state, the arguments that name the object differ", Relation.NEUTRAL),
    Rule("other-look-up", "same tool, only reads, an argument that is not free text differs", Relation.NEUTRAL),
    Rule(
        "same-object-write",
        "same tool, changes state, sets the same argument of the same object to different values",
        Relation.CONTRADICTORY,
    ),
    Rule("free-text", "same tool, shared arguments differ only in free text", None),
    Rule("list-order", "same tool, shared arguments differ only in the order of a list", Relation.NEUTRAL),
    Rule("extra-argument", "same tool, one call has arguments that the other has not", Relation.NEUTRAL),
)
"""All rules; of two rows that fit, the earlier decides."""


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_READ_VERBS = _listed("""
    analyse analyze browse calculate check compare compute count describe detect diff display estimate evaluate
    examine explain fetch find get has head inspect is list look lookup measure peek preview query read retrieve scan
    search show stat summarise summarize test think validate verify view""")
_WRITE_VERBS = _listed("add book buy cancel create delete insert pay remove replace save send set update write")
_READ_NOUNS = frozenset(("search", "lookup", "query"))  # web_search
_OPPOSITES: frozenset[frozenset[str]] = frozenset(
    frozenset(pair.split("/"))
    for pair in _listed("""
    cancel/keep cancel/confirm cancel/renew cancel/reinstate approve/reject approve/deny approve/decline
    accept/decline accept/reject accept/deny grant/revoke grant/deny allow/deny allow/block enable/disable open/close
    add/remove add/delete create/delete create/remove insert/delete lock/unlock start/stop start/cancel pause/resume
    stop/resume activate/deactivate activate/suspend block/release subscribe/unsubscribe hold/release lift/place
    merge/close reopen/close mute/unmute raise/lower increase/decrease attach/detach connect/disconnect
    install/uninstall assign/unassign upgrade/downgrade publish/unpublish archive/restore delete/restore
    encrypt/decrypt login/logout show/hide debit/credit""")
)
_TEXT_KEYS = _listed("""
    answer body caption comment comments content description explanation feedback instruction instructions memo
    message note notes prompt query question rationale reason reasoning subject summary text thought thoughts
    title""")
_STRONG_ID = re.compile(r"(?:^|_)(?:id|ids|uuid|guid|ref|no|number|sku|imei|iccid|vin|iban|isbn)$")
_WEAK_ID = re.compile(
    r"(?:^|_)(?:email|e_mail|username|user|login|handle|account|path|file|filename|url|uri|host|hostname|ticker|symbol"
    r"|slug|to|recipient|recipients|last_?4|issue|ticket|order|booking|reservation|claim|pull_request|entity|record_class)$"
)
_SECONDARY = _listed("new old payment method target destination source parent to from phone mobile fax house")
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_NAME_SPACE = re.compile(r"__|[./:]")


def _words(name: str) -> list[str]:
    """Words of a snake, kebab, camel or dotted name, in lower case."""
    return [word.lower() for word in _WORDS.findall(name)]


def _tool_words(name: str) -> list[str]:
    """Words of a tool's own name, without the server or name space before it."""
    return _words(next((part for part in reversed(_NAME_SPACE.split(name)) if part), name))


def tool_class(name: str, overrides: Mapping[str, ToolClass] = MappingProxyType({})) -> ToolClass:
    """Whether a tool reads or changes state: the user's word, else the verb its name starts with.

    A verb that is not known to read changes state: a look-up taken for a change costs a wrong contradiction
    in a report, a change taken for a look-up hides one.
    """
    if name in overrides:
        return ToolClass(overrides[name])
    words = _tool_words(name)
    joined = {after for word, after in pairwise(words) if word in ("and", "or")}
    if not words or joined & _WRITE_VERBS:  # find_and_replace, get_or_create
        return ToolClass.CHANGES
    if words[:2] in (["check", "in"], ["check", "out"]):
        return ToolClass.CHANGES
    reads = words[0] in _READ_VERBS or (words[-1] in _READ_NOUNS and words[0] not in _WRITE_VERBS)
    return ToolClass.READS if reads else ToolClass.CHANGES


_CANNOT = re.compile(
    r"\b(?:unable to|can(?:not|'t| not)|could(?: not|n't)|(?:am|are|is|be)(?: not|n't) (?:able|allowed|permitted) to"
    r"|not possible|not eligible|ineligible|(?:must|have to|need to) (?:decline|refuse|deny)|won't be able to)\b"
    r"(?! (?:find|locate|see|access|verify|identify|retrieve|look|tell|confirm|proceed)\b)",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\b(?:without|until|unless|before|if)\b", re.IGNORECASE)
_COURTESY = re.compile(
    r"\s*(?:i understand|i(?:'m| am) (?:very |so )?sorry|i apologi[sz]e|thank|unfortunately|i see)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


def is_refusal(text: str) -> bool:
    """Whether the first sentence that is more than a courtesy plainly says that something cannot be done.

    "I cannot find ..." and "cannot ... without ..." ask for something and refuse nothing.
    """
    for match in _SENTENCE.finditer(canonical_text(text[:2000])):
        sentence = match.group()
        if _CANNOT.search(sentence):
            return not sentence.rstrip().endswith("?") and _CONDITION.search(sentence) is None
        if len(sentence.split()) >= 4 and not _COURTESY.match(sentence):
            return False
    return False


@dataclass(frozen=True, slots=True)
class FreeText:
    """Texts for the judge: the relation is the worst of their relations, kept between `floor` and `ceiling`.

    `rule` names the decision; None keeps the name that the judge gives.
    """

    pairs: tuple[TextPair, ...]
    floor: Relation = Relation.EQUIVALENT
    ceiling: Relation = Relation.CONTRADICTORY
    rule: str | None = "tool:free-text"

    def resolve(self, judgements: Mapping[TextPair, Judgement]) -> Judgement:
        """The judgement, from the judge's answers."""
        worst = _worst([_answer(judgements, pair) for pair in self.pairs])
        relation = min(max(worst.relation, self.floor), self.ceiling)
        if relation != worst.relation:
            return Judgement.certain(relation, self.rule or worst.rule)
        return worst if self.rule is None else Judgement(relation, worst.forward, worst.backward, self.rule)


@dataclass(frozen=True, slots=True)
class CallSets:
    """Two sets of parallel calls without their common ones: every call of the one against every call of the other."""

    grid: tuple[tuple[Judgement | FreeText, ...], ...]
    unmatched: Judgement | None
    common: Judgement | None

    def resolve(self, judgements: Mapping[TextPair, Judgement]) -> Judgement:
        """The worst relation within the best matching."""
        cells = [
            [cell if isinstance(cell, Judgement) else cell.resolve(judgements) for cell in row] for row in self.grid
        ]
        matched = [cells[i][j] for i, j in _matching([[cell.relation for cell in row] for row in cells])]
        return _worst(matched + [part for part in (self.unmatched, self.common) if part is not None])


@dataclass(frozen=True, slots=True)
class Plan:
    """What is left to do for one pair of actions: `needed_texts` go to a judge, its answers to `resolve`."""

    parts: tuple[Judgement | FreeText | CallSets, ...]

    @property
    def needed_texts(self) -> tuple[TextPair, ...]:
        """Pairs of texts that a judge must see, each once; none where the structure alone decides."""
        return tuple(dict.fromkeys(pair for part in self.parts for pair in _needed(part)))

    def resolve(self, judgements: Mapping[TextPair, Judgement] = MappingProxyType({})) -> Judgement:
        """The judgement of the pair of actions: the worst of its parts.

        Args:
            judgements: A judgement of each of `needed_texts`; either order of a pair will do.

        Raises:
            LabelError: A needed pair is missing.
        """
        return _worst([part if isinstance(part, Judgement) else part.resolve(judgements) for part in self.parts])


ActionPlan: TypeAlias = Plan


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
        table = {rule.name: rule.relation for rule in RULES}
        for name, relation in overrides.items():
            short = name.removeprefix("tool:")
            if short not in table:
                raise ValueError(f"no rule {name!r}; the rules are {', '.join(table)}")
            if relation is None and short != "free-text":
                raise ValueError(f"rule {name!r} needs a relation; only free-text can be left to the judge")
            table[short] = None if relation is None else Relation(relation)
        self._table = table
        self._classes = {name: ToolClass(value) for name, value in tool_classes.items()}
        self._ignored = frozenset(ignored_arguments)

    @property
    def rules_id(self) -> str:
        """Names table and changes; two with one id decide alike. Part of a number's signature."""
        content = [sorted(self._table.items()), sorted(self._classes.items()), sorted(self._ignored)]
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
            fixed = self._table["free-text"]
            if fixed is not None:
                return Judgement.certain(fixed, "tool:free-text")
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
            return Plan((Judgement.certain(self._relation("identical"), "identical"),))
        if a.is_empty or b.is_empty:
            return Plan((Judgement.certain(self._relation("empty-action"), "empty-action"),))
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

    def _relation(self, name: str) -> Relation:
        relation = self._table[name]
        assert relation is not None  # only free-text has none, see __init__
        return relation

    def _decide(self, name: str) -> Judgement:
        return Judgement.certain(self._relation(name), f"tool:{name}")

    def _opened(self, call: ToolCall) -> _Call:
        flat = dict(_flatten(_plain(canonical_arguments(call.arguments))))
        values = {path: value for path, value in flat.items() if not self._ignored & {path, path.rpartition(".")[2]}}
        name = canonical_text(call.name)
        return _Call(name, values, f"{name}({canonical_json(values)})")

    def _opposite(self, a: str, b: str, values_a: Mapping[str, JsonValue], values_b: Mapping[str, JsonValue]) -> bool:
        """Whether two tools that change state do opposite things to one object."""
        if ToolClass.READS in (self.tool_class(a), self.tool_class(b)):
            return False
        (verb_a, *rest_a), (verb_b, *rest_b) = _tool_words(a) or [""], _tool_words(b) or [""]
        nouns_a, nouns_b = {_stem(word) for word in rest_a}, {_stem(word) for word in rest_b}
        if not _are_opposite(verb_a, verb_b) or (nouns_a and nouns_b and not nouns_a & nouns_b):
            return False
        shared = values_a.keys() & values_b.keys()
        named = {key for key in shared if _is_id(key)}
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


def _plain(value: JsonValue) -> JsonValue:
    """The value with lists and objects that were sent as Python text ("['a']") as the lists and objects they are."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, str) and value[:1] in "{[" and value[-1:] in "}]" and 2 <= len(value) <= 50_000:
        literal = _literal(value)
        return value if literal is None else literal
    return value


def _literal(text: str) -> JsonValue:
    """A Python list or dict that is also JSON; None where the text is neither."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\\d" in a foreign string is not our reader's concern
            value = ast.literal_eval(text)
        return canonical_arguments(json.loads(json.dumps(value))) if isinstance(value, list | dict) else None
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


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


def _stem(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def _key_words(path: str) -> list[str]:
    return _words(path.rpartition(".")[2])


def _is_id(path: str) -> bool:
    name = "_".join(_key_words(path))
    return bool(_STRONG_ID.search(name) or _WEAK_ID.search(name))


def _is_text(path: str, a: Mapping[str, JsonValue], b: Mapping[str, JsonValue]) -> bool:
    """Whether a shared argument is free text: by its name, or because both values read like a sentence."""
    first, second = a[path], b[path]
    if not isinstance(first, str) or not isinstance(second, str) or _is_id(path):
        return False
    return bool(_TEXT_KEYS & set(_key_words(path)[-1:])) or (_is_sentence(first) and _is_sentence(second))


def _is_sentence(value: str) -> bool:
    words = value.split()
    return len(words) >= 4 and 2 * sum(any(c.isalpha() for c in word) for word in words) >= len(words)


def _naming(tool: str, paths: Collection[str]) -> set[str]:
    """The arguments that name the object of a change.

    Of the ids, those that the tool's own name speaks of (`order_id` in `cancel_order`); else all singular ids
    that are not of a side matter (payment_id, new_item_ids); else what commonly stands for an id (user, path).
    """
    strong: set[str] = set()
    weak: set[str] = set()
    side: set[str] = set()
    for path in paths:
        words = _key_words(path)
        name = "_".join(words)
        if _STRONG_ID.search(name):
            (side if words[-1] == "ids" or _SECONDARY & set(words) else strong).add(path)
        elif _WEAK_ID.search(name):
            weak.add(path)
    nouns = {_stem(word) for word in _tool_words(tool)[1:]}

    def named(keys: set[str]) -> set[str]:
        stems = {key: {_stem(word) for word in _key_words(key)[:-1]} for key in keys}
        return {key for key in keys if stems[key] and stems[key] <= nouns}

    return named(strong) or (named(side) if not strong else set()) or strong or named(weak) or weak or side


def _other_object(tool: str, a: Mapping[str, JsonValue], b: Mapping[str, JsonValue]) -> bool:
    """Whether two changes by one tool are of different objects, as far as their ids tell."""
    naming = _naming(tool, a.keys() | b.keys())
    shared = [key for key in naming if key in a and key in b]
    return any(not _same(a[key], b[key]) for key in shared) or (bool(naming) and not shared)


def _are_opposite(a: str, b: str) -> bool:
    prefixed = any(long == prefix + short for long, short in ((a, b), (b, a)) for prefix in ("un", "de", "dis"))
    return frozenset((a, b)) in _OPPOSITES or (prefixed and bool(a) and bool(b))


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


def _needed(part: Judgement | FreeText | CallSets) -> Iterator[TextPair]:
    if isinstance(part, FreeText):
        yield from part.pairs
    elif isinstance(part, CallSets):
        for row in part.grid:
            for cell in row:
                yield from _needed(cell)


def _answer(judgements: Mapping[TextPair, Judgement], pair: TextPair) -> Judgement:
    first, second = pair
    if pair in judgements:
        return judgements[pair]
    if (second, first) in judgements:
        return judgements[second, first].flipped
    raise LabelError("the judge gave no relation", first, second)


_ROW = {f"tool:{rule.name}": i for i, rule in enumerate(RULES)}


def _worst(judgements: Sequence[Judgement]) -> Judgement:
    """The judgement of greatest distance; of several the one whose rule is first in the table."""

    def place(j: Judgement) -> tuple[int, int, str, list[tuple[float, float, float]]]:
        return -j.relation, _ROW.get(j.rule, len(_ROW)), j.rule, sorted((j.forward, j.backward))

    return min(judgements, key=place)


_EXACT = 8


def _matching(cells: Sequence[Sequence[Relation]]) -> list[tuple[int, int]]:
    """Rows matched with columns at the least sum of distances, of equal sums with the fewest contradictions."""
    if not cells or not cells[0]:
        return []
    rows, columns = len(cells), len(cells[0])
    cost = [[256 * int(cell) + (cell is Relation.CONTRADICTORY) for cell in row] for row in cells]
    if rows > columns:
        turned = _matching([[cells[i][j] for i in range(rows)] for j in range(columns)])
        return [(i, j) for j, i in turned]
    if columns > _EXACT:
        return _greedy(cost)
    best: dict[int, tuple[int, list[tuple[int, int]]]] = {0: (0, [])}  # used columns -> cost and pairs so far
    for i in range(rows):
        following: dict[int, tuple[int, list[tuple[int, int]]]] = {}
        for used, (total, pairs) in best.items():
            for j in range(columns):
                mask, sum_ = used | 1 << j, total + cost[i][j]
                if mask != used and (mask not in following or sum_ < following[mask][0]):
                    following[mask] = (sum_, [*pairs, (i, j)])
        best = following
    return min(best.values(), key=lambda found: found[0])[1]


def _greedy(cost: list[list[int]]) -> list[tuple[int, int]]:
    """Nearest first; of equal distances the one earliest in both canonical orders."""
    order = sorted((value, min(i, j), max(i, j), i, j) for i, row in enumerate(cost) for j, value in enumerate(row))
    free_rows, free_columns = set(range(len(cost))), set(range(len(cost[0])))
    pairs = []
    for _, _, _, i, j in order:
        if i in free_rows and j in free_columns:
            free_rows.discard(i)
            free_columns.discard(j)
            pairs.append((i, j))
    return pairs


_CALL = re.compile(r"\s*(?:\[TOOLS?(?:[_ ]CALLS?)?\]:?\s*)?([A-Za-z_][\w.:/-]*)\(")
_SPACE = re.compile(r"\s*")
_CLOSE = re.compile(r"\s*\)\s*(?:[,;](?=\s*\S))?")


def parse_call_text(text: str) -> Action | None:
    """Read calls written as `name({...})`, one or several; None where the text is anything else.

    Arguments may be JSON, a Python dict (as some logs print them), a JSON string or nothing.
    """
    calls: list[ToolCall] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        head = _CALL.match(text, position)
        if head is None:
            return None
        read = _read_arguments(text, head.end())
        if read is None:
            return None
        arguments, position = read
        close = _CLOSE.match(text, position)
        if close is None:
            return None
        calls.append(ToolCall(head.group(1), arguments))
        position = close.end()
    return Action(tool_calls=tuple(calls)) if calls else None


def _read_arguments(text: str, start: int) -> tuple[dict[str, JsonValue] | str, int] | None:
    """Arguments that start here, and where they end."""
    if _CLOSE.match(text, start):
        return {}, start
    try:
        value, end = json.JSONDecoder().raw_decode(text, _SPACE.match(text, start).end())  # type: ignore[union-attr]
    except (ValueError, RecursionError):
        line_end = text.find("\n", start)
        closing = text.rfind(")", start, len(text) if line_end < 0 else line_end)
        value, end = _literal(text[start : max(closing, start)].strip()), closing
    return (value, end) if isinstance(value, dict | str) else None
