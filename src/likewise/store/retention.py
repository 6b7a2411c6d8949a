"""Deletes what is old, and keeps of it what trends are made of: counts and sums by day, agent and version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, select, update

from likewise.store.engine import Database
from likewise.store.insert import add_unless_there
from likewise.store.models import DailyRow, JobRow, VerdictRow
from likewise.store.tally import SUMS, Tally

__all__ = ["Retention"]


class Retention:
    """The retention of a database."""

    def __init__(self, database: Database) -> None:
        """Delete here."""
        self._database = database

    def delete_older_than(self, days: float, now: datetime | None = None, *, batch: int = 200) -> int:
        """Delete verdicts with their runs, and jobs that have ended, some at a time so that writes wait but briefly.

        What is deleted counts on in trends. The audit log and alerts stay.

        Args:
            days: Age from which on they go.
            now: The moment that age is counted from.
            batch: Verdicts of one transaction.

        Returns:
            Verdicts deleted.

        Raises:
            ValueError: A negative age.
            StoreUnavailableError: The database cannot be written; what was deleted before counts on all the same.
        """
        if days < 0:
            raise ValueError(f"an age is at least 0 days, got {days}")
        before = (datetime.now(UTC) if now is None else now) - timedelta(days=days)
        deleted = 0
        while True:
            with self._database.writing() as connection:
                gone = _move(connection, before, batch)
            deleted += gone
            if gone < batch:
                break
        with self._database.writing() as connection:
            connection.execute(delete(JobRow).where(JobRow.finished < before))
        return deleted


def _move(connection: Connection, before: datetime, batch: int) -> int:
    """From rows to sums, in one transaction: at no moment does a verdict count twice, or not at all."""
    oldest = select(VerdictRow.id).where(VerdictRow.created < before).order_by(VerdictRow.created).limit(batch)
    ids = connection.execute(oldest.with_for_update(skip_locked=True)).scalars().all()  # another replica may be at it
    if not ids:
        return 0
    key = VerdictRow.day, VerdictRow.agent, VerdictRow.version
    rows = connection.execute(select(*key, *SUMS).where(VerdictRow.id.in_(ids)).group_by(*key).order_by(*key)).all()
    for row in rows:
        _keep(connection, row[:3], Tally.of(row))
    connection.execute(delete(VerdictRow).where(VerdictRow.id.in_(ids)))
    return len(ids)


def _keep(connection: Connection, key: Sequence[Any], tally: Tally) -> None:
    """Add to a day's sums."""
    names = [each.name for each in fields(Tally)]
    where = dict(zip(("day", "agent", "version"), key, strict=True))
    table: Any = DailyRow.__table__
    if add_unless_there(connection, table, {**where, **{name: getattr(tally, name) for name in names}}):
        return
    held = connection.execute(select(table).filter_by(**where).with_for_update()).one()
    total = Tally.of(held) + tally
    connection.execute(update(table).filter_by(**where).values(**{name: getattr(total, name) for name in names}))
