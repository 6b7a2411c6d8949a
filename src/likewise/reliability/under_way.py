"""Which queries have runs under way in this process, and which tool calls were refused in them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["QueryScope", "Refusal", "runs_begun", "runs_ended", "runs_under_way", "scopes_under_way", "under_way"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A tool call that was not made.

    Attributes:
        run: Number of the run that wanted it; None where the call did not tell.
        tool: The tool's name.
        reason: What the agent was told.
    """

    run: int | None
    tool: str
    reason: str


class QueryScope:
    """One query: what its runs share, and runs of other queries do not."""

    def __init__(self) -> None:
        """Nothing was refused yet."""
        self._refused: Counter[Refusal] = Counter()
        self._lock = threading.Lock()

    def note(self, refusal: Refusal) -> None:
        """Keep that a call was refused: an agent may swallow the error and answer as if it had gone through."""
        with self._lock:
            self._refused[refusal] += 1

    def refused(self) -> dict[Refusal, int]:
        """What was refused so far, and how often; by run, those that did not tell last."""
        with self._lock:
            found = list(self._refused.items())
        return dict(sorted(found, key=lambda each: (each[0].run is None, each[0].run or 0, each[0].tool)))


@dataclass(slots=True)
class _Runs:
    begun: int = 0
    ended: int = 0
    scopes: Counter[QueryScope] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)


_RUNS = _Runs()


@contextmanager
def under_way(scope: QueryScope) -> Iterator[None]:
    """Counts a run of a callable from its begin to its end, or to where nobody waits for it any more."""
    with _RUNS.lock:
        _RUNS.begun += 1
        _RUNS.scopes[scope] += 1
    try:
        yield
    finally:
        with _RUNS.lock:
            _RUNS.ended += 1
            _RUNS.scopes[scope] -= 1
            if not _RUNS.scopes[scope]:
                del _RUNS.scopes[scope]


def runs_under_way() -> int:
    """Runs of callables under way in this process, of all queries."""
    with _RUNS.lock:
        return _RUNS.begun - _RUNS.ended


def runs_begun() -> int:
    """Runs of callables begun in this process so far, ended ones too."""
    return _RUNS.begun


def runs_ended() -> int:
    """Runs of callables ended in this process so far."""
    return _RUNS.ended


def scopes_under_way() -> tuple[QueryScope, ...]:
    """The queries that have runs under way."""
    with _RUNS.lock:
        return tuple(_RUNS.scopes)
