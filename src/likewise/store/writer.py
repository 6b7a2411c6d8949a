"""Writes verdicts off the request path, many in one transaction. What `put` has returned from is on the disk."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import TypeAlias

from sqlalchemy.exc import DBAPIError

from likewise.core.errors import StoreUnavailableError
from likewise.store.records import VerdictRecord, VerdictRows
from likewise.store.store import Store

__all__ = ["BatchReport", "VerdictWriter"]

_LOG = logging.getLogger(__name__)
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 1.0


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What became of one transaction: for metrics.

    Attributes:
        size: Records in it.
        seconds: From the first try to the end.
        waiting: Records still waiting.
        error: Why it failed; None where it is durable.
    """

    size: int
    seconds: float
    waiting: int
    error: str | None = None


BatchHook: TypeAlias = Callable[[BatchReport], None]


@dataclass(slots=True)
class _Item:
    record: VerdictRecord
    done: Future[None] = field(default_factory=Future)


class VerdictWriter:
    """A queue before the history, and a thread that empties it.

    Records that wait while a transaction is under way make the next one, so that its cost is shared. The queue is
    bounded in number and in characters: where the database is slower than the requests, `put` waits, then fails.
    """

    def __init__(
        self,
        store: Store,
        *,
        capacity: int = 2000,
        most_bytes: int = 64_000_000,
        batch: int = 200,
        linger: float = 0.003,
        put_timeout: float = 5.0,
        retry_for: float = 5.0,
        on_batch: BatchHook | None = None,
    ) -> None:
        """Set up; `async with` starts it.

        Args:
            store: Where to write.
            capacity: Records that may wait.
            most_bytes: Characters that they may have together.
            batch: Most records of one transaction.
            linger: Seconds to wait for further records once there is one.
            put_timeout: Seconds that `put` waits for a place in the queue.
            retry_for: Seconds for which a transaction is tried again where the database is unavailable.
            on_batch: Told of every transaction; in the writer's thread.
        """
        if min(capacity, most_bytes, batch) < 1 or min(linger, put_timeout, retry_for) < 0:
            raise ValueError("a queue's sizes are at least 1, its times at least 0")
        self._store, self._capacity, self._most_bytes = store, capacity, most_bytes
        self._batch, self._linger, self._put_timeout, self._retry_for = batch, linger, put_timeout, retry_for
        self._on_batch = on_batch
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._held, self._held_bytes = 0, 0  # changed under the lock: places are freed by the thread
        self._lock = threading.Lock()
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self._thread: threading.Thread | None = None
        self._closing, self._down = False, False

    @property
    def waiting(self) -> int:
        """Records that are not yet durable."""
        return self._held

    async def __aenter__(self) -> VerdictWriter:
        """Start."""
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write what waits, and stop."""
        await self.close()

    def start(self) -> None:
        """Start the thread. A second start does no harm."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="likewise-writer", daemon=True)
            self._thread.start()

    async def put(self, record: VerdictRecord) -> None:
        """Write a record; on return it is durable. A record whose id is there already is durable, too.

        A caller that is cancelled while it waits leaves its record in the queue: it is written, and nobody told.

        Raises:
            StoreUnavailableError: The queue is full, the writer is closed, or the database cannot be written.
            ValueError: The record cannot be stored.
        """
        if self._thread is None:
            raise RuntimeError("the writer was not started")
        item = _Item(record)
        await self._place(item)
        self._queue.put(item)
        # Shielded: a cancelled caller must not mark as cancelled what the thread is about to answer.
        await asyncio.shield(asyncio.wrap_future(item.done))

    async def close(self) -> None:
        """Take no more, write all that waits, and stop. Closing twice does no harm."""
        with self._lock:
            first, self._closing = not self._closing, True
        if self._thread is None:
            return
        if first:
            self._wake()
            self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    async def _place(self, item: _Item) -> None:
        deadline = time.monotonic() + self._put_timeout
        while True:
            event = asyncio.Event()
            with self._lock:
                if self._closing:
                    raise StoreUnavailableError(self._store.where, "the service is shutting down")
                if self._fits(item.record.size):
                    self._held, self._held_bytes = self._held + 1, self._held_bytes + item.record.size
                    return
                self._waiters.append((asyncio.get_running_loop(), event))
            try:
                await asyncio.wait_for(event.wait(), max(deadline - time.monotonic(), 0.0))
            except TimeoutError:
                raise StoreUnavailableError(
                    self._store.where, f"{self._held} verdicts wait to be written", "try again later"
                ) from None

    def _fits(self, size: int) -> bool:
        """Whether there is a place; a record larger than the whole queue may have it to itself."""
        return self._held < self._capacity and (self._held == 0 or self._held_bytes + size <= self._most_bytes)

    def _free(self, items: Sequence[_Item]) -> None:
        with self._lock:
            self._held -= len(items)
            self._held_bytes -= sum(item.record.size for item in items)
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            waiters, self._waiters = self._waiters, []
        for loop, event in waiters:
            _soon(loop, event)

    def _run(self) -> None:
        open_ = True
        while open_:
            items, open_ = self._gather()
            if items:
                self._write(items)

    def _gather(self) -> tuple[list[_Item], bool]:
        """Wait for a record, and take with it those that come in the next moments."""
        item = self._queue.get()
        if item is None:
            return [], False
        items, until = [item], time.monotonic() + self._linger
        while len(items) < self._batch:
            try:
                item = self._queue.get(timeout=max(until - time.monotonic(), 0.0))
            except queue.Empty:
                break
            if item is None:
                return items, False
            items.append(item)
        return items, True

    def _write(self, items: list[_Item]) -> None:
        ready: list[tuple[_Item, VerdictRows]] = []
        for item in items:
            try:
                ready.append((item, item.record.rows(self._store.redactor)))
            except Exception as problem:  # a user's hook may raise anything; the others must not suffer
                self._free([item])
                item.done.set_exception(_unstorable(problem))
        if ready:
            self._commit(ready)

    def _commit(self, ready: list[tuple[_Item, VerdictRows]]) -> None:
        began = time.monotonic()
        problem = self._try(ready, began)
        if isinstance(problem, DBAPIError) and len(ready) > 1:  # one record is at fault: find it, write the others
            for each in ready:
                self._commit([each])
            return
        items = [item for item, _ in ready]
        self._free(items)
        for item in items:
            if problem is None:
                item.done.set_result(None)
            else:
                item.done.set_exception(_told(problem))
        self._tell(
            BatchReport(len(items), time.monotonic() - began, self._held, None if problem is None else str(problem))
        )

    def _try(self, ready: Sequence[tuple[_Item, VerdictRows]], began: float) -> Exception | None:
        """Write; where the database is unavailable, again and again for a while. Once it is known to be, only once."""
        wait = _FIRST_WAIT
        while True:
            try:
                self._store.write_rows([rows for _, rows in ready])
            except StoreUnavailableError as problem:
                if self._down or time.monotonic() + wait - began > self._retry_for:
                    self._down = True
                    return problem
                time.sleep(wait)
                wait = min(2 * wait, _LONGEST_WAIT)
            except Exception as problem:
                _LOG.warning("verdicts could not be written: %s", type(problem).__name__)
                return problem
            else:
                self._down = False
                return None

    def _tell(self, report: BatchReport) -> None:
        if self._on_batch is not None:
            try:
                self._on_batch(report)
            except Exception:  # a metric must not stop the writer
                _LOG.exception("the hook of the writer failed")


def _told(problem: Exception) -> Exception:
    """For each caller an error of its own: raised in several places, one would gather the traces of all."""
    if isinstance(problem, StoreUnavailableError):
        return StoreUnavailableError(problem.where, problem.problem, problem.advice)
    return _unstorable(problem)


def _unstorable(problem: Exception) -> ValueError:
    """Without the driver's words: they may repeat the record."""
    words = "" if isinstance(problem, DBAPIError) else f": {problem}"
    return ValueError(f"the verdict cannot be stored ({type(problem).__name__}{words})")


def _soon(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    try:
        loop.call_soon_threadsafe(event.set)
    except RuntimeError:  # the loop has gone, and who waited in it
        return
