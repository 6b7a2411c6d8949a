"""Where in a JSON text the integer is that Python will not convert: its parser says neither line nor place."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Final

__all__ = ["LongInteger", "long_integer"]

_WALKED: Final = 8 * 2**20
"""Characters in which a place is looked for; further on only the line is told."""
_TOKEN: Final = re.compile(r'\s*(?:("[^"\\]*(?:\\.[^"\\]*)*")|([{}\[\]:,])|([^\s{}\[\]:,"]+))', re.DOTALL)


@dataclass(frozen=True, slots=True)
class LongInteger:
    """An integer of more digits than are converted.

    Attributes:
        digits: How many it has.
        limit: How many it may have; Python's own limit, which keeps one number from taking minutes.
        line: Its line, from 1.
        pointer: Its JSON pointer; "" where it lies so far in that only its line is known.
    """

    digits: int
    limit: int
    line: int
    pointer: str

    @property
    def problem(self) -> str:
        """What is wrong, and what would be right."""
        return f"an integer of {self.digits:,} digits (expected at most {self.limit:,}, or a string)"


def long_integer(text: str) -> LongInteger | None:
    """The first integer of a JSON text that is longer than Python converts; None where there is none.

    Args:
        text: JSON, sound at least up to that integer.
    """
    limit = sys.get_int_max_str_digits()
    if not limit:
        return None
    digits = re.compile(rf"[:,\[\s](-?[0-9]{{{limit + 1},}})(?![0-9.eE])")
    first = digits.search(text)
    if first is None:
        return None
    place = _place(text[:_WALKED], limit)
    start, number, pointer = place or (first.start(1), first[1], "")
    return LongInteger(len(number.lstrip("-")), limit, text.count("\n", 0, start) + 1, pointer)


def _place(text: str, limit: int) -> tuple[int, str, str] | None:
    """Start, digits and pointer of the first integer of more than `limit` digits, strings passed over."""
    path: list[str | int] = []  # key or index of each container that is open
    position, previous, key = 0, "", ""
    while match := _TOKEN.match(text, position):
        position = match.end()
        string, mark, plain = match.groups()
        if plain and len(plain) > limit and plain.lstrip("-").isdecimal() and match.end() < len(text):
            return match.start(3), plain, _pointer(path)
        if mark in ("{", "["):
            path.append("" if mark == "{" else 0)
        elif mark in ("}", "]"):
            path[-1:] = []
        elif mark == "," and path and isinstance(path[-1], int):
            path[-1] += 1
        elif mark == ":" and path:
            path[-1] = key
        elif string and previous in ("{", ","):
            key = string[1:-1]
        previous = mark or "value"
    return None


def _pointer(path: list[str | int]) -> str:
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
