"""What an agent's message means in `bookings`: what the scripted user hears, and what the world's own judge compares.

A message is read by its words alone: a question asks for the number, the name, or a go-ahead; a statement says that
something is done or for which day, or that it cannot be done; whatever else is small talk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from likewise.core.labels import Judgement, Relation
from likewise.core.protocols import ProgressTask
from likewise.training.environments.bookings_tasks import DAYS

__all__ = ["BookingsJudge", "Intent", "Meaning", "meaning_of"]

_DAY = re.compile(r"\b(" + "|".join(DAYS) + r")(?:day|sday|nesday|rsday|urday)?\b", re.IGNORECASE)
_ID = re.compile(r"\bB\d+\b", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|cannot|can't|couldn't|unable|sorry|failed)\b", re.IGNORECASE)
_CHANGES = {
    "cancelled": re.compile(r"\bcancel", re.IGNORECASE),
    "moved": re.compile(r"\b(?:moved?|changed?|now (?:on|for))\b", re.IGNORECASE),
    "booked": re.compile(r"\b(?:booked|made|reserved|have a new)\b", re.IGNORECASE),
}


class Intent(StrEnum):
    """What a message is for."""

    ASK_NUMBER = "asks for the number"
    ASK_NAME = "asks for the name"
    ASK_LEAVE = "asks for a go-ahead"
    TELL = "tells"
    CANNOT = "says that it cannot"
    OTHER = "small talk"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a message says: its intent, the change it speaks of, the days and the bookings it names."""

    intent: Intent
    change: str = ""
    days: frozenset[str] = frozenset()
    bookings: frozenset[str] = frozenset()


def meaning_of(text: str) -> Meaning:
    """Read a message."""
    days = frozenset(found.capitalize() for found in _DAY.findall(text))
    bookings = frozenset(found.upper() for found in _ID.findall(text))
    change = next((name for name, words in _CHANGES.items() if words.search(text)), "")
    if "?" in text:
        if re.search(r"\b(?:number|id)\b", text, re.IGNORECASE):
            return Meaning(Intent.ASK_NUMBER)
        if re.search(r"\bname\b", text, re.IGNORECASE):
            return Meaning(Intent.ASK_NAME)
        return Meaning(Intent.ASK_LEAVE, change, days, bookings)
    if _NOT.search(text):
        return Meaning(Intent.CANNOT, change, days, bookings)
    if change or days:
        return Meaning(Intent.TELL, change, days, bookings)
    return Meaning(Intent.OTHER)


class BookingsJudge:
    """Gives the relation of two messages by what they mean in this world; exact where an NLI model would guess."""

    @property
    def judge_id(self) -> str:
        """Names the reading of messages above."""
        return "bookings-1"

    def judge(self, pairs: Sequence[tuple[str, str]], progress: ProgressTask | None = None) -> Iterator[Judgement]:
        """Judge each pair in order; see core.protocols.Judge."""
        for first, second in pairs:
            yield Judgement.certain(_relation(first, second), "bookings")
            if progress is not None:
                progress.advance()


def _relation(first: str, second: str) -> Relation:
    a, b = meaning_of(first), meaning_of(second)
    if a.intent is Intent.OTHER or b.intent is Intent.OTHER:
        alike = first.casefold().strip() == second.casefold().strip()
        return Relation.EQUIVALENT if alike else Relation.NEUTRAL
    if a == b:
        return Relation.EQUIVALENT
    if {a.intent, b.intent} == {Intent.TELL, Intent.CANNOT}:
        return Relation.CONTRADICTORY
    one_object = not (a.bookings and b.bookings) or a.bookings == b.bookings
    if a.intent is b.intent is Intent.TELL and one_object and a.change == b.change:
        # The same statement; a number left out takes nothing from it, another day is another fact.
        return Relation.EQUIVALENT if a.days == b.days else Relation.CONTRADICTORY
    return Relation.NEUTRAL
