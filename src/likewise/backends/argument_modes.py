"""How two argument lists of one tool differ, and what a user says of single arguments.

A mode holds for an argument and everything in it. Arguments are named by dotted paths that go through lists:
`passengers.dob` is the `dob` of every passenger. A name without dots is that argument wherever it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from math import isfinite
from typing import TypeAlias

from likewise.backends.tool_names import is_id, is_sentence, is_text_name
from likewise.backends.tool_rules_plan import TextPair
from likewise.core.rollout import JsonValue
from likewise.core.state_text import canonical_json

__all__ = ["ArgumentMode", "ArgumentModes", "Differences", "Mode", "Tolerance", "flatten", "same"]

Values: TypeAlias = Mapping[str, JsonValue]
"""Arguments by dotted path; lists are values."""

LONGEST_MATCHED = 100
"""Items up to which lists without order are matched item by item under a tolerance; longer ones by sorted order."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,29})(?:\.[0-9]{1,30})?")


class Mode(StrEnum):
    """How the values of one argument are compared, where a user says so."""

    EXACT = "exact"
    """Any difference is another value: of words and of the order of a list too."""
    IGNORE = "ignore"
    """The argument might as well not be there."""
    SET = "set"
    """Neither the order of a list nor how often an item stands in it matters."""
    UNORDERED = "unordered"
    """The order of a list does not matter."""
    TEXT = "text"
    """Two strings go to the judge, whatever they look like."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Numbers are the same up to a difference, in decimals as written (1.1 and 1.0 differ by 0.1, not more).

    Attributes:
        absolute: Largest difference, at least 0.
        relative: Largest difference as a share of the larger of the two magnitudes, 0 to 1. Either may cover it.
    """

    absolute: float = 0.0
    relative: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is no tolerance."""
        if not (isfinite(self.absolute) and self.absolute >= 0 and 0 <= self.relative <= 1):
            raise ValueError(f"a tolerance is absolute >= 0 and 0 <= relative <= 1, got {self}")

    def __str__(self) -> str:
        """`absolute 0.01`."""
        parts = [f"{name} {value:g}" for name in ("absolute", "relative") if (value := getattr(self, name))]
        return " or ".join(parts) or "absolute 0"

    def covers(self, a: JsonValue, b: JsonValue) -> bool:
        """Whether two numbers, or strings that spell numbers, are this close; never for anything else."""
        x, y = _number(a), _number(b)
        if x is None or y is None:
            return False
        share = Fraction(str(self.relative)) * max(abs(x), abs(y))
        return abs(x - y) <= max(Fraction(str(self.absolute)), share)


ArgumentMode: TypeAlias = Mode | Tolerance


def _number(value: JsonValue) -> Fraction | None:
    if isinstance(value, str):
        return Fraction(value) if _NUMBER.fullmatch(value) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    return Fraction(repr(value)) if isinstance(value, float) and isfinite(value) else None


def flatten(value: JsonValue, path: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Arguments by dotted path; an unparsed string is one argument without a name."""
    if isinstance(value, dict) and (value or not path):
        for key, item in value.items():
            yield from flatten(item, _join(path, key))
    else:
        yield path, value


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def same(a: JsonValue, b: JsonValue) -> bool:
    """Equal in canonical JSON; a number equals the string that spells it the same way."""
    text_a, text_b = canonical_json(a), canonical_json(b)
    if (isinstance(a, str) and _is_number(b)) or (isinstance(b, str) and _is_number(a)):
        return text_a.strip('"') == text_b.strip('"')
    return text_a == text_b


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class ArgumentModes:
    """The modes that hold for one tool.

    What is said of the tool goes before what is said of all tools; of several paths that hold, the one that reaches
    deepest decides; of a full path and a bare name of equal depth, the full path.
    """

    own: Mapping[str, ArgumentMode] = field(default_factory=dict)
    common: Mapping[str, ArgumentMode] = field(default_factory=dict)

    def at(self, path: str) -> ArgumentMode | None:
        """The mode of an argument, by its dotted path; None where the defaults hold."""
        for modes in (self.own, self.common):
            prefix = path if modes else ""
            while prefix:
                rest, _, last = prefix.rpartition(".")
                found = modes.get(prefix) or modes.get(last)
                if found is not None:
                    return found
                prefix = rest
        return (self.own.get("") or self.common.get("")) if not path else None

    @property
    def look_into_lists(self) -> bool:
        """Whether items of lists must be compared one by one: under a tolerance, or as texts."""
        every = (*self.own.values(), *self.common.values())
        return any(mode is Mode.TEXT or isinstance(mode, Tolerance) for mode in every)

    def values(self, arguments: JsonValue) -> dict[str, JsonValue]:
        """Arguments by dotted path: without what is ignored, lists without order sorted, sets without repeats."""
        if self.own or self.common:
            arguments = self._normal(arguments, "", named=True)
        return dict(flatten(arguments))

    def _normal(self, value: JsonValue, path: str, named: bool) -> JsonValue:
        """`named`: the value has a key of its own. A list right inside a list keeps its order: it may be a point."""
        if isinstance(value, dict):
            kept: dict[str, JsonValue] = {}
            for key, item in value.items():
                inner = _join(path, key)
                if self.at(inner) is Mode.IGNORE and not (isinstance(item, dict) and item):
                    continue
                normal = self._normal(item, inner, named=True)
                if normal != {} or item == {}:  # an object of which nothing is left goes with what was in it
                    kept[key] = normal
            return kept
        if isinstance(value, list):
            items = [self._normal(item, path, named=False) for item in value]
            mode = self.at(path) if named else None
            if mode is Mode.SET:
                return list({canonical_json(item): item for item in sorted(items, key=canonical_json)}.values())
            return sorted(items, key=canonical_json) if mode is Mode.UNORDERED else items
        return value

    def is_text(self, path: str, a: str, b: str, in_list: bool = False) -> bool:
        """Whether two strings are free text: by the user's word, the argument's name, or both read like sentences."""
        mode = self.at(path)
        if mode is Mode.TEXT:
            return True
        if mode is Mode.EXACT or in_list or is_id(path):
            return False
        return is_text_name(path) or (is_sentence(a) and is_sentence(b))

    def alike(self, path: str, a: JsonValue, b: JsonValue) -> bool:
        """Whether two values count as the same one, tolerances included."""
        if same(a, b):
            return True
        if not self.look_into_lists:
            return False
        mode = self.at(path)
        if isinstance(mode, Tolerance) and mode.covers(a, b):
            return True
        if isinstance(a, dict) and isinstance(b, dict):
            return a.keys() == b.keys() and all(self.alike(_join(path, key), a[key], b[key]) for key in a)
        if not isinstance(a, list) or not isinstance(b, list):
            return False
        if mode is Mode.SET:
            return all(any(self.alike(path, x, y) for y in b) for x in a) and all(
                any(self.alike(path, x, y) for x in a) for y in b
            )
        if mode is Mode.UNORDERED:
            return self.alike_in_any_order(path, a, b)
        return len(a) == len(b) and all(self.alike(path, x, y) for x, y in zip(a, b, strict=True))

    def alike_in_any_order(self, path: str, a: Sequence[JsonValue], b: Sequence[JsonValue]) -> bool:
        """Whether the items of two lists can be paired so that each pair is alike."""
        if len(a) != len(b):
            return False
        first, second = sorted(a, key=canonical_json), sorted(b, key=canonical_json)
        if [canonical_json(item) for item in first] == [canonical_json(item) for item in second]:
            return True
        if not self.look_into_lists:
            return False
        if len(a) > LONGEST_MATCHED:
            return all(self.alike(path, x, y) for x, y in zip(first, second, strict=True))
        return _has_perfect_matching([[j for j, y in enumerate(second) if self.alike(path, x, y)] for x in first])


