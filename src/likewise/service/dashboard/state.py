"""What all pages share: the service behind them, who is signed in, and results that took long."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import anyio

from likewise.service.security.login import Logins
from likewise.store.store import Store

if TYPE_CHECKING:
    from likewise.service.service import Service

__all__ = ["Dashboard", "Remembered"]

T = TypeVar("T")

AT_ONCE = 2
"""Analyses that are worked out at the same time: each takes what the judge has, which requests need, too."""


class Remembered:
    """Results by key: the last few, for a while, each worked out once even where several people ask at once."""

    def __init__(self, most: int = 128, seconds: float = 600.0) -> None:
        """Keep at most so many, for so long."""
        self._most, self._seconds = most, seconds
        self._kept: OrderedDict[Hashable, tuple[float, object]] = OrderedDict()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result that is known, or what `make` gives; what raises is not kept."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            with self._lock:
                found = self._kept.get(key)
                if found is not None and time.monotonic() - found[0] < self._seconds:
                    self._kept.move_to_end(key)
                    return found[1]  # type: ignore[return-value] # a key belongs to one kind of result
            try:
                made = make()
                with self._lock:
                    self._kept[key] = (time.monotonic(), made)
                    while len(self._kept) > self._most:
                        self._kept.popitem(last=False)
                return made
            finally:
                with self._lock:
                    self._locks.pop(key, None)


class Dashboard:
    """The service, the people who are signed in, and a short memory of analyses and of trends."""

    def __init__(self, service: Service) -> None:
        """Open nothing yet: the service opens its history when it starts."""
        self.service = service
        self.analyses, self.trends = Remembered(), Remembered(seconds=60.0)
        self.judging = anyio.Semaphore(AT_ONCE)

    @property
    def store(self) -> Store:
        """The history."""
        return self.service.store

    @cached_property
    def logins(self) -> Logins:
        """Who is signed in."""
        return Logins(self.service.store, https=self.service.settings.https)
