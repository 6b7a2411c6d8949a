"""One event loop for all sync queries of async agents.

Agents of frameworks hold a client, and a client's open connections belong to the event loop in which they were made. A
loop of its own for each query would leave the second one with connections of a loop that has ended.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
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
        self.portal.start_task_soon(self.portal.stop, True)


_home: _Home | None = None
_making = threading.Lock()


def run_at_home(function: Callable[..., Awaitable[T]], *args: Any) -> T | None:  # noqa: ANN401 - the function's own
    """Run a coroutine function in the loop that all share, and wait for it; interrupting the wait cancels it.

    Returns:
        What the function returns; None, without running it, where the caller is in that loop itself and waiting for it
        would never end.
    """
    global _home
    with _making:
        if _home is None or _home.process != os.getpid():  # a fork has no threads
            _home = _Home()
        home = _home
    if threading.current_thread() is home.thread:
        return None
    future = home.portal.start_task_soon(function, *args)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
