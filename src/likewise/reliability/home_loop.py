"""One event loop for all sync queries of async agents.

Agents of frameworks hold a client, and a client's open connections belong to the event loop in which they were made. A
loop of its own for each query would leave the second one with connections of a loop that has ended.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any, TypeVar

import anyio
from anyio.from_thread import BlockingPortal

__all__ = ["run_at_home"]

T = TypeVar("T")


class _Home:
    """A daemon thread with an event loop, which ends with the program."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._ready: Future[BlockingPortal] = Future()
        self.thread = threading.Thread(target=anyio.run, args=(self._live,), name="likewise-loop", daemon=True)
        self.thread.start()
        self.portal = self._ready.result()
        threading.Thread(target=self._end, name="likewise-loop-end", daemon=True).start()

    async def _live(self) -> None:
        async with BlockingPortal() as portal:
            self._ready.set_result(portal)
            await portal.sleep_until_stopped()

    def _end(self) -> None:
        """Worker threads of the loop are no daemons: they would keep the program from ending while the loop lives."""
        threading.main_thread().join()
        with suppress(RuntimeError):  # it has ended before
            self.portal.start_task_soon(self.portal.stop, True)


_LOOK_AGAIN = 1.0
"""Seconds after which a caller looks whether the loop it waits for is still there."""
_home: _Home | None = None
_making = threading.Lock()


def run_at_home(function: Callable[..., Awaitable[T]], *args: Any) -> T | None:  # noqa: ANN401 - the function's own
    """Run a coroutine function in the loop that all share, and wait for it; interrupting the wait cancels it.

    Returns:
        What the function returns; None, without running it, where the caller is in that loop itself and waiting for it
        would never end.

    Raises:
        RuntimeError: The loop ended under it; the next call makes a new one.
    """
    global _home
    with _making:
        if _home is None or _home.process != os.getpid() or not _home.thread.is_alive():  # a fork has no threads
            _home = _Home()
        if threading.current_thread() is _home.thread:
            return None
        try:
            future = _home.portal.start_task_soon(function, *args)
        except RuntimeError:  # it is just ending
            _home = _Home()
            future = _home.portal.start_task_soon(function, *args)
        thread = _home.thread
    try:
        return _awaited(future, thread)
    except BaseException:
        future.cancel()
        raise


def _awaited(future: Future[T], thread: threading.Thread) -> T:
    """The outcome; a loop that dies between two steps never gives one."""
    while True:
        wait([future], _LOOK_AGAIN)
        if future.done():
            return future.result()
        if not thread.is_alive():
            raise RuntimeError("the event loop of async agents ended while this query was under way: ask again")
