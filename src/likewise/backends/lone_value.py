"""One value that differs where all else agrees: two texts that a judge calls equivalent, and $38 against $41.

The slot guard compares values behind the same words. Where a text is said anew, the words before a value are others;
then the values themselves tell: if all of them are in both texts but for one of a kind on each side, these two are
what the texts say of the same thing. Colours, sizes and other words that exclude each other count as values.
"""

from __future__ import annotations

from likewise.backends.aligned import exclusive_words
from likewise.backends.slots import (
    NAMING,
    RuleVerdict,
    Slot,
    SlotKind,
    SlotVerdict,
    Value,
    same_value,
    slots_of,
    words_of,
)
from likewise.core.labels import Relation

__all__ = ["lone_value"]

LEAST_SHARED = 0.4
"""Part of the shorter text's words that the other must have, too: below it the texts may speak of two things."""
MOST_SLOTS = 40
"""Values of a text that are compared; a table of more is not one statement."""
_UNITS = frozenset((SlotKind.MONEY, SlotKind.DURATION, SlotKind.QUANTITY))
_MEASURED = frozenset((*_UNITS, SlotKind.PERCENT, SlotKind.DATE, SlotKind.TIME))
"""Bare numbers are not among them: they count list items and things that the other text does not count."""

_THINGS = frozenset(("colour", "size", "cabin", "weekday", "day", "time of day", "material", "rhythm", "trip"))
"""Classes of words whose members name nothing else: "right", "after" and "processed" are said of anything."""


def lone_value(a: str, b: str) -> RuleVerdict | None:
    """What the one value in which two texts differ makes of an equivalence; None where it is not one value.

    Args:
        a: One text.
        b: The other; the order does not matter.

    Returns:
        A verdict that turns an equivalence into a contradiction and leaves all else, or None.
    """
    names_a, names_b = _names(a), _names(b)
    if names_a - names_b and names_b - names_a:
        return None  # they speak of two objects
    words_a, words_b = words_of(a), words_of(b)
    if len(words_a & words_b) < LEAST_SHARED * min(len(words_a), len(words_b)):
        return None
    return _slots(_values(a), _values(b)) or _words(exclusive_words(a), exclusive_words(b))


def _slots(first: list[Slot], second: list[Slot]) -> SlotVerdict | None:
    if not first or not second or max(len(first), len(second)) > MOST_SLOTS:
        return None
    only_a, only_b = _missing(first, second), _missing(second, first)
    if len({_key(x) for x in only_a}) != 1 or len({_key(x) for x in only_b}) != 1:
        return None
    x, y = only_a[0], only_b[0]
    if x.kind is not y.kind or (x.kind in _UNITS and x.value[0] != y.value[0]) or _is_turned(x, y):
        return None
    return SlotVerdict(Relation.CONTRADICTORY, "slots:lone-value", x, y, is_cap=True)


def _words(first: dict[str, set[str]], second: dict[str, set[str]]) -> RuleVerdict | None:
    differing = [
        name
        for name in first.keys() & second.keys()
        if name in _THINGS and first[name] - second[name] and second[name] - first[name]
    ]
    if len(differing) != 1:
        return None
    (name,) = differing
    if len(first[name] ^ second[name]) != 2:
        return None
    return RuleVerdict(Relation.CONTRADICTORY, "aligned:lone-word", is_cap=True)


def _values(text: str) -> list[Slot]:
    return [slot for slot in slots_of(text) if slot.kind in _MEASURED]


def _names(text: str) -> set[Value]:
    return {slot.value for slot in slots_of(text) if slot.kind in NAMING}


def _missing(slots: list[Slot], others: list[Slot]) -> list[Slot]:
    """Slots whose value the other text does not have."""
    return [x for x in slots if not any(x.kind is y.kind and same_value(x, y) for y in others)]


def _key(slot: Slot) -> tuple[SlotKind, Value]:
    return (slot.kind, slot.value)


def _is_turned(x: Slot, y: Slot) -> bool:
    """Whether two amounts differ by their sign alone: "-$0.60" is "$0.60 refunded"."""
    return str(x.value[-1]).lstrip("-") == str(y.value[-1]).lstrip("-") and x.kind not in (SlotKind.DATE, SlotKind.TIME)
