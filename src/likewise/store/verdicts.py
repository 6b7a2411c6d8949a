"""Reads verdicts: in lists, one in full, and the runs of a task as a group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, or_, select, tuple_

from likewise.core.estimate import Estimate
from likewise.core.group import RolloutGroup
from likewise.core.rollout import Rollout
from likewise.formats.native import rollout_from_json
from likewise.store.engine import Database
from likewise.store.models import ClashRow, RunRow, VerdictRow
from likewise.store.pages import Page, cursor_of, decode_cursor, within
from likewise.store.records import full_entry, join_body

__all__ = ["StoredVerdict", "VerdictFilter", "VerdictSummary", "Verdicts", "reliability_of"]

_HIDDEN = {"body", "signature", "day"}
_LISTED = [column for column in VerdictRow.__table__.columns if column.name not in _HIDDEN]


@dataclass(frozen=True, slots=True)
class VerdictFilter:
    """Which verdicts are meant; None and "" mean all.

    Attributes:
        agent: Of this agent alone; so `version`, `model`, `task`, `route`, `caller`, `decision`, `label`.
        contradictory: With a critical contradiction, or without.
        since: Decided then or later.
        until: Decided before.
        text: Query or answer holds it, in the part that lists show, whatever its case.
    """

    agent: str | None = None
    version: str | None = None
    model: str | None = None
    task: str | None = None
    route: str | None = None
    caller: str | None = None
    decision: str | None = None
    label: str | None = None
    contradictory: bool | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """As conditions on the table of verdicts."""
        names = ("agent", "version", "model", "task", "route", "caller", "decision", "label")
        found: list[ColumnElement[bool]] = [
            getattr(VerdictRow, name) == getattr(self, name) for name in names if getattr(self, name) is not None
        ]
        if self.contradictory is not None:
            found.append(VerdictRow.contradictory.is_(self.contradictory))
        if self.since is not None:
            found.append(VerdictRow.created >= self.since)
        if self.until is not None:
            found.append(VerdictRow.created < self.until)
        if self.text:
            # `icontains` escapes what has a meaning in a pattern
            found.append(or_(*(c.icontains(self.text, autoescape=True) for c in (VerdictRow.query, VerdictRow.answer))))
        return found


@dataclass(frozen=True, slots=True)
class VerdictSummary:
    """A verdict as lists show it; query and answer are their first 500 characters."""

    id: str
    created: datetime
    agent: str
    version: str
    model: str
    task: str
    route: str
    caller: str
    query: str
    answer: str | None
    decision: str
    label: str
    reliability: Estimate
    contradiction: float | None
    contradictory: bool
    divergence: float | None
    runs: int
    runs_failed: int
    runs_agreed: str
    needs_review: bool
    seconds: float | None
    input_tokens: int | None
    output_tokens: int | None


@dataclass(frozen=True, slots=True)
class StoredVerdict:
    """A verdict in full.

    Attributes:
        summary: As lists show it.
        body: What `Verdict.as_json` gave, without secrets.
        rollouts: Its runs.
        signature: How its numbers were made.
    """

    summary: VerdictSummary
    body: Mapping[str, Any]
    rollouts: tuple[Rollout, ...]
    signature: str

    def as_json(self) -> dict[str, Any]:
        """The verdict's JSON, with its name, time and origin."""
        one = self.summary
        head = {name: getattr(one, name) for name in ("id", "agent", "version", "model")}
        placed = {"task_id": one.task, "route": one.route, "created": one.created.isoformat()}
        return {**head, **placed, "signature": self.signature, **self.body}


