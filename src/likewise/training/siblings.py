"""Siblings on other ranks: where a trainer spreads the completions of a prompt over processes, each brings its own.

Rewards of one process and of several are then the same.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

__all__ = ["apart", "everywhere"]

Item = TypeVar("Item")

_apart: ContextVar[bool] = ContextVar("apart", default=False)


@contextmanager
def apart() -> Iterator[None]:
    """Ask no other process within: for engines that hand over all siblings, maybe to one process alone."""
    before = _apart.set(True)
    try:
        yield
    finally:
        _apart.reset(before)


def everywhere(items: Sequence[Item]) -> tuple[list[Item], slice]:
    """The items of all processes, in order of rank, and where this process's own are among them.

    Every process must call it as often as the others, as they all do inside a reward of TRL; see `apart` for the rest.

    Args:
        items: This process's own; they travel pickled.

    Returns:
        All items and a slice of them; the items themselves where there is one process.
    """
    ranks: Any = sys.modules.get("torch.distributed")  # without PyTorch there are none
    if ranks is None or _apart.get() or not (ranks.is_available() and ranks.is_initialized()):
        return list(items), slice(0, len(items))
    parts: list[list[Item]] = [[] for _ in range(ranks.get_world_size())]
    ranks.all_gather_object(parts, list(items))
    start = sum(len(part) for part in parts[: ranks.get_rank()])
    return [item for part in parts for item in part], slice(start, start + len(items))
