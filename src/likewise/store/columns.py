"""How values are kept so that both databases give back what was put in: times, dates, texts, JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

__all__ = ["Json", "PlainText", "UtcTime", "plain"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def plain(text: str) -> str:
    """A text that any database takes: NUL and lone surrogates are replaced (the JSON beside it has them in full)."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


class UtcTime(TypeDecorator[datetime]):
    """A moment, in UTC. SQLite has no time zones: there it is kept without one, and sorts as text."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a time without a zone: it would mean another moment on another machine."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a moment needs a time zone, got {value.isoformat()}")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Always with its zone."""
        del dialect
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class PlainText(TypeDecorator[str]):
    """Text without what a database refuses."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Replace NUL and lone surrogates."""
        del dialect
        return None if value is None else plain(value)


class Json(TypeDecorator[Any]):
    """A JSON value as ASCII text: escapes keep NUL and lone surrogates, which PostgreSQL's own JSON refuses."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ANN401 - any JSON value
        """Write it; NaN and infinity are no JSON."""
        del dialect
        return None if value is None else json.dumps(value, separators=(",", ":"), allow_nan=False)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ANN401 - any JSON value
        """Read it."""
        del dialect
        return None if value is None else json.loads(value)
