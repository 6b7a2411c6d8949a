"""Takes secrets out of what is about to be written: to the history, and to logs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeAlias

from likewise.core.rollout import JsonValue

__all__ = ["MARK", "Redactor", "TextHook"]

MARK = "[redacted]"

TextHook: TypeAlias = Callable[[str], str]
"""A user's own way to take out what is nobody's business (names, account numbers), text by text."""

SHORTEST_KNOWN = 6
"""Characters below which a known secret is not looked for, as it would be found in words; no pattern matches fewer."""
CUT = "..."
"""What the package writes where an excerpt of a text ends."""
REMEMBERED = 300
"""Characters up to which a text is remembered without its secrets."""

# Each pattern with what a text must hold to be searched for it at all: looking for a few characters is a hundred times
# faster than a pattern. Repetitions are bounded: the text is anybody's, and the search stays linear.
_SHAPES: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (hints, re.compile(pattern))
    for hints, pattern in (
        (("lw_",), r"\blw_[A-Za-z0-9]{12}_[A-Za-z0-9_-]{20,}"),  # our own
        (("sk-",), r"\bsk-[A-Za-z0-9_-]{16,}"),  # OpenAI, Anthropic, OpenRouter and others
        (
            ("gsk", "xai", "r8_", "pplx", "nvapi", "csk", "fw_"),
            r"\b(?:gsk|xai|r8|pplx|nvapi|csk|fw)[_-][A-Za-z0-9_-]{20,}",
        ),
        (("hf_",), r"\bhf_[A-Za-z0-9]{20,}"),
        (("AIza",), r"\bAIza[A-Za-z0-9_-]{30,}"),
        (("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
        (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"\bgh[pousr]_[A-Za-z0-9]{30,}"),
        (("github_pat_",), r"\bgithub_pat_[A-Za-z0-9_]{30,}"),
        (("glpat-",), r"\bglpat-[A-Za-z0-9_-]{18,}"),
        (("xox",), r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
        (("k_live_", "k_test_"), r"\b[rsp]k_(?:live|test)_[A-Za-z0-9]{16,}"),
        (("whsec_",), r"\bwhsec_[A-Za-z0-9+/=]{16,}"),
        (("eyJ",), r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),  # JSON web token
        (
            ("-----BEGIN ",),
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
        ),
    )
)
# What stands behind a name that says so; hints in lower case.
_QUOTE = r"""[\s"'\\]{0,8}"""
_NAMED: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = tuple(
    (hints, re.compile(pattern, re.IGNORECASE), written)
    for hints, pattern, written in (
        (
            ("key", "token", "secret", "passw"),
            r"\b((?:x[_-])?(?:api[_-]?key|apikey|access[_-]?token|refresh[_-]?token|auth[_-]?token|client[_-]?secret|"
            r"secret[_-]?key|private[_-]?key|password|passwd)" + _QUOTE + "[:=]" + _QUOTE + r""")([^\s"'\\,;&}]{6,})""",
            rf"\1{MARK}",
        ),
        (
            ("authorization",),
            r"\b((?:proxy-)?authorization"
            + _QUOTE
            + "[:=]"
            + _QUOTE
            + r"""(?:[A-Za-z]{3,20}[ ]{1,4})?)([^\s"'\\,;}]{4,})""",
            rf"\1{MARK}",
        ),
        (("bearer",), r"\b(bearer\s{1,4})(?=[^\s]{0,64}[0-9])([A-Za-z0-9._~+/-]{12,}=*)", rf"\1{MARK}"),
        (("://",), r"\b([a-z][a-z0-9+.-]{1,20}://)[^\s/@:]{0,256}:[^\s/@]{1,256}@", rf"\1{MARK}@"),
    )
)

_FIELDS = frozenset(
    (
        *("authorization", "proxy_authorization", "cookie", "set_cookie", "api_key", "apikey", "x_api_key"),
        *("password", "passwd", "secret", "client_secret", "secret_key", "private_key", "credentials", "token"),
        *("access_token", "refresh_token", "id_token", "auth_token", "bearer_token", "session_token"),
        *("aws_secret_access_key", "aws_session_token"),
    )
)


def _without(secret: str, text: str) -> str:
    """A text without a secret, whole or cut off where an excerpt ends."""
    text = text.replace(secret, MARK)
    if CUT not in text or secret[:SHORTEST_KNOWN] not in text:
        return text
    parts = text.split(CUT)
    for place, part in enumerate(parts[:-1]):
        longest = min(len(secret) - 1, len(part))
        for length in range(longest, SHORTEST_KNOWN - 1, -1):
            if part.endswith(secret[:length]):
                parts[place] = part[:-length] + MARK
                break
    return CUT.join(parts)


def _without_shapes(text: str) -> str:
    for hints, pattern in _SHAPES:
        if any(hint in text for hint in hints):
            text = pattern.sub(MARK, text)
    lowered = text.lower()
    for hints, pattern, written in _NAMED:
        if any(hint in lowered for hint in hints):
            text = pattern.sub(written, text)
    return text


@lru_cache(maxsize=4096)
def _remembered(text: str) -> str:
    """Names of fields, and the sentences of advice, come again with every verdict."""
    return _without_shapes(text)


class Redactor:
    """Takes out keys and tokens of known shapes, what stands behind a telling name, and what the caller says."""

    def __init__(self, hook: TextHook | None = None, known: Iterable[str] = ()) -> None:
        """Set up.

        Args:
            hook: Applied to every text after the rules; what it raises fails the write of that record alone.
            known: Secrets by value, such as the keys that the service itself holds.
        """
        self._hook = hook
        self._known = sorted({each for each in known if len(each) >= SHORTEST_KNOWN}, key=len, reverse=True)

    def also(self, known: Iterable[str]) -> Redactor:
        """The same redactor for which these are secrets, too."""
        return Redactor(self._hook, [*self._known, *known])

    def text(self, text: str) -> str:
        """The text without secrets."""
        for secret in self._known:
            text = _without(secret, text)
        if len(text) >= SHORTEST_KNOWN:
            text = _remembered(text) if len(text) <= REMEMBERED else _without_shapes(text)
        return text if self._hook is None else self._hook(text)

    def value(self, value: JsonValue) -> JsonValue:
        """A JSON value without secrets: in its texts, in names of fields, and in fields whose name says so."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(str(name)): self._field(str(name), item) for name, item in value.items()}
        return value

    def _field(self, name: str, value: JsonValue) -> JsonValue:
        if name.strip().lower().replace("-", "_") not in _FIELDS:
            return self.value(value)
        if isinstance(value, str):
            return MARK if value else value
        if isinstance(value, list):
            return [self._field(name, item) for item in value]
        return self.value(value)
