"""How an alert leaves: as a signed message to a webhook, or by mail."""

from __future__ import annotations

import hashlib
import hmac
import json
import smtplib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from functools import partial
from urllib.parse import urlsplit

import anyio.to_thread
import httpx2

from likewise.report.text import one_line
from likewise.service.page_settings import AlertSettings
from likewise.service.security.allow_list import AllowList
from likewise.service.security.outbound import guarded_client

__all__ = ["Message", "SendError", "check_signature", "send_mail", "send_webhook", "signature_of"]

SECONDS = 20.0
"""Longest wait for a receiver."""


class SendError(Exception):
    """A message was not taken; says why, in words that hold no secret."""


@dataclass(frozen=True, slots=True)
class Message:
    """An alert in words and as data; `id` is the same when it is sent again."""

    id: str
    subject: str
    text: str
    data: Mapping[str, object]


def signature_of(secret: str, timestamp: int, body: bytes) -> str:
    """What a receiver computes itself: HMAC-SHA256 over the time, a full stop and the body, in hexadecimal."""
    return "v1=" + hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


def check_signature(
    secret: str, timestamp: str, body: bytes, signature: str, now: float, tolerance: float = 300.0
) -> bool:
    """Whether a message is genuine and recent; for receivers written in Python.

    Args:
        secret: The webhook_secret of the service.
        timestamp: Header `Likewise-Timestamp`.
        body: The body as it came.
        signature: Header `Likewise-Signature`.
        now: The receiver's time, in seconds since 1970.
        tolerance: Seconds that sender and receiver may be apart; an older message may be a copy of a true one.
    """
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(now - int(timestamp)) > tolerance:
        return False
    return hmac.compare_digest(signature_of(secret, int(timestamp), body).encode(), signature.encode())


async def send_webhook(settings: AlertSettings, message: Message, now: float) -> None:
    """Post a message, signed. Goes to the address of the settings and nowhere else: a redirect is a failure.

    Raises:
        SendError: It was not taken.
    """
    if settings.webhook_url is None or settings.webhook_secret is None:
        raise SendError("no webhook is set")
    url, timestamp = settings.webhook_url.get_secret_value(), int(now)
    body = json.dumps(message.data, ensure_ascii=False, separators=(",", ":")).encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "likewise",
        "Likewise-Delivery": message.id,
        "Likewise-Timestamp": str(timestamp),
        "Likewise-Signature": signature_of(settings.webhook_secret.get_secret_value(), timestamp, body),
    }
    try:
        async with (
            guarded_client(AllowList.parse([_entry(url)]), timeout=SECONDS) as client,
            client.stream("POST", url, content=body, headers=headers) as answer,
        ):
            status = answer.status_code
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as problem:
        # The address may hold a token, and some errors quote it.
        raise SendError(f"the webhook cannot be reached ({type(problem).__name__})") from None
    if not 200 <= status < 300:
        raise SendError(f"the webhook answered with status {status}")


def _entry(url: str) -> str:
    """The one address that may be called, as the allow-list takes it."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{host}:{port}" if parts.scheme == "https" else f"http://{host}:{port}"


async def send_mail(settings: AlertSettings, message: Message) -> None:
    """Hand a message to the mail server.

    Raises:
        SendError: It was not taken.
    """
    try:
        await anyio.to_thread.run_sync(partial(_hand_over, settings, message))
    except smtplib.SMTPException as problem:
        raise SendError(f"the mail server refused: {one_line(str(problem), 200)}") from None
    except OSError as problem:
        raise SendError(f"the mail server cannot be reached: {one_line(str(problem), 200)}") from None


def _hand_over(settings: AlertSettings, message: Message) -> None:
    if settings.smtp_host is None or settings.mail_from is None:
        raise OSError("none is set")
    mail = EmailMessage()
    mail["Subject"] = one_line(message.subject, 200)
    mail["From"] = settings.mail_from
    mail["To"] = ", ".join(settings.mail_to)
    mail["Date"] = formatdate()
    mail["Message-ID"] = make_msgid(domain=settings.mail_from.rpartition("@")[2] or "likewise")
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(message.text)
    trusted = ssl.create_default_context()
    if settings.smtp_tls == "tls":
        server: smtplib.SMTP = smtplib.SMTP_SSL(
            settings.smtp_host, settings.smtp_port, timeout=SECONDS, context=trusted
        )
    else:
        server = smtplib.SMTP(settings.smtp_host, settings.smtp_port, timeout=SECONDS)
    with server:
        if settings.smtp_tls == "starttls":
            server.starttls(context=trusted)
        if settings.smtp_user is not None and settings.smtp_password is not None:
            server.login(settings.smtp_user, settings.smtp_password.get_secret_value())
        refused = server.send_message(mail)
    if refused:
        raise smtplib.SMTPException(f"{len(refused)} of {len(settings.mail_to)} receivers were refused")
