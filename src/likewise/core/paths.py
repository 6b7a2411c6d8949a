"""What to say of a file that is not there: the likeliest of the reasons why."""

from __future__ import annotations

import os
from contextlib import suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

__all__ = ["no_such_file"]

LOOKED_AT = 1000
"""Names of a folder that are compared with the one that was typed."""
NEAR = 0.75
"""Below this two names are more unlike than a slip of the finger makes them; a common suffix alone reaches 0.6."""


def no_such_file(path: str | Path) -> str:
    """`no such file`, with the reason or the nearest name where one can be told.

    Args:
        path: What was named, and is not there.

    Returns:
        One clause, without the path itself.
    """
    path = Path(path)
    if any(mark in path.name for mark in "*?["):
        return "no such file: nothing fits this pattern, or it stands in quotes, where a shell leaves it as it is"
    with suppress(OSError, ValueError):  # a name that no file can have; it is not there either
        if path.is_symlink():
            return f"no such file: a link that leads to {os.readlink(path)}, which is not there"
        if not path.parent.is_dir():
            return f"no such file: there is no folder {path.parent}"
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in islice(entries, LOOKED_AT)]
        near = get_close_matches(path.name, names, n=1, cutoff=NEAR)
        if near:
            return f"no such file (did you mean {str(path.with_name(near[0]))!r}?)"
    return "no such file"
