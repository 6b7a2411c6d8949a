"""Texts that are the same but for words that exclude each other: red and blue, can and cannot, approved and denied.

Networks read over such a word in a long text. Two texts are laid beside each other word by word, with what carries
nothing left out, values masked and a "not" taken as a mark of the word behind it. Where every difference is one of
exclusive words, the texts contradict; where anything else differs, nothing is said. It takes time that grows with the
length of the texts and no faster.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from likewise.backends.opposites import is_antonym
from likewise.backends.slots import NAMING, RuleVerdict, Slot, same_value, slots_of
from likewise.core.labels import Relation

__all__ = ["EXCLUSIVE", "aligned_verdict", "exclusive_words"]

SHARED_WORDS = 2
"""Words that two texts must share to be about one thing: "Monday" and "Friday" alone may answer anything."""

EXCLUSIVE: dict[str, str] = {
    "colour": "red blue green black white purple/violet silver gold/golden yellow orange pink brown gray/grey beige",
    "size": "small/s medium/m large/l extra-large/xl xxl xs",
    "cabin": "economy basic-economy premium-economy business first-class",
    "weekday": "monday tuesday wednesday thursday friday saturday sunday",
    "day": "today tomorrow yesterday",
    "time of day": "morning afternoon evening night noon midnight",
    "payment": "gift-card credit-card debit-card paypal travel-certificate/certificate cash bank-transfer",
    "material": "leather plastic metal/metallic fabric wooden/wood cotton polyester glass stainless-steel/steel wool",
    "state": "pending delivered cancelled/canceled shipped processed",
    "side": "left right",
    "compass": "north south east west",
    "order": "before after",
    "bound": "at-least at-most",
    "rhythm": "hourly daily weekly monthly yearly/annually",
    "times": "once twice",
    "trip": "oneway roundtrip",
    "leg": "outbound return",
}
"""Classes of words of which one thing is at most one; a slash stands between spellings, a hyphen for a space."""

_WORD = re.compile(r"\S+")
_MEMBER = {
    spelling.replace("-", " "): (name, member.partition("/")[0])
    for name, members in EXCLUSIVE.items()
    for member in members.split()
    for spelling in member.split("/")
}
_IDLE = frozenset(
    _WORD.findall("""
    a an the please currently now just also that is are am was were be been being has have had do does did always ever
    sure certainly absolutely okay ok alright great unfortunately however indeed actually""")
)
_CONDITIONS = frozenset(_WORD.findall("if whether unless until when once case"))
_HEDGES = frozenset(
    _WORD.findall("""
    some several many few half part number group may might maybe perhaps possible possibly sure certain think believe
    know often sometimes""")
)
_NEAR_OR = 4
"""Words before and behind an "or" that may be its alternatives: "red, white or blue" leaves room for more."""
_NEGATIONS = frozenset(_WORD.findall("not never cannot no"))
_ONE_WAY = re.compile(r"\bone[- ]way\b", re.IGNORECASE)  # else the slot guard takes it for a number
_WRITTEN_OUT = (
    (re.compile(r"\bround[- ]trip\b"), "roundtrip"),
    (re.compile(r"'(?:m|re|ve)\b"), ""),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"\bnon-(?=[a-z])"), "not "),
    (re.compile(r"\bunable to\b"), "can not"),
    (re.compile(r"\bnot able to\b"), "can not"),
    (re.compile(r"\bable to\b"), "can"),
    (re.compile(r"\bcannot\b|\bcan't\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\bnot (?:only|just|necessarily)\b"), "only"),
)
_PHRASES = "|".join(sorted((phrase for phrase in _MEMBER if " " in phrase), key=len, reverse=True))
_PART = re.compile(rf"\b(?:{_PHRASES})\b|[^\W_]+(?:'[^\W_]+)?|[.?!;:,]")
_ASKS_CONSENT = re.compile(
    r"\b(?:would you like|do you want|shall i|should i|confirm|proceed|is (?:that|this) (?:correct|right))\b"
)


@dataclass(frozen=True, slots=True)
class _Word:
    """A word or a value, and what takes from its weight.

    `negated` by a "not" before it, `asked` in a question (with `consent`: one that asks for leave), `open` under a
    condition or a hedge, `listed` near an "or".
    """

    text: str
    slot: Slot | None = None
    negated: bool = False
    sentence: int = 0
    asked: bool = False
    consent: bool = False
    open: bool = False
    listed: bool = False

    @property
    def key(self) -> str:
        """What must be the same on both sides, up to endings of verbs and plurals."""
        return self.text.removesuffix("s") if self.slot is None and len(self.text) > 3 else self.text


def aligned_verdict(a: str, b: str) -> RuleVerdict | None:
    """What is said by words that exclude each other, in texts that are otherwise the same.

    Args:
        a: One text.
        b: The other; the order does not matter.

    Returns:
        Contradictory where the texts differ by exclusive words (values may differ besides); neutral where what they
        are about differs, too (another order number); None where they differ otherwise, or by nothing of the kind.
        A "not" or an antonym in a question or under a condition says nothing: both ask, or reckon with, the same.
    """
    spelled_a, spelled_b = set(a.casefold().split()), set(b.casefold().split())
    if 2 * len(spelled_a & spelled_b) < max(len(spelled_a), len(spelled_b)):
        return None  # most pairs end here, before they are read word by word
    first, second = _words(a), _words(b)
    if len(first) != len(second):
        return None
    found: list[tuple[str, _Word, _Word]] = []
    for x, y in zip(first, second, strict=True):
        kind = _difference(x, y)
        if kind == "other":
            return None
        if kind:
            found.append((kind, x, y))
    return _decided(found, len(first))


def exclusive_words(text: str) -> dict[str, set[str]]:
    """The members of each class that a text states, by class; what it negates is not among them."""
    found: dict[str, set[str]] = {}
    for word in _words(text):
        if word.slot is None and not word.negated and word.text in _MEMBER:
            name, member = _MEMBER[word.text]
            found.setdefault(name, set()).add(member)
    return found


def _difference(x: _Word, y: _Word) -> str:
    """Empty: none; "other": one that says nothing."""
    if x.slot is not None and y.slot is not None:
        if x.slot.kind is not y.slot.kind:
            return "other"
        if x.negated != y.negated:
            return "not" if same_value(x.slot, y.slot) and not (x.asked or y.asked or x.open or y.open) else "other"
        if same_value(x.slot, y.slot):
            return ""
        return "name" if x.slot.kind in NAMING else "value"
    if x.text != y.text and x.text in _MEMBER and y.text in _MEMBER:
        (class_x, member_x), (class_y, member_y) = _MEMBER[x.text], _MEMBER[y.text]
        if class_x == class_y and x.negated == y.negated:
            if member_x == member_y:
                return ""
            stated = x.consent if x.asked else not (x.negated or x.listed or y.listed)
            return "exclusive" if stated else "other"
    if x.asked or y.asked or x.open or y.open:
        return "" if x.key == y.key and x.negated == y.negated else "other"
    if x.key == y.key:
        return "not" if x.negated != y.negated else ""
    return "antonym" if x.negated == y.negated and is_antonym(x.text, y.text) else "other"


def _decided(found: list[tuple[str, _Word, _Word]], words: int) -> RuleVerdict | None:
    kinds = {kind for kind, _, _ in found}
    if not kinds & {"exclusive", "not", "antonym"} or words - len(found) < SHARED_WORDS:
        return None
    if "name" in kinds:
        return RuleVerdict(Relation.NEUTRAL, "aligned:other-object")
    turned = Counter(x.sentence for kind, x, _ in found if kind in ("not", "antonym") and x.text not in ("yes", "no"))
    if any(count > 1 for count in turned.values()):
        return None  # "available" and "not unavailable"
    exclusive = [(x.text, y.text) for kind, x, y in found if kind == "exclusive"]
    if kinds == {"exclusive"} and len(exclusive) > 1:
        sides = [Counter(_MEMBER[pair[side]] for pair in exclusive) for side in (0, 1)]
        if sides[0] == sides[1]:
            return None  # "red or blue" and "blue or red"
    return RuleVerdict(Relation.CONTRADICTORY, "aligned:exclusive" if exclusive else "aligned:opposite")


@lru_cache(maxsize=2048)
def _words(text: str) -> tuple[_Word, ...]:
    """A text stands in many pairs."""
    return tuple(word for sentence in _sentences(text) for word in sentence)


def _sentences(text: str) -> Iterator[list[_Word]]:
    """Sentences as words; what carries nothing is left out."""
    number, parts = 0, list[str | Slot]()
    for part in _parts(text):
        parts.append(part)
        if part in (".", "?", "!"):
            yield _sentence(parts, number)
            number, parts = number + 1, []
    yield _sentence(parts, number)


def _parts(text: str) -> Iterator[str | Slot]:
    text, position = _ONE_WAY.sub("oneway", text), 0
    for slot in slots_of(text):
        yield from _plain(text[position : slot.start])
        yield slot
        position = slot.end
    yield from _plain(text[position:])


def _plain(piece: str) -> Iterator[str]:
    piece = piece.casefold().replace("’", "'")
    for pattern, new in _WRITTEN_OUT:
        piece = pattern.sub(new, piece)
    yield from _PART.findall(piece)


def _sentence(parts: list[str | Slot], number: int) -> list[_Word]:
    asked = bool(parts) and parts[-1] == "?"
    consent = asked and _ASKS_CONSENT.search(" ".join(part for part in parts if isinstance(part, str))) is not None
    words: list[_Word] = []
    negated = open_clause = False
    for place, part in enumerate(parts):
        if isinstance(part, Slot):
            words.append(_Word(f"<{part.kind}>", part, negated, number, asked, consent, open_clause))
            negated = False
        elif part in ".?!;:,":
            open_clause = False
        elif part in _NEGATIONS and not (part == "no" and parts[place + 1 : place + 2] in ([","], ["."], ["!"], [])):
            negated = not negated
        elif part in _HEDGES or part not in _IDLE:
            open_clause = open_clause or part in _CONDITIONS or part in _HEDGES
            words.append(_Word(part, None, negated, number, asked, consent, open_clause))
            negated = False
    if negated and words:
        words[-1] = replace(words[-1], negated=not words[-1].negated)
    alternatives = [i for i, word in enumerate(words) if word.text == "or"]
    near = {i for place in alternatives for i in range(place - _NEAR_OR, place + _NEAR_OR + 1)}
    return [replace(word, listed=True) if i in near else word for i, word in enumerate(words)]
