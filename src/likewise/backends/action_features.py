"""What the surface of two texts says of their relation as actions: shared words, shared values, what each text does.

None of it decides alone: on agents' own runs it is right nine times in ten, on the same acts in other words it is
little better than chance. backends/action_judge.py weighs it together with a network that reads the meaning.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TypeVar

import numpy as np
from jaxtyping import Float64

from likewise.backends.asked_for import IDLE, asked_for
from likewise.backends.slots import NAMING, SlotKind, Value, extract_slots, slot_verdict
from likewise.core.labels import Relation
from likewise.core.state_text import canonical_text

__all__ = ["ACTS", "FEATURES", "action_features"]

COMPARED_WORDS = 300
"""Words of each text whose order is compared; the time grows with their square."""

Held = TypeVar("Held")

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


ACTS = {
    "questions": _pattern(r"\?"),
    "requests": _pattern(
        r"\b(?:provide|share|give me|tell me|let me know|confirm|specify|may i have|could i have|what(?:'s| is| are)"
        r"|which|how (?:many|much|long|often))\b"
    ),
    "asks-consent": _pattern(
        r"\b(?:would you like (?:me )?to|do you want|shall i|should i|(?:please|do you|can you) confirm|proceed"
        r"|go ahead|is that (?:correct|right|okay))\b"
    ),
    "reports-done": _pattern(
        r"\b(?:has been|have been|was|were|i(?:'ve| have)|is now|are now)\s+(?:\w+\s+)?(?:\w+ed|made|sent|set|done)\b"
        r"|\bsuccessfully\b"
    ),
    "refuses": _pattern(
        r"\b(?:unable to|can(?:not|'t)|couldn't|not (?:possible|allowed|eligible|able|available|permitted)|ineligible"
        r"|unfortunately|i'm sorry|apologi[sz]e)\b"
    ),
    "hands-over": _pattern(r"\b(?:transfer|human agent|representative|specialist|supervisor|connect you)\b"),
    "closes": _pattern(
        r"\b(?:you're welcome|have a (?:great|nice|wonderful)|anything else|feel free|glad|happy to (?:help|assist))\b"
    ),
    "announces": _pattern(r"\b(?:i(?:'ll| will| am going to|'m going to)|let me|one moment)\b"),
    "negates": _pattern(
        r"\b(?:not|no|never|cannot|unable|without|neither|nor|none|unavailable|decline[ds]?|den(?:y|ied)|refus\w+"
        r"|ineligible|non-refundable)\b|n't\b"
    ),
}
"""What a text may do, told by its words (English)."""


@dataclass(frozen=True, slots=True)
class _Surface:
    text: str
    words: tuple[str, ...]
    content: Counter[str]
    acts: tuple[int, ...]
    asked: frozenset[str]
    values: Counter[tuple[SlotKind, Value]]
    names: Counter[Value]

    @classmethod
    def of(cls, text: str) -> _Surface:
        words = tuple(match.group().casefold() for match in _WORD.finditer(text.replace("’", "'")))
        slots = extract_slots(text)
        return cls(
            text,
            words,
            Counter(word for word in words if word not in IDLE),
            tuple(len(pattern.findall(text)) for pattern in ACTS.values()),
            asked_for(text),
            Counter((slot.kind, slot.value) for slot in slots if slot.kind not in NAMING),
            Counter(slot.value for slot in slots if slot.kind in NAMING),
        )


@lru_cache(maxsize=4096)
def _surface(text: str) -> _Surface:
    """A text stands in many pairs."""
    return _Surface.of(canonical_text(text))


def _overlap(a: _Surface, b: _Surface) -> Iterator[tuple[str, float]]:
    shared, either = (a.content & b.content).total(), (a.content | b.content).total()
    sizes = sorted((max(a.content.total(), 1), max(b.content.total(), 1)))
    lengths = sorted((len(a.words), len(b.words)))
    yield "shared-words", shared / max(either, 1)
    yield "shared-of-longer", shared / sizes[1]
    yield "shared-of-shorter", shared / sizes[0]
    yield "length-ratio", lengths[0] / max(lengths[1], 1)
    yield "length", math.log1p(lengths[1])
    yield "length-difference", math.log1p(lengths[1] - lengths[0])
    first, second = sorted((a.words[:COMPARED_WORDS], b.words[:COMPARED_WORDS]))  # the matcher is not symmetric
    yield "same-order", SequenceMatcher(None, first, second, autojunk=False).ratio()


def _acts(a: _Surface, b: _Surface) -> Iterator[tuple[str, float]]:
    for act, x, y in zip(ACTS, a.acts, b.acts, strict=True):
        yield f"one-{act}", float((x > 0) != (y > 0))
        yield f"both-{act}", float(x > 0 and y > 0)
    yield "more-questions", float(abs(a.acts[0] - b.acts[0]))


def _asked(a: _Surface, b: _Surface) -> Iterator[tuple[str, float]]:
    shared, both = len(a.asked & b.asked), bool(a.asked and b.asked)
    yield "both-ask", float(both)
    yield "one-asks", float(bool(a.asked) != bool(b.asked))
    yield "shared-of-asked", shared / max(len(a.asked | b.asked), 1)
    yield "asked-of-more", float(both and a.asked != b.asked and (a.asked <= b.asked or b.asked <= a.asked))
    yield "asked-the-same", float(both and a.asked == b.asked)


def _slots(a: _Surface, b: _Surface) -> Iterator[tuple[str, float]]:
    yield from _unshared("values", a.values, b.values)
    yield from _unshared("names", a.names, b.names)
    kinds_a, kinds_b = {kind for kind, _ in a.values - b.values}, {kind for kind, _ in b.values - a.values}
    yield "values-of-a-kind-differ", float(bool(kinds_a & kinds_b))
    verdict = slot_verdict(a.text, b.text)
    yield "slot-guard-caps", float(verdict is not None and verdict.is_cap)
    for relation in (Relation.NEUTRAL, Relation.CONTRADICTORY):
        settled = verdict is not None and not verdict.is_cap and verdict.relation is relation
        yield f"slot-guard-{relation.name.lower()}", float(settled)


def _unshared(what: str, a: Counter[Held], b: Counter[Held]) -> Iterator[tuple[str, float]]:
    only_a, only_b = a - b, b - a
    yield f"shared-{what}", float(bool(a & b))
    yield f"{what}-on-one-side", float(bool(only_a) != bool(only_b))
    yield f"{what}-differ", float(bool(only_a) and bool(only_b))
    yield f"unshared-{what}", math.log1p(only_a.total() + only_b.total())


def _named(a: str, b: str) -> dict[str, float]:
    first, second = _surface(a), _surface(b)
    return dict([*_overlap(first, second), *_acts(first, second), *_asked(first, second), *_slots(first, second)])


FEATURES = tuple(_named("", ""))
"""Names of the features, in order."""


def action_features(a: str, b: str) -> Float64[np.ndarray, " features"]:
    """Surface features of a pair of texts; the same whichever comes first.

    Args:
        a: One text.
        b: The other.

    Returns:
        One number for each of FEATURES, each in a range of a few units.
    """
    return np.array(list(_named(a, b).values()), dtype=np.float64)
