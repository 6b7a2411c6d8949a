"""The slot guard: numbers, money, dates, times and identifiers that language models are known to overlook.

Values of two texts are compared where they stand in the same place: in texts that are otherwise the same, or
behind the same words. The guard never makes a pair alike; it only takes an equivalence away or names a clash.
All patterns are bounded, so that the time grows with the length of the text and no faster.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

from likewise.core.labels import Judgement, Relation

__all__ = [
    "NAMING",
    "RuleVerdict",
    "Slot",
    "SlotKind",
    "SlotVerdict",
    "Value",
    "apply_slot_guard",
    "apply_verdict",
    "extract_slots",
    "same_value",
    "slot_verdict",
    "slots_of",
    "words_of",
]

Value: TypeAlias = tuple[str | int | None, ...]


class SlotKind(StrEnum):
    """What a slot holds. Identifiers and years name an object, all others are values."""

    MONEY = "money"
    PERCENT = "percent"
    DATE = "date"
    TIME = "time"
    DURATION = "duration"
    QUANTITY = "quantity"
    YEAR = "year"
    IDENTIFIER = "identifier"
    NUMBER = "number"


NAMING = frozenset((SlotKind.IDENTIFIER, SlotKind.YEAR))
"""Kinds that name an object; all others hold values."""
_STATES = frozenset(("is", "are", "was", "="))  # "your user ID is ...": here the identifier is what is said


@dataclass(frozen=True, slots=True)
class Slot:
    """One value in a text: `value` is the same for all spellings, `text` how it is written at `start`."""

    kind: SlotKind
    value: Value
    text: str
    start: int

    @property
    def end(self) -> int:
        """Where the slot ends in its text."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """What a rule makes of a pair of texts: `relation`; with `is_cap`, of an equivalence only."""

    relation: Relation
    rule: str
    is_cap: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class SlotVerdict(RuleVerdict):
    """What two differing slots make of a pair."""

    first: Slot
    second: Slot


def _listed(words: str) -> list[str]:
    return words.split()


_WORDED = {w: i for i, w in enumerate(_listed("one two three four five six seven eight nine ten eleven twelve"), 1)}
_MONTHS = {w: i for i, w in enumerate(_listed("jan feb mar apr may jun jul aug sep oct nov dec"), 1)}
_CURRENCY = {"$": "usd", "u": "usd", "d": "usd", "€": "eur", "e": "eur", "£": "gbp", "g": "gbp", "p": "gbp"}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}

_NUM = r"(?:\d{1,3}(?:,\d{3}){1,6}|\d{1,18})(?:\.\d{1,9})?"
_ANY_NUM = rf"(?:{_NUM}|(?:{'|'.join(_WORDED)})(?=[ -]))"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:,? \d{4}(?!\w))?"
_NOUNS = _listed(
    "order ticket member user customer account invoice room gate seat flight booking reservation claim issue case card "
    "policy option line page version passport employee patient product item id ref reference code ending"
)
_NOUN_TAILS = _listed("id no number code in")  # order number 7, ending in 7
_YEARLY = _listed("in since year for of during")
_MARKS = " \t*_:#\"'`(["


def _words_before(text: str, start: int) -> tuple[str, str]:
    """The last two words before a position, in lower case; empty where there are fewer."""
    words = text[max(0, start - 30) : start].rstrip(_MARKS).casefold().rsplit(None, 2)[-2:]
    last = words.pop() if words else ""
    return (words.pop() if words else "", last)


def _is_named(words: tuple[str, str]) -> bool:
    return words[1] in _NOUNS or (words[1] in _NOUN_TAILS and words[0] in _NOUNS and words != ("order", "in"))


def _number(text: str) -> str:
    """One spelling per number: no thousands separators, no zeros that carry nothing."""
    found = re.search(_NUM, text)
    if found is None:
        word = re.match(r"[a-z]+", text.casefold())
        return str(_WORDED[word.group()] if word else 0)
    sign = "-" if text.startswith("-") else ""
    whole, _, fraction = found.group().replace(",", "").partition(".")
    fraction = fraction.rstrip("0")
    return sign + (whole.lstrip("0") or "0") + (f".{fraction}" if fraction else "")


def _unit(text: str) -> str:
    letters = re.sub(r"[\d.,\s-]", "", text.casefold())
    return re.sub(r"^(?:" + "|".join(_WORDED) + r")|business|working|calendar|full", "", letters)


def _money(text: str) -> Value:
    return (_CURRENCY[re.sub(r"[\d.,\s-]", "", text.casefold())[0]], _number(text))


def _duration(text: str) -> Value:
    unit, amount = _unit(text), float(_number(text))
    if unit.startswith(("mon", "y")):
        return ("months", f"{amount * (12 if unit[0] == 'y' else 1):g}")
    return ("seconds", f"{amount * _SECONDS[unit[0]]:g}")


def _quantity(text: str) -> Value:
    unit = _unit(text)
    return (unit[:-1] if unit in ("lbs", "miles") else unit, _number(text))


def _clock(text: str) -> Value:
    """Minutes after midnight; the second field tells whether morning or afternoon is known."""
    fields = [int(field) for field in re.findall(r"\d+", text)]
    hour, minute = fields[0], fields[1] if len(fields) > 1 else 0
    half = re.search(r"[ap]", text.casefold())
    if half is not None:
        return (hour % 12 * 60 + minute + (720 if half.group() == "p" else 0), 1)
    return (hour * 60 + minute, int(hour == 0 or hour > 12 or text.startswith("0")))


def _numeric_date(text: str) -> Value:
    a, b, c = (int(field) for field in re.findall(r"\d+", text))
    if "-" in text:
        return (a, b, c)
    if "." in text:
        return (c, b, a)
    return (c, a, b) if a <= 12 else (c, b, a)  # 5/20/2024; the other order only where it must be meant


def _worded_date(text: str) -> Value:
    month = _MONTHS[re.findall(r"[a-z]{3,}", text.casefold())[0][:3]]
    fields = [int(field) for field in re.findall(r"\d+", text)]
    days = [field for field in fields if field < 100]
    years = [field for field in fields if field >= 100]
    return (years[0] if years else None, month, days[0] if days else None)


def _plain(text: str) -> Value:
    return (_number(text),)


def _verbatim(text: str) -> Value:
    return (text.casefold().lstrip("#"),)


_Row: TypeAlias = tuple[SlotKind, str, Callable[[str], Value]]
_ROWS: tuple[_Row, ...] = (
    (SlotKind.IDENTIFIER, r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}", _verbatim),
    (SlotKind.DATE, r"\d{4}-\d{2}-\d{2}(?!\d)|\d{1,2}(?:/\d{1,2}/|\.\d{1,2}\.)\d{4}(?!\w)", _numeric_date),
    (SlotKind.IDENTIFIER, r"v?\d{1,5}(?:\.\d{1,5}){2,5}(?!\w)", _verbatim),
    (SlotKind.DATE, rf"{_MONTH} {_DAY}(?![\w:]){_YEAR}|{_DAY}(?: of)? {_MONTH}(?!\w){_YEAR}", _worded_date),
    (SlotKind.DATE, rf"{_MONTH} \d{{4}}(?!\w)", _worded_date),
    (SlotKind.TIME, r"\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]\.?m(?!\w))?(?![\w:])|\d{1,2} ?[ap]\.?m(?!\w)", _clock),
    (SlotKind.MONEY, rf"-?(?:us)?[$€£] ?{_NUM}|{_NUM} ?(?:(?:dollars?|euros?|pounds?|usd|eur|gbp)(?!\w)|[€£])", _money),
    (SlotKind.PERCENT, rf"-?{_ANY_NUM} ?(?:%|percent(?!\w)|per cent(?!\w))", _plain),
    (
        SlotKind.DURATION,
        rf"{_ANY_NUM}[ -]?(?:(?:business|working|calendar|full) )?"
        r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|h|days?|weeks?|months?|years?)(?!\w)",
        _duration,
    ),
    (SlotKind.QUANTITY, rf"{_NUM} ?(?:mg|mcg|g|kg|lbs?|km|cm|mm|miles?|[kmgt]b|ml)(?!\w)", _quantity),
    (SlotKind.IDENTIFIER, r"\d{3,4}-\d{3,4}(?:-\d{2,4})?(?![\w-])", _verbatim),
    (SlotKind.NUMBER, rf"-?{_ANY_NUM}(?!\w)", _plain),
    (SlotKind.IDENTIFIER, r"#?\w+(?:-\w+)*", _verbatim),  # any word: _kept says which are identifiers
)
_CALENDAR_YEAR = re.compile(r"(?:19|20)\d\d")
_ADDRESS = 0


def _pattern(rows: Sequence[tuple[int, _Row]]) -> re.Pattern[str]:
    """One pattern of some rows. Values begin with few signs or words, so that most words are not tried as one."""
    named = {i: f"(?P<r{i}>{row[1]})" for i, row in rows}
    begins = "|".join((r"[-\d$€£]", r"v\d", r"us[$€£]", *_WORDED, *_MONTHS))
    word = len(_ROWS) - 1
    valued = "|".join(named[i] for i in named if i not in (_ADDRESS, word))
    parts = [named[_ADDRESS]] if _ADDRESS in named else []
    parts += [f"(?={begins})(?:{valued})", named[word]]
    return re.compile(r"(?:(?<!\w)|(?<=\dT))(?<!\d[.,:/])(?:" + "|".join(parts) + ")", re.IGNORECASE)


_PATTERN = _pattern(tuple(enumerate(_ROWS)))
_WITHOUT_ADDRESS = _pattern(tuple(enumerate(_ROWS))[1:])  # no word need be read to its end in search of an @


def extract_slots(text: str) -> tuple[Slot, ...]:
    """All slots of a text, in order, none overlapping."""
    slots = []
    for match in (_PATTERN if "@" in text else _WITHOUT_ADDRESS).finditer(text):
        index = int((match.lastgroup or "r0")[1:])
        kind, _, normalise = _ROWS[index]
        found = match.group()
        if index == len(_ROWS) - 1 and not _is_code(found, text, match.start()):
            continue
        if kind is SlotKind.NUMBER and found[0].isdigit():
            before = _words_before(text, match.start())
            if _is_named(before):
                kind, normalise = SlotKind.IDENTIFIER, _verbatim
            elif before[1] in _YEARLY and _CALENDAR_YEAR.fullmatch(found):
                kind = SlotKind.YEAR
        slots.append(Slot(kind, normalise(found), found, match.start()))
    return tuple(slots)


def _is_code(word: str, text: str, start: int) -> bool:
    """Whether a word is an identifier: `#...`, letters with digits, or capitals announced as a code."""
    if word.startswith("#"):
        return True
    if not word.isalpha() and any(c.isdigit() for c in word):  # most words are letters alone, and told fast
        return len(word) >= 3
    return len(word) in (5, 6, 7) and word.isupper() and _is_named(_words_before(text, start))


_IDLE = _listed("a an the please currently now just also that is are was")
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


@dataclass(frozen=True, slots=True)
class _Masked:
    """A text with its slots replaced by their kinds, and for each slot the words right before it."""

    slots: tuple[Slot, ...]
    tokens: list[str]
    labels: list[tuple[str, ...]]
    naming: frozenset[Slot]

    @classmethod
    def of(cls, text: str) -> _Masked:
        slots = extract_slots(text)
        tokens: list[str] = []
        labels: list[tuple[str, ...]] = []
        position = 0
        for slot in slots:
            words = _content(text[position : slot.start])
            tokens += [*words, f"<{slot.kind}>"]
            labels.append((slot.kind, *words[-2:]))
            position = slot.end
        naming = frozenset(x for x in slots if x.kind in NAMING and _words_before(text, x.start)[1] not in _STATES)
        return cls(slots, tokens + _content(text[position:]), labels, naming)


@lru_cache(maxsize=2048)
def _masked(text: str) -> _Masked:
    """A text stands in many pairs, and reading its slots is most of the guard's work."""
    return _Masked.of(text)