def _has_perfect_matching(partners: Sequence[Sequence[int]]) -> bool:
    """Whether each row can have a partner of its own: augmenting paths (Kuhn 1955)."""
    row_of: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        for column in partners[row]:
            if column not in tried:
                tried.add(column)
                if column not in row_of or place(row_of[column], tried):
                    row_of[column] = row
                    return True
        return False

    return all(place(row, set()) for row in range(len(partners)))


@dataclass(slots=True)
class Differences:
    """How two argument lists differ.

    Attributes:
        modes: What the user says of the tool's arguments.
        extra: One list has an argument that the other has not.
        other: A shared argument has another value.
        texts: Texts of shared arguments that a judge must compare.
        paths: Shared arguments that are not alike.
        reordered: Those of them that differ only in the order of a list.
    """

    modes: ArgumentModes
    extra: bool = False
    other: bool = False
    texts: list[TextPair] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    reordered: set[str] = field(default_factory=set)

    @classmethod
    def between(cls, a: Values, b: Values, modes: ArgumentModes) -> Differences:
        """Compare what `ArgumentModes.values` gave for two calls of one tool."""
        found = cls(modes, extra=a.keys() != b.keys())
        for path in sorted(a.keys() & b.keys()):
            if not modes.alike(path, a[path], b[path]):
                found.paths.add(path)
                found._compare(path, a[path], b[path])
        return found

    @property
    def nothing(self) -> bool:
        """Whether the calls are the same."""
        return not (self.extra or self.other or self.texts or self.reordered)

    def _compare(self, path: str, a: JsonValue, b: JsonValue, in_list: bool = False) -> None:
        """Say how two values that are not alike differ; inside lists, only a user's word makes a string free text."""
        mode = self.modes.at(path)
        if isinstance(a, list) and isinstance(b, list):
            if mode not in (Mode.EXACT, Mode.SET) and not in_list and self.modes.alike_in_any_order(path, a, b):
                self.reordered.add(path)
            elif mode not in (Mode.SET, Mode.UNORDERED) and self.modes.look_into_lists and len(a) == len(b):
                self._items(path, a, b)
            else:
                self.other = True
        elif in_list and isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
            for key in sorted(a):
                if not self.modes.alike(_join(path, key), a[key], b[key]):
                    self._compare(_join(path, key), a[key], b[key], in_list=True)
        elif isinstance(a, str) and isinstance(b, str) and self.modes.is_text(path, a, b, in_list):
            if a.casefold() != b.casefold():
                self.texts.append((a, b))
        else:
            self.other = True

    def _items(self, path: str, a: Sequence[JsonValue], b: Sequence[JsonValue]) -> None:
        for x, y in zip(a, b, strict=True):
            if not self.modes.alike(path, x, y):
                self._compare(path, x, y, in_list=True)
