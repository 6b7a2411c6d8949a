"""Lets judging in a worker thread end as soon as the task that waits for it is cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anyio.from_thread import check_cancelled

from likewise.core.protocols import ProgressTask

__all__ = ["until_cancelled"]


class _Watch:
    def advance(self, steps: int = 1) -> None:
        """Raise the event loop's cancellation where the waiting task was cancelled."""
        del steps
        check_cancelled()


@contextmanager
def until_cancelled(what: str, total: int | None) -> Iterator[ProgressTask]:
    """A progress display that shows nothing and watches for cancellation; for anyio worker threads only."""
    del what, total
    yield _Watch()