def slots_of(text: str) -> tuple[Slot, ...]:
    """`extract_slots` of a text that stands in many pairs."""
    return _masked(text).slots


def words_of(text: str) -> frozenset[str]:
    """The words of a text without idle ones and values, in lower case."""
    return frozenset(token for token in _masked(text).tokens if not token.startswith("<"))


def _content(piece: str) -> list[str]:
    words = (match.group() for match in _TOKEN.finditer(piece.casefold().replace("’", "'")))
    return [word for word in words if word not in _IDLE]


def same_value(a: Slot, b: Slot) -> bool:
    """Whether two slots of a kind may mean the same: dates by the fields both have, times up to morning/afternoon."""
    if a.kind is SlotKind.DATE:
        return all(x is None or y is None or x == y for x, y in zip(a.value, b.value, strict=True))
    if a.kind is SlotKind.TIME:
        (first, sure), (second, also_sure) = a.value, b.value
        return first == second or (not (sure and also_sure) and _coarse(a) == _coarse(b))
    return a.value == b.value


def _coarse(slot: Slot) -> Value:
    """A key that slots which agree share, whatever fields they lack."""
    if slot.kind is SlotKind.DATE:
        return (slot.kind, slot.value[1])
    if slot.kind is SlotKind.TIME:
        return (slot.kind, int(slot.value[0] or 0) % 720)
    return (slot.kind, *slot.value)


