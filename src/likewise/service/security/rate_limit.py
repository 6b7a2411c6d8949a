"""Requests a minute, by key: a bucket of tokens that fills at a steady rate and holds a burst.

The buckets are of this process: n replicas let through n times the rate. See the design note for why.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["RateLimiter"]

BUCKETS = 50_000
"""Buckets that are remembered; a forgotten one is full again."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled: float


class RateLimiter:
    """Token buckets by name. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Set up; the clock counts seconds."""
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, name: str, per_minute: float, burst: int, cost: float = 1.0) -> float:
        """Take tokens if they are there.

        Args:
            name: Whose bucket: a key's prefix.
            per_minute: Tokens that flow in, a minute.
            burst: Tokens that it holds.
            cost: Tokens that the request takes; one that costs more than a full bucket takes all of it.

        Returns:
            0 where they were there; else seconds until they will be, and nothing is taken.

        Raises:
            ValueError: A rate, burst or cost that is not above 0.
        """
        if per_minute <= 0 or burst < 1 or cost <= 0:
            raise ValueError("a rate, a burst and a cost are above 0")
        now, rate, wanted = self._clock(), per_minute / 60, min(cost, float(burst))
        with self._lock:
            bucket = self._buckets.setdefault(name, _Bucket(float(burst), now))
            self._buckets.move_to_end(name)
            while len(self._buckets) > BUCKETS:
                self._buckets.popitem(last=False)
            bucket.tokens = min(float(burst), bucket.tokens + max(now - bucket.filled, 0.0) * rate)
            bucket.filled = now
            if bucket.tokens + 1e-9 >= wanted:
                bucket.tokens -= wanted
                return 0.0
            return (wanted - bucket.tokens) / rate
