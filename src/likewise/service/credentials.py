"""Which parts of a call are somebody's credentials: so that none is kept, logged, or told to somebody else."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from urllib.parse import parse_qsl

from likewise.store.redaction import MARK, SHORTEST_KNOWN, Redactor

__all__ = ["RequestRedactor", "credentials_of", "note_credentials", "without"]

_WORDS = ("authorization", "key", "token", "secret", "cookie", "passw")
_NOTED: ContextVar[tuple[str, ...]] = ContextVar("likewise_credentials", default=())


def credentials_of(headers: Iterable[tuple[bytes, bytes]], query: bytes = b"") -> tuple[str, ...]:
    """The credentials of a call: what its headers and its query hold under names that say so.

    Args:
        headers: Headers as they go to the upstream.
        query: Its query string.

    Returns:
        Each value as it stands, and the parts of it that are secret by themselves; none that is too short to be told
        from a word.
    """
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
    pairs += parse_qsl(query.decode("latin-1"))
    found = [part for name, value in pairs if _tells(name) for part in _parts(value.strip())]
    return tuple(dict.fromkeys(part for part in found if len(part) >= SHORTEST_KNOWN))


def _tells(name: str) -> bool:
    low = name.lower()
    return low.endswith("auth") or any(word in low for word in _WORDS)


def _parts(value: str) -> Iterator[str]:
    """The value, what stands behind its scheme, and the password of Basic, which an upstream sees in clear."""
    yield value
    scheme, _, rest = value.partition(" ")
    yield rest.strip()
    if scheme.lower() == "basic":
        try:
            pair = base64.b64decode(rest.strip(), validate=True).decode("utf-8")
        except ValueError:  # no Basic at all; the value itself is taken out nevertheless
            return
        yield pair
        yield pair.partition(":")[2]


def without(secrets: Iterable[str], body: bytes) -> bytes:
    """A body of an upstream without these, as they are and as JSON writes them."""
    for secret in sorted(secrets, key=len, reverse=True):
        escaped = json.dumps(secret)[1:-1]
        for form in (secret.encode("latin-1", "replace"), escaped.encode(), escaped.replace("/", "\\/").encode()):
            body = body.replace(form, MARK.encode())
    return body


def note_credentials(found: tuple[str, ...]) -> None:
    """Keep these out of every log line that the request under way writes from here on."""
    _NOTED.set(found)


class RequestRedactor(Redactor):
    """Takes out the credentials of the request under way, too."""

    def text(self, text: str) -> str:
        """The text without secrets."""
        for secret in sorted(_NOTED.get(), key=len, reverse=True):
            text = text.replace(secret, MARK)
        return super().text(text)