def slot_verdict(a: str, b: str) -> SlotVerdict | None:
    """What the slots of two texts say about the pair; None where they say nothing.

    Texts that are otherwise the same: an identifier or a year that differs makes two objects (neutral), any
    other value that differs a contradiction; the same values in another order are at best neutral. Texts that
    differ otherwise: a value behind the same two words that differs makes the pair at best neutral, unless the
    other text has the value elsewhere. Extra slots of one text say nothing.
    """
    first, second = _masked(a), _masked(b)
    if first.tokens == second.tokens:
        return _verdict_of_same(first, second)
    return _cap(first, second)


def _verdict_of_same(a: _Masked, b: _Masked) -> SlotVerdict | None:
    differing = [(x, y) for x, y in zip(a.slots, b.slots, strict=True) if not same_value(x, y)]
    naming: list[tuple[Slot, Slot]] = []
    values: list[tuple[Slot, Slot]] = []
    for x, y in differing:
        (naming if x in a.naming and y in b.naming else values).append((x, y))
    if {x.value for x, _ in naming} != {y.value for _, y in naming}:
        return SlotVerdict(Relation.NEUTRAL, "slots:other-object", *naming[0])
    if values:
        if len(values) > 1 and _rearranged([x for x, _ in values], [y for _, y in values]):
            return SlotVerdict(Relation.NEUTRAL, "slots:cap", *values[0], is_cap=True)
        return SlotVerdict(Relation.CONTRADICTORY, "slots:value", *values[0])
    return None


