"""Administrative acts: who did what to what, and when. Rows are added and never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, insert, select

from likewise.core.rollout import JsonValue
from likewise.store.engine import Database
from likewise.store.models import AuditRow
from likewise.store.pages import Page, cursor_of, decode_cursor, within
from likewise.store.redaction import Redactor

__all__ = ["Act", "Audit"]


@dataclass(frozen=True, slots=True)
class Act:
    """One act: `actor` did `action` to `target`."""

    id: int
    at: datetime
    actor: str
    action: str
    target: str
    details: Mapping[str, Any]


class Audit:
    """The audit log of a database."""

    def __init__(self, database: Database, redactor: Redactor) -> None:
        """Write to and read from here."""
        self._database, self._redactor = database, redactor

    def add(self, actor: str, action: str, target: str = "", details: Mapping[str, JsonValue] | None = None) -> None:
        """Note an act that changes no table of ours.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        with self._database.writing() as connection:
            self.note(connection, actor, action, target, details)

    def note(
        self,
        connection: Connection,
        actor: str,
        action: str,
        target: str = "",
        details: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """Note an act in the transaction that does it: there is none without its note, and no note without it."""
        clean = {
            name: self._redactor.text(text) for name, text in (("actor", actor), ("action", action), ("target", target))
        }
        shown = self._redactor.value(dict(details or {}))
        connection.execute(insert(AuditRow).values(at=datetime.now(UTC), details=shown, **clean))

    def page(self, *, after: str | None = None, limit: int = 100) -> Page[Act]:
        """Acts, the latest first.

        Raises:
            ValueError: A cursor or limit that cannot be.
            StoreUnavailableError: The database cannot be read.
        """
        statement = select(AuditRow.__table__).order_by(AuditRow.id.desc()).limit(within(limit) + 1)
        if after is not None:
            statement = statement.where(AuditRow.id < decode_cursor(after, (int,))[0])
        with self._database.reading() as connection:
            acts = [Act(*row) for row in connection.execute(statement)]
        return Page(tuple(acts[:limit]), cursor_of(acts[limit - 1].id) if len(acts) > limit else None)
