"""Lists in pages that stay right while rows are added: a page starts behind the last row of the one before."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

__all__ = ["MOST", "Page", "cursor_of", "decode_cursor", "within"]

Item = TypeVar("Item")

MOST = 500
"""Rows that one page may have."""


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """A part of a list; `next` is what to ask for the part after it with, None at the end."""

    items: tuple[Item, ...]
    next: str | None = None


def within(limit: int) -> int:
    """A page's size.

    Raises:
        ValueError: Less than 1 or more than MOST.
    """
    if not 1 <= limit <= MOST:
        raise ValueError(f"a page has 1 to {MOST} entries, got {limit}")
    return limit


def cursor_of(*key: str | float | datetime | None) -> str:
    """What stands for a place in a list."""
    parts = [part.isoformat() if isinstance(part, datetime) else part for part in key]
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def decode_cursor(cursor: str, kinds: Sequence[type]) -> list[str | float | datetime]:
    """The place that a cursor stands for.

    Args:
        cursor: From an earlier page.
        kinds: Type of each part.

    Raises:
        ValueError: It is no cursor of this list.
    """
    problem = "not a cursor of this list; start again without one"
    if len(cursor) > 4000:
        raise ValueError(problem)
    try:
        parts = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if not isinstance(parts, list) or len(parts) != len(kinds):
            raise ValueError(problem)
        key = [
            datetime.fromisoformat(part) if kind is datetime else part for part, kind in zip(parts, kinds, strict=True)
        ]
    except (ValueError, TypeError, UnicodeError, RecursionError):
        raise ValueError(problem) from None
    for part, kind in zip(key, kinds, strict=True):
        wrong_zone = isinstance(part, datetime) and part.tzinfo is None
        if not isinstance(part, (int, float) if kind is float else kind) or isinstance(part, bool) or wrong_zone:
            raise ValueError(problem)
    return key
