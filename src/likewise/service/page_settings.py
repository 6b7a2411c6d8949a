"""Settings of the pages and of alerts, and what all parts of the settings have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

__all__ = ["AlertSettings", "DashboardSettings", "Part", "Seconds", "plain_url"]

Seconds = Annotated[float, Field(gt=0, le=86_400)]


class Part(BaseModel):
    """A part of the settings: unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def plain_url(url: str) -> str:
    """A base URL without the slash at its end; what could hold a secret is refused.

    Raises:
        ValueError: It is no such URL.
    """
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("is no base URL (expected as in https://api.example.com/v1)")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("a base URL holds no user, query or fragment; a key belongs in api_key_env")
    return url.strip().rstrip("/")


class DashboardSettings(Part):
    """The pages.

    Attributes:
        enabled: Whether there are any.
        public_url: Where browsers reach them, for links in alerts ("https://likewise.example.com").
        pdf_font: A TrueType font for characters that the font of audit reports lacks, such as Chinese ones.
    """

    enabled: bool = True
    public_url: str | None = None
    pdf_font: Path | None = None

    @field_validator("public_url")
    @classmethod
    def _checked(cls, url: str | None) -> str | None:
        return None if url is None else plain_url(url)


class AlertSettings(Part):
    """Who is told when an agent has become worse, and how.

    Attributes:
        check_seconds: Time between two looks at the history.
        webhook_url: Address that a signed JSON message is posted to.
        webhook_secret: Signs it (HMAC-SHA256).
        smtp_host: Mail server; no mail without one.
        smtp_port: Its port.
        smtp_tls: "starttls" (after a plain greeting), "tls" (from the start), or "none" (for a server on this machine).
        smtp_user: Name to sign in with.
        smtp_password: Password to sign in with.
        mail_from: Sender.
        mail_to: Receivers.
    """

    check_seconds: Annotated[float, Field(ge=1, le=86_400)] = 300.0
    webhook_url: SecretStr | None = None
    webhook_secret: SecretStr | None = None
    smtp_host: str | None = None
    smtp_port: Annotated[int, Field(ge=1, le=65_535)] = 587
    smtp_tls: Literal["starttls", "tls", "none"] = "starttls"
    smtp_user: str | None = None
    smtp_password: SecretStr | None = None
    mail_from: str | None = None
    mail_to: tuple[str, ...] = ()

    @field_validator(
        "webhook_url", "webhook_secret", "smtp_host", "smtp_user", "smtp_password", "mail_from", mode="before"
    )
    @classmethod
    def _unset(cls, value: object) -> object:
        """A variable that a deployment passes on empty is one that is not set."""
        return None if value == "" else value

    @field_validator("webhook_url")
    @classmethod
    def _called(cls, url: SecretStr | None) -> SecretStr | None:
        parts = urlsplit("" if url is None else url.get_secret_value())
        if url is not None and (parts.scheme not in ("http", "https") or not parts.hostname or parts.username):
            raise ValueError("a webhook is an http or https address without a user in it")
        return url

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be in a log line or in the history."""
        held = (self.webhook_url, self.webhook_secret, self.smtp_password)
        return tuple(secret.get_secret_value() for secret in held if secret is not None)

    @model_validator(mode="after")
    def _whole(self) -> AlertSettings:
        if self.webhook_url is not None and self.webhook_secret is None:
            raise ValueError("a webhook needs a webhook_secret, which its receiver checks the signature with")
        if self.smtp_host is not None and not (self.mail_from and self.mail_to):
            raise ValueError("mail needs mail_from and mail_to")
        return self
