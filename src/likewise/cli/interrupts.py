"""Ctrl-C is heeded wherever it falls, with exit code 130 and one line.

Before a command is at work nothing is open, and the process ends on the spot. Then an exception unwinds the command;
where it is dropped, the next step of the work raises it again. Dropped it is in callbacks that have nobody to raise it
to, such as a weak reference's, and in attributes that NumPy asks for and takes any failure as a no: before Python 3.12
each comparison of an array with an enum's member runs such code.
After the command nothing is left to stop: a first interrupt is ignored, for fingers that press twice, and a second
ends a process that hangs. Where SIGINT is ignored from the start, as a shell has it for a background job of a script,
it stays ignored.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto
from types import FrameType

__all__ = ["CODE", "heed", "listen", "work"]

CODE = 130
"""Exit code of an interrupted command: 128 and the number of the signal, as shells have it."""


class _Phase(Enum):
    STARTING = auto()
    WORKING = auto()
    OVER = auto()


class _State:
    phase = _Phase.STARTING
    asked = False
    """Whether the command at work was interrupted."""
    late = 0
    """Interrupts since it is over."""


def listen() -> None:
    """Take over SIGINT, unless the process was started deaf to it."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    signal.signal(signal.SIGINT, _interrupted)
    report = sys.unraisablehook

    def remembered(dropped: sys.UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):  # those are raised again: no need to warn of them
            report(dropped)

    sys.unraisablehook = remembered


def _interrupted(number: int, frame: FrameType | None) -> None:
    del number, frame
    if _State.phase is _Phase.WORKING:
        _State.asked = True
        raise KeyboardInterrupt
    if _State.phase is _Phase.STARTING:
        with suppress(OSError):
            os.write(2, b"likewise: interrupted\n")
        os._exit(CODE)
    _State.late += 1
    if _State.late > 1:
        os._exit(CODE)


def heed() -> None:
    """Raise an interrupt that was dropped.

    Raises:
        KeyboardInterrupt: There was one.
    """
    if _State.asked:
        raise KeyboardInterrupt


@contextmanager
def work() -> Iterator[None]:
    """A command at work: an interrupt is an exception within, and nothing after.

    Raises:
        KeyboardInterrupt: An interrupt was dropped, or became another error on its way.
    """
    _State.phase, _State.asked, _State.late = _Phase.WORKING, False, 0
    try:
        yield
        heed()
    except Exception:
        heed()
        raise
    finally:
        _State.phase = _Phase.OVER
