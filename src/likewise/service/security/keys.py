"""API keys: `lw_<prefix>_<secret>`. The prefix is public; of the secret there is an Argon2 hash and nothing else."""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import anyio
import anyio.to_thread

from likewise.core.errors import LikewiseError, StoreUnavailableError
from likewise.service.security.attempts import Attempts, TooManyAttemptsError
from likewise.service.security.hashing import hash_secret, verify_secret
from likewise.store.keys import ApiKey
from likewise.store.store import Store

__all__ = [
    "CreatedKey",
    "KeyRing",
    "Principal",
    "Scope",
    "TooManyAttemptsError",
    "UnknownKeyError",
    "create_key",
    "looks_like_key",
]

_SHAPE = re.compile(r"lw_([A-Za-z0-9]{12})_([A-Za-z0-9_-]{43})")
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789"  # without those that look like others

FRESH_SECONDS = 10.0
"""How long a key that was verified holds without a look at the database: so long may a revoked key work elsewhere."""
REMEMBERED = 10_000
"""Keys that are remembered as verified."""
AT_ONCE = 2
"""Secrets that are verified at the same time: each takes 19 MiB and all of a core."""


class Scope(StrEnum):
    """What a key may do."""

    ANALYZE = "analyze"
    """Have the service run an agent."""
    SCORE = "score"
    """Have given answers scored or compared."""
    PROXY = "proxy"
    """Use the OpenAI-compatible proxy."""
    READ = "read"
    """Read verdicts, reports and trends."""
    ADMIN = "admin"
    """All of it, and manage keys."""


class UnknownKeyError(LikewiseError, PermissionError):
    """No key, or none that holds. It does not say which: that is nobody's business."""

    def __init__(self) -> None:
        """One message for all."""
        super().__init__("the API key is missing, unknown or revoked")


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks: a key's public part and name, what it may do, and how often."""

    prefix: str
    name: str
    scopes: frozenset[Scope]
    per_minute: int
    burst: int

    def allows(self, scope: Scope) -> bool:
        """Whether this may be done; an administrator may do all."""
        return scope in self.scopes or Scope.ADMIN in self.scopes


@dataclass(frozen=True, slots=True)
class CreatedKey:
    """A new key; `secret` is the whole key, shown this once. It is in no representation, so that no log has it."""

    key: ApiKey
    secret: str

    def __repr__(self) -> str:
        """Without the secret."""
        return f"CreatedKey(prefix={self.key.prefix!r}, name={self.key.name!r})"


def create_key(
    store: Store, name: str, scopes: Iterable[Scope | str], *, per_minute: int = 600, burst: int = 60, actor: str
) -> CreatedKey:
    """Make a key.

    Args:
        store: Where its hash is kept.
        name: What it is for.
        scopes: What it may do; at least one.
        per_minute: Requests a minute that it may make on average.
        burst: Requests that it may make at once.
        actor: Who makes it.

    Raises:
        ValueError: A name, scope or rate that cannot be.
        StoreUnavailableError: The database cannot be written.
    """
    wanted = {_scope(each) for each in scopes}
    if not wanted:
        raise ValueError(f"a key needs a scope; there are {', '.join(Scope)}")
    if not name.strip() or len(name) > 200:
        raise ValueError("a key needs a name of 1 to 200 characters")
    if not (1 <= per_minute <= 1_000_000 and 1 <= burst <= 1_000_000):
        raise ValueError("per_minute and burst lie between 1 and 1,000,000")
    prefix, secret = "".join(secrets.choice(_LETTERS) for _ in range(12)), secrets.token_urlsafe(32)
    key = store.keys.add(prefix, name, hash_secret(secret), wanted, per_minute=per_minute, burst=burst, actor=actor)
    return CreatedKey(key, f"lw_{prefix}_{secret}")


def _scope(text: Scope | str) -> Scope:
    try:
        return Scope(text)
    except ValueError:
        raise ValueError(f"no scope {str(text)[:40]!r}; there are {', '.join(Scope)}") from None