def _rearranged(first: list[Slot], second: list[Slot]) -> bool:
    """Whether the same values stand in another order; dates are the same by month and day."""

    def key(slot: Slot) -> Value:
        return (*_coarse(slot), slot.value[2]) if slot.kind is SlotKind.DATE else _coarse(slot)

    return Counter(map(key, first)) == Counter(map(key, second))


def _cap(a: _Masked, b: _Masked) -> SlotVerdict | None:
    seen_a, seen_b = {_coarse(slot) for slot in a.slots}, {_coarse(slot) for slot in b.slots}
    places_a, places_b = _by_label(a), _by_label(b)
    for label, x in places_a.items():
        y = places_b.get(label)
        if y is not None and not same_value(x, y) and _coarse(x) not in seen_b and _coarse(y) not in seen_a:
            return SlotVerdict(Relation.NEUTRAL, "slots:cap", x, y, is_cap=True)
    return None


def _by_label(masked: _Masked) -> dict[tuple[str, ...], Slot]:
    """The slots that their kind and the words before them pick out."""
    often = Counter(masked.labels)
    return {
        label: slot
        for label, slot in zip(masked.labels, masked.slots, strict=True)
        if len(label) > 1 and often[label] == 1
    }


def apply_slot_guard(judgement: Judgement, a: str, b: str) -> Judgement:
    """The judgement of two texts, corrected where their slots say otherwise."""
    return apply_verdict(judgement, slot_verdict(a, b))


def apply_verdict(judgement: Judgement, verdict: RuleVerdict | None) -> Judgement:
    """The same for texts whose `slot_verdict` is known: reading the slots is most of the guard's work."""
    if verdict is None or verdict.relation == judgement.relation:
        return judgement
    if verdict.is_cap and judgement.relation is not Relation.EQUIVALENT:
        return judgement
    return Judgement.certain(verdict.relation, verdict.rule)
