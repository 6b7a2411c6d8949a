"""Python's search for garbage cycles, made rare while a command builds one large result."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["rare_cycle_search"]

OBJECTS = 100_000
"""New objects before a search, in place of 700: what is read and measured is all kept, so that there is little to find,
and each search walks through all of it."""


@contextmanager
def rare_cycle_search() -> Iterator[None]:
    """Search for cycles a hundred times more rarely; as before afterwards. Memory grows by the cycles not yet found."""
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