def looks_like_key(text: str) -> bool:
    """Whether a text is meant as a key of ours, rather than one of an upstream service."""
    return text.startswith("lw_")


@dataclass(slots=True)
class _Verified:
    """A key whose secret was seen to fit this hash; `checked` is when the database last said that it holds."""

    hash: str
    principal: Principal
    checked: float
    noted: float


class KeyRing:
    """Checks keys: the slow hash once for each key, the database every few seconds, else a look into memory."""

    def __init__(self, store: Store, *, fresh: float = FRESH_SECONDS, attempts: Attempts | None = None) -> None:
        """Set up.

        Args:
            store: Where keys are.
            fresh: Seconds for which a verified key holds without a look at the database.
            attempts: How many wrong keys an address may try.
        """
        self._store, self._fresh = store, fresh
        self._attempts = attempts or Attempts(most=30, within=60.0)
        self._verified: OrderedDict[bytes, _Verified] = OrderedDict()
        self._salt = secrets.token_bytes(32)  # what is in memory is of no use in another process
        self._slots = anyio.Semaphore(AT_ONCE)

    async def check(self, raw: str | None, address: str = "") -> Principal:
        """Who holds this key.

        Args:
            raw: The key as it came.
            address: Where it came from: too many wrong keys from there are refused unread for a while.

        Raises:
            UnknownKeyError: No key, or none that holds (401).
            TooManyAttemptsError: Too many wrong ones from this address; it says when to come back (429).
            StoreUnavailableError: The database cannot be read (503).
        """
        match = None if raw is None else _SHAPE.fullmatch(raw)
        if match is None:
            raise UnknownKeyError
        place = hmac.digest(self._salt, match.group(0).encode("ascii"), "sha256")
        known = self._verified.get(place)
        if known is not None and time.monotonic() - known.checked < self._fresh:
            self._verified.move_to_end(place)
            return known.principal
        if known is None:
            self._let_try(address)
        key = await anyio.to_thread.run_sync(self._store.keys.get, match.group(1))
        if key is None or key.revoked is not None or not await self._fits(key, match.group(2), known, address):
            self._verified.pop(place, None)
            self._attempts.failed(address)
            raise UnknownKeyError
        return await self._remember(place, key, known)

    @staticmethod
    def looks_like_key(text: str) -> bool:
        """Whether a text is meant as a key of ours, rather than one of an upstream service."""
        return looks_like_key(text)

    def forget(self, prefix: str) -> None:
        """Look at the database before this key is let in again, as after its revocation."""
        for place in [place for place, each in self._verified.items() if each.principal.prefix == prefix]:
            del self._verified[place]

    def _let_try(self, address: str) -> None:
        wait = self._attempts.wait(address)
        if wait > 0:
            raise TooManyAttemptsError(wait)

    async def _fits(self, key: ApiKey, secret: str, known: _Verified | None, address: str) -> bool:
        if known is not None and hmac.compare_digest(known.hash, key.hash):
            return True  # this very secret was verified against this very hash before
        async with self._slots:
            self._let_try(address)  # again: many tries at once are as many tries
            return await anyio.to_thread.run_sync(verify_secret, key.hash, secret)

    async def _remember(self, place: bytes, key: ApiKey, known: _Verified | None) -> Principal:
        now = time.monotonic()
        scopes = frozenset(Scope(scope) for scope in key.scopes if scope in set(Scope))
        principal = Principal(key.prefix, key.name, scopes, key.per_minute, key.burst)
        noted = known.noted if known is not None and now - known.noted < 60 else await self._note(key.prefix, now)
        self._verified[place] = _Verified(key.hash, principal, now, noted)
        self._verified.move_to_end(place)
        while len(self._verified) > REMEMBERED:
            self._verified.popitem(last=False)
        return principal

    async def _note(self, prefix: str, now: float) -> float:
        """Write down that the key is used, once a minute; a full disk is no reason to turn its holder away."""
        try:
            await anyio.to_thread.run_sync(self._store.keys.used, prefix)
        except StoreUnavailableError:
            return now
        return now
