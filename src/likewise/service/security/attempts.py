"""Counts failed attempts by address, in this process: after too many in a while the next are refused unread."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict, deque

from likewise.core.errors import LikewiseError

__all__ = ["Attempts", "TooManyAttemptsError"]

ADDRESSES = 20_000
"""Addresses that are remembered; those that failed the longest ago are forgotten first."""


class TooManyAttemptsError(LikewiseError, PermissionError):
    """Too many failed attempts; `retry_after` is in whole seconds."""

    def __init__(self, wait: float) -> None:
        """Say when to come back."""
        super().__init__(wait)
        self.retry_after = max(1, math.ceil(wait))

    def __str__(self) -> str:
        """When to come back."""
        return f"too many failed attempts; try again in {self.retry_after} s"


class Attempts:
    """Failed attempts of the last while. Safe to use from several threads."""

    def __init__(self, most: int, within: float) -> None:
        """Allow `most` failed attempts within so many seconds."""
        if most < 1 or within <= 0:
            raise ValueError("at least one attempt, and within more than no time")
        self._most, self._within = most, within
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, address: str) -> float:
        """Seconds until an address may try again; 0 if it may now."""
        now = time.monotonic()
        with self._lock:
            times = self._failed.get(address)
            if times is None:
                return 0.0
            while times and now - times[0] >= self._within:
                times.popleft()
            if not times:
                del self._failed[address]
                return 0.0
            return self._within - (now - times[0]) if len(times) >= self._most else 0.0

    def failed(self, address: str) -> None:
        """Count one more."""
        with self._lock:
            times = self._failed.setdefault(address, deque(maxlen=self._most))
            times.append(time.monotonic())
            self._failed.move_to_end(address)
            while len(self._failed) > ADDRESSES:
                self._failed.popitem(last=False)
