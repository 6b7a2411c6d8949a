"""API keys at rest: what a key may do, and a hash of its secret. The secret itself is nowhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row, insert, select, update

from likewise.core.rollout import JsonValue
from likewise.store.audit import Audit
from likewise.store.engine import Database
from likewise.store.models import ApiKeyRow
from likewise.store.redaction import Redactor

__all__ = ["ApiKey", "Keys"]


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key.

    Attributes:
        prefix: Its public part, by which it is found and named.
        name: What it is for.
        hash: Argon2 hash of its secret.
        scopes: What it may do.
        per_minute: Requests a minute that it may make on average.
        burst: Requests that it may make at once.
        created: When it was made.
        created_by: Who made it.
        revoked: When it was revoked; None while it holds.
        last_used: When it was last used, to the minute; None if never.
    """

    prefix: str
    name: str
    hash: str
    scopes: frozenset[str]
    per_minute: int
    burst: int
    created: datetime
    created_by: str
    revoked: datetime | None = None
    last_used: datetime | None = None


class Keys:
    """The keys of a database."""

    def __init__(self, database: Database, audit: Audit, redactor: Redactor) -> None:
        """Keep them here, and note who makes and revokes them there."""
        self._database, self._audit, self._redactor = database, audit, redactor

    def add(
        self, prefix: str, name: str, hash: str, scopes: Iterable[str], *, per_minute: int, burst: int, actor: str
    ) -> ApiKey:
        """Keep a new key.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        sorted_scopes = sorted(set(scopes))
        name, actor = self._redactor.text(name), self._redactor.text(actor)
        key = ApiKey(prefix, name, hash, frozenset(sorted_scopes), per_minute, burst, datetime.now(UTC), actor)
        with self._database.writing() as connection:
            connection.execute(
                insert(ApiKeyRow).values(
                    prefix=prefix,
                    name=name,
                    hash=hash,
                    scopes=" ".join(sorted_scopes),
                    per_minute=per_minute,
                    burst=burst,
                    created=key.created,
                    created_by=actor,
                )
            )
            details: dict[str, JsonValue] = {"name": name, "scopes": [*sorted_scopes], "per_minute": per_minute}
            self._audit.note(connection, actor, "key created", prefix, details | {"burst": burst})
        return key

    def get(self, prefix: str) -> ApiKey | None:
        """The key of that prefix, revoked or not; None where there is none.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        with self._database.reading() as connection:
            row = connection.execute(select(ApiKeyRow.__table__).where(ApiKeyRow.prefix == prefix)).one_or_none()
        return None if row is None else _key(row)

    def list(self) -> list[ApiKey]:
        """All keys, revoked ones too, the oldest first.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        with self._database.reading() as connection:
            rows = connection.execute(select(ApiKeyRow.__table__).order_by(ApiKeyRow.created, ApiKeyRow.prefix)).all()
        return [_key(row) for row in rows]

    def revoke(self, prefix: str, actor: str) -> bool:
        """Make a key invalid for good; whether it was valid until now.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        with self._database.writing() as connection:
            valid = (ApiKeyRow.prefix == prefix) & ApiKeyRow.revoked.is_(None)
            revoked = connection.execute(update(ApiKeyRow).where(valid).values(revoked=datetime.now(UTC))).rowcount == 1
            if revoked:
                self._audit.note(connection, actor, "key revoked", prefix)
        return revoked

    def used(self, prefix: str) -> None:
        """Note that a key was used.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        moment = datetime.now(UTC).replace(second=0, microsecond=0)
        with self._database.writing() as connection:
            connection.execute(update(ApiKeyRow).where(ApiKeyRow.prefix == prefix).values(last_used=moment))


def _key(row: Row[Any]) -> ApiKey:
    return ApiKey(**{**row._mapping, "scopes": frozenset(row.scopes.split())})
