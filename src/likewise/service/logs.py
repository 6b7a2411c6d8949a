"""Log lines as JSON, one object a line, with no secret in them."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Protocol, TextIO

__all__ = ["JsonFormatter", "TextRedactor", "set_up_logs"]

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
LONGEST = 4_000
"""Characters of one value; log lines are for people, and the history keeps texts in full."""


class TextRedactor(Protocol):
    """Takes secrets out of a text."""

    def text(self, text: str, /) -> str:
        """The text without them."""
        ...


class JsonFormatter(logging.Formatter):
    """time, level, logger, message, and whatever `extra` brought; every text is redacted and kept on one line."""

    def __init__(self, redactor: TextRedactor) -> None:
        """Redact by `redactor`."""
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._safe(record.getMessage()),
        }
        for name, value in vars(record).items():
            if name not in _OWN:
                line[name] = self._value(value)
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = self._safe("".join(traceback.format_exception(*record.exc_info)), 4 * LONGEST)
        return json.dumps(line, default=str)

    def _value(self, value: object) -> object:
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, Mapping):
            return {str(key): self._value(each) for key, each in value.items()}
        return self._safe(str(value))

    def _safe(self, text: str, longest: int = LONGEST) -> str:
        return self._redactor.text(text[: 2 * longest])[:longest]


def set_up_logs(redactor: TextRedactor, level: str = "info", stream: TextIO | None = None) -> None:
    """Send every logger of the process to one stream, as JSON lines."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(redactor))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "fastapi"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    for chatty in ("httpx2", "httpcore2", "uvicorn.access", "opentelemetry.exporter", "urllib3", "alembic"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, root.level))
