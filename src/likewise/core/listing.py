"""Names in a sentence: the first few, and how many there are beyond."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["some_of"]


def some_of(names: Sequence[str], most: int) -> str:
    """`a, b and 3 more`: a sentence that names everything is read by nobody.

    Args:
        names: What to name, in the order in which it is to be read.
        most: How many are named, at least one.

    Returns:
        The names, joined; how many are left out where some are; nothing where there are no names.
    """
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
