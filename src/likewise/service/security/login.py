"""Login to the dashboard: passwords by Argon2, sessions by random tokens of which only hashes are kept."""

from __future__ import annotations

import secrets
import unicodedata
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Any, Literal, TypedDict

import anyio
import anyio.to_thread

from likewise.core.errors import LikewiseError
from likewise.service.security.attempts import TooManyAttemptsError
from likewise.service.security.csrf import check_token, csrf_token, new_visitor
from likewise.service.security.hashing import digest, hash_secret, needs_rehash, verify_secret
from likewise.store.store import Store
from likewise.store.users import OpenSession, User

__all__ = [
    "FORGET_AFTER",
    "Cookie",
    "CookieName",
    "Logins",
    "Role",
    "Session",
    "TooManyAttemptsError",
    "WrongLoginError",
    "create_user",
]

SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 200
FREE_TRIES = 5
"""Wrong passwords in a row, for a name or from an address, that cost no waiting."""
LONGEST_WAIT = 900.0
FORGET_AFTER = timedelta(hours=24)
"""How long after the last of them failed logins are forgotten."""
SEEN_EVERY = timedelta(minutes=1)
"""How often a session's use is written down: not with every page."""
AT_ONCE = 2


class Role(StrEnum):
    """What a person may do in the dashboard."""

    ADMIN = "admin"
    """All of it."""
    VIEWER = "viewer"
    """Read."""


class WrongLoginError(LikewiseError, PermissionError):
    """Name and password do not fit. It does not say which is wrong."""

    def __init__(self) -> None:
        """One message for all."""
        super().__init__("name and password do not fit")


@dataclass(frozen=True, slots=True)
class Session:
    """A login that holds; the token is in the browser's cookie and nowhere else."""

    token: str = field(repr=False)
    user: str
    role: Role
    expires: datetime

    @property
    def csrf(self) -> str:
        """What its forms carry."""
        return csrf_token(self.token)

    @property
    def administers(self) -> bool:
        """Whether keys, users and settings may be changed."""
        return self.role is Role.ADMIN


class CookieName(TypedDict):
    """What to hand to a response's `delete_cookie`: a browser takes a cookie away only if all of it is the same."""

    key: str
    path: str
    httponly: bool
    secure: bool
    samesite: Literal["lax", "strict", "none"]


class Cookie(CookieName):
    """What to hand to a response's `set_cookie`."""

    value: str
    max_age: int


