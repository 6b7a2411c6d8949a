"""What was called for one query, call by call, and in which run: what a recorder of tools remembers."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import anyio

from likewise.reliability.agents import RunInfo

__all__ = ["CallKey", "History", "QueryRecord", "ToolCallOnce", "copied"]

CallKey: TypeAlias = tuple[str, str, int]
"""Name, arguments, and how often they were called before in the same try of a run."""
_LOOK = 0.002
_LOOK_AT_MOST = 0.02
"""Seconds between two looks at whether a call that another run makes has ended: the first, and the longest."""


@dataclass(slots=True)
class ToolCallOnce:
    """One distinct call of one query; whoever holds its lock makes it, or reads its result."""

    key: CallKey
    lock: threading.Lock = field(default_factory=threading.Lock)
    begun: bool = False
    done: bool = False
    unknown: bool = False
    """Begun, and ended without a result: what it changed may be changed."""
    result: Any = None

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Hold the lock without holding the event loop up. Runs may have a loop each: a loop's own lock will not do."""
        wait = _LOOK
        while not self.lock.acquire(blocking=False):
            await anyio.sleep(wait)
            wait = min(2 * wait, _LOOK_AT_MOST)
        try:
            yield
        finally:
            self.lock.release()

    @contextmanager
    def outcome(self) -> Iterator[None]:
        """Keeps in mind that a tool raised."""
        try:
            yield
        except BaseException:
            self.unknown = True
            raise

    def end(self, result: Any) -> None:  # noqa: ANN401 - the tool's own
        """The call has a result."""
        self.result, self.done = copied(result), True


@dataclass(slots=True)
class History:
    """What one try of one run has called, and which changes it has gone through, made by itself or replayed."""

    info: RunInfo  # kept, so that its identity stays its own
    seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    changes: set[CallKey] = field(default_factory=set)


@dataclass(slots=True)
class QueryRecord:
    """What was called for one query; `changes` are the calls made that change something."""

    calls: dict[CallKey, ToolCallOnce] = field(default_factory=dict)
    histories: dict[tuple[int, int], History] = field(default_factory=dict)
    changes: set[CallKey] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    asking: threading.Lock = field(default_factory=threading.Lock)

    def call(self, info: RunInfo, name: str, arguments: str) -> tuple[ToolCallOnce, History]:
        """The n-th call with these arguments in this try of this run is the n-th in all of them: an agent may poll."""
        with self.lock:
            history = self.histories.setdefault((id(info), info.attempt), History(info))
            key = (name, arguments, history.seen[name, arguments])
            history.seen[name, arguments] += 1
            return self.calls.setdefault(key, ToolCallOnce(key)), history

    def unknown(self, call: ToolCallOnce) -> bool:
        """Whether an earlier call of this tool with these arguments ended without a result."""
        name, arguments, number = call.key
        with self.lock:
            earlier = [self.calls.get((name, arguments, n)) for n in range(number)]
        return any(other is not None and other.unknown for other in earlier)


def copied(result: Any) -> Any:  # noqa: ANN401 - the tool's own
    """A copy, so that no run changes what another is given; the thing itself where it cannot be copied."""
    try:
        return deepcopy(result)
    except Exception:  # whatever a foreign object raises: a connection, a lock
        return result