class Verdicts:
    """The verdicts of a database."""

    def __init__(self, database: Database) -> None:
        """Read from here."""
        self._database = database

    def page(
        self, filter: VerdictFilter | None = None, *, after: str | None = None, limit: int = 50
    ) -> Page[VerdictSummary]:
        """Verdicts, the newest first.

        Args:
            filter: Which; all where None.
            after: `next` of the page before.
            limit: Most of them.

        Raises:
            ValueError: A cursor or limit that cannot be.
            StoreUnavailableError: The database cannot be read.
        """
        statement = _listing(filter)
        if after is not None:
            created, name = decode_cursor(after, (datetime, str))
            statement = statement.where(tuple_(VerdictRow.created, VerdictRow.id) < tuple_(created, name))
        statement = statement.order_by(VerdictRow.created.desc(), VerdictRow.id.desc()).limit(within(limit) + 1)
        with self._database.reading() as connection:
            found = [_summary(row) for row in connection.execute(statement)]
        last = found[limit - 1] if len(found) > limit else None
        return Page(tuple(found[:limit]), None if last is None else cursor_of(last.created, last.id))

    def get(self, id: str) -> StoredVerdict | None:
        """One verdict in full; None where there is none of that name.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        return next(iter(self._full([id])), None)

    def walk(self, filter: VerdictFilter | None = None, *, batch: int = 50) -> Iterator[StoredVerdict]:
        """All verdicts in full, the oldest first, some at a time: memory stays flat, and no transaction stays open.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        place: tuple[datetime, str] | None = None
        while True:
            statement = select(VerdictRow.created, VerdictRow.id).where(*_conditions(filter))
            if place is not None:
                statement = statement.where(tuple_(VerdictRow.created, VerdictRow.id) > tuple_(*place))
            with self._database.reading() as connection:
                keys = connection.execute(statement.order_by(VerdictRow.created, VerdictRow.id).limit(batch)).all()
            yield from self._full([key.id for key in keys])
            if len(keys) < batch:
                return
            place = keys[-1].created, keys[-1].id

    def group(self, agent: str, task: str, version: str | None = None, *, limit: int = 200) -> RolloutGroup:
        """The newest runs of a task, of one agent, as a group that can be scored.

        Args:
            agent: Whose.
            task: Which task.
            version: Of one version alone; of all where None.
            limit: Most runs.

        Returns:
            Its rollouts, oldest first, failed ones as invalid; an empty group where there are none.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        chosen = [VerdictRow.agent == agent, VerdictRow.task == task]
        if version is not None:
            chosen.append(VerdictRow.version == version)
        statement = (
            select(RunRow.rollout)
            .join(VerdictRow, VerdictRow.id == RunRow.verdict_id)
            .where(and_(*chosen))
            .order_by(VerdictRow.created.desc(), VerdictRow.id.desc(), RunRow.position.desc())
            .limit(limit)
        )
        with self._database.reading() as connection:
            found = list(connection.execute(statement).scalars())
        # A redaction that is no longer the same may have written another name into the rollout than into its row.
        rollouts = [replace(rollout_from_json(each), task_id=task) for each in reversed(found)]
        return RolloutGroup(task, tuple(rollouts))

    def _full(self, ids: list[str]) -> list[StoredVerdict]:
        with self._database.reading() as connection:
            verdicts = connection.execute(
                select(VerdictRow.__table__).where(VerdictRow.id.in_(ids)).order_by(VerdictRow.created, VerdictRow.id)
            ).all()
            runs = connection.execute(
                select(RunRow.__table__).where(RunRow.verdict_id.in_(ids)).order_by(RunRow.verdict_id, RunRow.position)
            ).all()
            clashes = connection.execute(
                select(ClashRow.__table__)
                .where(ClashRow.verdict_id.in_(ids))
                .order_by(ClashRow.verdict_id, ClashRow.position)
            ).all()
        return [
            _stored(row, [r for r in runs if r.verdict_id == row.id], [c for c in clashes if c.verdict_id == row.id])
            for row in verdicts
        ]


def _conditions(filter: VerdictFilter | None) -> list[ColumnElement[bool]]:
    return [] if filter is None else filter.conditions()


def _listing(filter: VerdictFilter | None) -> Select[Any]:
    return select(*_LISTED).where(*_conditions(filter))


def reliability_of(value: float | None, low: float | None, high: float | None, reason: str | None) -> Estimate:
    """The estimate of a row's columns."""
    return Estimate(value, low, high, reason=reason)


def _summary(row: Row[Any]) -> VerdictSummary:
    fields = {name: value for name, value in row._mapping.items() if name in VerdictSummary.__dataclass_fields__}
    parts = (row.reliability, row.reliability_low, row.reliability_high, row.reliability_reason)
    return VerdictSummary(**{**fields, "reliability": reliability_of(*parts)})


def _stored(row: Row[Any], runs: list[Row[Any]], clashes: list[Row[Any]]) -> StoredVerdict:
    entries = [full_entry(run.entry, run.rollout) for run in runs]
    body = join_body(row.body, entries, [(clash.kind, clash.pair) for clash in clashes])
    return StoredVerdict(_summary(row), body, tuple(rollout_from_json(run.rollout) for run in runs), row.signature)