def create_user(store: Store, name: str, password: str, role: Role | str = Role.VIEWER, *, actor: str) -> None:
    """Make a user, or give one another password and role; their sessions end.

    Raises:
        ValueError: A name, password or role that cannot be.
        StoreUnavailableError: The database cannot be written.
    """
    clean = _name(name)
    if not clean or len(clean) > 200 or not clean.isprintable():
        raise ValueError("a user needs a name of 1 to 200 printable characters")
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise ValueError(f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters")
    if password.casefold() == clean.casefold() or len(set(password)) < 5:
        raise ValueError("a password is not the name, and has more than four different characters")
    store.users.put(clean, hash_secret(_password(password)), Role(role).value, actor=actor)


def _name(name: str) -> str:
    return unicodedata.normalize("NFKC", name).strip()


def _password(password: str) -> str:
    """One spelling of what looks alike: keyboards differ in how they compose letters."""
    return unicodedata.normalize("NFKC", password)


class Logins:
    """Opens, finds and ends sessions."""

    def __init__(
        self,
        store: Store,
        *,
        https: bool,
        idle: timedelta = timedelta(hours=8),
        lifetime: timedelta = timedelta(days=7),
    ) -> None:
        """Set up.

        Args:
            store: Where users and sessions are.
            https: Whether browsers reach the service by https: cookies then travel no other way.
            idle: How long a session lasts unused.
            lifetime: How long it lasts at most.
        """
        self._store, self._https, self._idle, self._lifetime = store, https, idle, lifetime
        self._decoy: str | None = None
        self._slots = anyio.Semaphore(AT_ONCE)

    @property
    def cookie_name(self) -> str:
        """Name of the session's cookie; by https with the prefix that keeps other hosts from setting it."""
        return "__Host-likewise" if self._https else "likewise"

    def cookie(self, session: Session) -> Cookie:
        """The cookie of a session: not for scripts, not for other sites' requests."""
        left = max(int((session.expires - datetime.now(UTC)).total_seconds()), 0)
        return {**self.forget_cookie(), "value": session.token, "max_age": left}

    def forget_cookie(self) -> CookieName:
        """The cookie that is taken away when a session has ended."""
        return {"key": self.cookie_name, "path": "/", "httponly": True, "secure": self._https, "samesite": "lax"}

    def login_csrf(self) -> tuple[str, str]:
        """What holds the login form to the browser that asked for it: a cookie, and a field of the form."""
        cookie = new_visitor()
        return cookie, csrf_token(cookie)

    def check_login_csrf(self, cookie: str | None, sent: str | None) -> None:
        """Refuse a login form that another site could have sent.

        Raises:
            ForgedFormError: The field does not belong to the cookie, or one of them is missing.
        """
        check_token(cookie, sent)

    async def enter(self, name: str, password: str, address: str, old_token: str | None = None) -> Session:
        """Log in: always a new token, and the one that the browser had before ends.

        Args:
            name: Whose.
            password: Their password.
            address: Where they are: failed logins count by name and by address, over all replicas.
            old_token: Token of the session that the browser has.

        Raises:
            WrongLoginError: They do not fit.
            TooManyAttemptsError: Too many have not; it says when to come back.
            StoreUnavailableError: The database cannot be used.
        """
        clean, now = _name(name)[:200], datetime.now(UTC)
        subjects = [digest(f"name:{clean.casefold()}"), digest(f"address:{address}")]
        async with self._slots:  # counted within: many tries at once are as many tries
            wait = max([await _in_thread(self._wait, subject, now) for subject in subjects])
            if wait > 0:
                raise TooManyAttemptsError(wait)
            user: User | None = await _in_thread(self._store.users.get, clean)
            if not await self._fits(user, password[: LONGEST_PASSWORD + 1]) or user is None:
                for subject in subjects:
                    await _in_thread(self._store.users.failed, subject, now, now - FORGET_AFTER)
                raise WrongLoginError
            await _in_thread(self._store.users.forgive, subjects[0])
        return await self._open(user, address, old_token, now)

    async def resume(self, token: str | None) -> Session | None:
        """The session of a cookie's token; None where there is none that holds.

        Raises:
            StoreUnavailableError: The database cannot be used.
        """
        if not token or len(token) > 200:
            return None
        now, hashed = datetime.now(UTC), digest(token)
        found: OpenSession | None = await _in_thread(self._store.users.session, hashed, now - self._idle, now)
        if found is None:
            return None
        if now - found.seen > SEEN_EVERY:
            await _in_thread(self._store.users.seen, hashed, now)
        return Session(token, found.user, Role(found.role), min(found.expires, now + self._idle))

    async def leave(self, token: str | None) -> None:
        """Log out.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        if token:
            await _in_thread(self._store.users.leave, digest(token))

    async def _open(self, user: User, address: str, old_token: str | None, now: datetime) -> Session:
        token, expires = secrets.token_urlsafe(32), now + self._lifetime
        old = digest(old_token) if old_token else None
        await _in_thread(
            partial(self._store.users.enter, digest(token), user.name, expires, instead_of=old, address=address)
        )
        return Session(token, user.name, Role(user.role), min(expires, now + self._idle))

    async def _fits(self, user: User | None, password: str) -> bool:
        """Whether it is their password; as slow for a name that does not exist."""
        if user is None or user.disabled is not None:
            await _in_thread(verify_secret, await self._decoy_hash(), _password(password))
            return False
        fits = bool(await _in_thread(verify_secret, user.hash, _password(password)))
        if fits and needs_rehash(user.hash):
            new = await _in_thread(hash_secret, _password(password))
            await _in_thread(self._store.users.rehash, user.name, user.hash, new)
        return fits

    async def _decoy_hash(self) -> str:
        if self._decoy is None:
            self._decoy = str(await _in_thread(hash_secret, secrets.token_urlsafe(16)))
        return self._decoy

    def _wait(self, subject: str, now: datetime) -> float:
        """Seconds until another try: after the free ones 2, 4, 8, ... from the last, a quarter of an hour at most."""
        found = self._store.users.failures(subject)
        if found.last is None or found.count < FREE_TRIES or now - found.last > FORGET_AFTER:
            return 0.0
        wait = min(2.0 ** (found.count - FREE_TRIES + 1), LONGEST_WAIT)
        return max(wait - (now - found.last).total_seconds(), 0.0)


async def _in_thread(function: Any, *arguments: Any) -> Any:  # noqa: ANN401 - whatever it returns
    return await anyio.to_thread.run_sync(function, *arguments)
