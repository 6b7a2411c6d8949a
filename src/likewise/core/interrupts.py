"""Ctrl-C kept waiting for the moment in which an exception would do harm.

Python raises KeyboardInterrupt after whatever instruction comes next in the main thread. Between two instructions of
the standard library's locks, where threads start, wait and end, it leaves a lock that nobody opens, and the process
hangs; in the callback that follows a thread's end it has nobody to go to, and Python drops it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["held", "left_to_asyncio"]


def _handler() -> Callable[[int, FrameType | None], object] | None:
    """What SIGINT calls here; None outside the main thread, and where it is ignored, kills, or is not Python's."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or isinstance(handler, int):
        return None
    return handler


@contextmanager
def held() -> Iterator[None]:
    """Keep SIGINT waiting within the block; one that came is handled as soon as the block ends.

    Does nothing outside the main thread, which alone is interrupted, and where SIGINT is ignored or kills.
    """
    handler = _handler()
    if handler is None:
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[0])


@contextmanager
def left_to_asyncio() -> Iterator[None]:
    """Let `asyncio.run` within the block turn SIGINT into a cancellation, and raise KeyboardInterrupt at its end.

    It does so only where Python's own handler is set. Any other would raise inside whatever task is running, and
    what that leaves half cancelled can keep the loop busy for ever.
    """
    handler = _handler()
    if handler is None:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
