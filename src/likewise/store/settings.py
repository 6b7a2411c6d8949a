"""Settings that an administrator changes in the dashboard. Never secrets: those come from the service's environment."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import delete, insert, select

from likewise.core.rollout import JsonValue
from likewise.store.audit import Audit
from likewise.store.engine import Database
from likewise.store.models import SettingRow
from likewise.store.redaction import Redactor

__all__ = ["Settings"]

LONGEST = 100_000


class Settings:
    """Settings by name, each a JSON value."""

    def __init__(self, database: Database, audit: Audit, redactor: Redactor) -> None:
        """Keep them here, and note who changes them there."""
        self._database, self._audit, self._redactor = database, audit, redactor

    def get(self, name: str, default: JsonValue = None) -> JsonValue:
        """A setting; the default where it was never set.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        return self.all().get(name, default)

    def all(self) -> dict[str, JsonValue]:
        """All settings by name.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        with self._database.reading() as connection:
            rows = connection.execute(select(SettingRow.name, SettingRow.value)).all()
        return {row.name: row.value["value"] for row in rows}

    def set(self, name: str, value: JsonValue, *, actor: str) -> None:
        """Change a setting, and note who did.

        Raises:
            ValueError: A name or value that is too long.
            StoreUnavailableError: The database cannot be written.
        """
        clean = self._redactor.value(value)
        if not 0 < len(name) <= 100 or len(repr(clean)) > LONGEST:
            raise ValueError(f"a setting's name has 1 to 100 characters, its value at most {LONGEST:,}")
        with self._database.writing() as connection:
            connection.execute(delete(SettingRow).where(SettingRow.name == name))
            connection.execute(
                insert(SettingRow).values(
                    name=name, value={"value": clean}, changed=datetime.now(UTC), changed_by=self._redactor.text(actor)
                )
            )
            self._audit.note(connection, actor, "setting changed", name, {"value": clean})
