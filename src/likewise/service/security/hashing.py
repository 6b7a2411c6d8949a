"""Argon2 for what people choose and what they carry; plain digests for what is random and long."""

from __future__ import annotations

import hashlib

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

__all__ = ["digest", "hash_secret", "needs_rehash", "verify_secret"]

# The second of the settings that OWASP's password storage cheat sheet recommends for Argon2id: 19 MiB, two passes.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)


def hash_secret(secret: str) -> str:
    """Hash a password or the secret of a key: about 30 ms and 19 MiB, on purpose."""
    return _HASHER.hash(secret.encode("utf-8", "surrogatepass"))


def verify_secret(hash: str, secret: str) -> bool:
    """Whether a hash is of this secret. As slow as hashing."""
    try:
        return _HASHER.verify(hash, secret.encode("utf-8", "surrogatepass"))
    except (VerificationError, InvalidHashError):
        return False


def needs_rehash(hash: str) -> bool:
    """Whether a hash was made with other settings than new ones are."""
    return _HASHER.check_needs_rehash(hash)


def digest(token: str) -> str:
    """SHA-256 of a random token, in hex: enough where there is nothing to guess."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
