"""Counts and sums of verdicts, from which means, shares and their intervals follow; they add up."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Row, case, func

from likewise.reliability.verdict import Decision
from likewise.store.models import DailyRow, VerdictRow
from likewise.store.records import FAILED

__all__ = ["KEPT", "SUMS", "Tally"]


@dataclass(frozen=True, slots=True)
class Tally:
    """Some verdicts together.

    Attributes:
        first: Time of the first of them.
        last: Time of the last.
        verdicts: How many.
        failed: Without any answer.
        refused: With an answer that was withheld.
        judged: Of which a pair of answers was judged.
        contradictory: With a critical contradiction.
        measured: With a reliability; its sum, and the sum of its squares.
        diverging: With a divergence; its sum, and the sum of its squares.
    """

    first: datetime
    last: datetime
    verdicts: int
    failed: int
    refused: int
    judged: int
    contradictory: int
    measured: int
    reliability_sum: float
    reliability_squares: float
    diverging: int
    divergence_sum: float
    divergence_squares: float

    @classmethod
    def of(cls, row: Row[Any]) -> Tally:
        """Of a row with columns of these names."""
        kinds = {"first": lambda v: v, "last": lambda v: v}
        values = {
            each.name: kinds.get(each.name, float if each.type == "float" else int)(getattr(row, each.name))
            for each in fields(cls)
        }
        return cls(**values)

    def __add__(self, other: Tally) -> Tally:
        """Both together."""
        added = {
            each.name: getattr(self, each.name) + getattr(other, each.name)
            for each in fields(self)
            if each.name not in ("first", "last")
        }
        return Tally(min(self.first, other.first), max(self.last, other.last), **added)


_V = VerdictRow

SUMS = (
    func.min(_V.created, type_=_V.created.type).label("first"),
    func.max(_V.created, type_=_V.created.type).label("last"),
    func.count().label("verdicts"),
    func.sum(case((_V.decision == FAILED, 1), else_=0)).label("failed"),
    func.sum(case((_V.decision == Decision.REFUSE.value, 1), else_=0)).label("refused"),
    func.count(_V.contradiction).label("judged"),
    func.sum(case((_V.contradictory, 1), else_=0)).label("contradictory"),
    func.count(_V.reliability).label("measured"),
    func.coalesce(func.sum(_V.reliability), 0.0).label("reliability_sum"),
    func.coalesce(func.sum(_V.reliability * _V.reliability), 0.0).label("reliability_squares"),
    func.count(_V.divergence).label("diverging"),
    func.coalesce(func.sum(_V.divergence), 0.0).label("divergence_sum"),
    func.coalesce(func.sum(_V.divergence * _V.divergence), 0.0).label("divergence_squares"),
)
"""The tally of verdicts that are there, as columns of a query."""

KEPT = (
    func.min(DailyRow.first, type_=DailyRow.first.type).label("first"),
    func.max(DailyRow.last, type_=DailyRow.last.type).label("last"),
    *(
        func.sum(getattr(DailyRow, each.name)).label(each.name)
        for each in fields(Tally)
        if each.name not in ("first", "last")
    ),
)
"""The tally of verdicts that were, as columns of a query."""
