"""Verdicts and their records, as the layer makes them, with a judge that knows a table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from judges import LetterEncoder, TableJudge
from likewise import ReliabilityLayer
from likewise.core.labels import Relation
from likewise.store.records import Origin, VerdictRecord

YES, NO = "Drug X is safe.", "Drug X is not safe."
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)

_LAYER = ReliabilityLayer(judge=TableJudge({(YES, NO): Relation.CONTRADICTORY}), encoder=LetterEncoder())


def verdict_of(*answers, query="Is drug X safe?", **more):
    """The verdict of answers; two that agree and one that contradicts them where none is given."""
    return _LAYER.score(list(answers or (YES, NO, YES)), query, **more)


def record_of(*answers, agent="bot", query="Is drug X safe?", id=None, hours=0.0, **origin):
    """The record of a verdict, decided so many hours after noon."""
    created = NOON + timedelta(hours=hours)
    return VerdictRecord.of(verdict_of(*answers, query=query), Origin(agent, **origin), id=id, created=created)
