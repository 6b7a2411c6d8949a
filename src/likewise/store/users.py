"""Who may open the dashboard, who has, and who tried in vain. Passwords and session tokens are here as hashes only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import case, delete, func, insert, select, update

from likewise.store.audit import Audit
from likewise.store.engine import Database
from likewise.store.insert import add_unless_there
from likewise.store.models import LoginFailureRow, SessionRow, UserRow

__all__ = ["Failures", "OpenSession", "User", "Users"]


@dataclass(frozen=True, slots=True)
class User:
    """A person: `role` says what they may do, `hash` is of the password, `disabled` when they were shut out."""

    name: str
    hash: str
    role: str
    created: datetime
    disabled: datetime | None = None


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A login that holds: whose, with which role, since when, last seen when, until when at the latest."""

    user: str
    role: str
    created: datetime
    seen: datetime
    expires: datetime


@dataclass(frozen=True, slots=True)
class Failures:
    """Failed logins in a row, and the time of the last; (0, None) where there are none."""

    count: int = 0
    last: datetime | None = None


class Users:
    """Users, their sessions, and failed logins."""

    def __init__(self, database: Database, audit: Audit) -> None:
        """Keep them here, and note who changes them there."""
        self._database, self._audit = database, audit

    def any(self) -> bool:
        """Whether there is a user who may log in.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        with self._database.reading() as connection:
            statement = select(func.count()).select_from(UserRow).where(UserRow.disabled.is_(None))
            return connection.execute(statement).scalar_one() > 0

    def list(self) -> list[User]:
        """All users by name.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        with self._database.reading() as connection:
            return [User(*row) for row in connection.execute(select(UserRow.__table__).order_by(UserRow.name))]

    def get(self, name: str) -> User | None:
        """A user; None where there is none of that name.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        with self._database.reading() as connection:
            row = connection.execute(select(UserRow.__table__).where(UserRow.name == name)).one_or_none()
        return None if row is None else User(*row)

    def put(self, name: str, hash: str, role: str, *, actor: str) -> None:
        """Make a user, or give one another password and role; their sessions end, and they may log in.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        values = {"hash": hash, "role": role, "disabled": None}
        with self._database.writing() as connection:
            known = connection.execute(update(UserRow).where(UserRow.name == name).values(**values)).rowcount == 1
            if known:
                connection.execute(delete(SessionRow).where(SessionRow.user == name))
            else:
                connection.execute(insert(UserRow).values(name=name, created=datetime.now(UTC), **values))
            self._audit.note(connection, actor, "user changed" if known else "user created", name, {"role": role})

    def rehash(self, name: str, old: str, new: str) -> None:
        """Replace a hash by one of the same password, unless it was changed in between.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        with self._database.writing() as connection:
            connection.execute(update(UserRow).where(UserRow.name == name, UserRow.hash == old).values(hash=new))

    def disable(self, name: str, *, actor: str) -> bool:
        """Shut a user out and end their sessions; whether they could log in until now.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        with self._database.writing() as connection:
            active = (UserRow.name == name) & UserRow.disabled.is_(None)
            done = connection.execute(update(UserRow).where(active).values(disabled=datetime.now(UTC))).rowcount == 1
            if done:
                connection.execute(delete(SessionRow).where(SessionRow.user == name))
                self._audit.note(connection, actor, "user disabled", name)
        return done

    def enter(self, token_hash: str, name: str, expires: datetime, *, instead_of: str | None, address: str) -> None:
        """Open a session, end the one it takes the place of, and forget failed logins.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        now = datetime.now(UTC)
        with self._database.writing() as connection:
            if instead_of is not None:
                connection.execute(delete(SessionRow).where(SessionRow.token_hash == instead_of))
            connection.execute(
                insert(SessionRow).values(token_hash=token_hash, user=name, created=now, seen=now, expires=expires)
            )
            self._audit.note(connection, name, "logged in", name, {"address": address})

    def session(self, token_hash: str, seen_after: datetime, now: datetime) -> OpenSession | None:
        """The session of a token, if it has not expired, was used since `seen_after`, and its user may log in.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        statement = (
            select(SessionRow.user, UserRow.role, SessionRow.created, SessionRow.seen, SessionRow.expires)
            .join(UserRow, UserRow.name == SessionRow.user)
            .where(SessionRow.token_hash == token_hash, SessionRow.expires > now, SessionRow.seen >= seen_after)
            .where(UserRow.disabled.is_(None))
        )
        with self._database.reading() as connection:
            row = connection.execute(statement).one_or_none()
        return None if row is None else OpenSession(*row)

    def seen(self, token_hash: str, now: datetime) -> None:
        """Note that a session was used.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        with self._database.writing() as connection:
            connection.execute(update(SessionRow).where(SessionRow.token_hash == token_hash).values(seen=now))

    def leave(self, token_hash: str) -> None:
        """End a session; one that is not there does no harm.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        with self._database.writing() as connection:
            connection.execute(delete(SessionRow).where(SessionRow.token_hash == token_hash))

    def failures(self, subject: str) -> Failures:
        """Failed logins of a name or an address, by its hash.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        statement = select(LoginFailureRow.failures, LoginFailureRow.last).where(LoginFailureRow.subject == subject)
        with self._database.reading() as connection:
            row = connection.execute(statement).one_or_none()
        return Failures() if row is None else Failures(*row)

    def failed(self, subject: str, now: datetime, forget_before: datetime) -> None:
        """Count one more failed login; those whose last was before `forget_before` start anew.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        row = LoginFailureRow
        with self._database.writing() as connection:
            table: Any = LoginFailureRow.__table__
            add_unless_there(connection, table, {"subject": subject, "failures": 0, "last": now})
            count = case((row.last < forget_before, 1), else_=row.failures + 1)
            connection.execute(update(row).where(row.subject == subject).values(failures=count, last=now))

    def forgive(self, subject: str) -> None:
        """Forget failed logins.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        with self._database.writing() as connection:
            connection.execute(delete(LoginFailureRow).where(LoginFailureRow.subject == subject))

    def sweep(self, now: datetime, forget_before: datetime) -> int:
        """Delete sessions that have expired, and failed logins of before `forget_before`; how many sessions.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        with self._database.writing() as connection:
            gone = connection.execute(delete(SessionRow).where(SessionRow.expires <= now)).rowcount
            connection.execute(delete(LoginFailureRow).where(LoginFailureRow.last < forget_before))
        return gone
