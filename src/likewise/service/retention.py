"""How long verdicts are kept: as the service was started, or else as set on the page; and the task that heeds it."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from likewise.core.errors import StoreUnavailableError
from likewise.service.security.login import FORGET_AFTER

if TYPE_CHECKING:
    from likewise.service.service import Service

__all__ = ["SETTING", "delete_what_is_old", "kept_days"]

_LOG = logging.getLogger(__name__)

SETTING = "retention_days"
EVERY = 3600.0
"""Seconds between two looks for what is old."""


def kept_days(service: Service) -> int | None:
    """Days that verdicts are kept; None keeps all. What the service was started with comes first."""
    if service.settings.retention_days is not None:
        return service.settings.retention_days
    days = service.store.settings.get(SETTING)
    return days if isinstance(days, int) and days >= 1 else None


async def delete_what_is_old(service: Service, every: float = EVERY) -> None:
    """Delete verdicts past retention, and sessions that have ended, from time to time; a task beside the requests.

    Every replica may do so: they share the work. Where the history is away, the next time will do.
    """
    while True:
        try:
            deleted = await anyio.to_thread.run_sync(_delete, service)
        except StoreUnavailableError as problem:
            _LOG.warning("what is old could not be deleted: %s", problem)
        else:
            if deleted:
                _LOG.info("%d verdict(s) past retention deleted", deleted)
        await anyio.sleep(every)


def _delete(service: Service) -> int:
    now, days = datetime.now(UTC), kept_days(service)
    service.store.users.sweep(now, now - FORGET_AFTER)
    return 0 if days is None else service.store.retention.delete_older_than(days, now)
