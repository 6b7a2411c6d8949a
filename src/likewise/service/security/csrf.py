"""Forms that only our own pages can send: a token that no other site knows, and the browser's word of the origin."""

from __future__ import annotations

import hmac
import secrets
from typing import Protocol
from urllib.parse import urlsplit

from likewise.core.errors import LikewiseError

__all__ = ["ForgedFormError", "check_csrf", "check_token", "csrf_token", "new_visitor"]

_PURPOSE = b"likewise form"


class HasToken(Protocol):
    """A session."""

    @property
    def token(self) -> str:
        """Its cookie's token."""
        ...


class ForgedFormError(LikewiseError, PermissionError):
    """A form that was not sent from a page of ours, or from one that is too old."""

    def __init__(self) -> None:
        """One message for all."""
        super().__init__("this form was not sent from a current page of this service; open the page again")


def new_visitor() -> str:
    """A random token for the cookie of somebody who has not logged in, so that the login form can be held to it."""
    return secrets.token_urlsafe(32)


def csrf_token(token: str) -> str:
    """What goes into a form: made of the cookie's token (session's or visitor's), which it does not give away."""
    return hmac.new(token.encode("utf-8", "surrogatepass"), _PURPOSE, "sha256").hexdigest()


def check_csrf(session: HasToken, sent: str | None, origin: str | None, host: str | None) -> None:
    """Refuse a form that another site could have sent.

    Args:
        session: The browser's session.
        sent: What came with the form (or in the X-CSRF-Token header).
        origin: The `Origin` header; browsers send it with every form. Where there is none, the token alone decides.
        host: The `Host` header.

    Raises:
        ForgedFormError: It may have been forged.
    """
    check_token(session.token, sent)
    if origin is not None and (origin == "null" or not host or urlsplit(origin).netloc.lower() != host.lower()):
        raise ForgedFormError


def check_token(token: str | None, sent: str | None) -> None:
    """Refuse a form whose field does not belong to the cookie's token.

    Raises:
        ForgedFormError: It does not, or one of them is missing.
    """
    if not token or not sent or not hmac.compare_digest(csrf_token(token).encode(), sent.encode("utf-8", "replace")):
        raise ForgedFormError
