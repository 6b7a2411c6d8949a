"""A file that one process at a time adds to."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO

if sys.platform != "win32":
    import fcntl

__all__ = ["hold"]


def hold(file: IO[str], path: Path, why: str) -> None:
    """Keep others that hold files in this way from adding to one until it is closed.

    Does nothing on Windows and on file systems without such locks.

    Args:
        file: The open file.
        path: Where it is.
        why: What a second process is told, and what to do instead.

    Raises:
        BlockingIOError: Another holds it.
    """
    if sys.platform == "win32":
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as problem:
        raise BlockingIOError(problem.errno, why, str(path)) from None
    except OSError:  # a file system without locks
        return
