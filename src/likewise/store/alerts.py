"""Suspected and confirmed regressions, and how far word of each got; each step is taken once, over all replicas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, and_, exists, or_, select, update

from likewise.core.rollout import JsonValue
from likewise.store.engine import Database
from likewise.store.insert import add_unless_there
from likewise.store.models import AlertRow, DeliveryRow
from likewise.store.redaction import Redactor

__all__ = ["Alert", "AlertState", "Alerts", "Delivery", "DeliveryState"]


class AlertState(StrEnum):
    """What is known of a regression."""

    OPEN = "open"
    """Suspected."""
    CONFIRMED = "confirmed"
    """Not by chance: word of it is sent."""
    CLOSED = "closed"
    """Over, or put aside by a person."""


class DeliveryState(StrEnum):
    """How far word of an alert is on one channel."""

    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Alert:
    """One regression: of which number, of which agent and version, since which day, and what is known of it."""

    id: str
    agent: str
    version: str
    metric: str
    since: date
    state: AlertState
    opened: datetime
    confirmed: datetime | None
    closed: datetime | None
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Delivery:
    """How far an alert got on a channel: tries, the last problem, and when to try again (None: not by itself)."""

    channel: str
    state: DeliveryState
    at: datetime
    attempts: int
    error: str | None
    retry_at: datetime | None


class Alerts:
    """The alerts of a database."""

    def __init__(self, database: Database, redactor: Redactor) -> None:
        """Keep them here."""
        self._database, self._redactor = database, redactor

    def open(
        self, agent: str, version: str, metric: str, since: date, details: Mapping[str, JsonValue] | None = None
    ) -> Alert:
        """The alert of a regression; a new one where it is not known yet.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        names = {"agent": agent, "version": version, "metric": metric}
        key: dict[str, Any] = {name: self._redactor.text(text) for name, text in names.items()} | {"since": since}
        values: dict[str, Any] = {**key, "id": uuid4().hex, "state": AlertState.OPEN.value, "opened": datetime.now(UTC)}
        values["details"] = self._redactor.value(dict(details or {}))
        with self._database.writing() as connection:
            table: Any = AlertRow.__table__
            add_unless_there(connection, table, values)
            return _alert(connection.execute(select(table).filter_by(**key)).one())

    def get(self, id: str) -> Alert | None:
        """An alert; None where there is none of that name.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        with self._database.reading() as connection:
            row = connection.execute(select(AlertRow.__table__).where(AlertRow.id == id)).one_or_none()
        return None if row is None else _alert(row)

    def list(
        self, *, agent: str | None = None, state: AlertState | str | None = None, limit: int = 100
    ) -> Sequence[Alert]:
        """Alerts, the newest first.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        statement = select(AlertRow.__table__).order_by(AlertRow.opened.desc(), AlertRow.id).limit(limit)
        if agent is not None:
            statement = statement.where(AlertRow.agent == agent)
        if state is not None:
            statement = statement.where(AlertRow.state == str(AlertState(state)))
        with self._database.reading() as connection:
            return [_alert(row) for row in connection.execute(statement)]

    def confirm(self, id: str, details: Mapping[str, JsonValue] | None = None) -> bool:
        """A suspected regression is one. True for the one caller who finds it suspected.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        values: dict[str, Any] = {"state": AlertState.CONFIRMED.value, "confirmed": datetime.now(UTC)}
        if details is not None:
            values["details"] = self._redactor.value(dict(details))
        return self._step(and_(AlertRow.id == id, AlertRow.state == AlertState.OPEN.value), values)

    def close(self, id: str) -> bool:
        """A regression is over; whether it was not already.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        values = {"state": AlertState.CLOSED.value, "closed": datetime.now(UTC)}
        return self._step(and_(AlertRow.id == id, AlertRow.state != AlertState.CLOSED.value), values)

    def _step(self, condition: Any, values: Mapping[str, Any]) -> bool:  # noqa: ANN401 - a condition
        with self._database.writing() as connection:
            return connection.execute(update(AlertRow).where(condition).values(**values)).rowcount == 1

    def due(self, channel: str, now: datetime | None = None, *, stale_after: float = 120.0) -> Sequence[Alert]:
        """Confirmed alerts that this channel has to send: never tried, to be tried again, or left by one who died.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        moment = datetime.now(UTC) if now is None else now
        on_channel = and_(DeliveryRow.alert_id == AlertRow.id, DeliveryRow.channel == channel)
        untried = ~exists().where(on_channel)
        again = exists().where(on_channel, _claimable(moment, stale_after))
        statement = select(AlertRow.__table__).where(AlertRow.state == AlertState.CONFIRMED.value, or_(untried, again))
        with self._database.reading() as connection:
            return [_alert(row) for row in connection.execute(statement.order_by(AlertRow.confirmed, AlertRow.id))]

    def claim(
        self, id: str, channel: str, worker: str, now: datetime | None = None, *, stale_after: float = 120.0
    ) -> bool:
        """Take it upon oneself to send an alert. True for exactly one worker, until it fails or `stale_after` is over.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        moment = datetime.now(UTC) if now is None else now
        sending = {"state": DeliveryState.SENDING.value, "worker": worker, "at": moment}
        with self._database.writing() as connection:
            table: Any = DeliveryRow.__table__
            first = {"alert_id": id, "channel": channel, "attempts": 1, **sending}
            if add_unless_there(connection, table, first):
                return True
            mine = and_(_delivery(id, channel), _claimable(moment, stale_after))
            values = {**sending, "attempts": DeliveryRow.attempts + 1, "retry_at": None}
            return connection.execute(update(DeliveryRow).where(mine).values(**values)).rowcount == 1

    def sent(self, id: str, channel: str) -> None:
        """It was sent.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        self._delivered(id, channel, {"state": DeliveryState.SENT.value, "error": None, "retry_at": None})

    def failed(self, id: str, channel: str, error: str, retry_at: datetime | None) -> None:
        """It was not sent; `retry_at` None gives up.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        words = self._redactor.text(error)[:1000]
        self._delivered(id, channel, {"state": DeliveryState.FAILED.value, "error": words, "retry_at": retry_at})

    def _delivered(self, id: str, channel: str, values: Mapping[str, Any]) -> None:
        with self._database.writing() as connection:
            statement = update(DeliveryRow).where(_delivery(id, channel)).values(at=datetime.now(UTC), **values)
            connection.execute(statement)

    def deliveries(self, id: str) -> tuple[Delivery, ...]:
        """How far an alert got, by channel.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        row = DeliveryRow
        columns = row.channel, row.state, row.at, row.attempts, row.error, row.retry_at
        with self._database.reading() as connection:
            rows = _rows(connection, select(*columns).where(row.alert_id == id).order_by(row.channel))
        return tuple(Delivery(r.channel, DeliveryState(r.state), r.at, r.attempts, r.error, r.retry_at) for r in rows)


def _rows(connection: Connection, statement: Any) -> Any:  # noqa: ANN401 - rows of any columns
    return connection.execute(statement).all()


def _delivery(id: str, channel: str) -> Any:  # noqa: ANN401 - a condition
    return and_(DeliveryRow.alert_id == id, DeliveryRow.channel == channel)


def _claimable(now: datetime, stale_after: float) -> Any:  # noqa: ANN401 - a condition
    """Failed and due again, or being sent for so long that the sender must have died."""
    row = DeliveryRow
    return or_(
        and_(row.state == DeliveryState.FAILED.value, row.retry_at <= now),
        and_(row.state == DeliveryState.SENDING.value, row.at < now - timedelta(seconds=stale_after)),
    )


def _alert(row: Any) -> Alert:  # noqa: ANN401 - a row of the table
    return Alert(**{**row._mapping, "state": AlertState(row.state)})
