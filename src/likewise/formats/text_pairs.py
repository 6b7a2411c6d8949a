"""Pairs of texts, one JSON object a line, read line by line: a file of any length takes the memory of its longest line.

A line has `a` and `b`, or `action_a` and `action_b`, or `premise` and `hypothesis`; other fields are not looked at.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, Final, cast

from likewise.core.errors import RolloutFormatError
from likewise.core.paths import no_such_file
from likewise.core.rollout import Excluded
from likewise.formats.compressed import UNPACKING, unpacking, unpacking_problem
from likewise.formats.long_integers import long_integer

__all__ = ["FIELDS", "KEPT_EXCLUSIONS", "TextPairFile", "pair_fields"]

FIELDS: Final = (("action_a", "action_b"), ("premise", "hypothesis"), ("a", "b"))
MAX_LINE: Final = 16 * 2**20
"""Bytes of one line; a longer one is excluded, so that no file can fill the memory."""
KEPT_EXCLUSIONS: Final = 100
"""Excluded lines that are kept with their reasons; further ones are only counted."""
_LOOKED_AT: Final = 20
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(slots=True)
class TextPairFile:
    """A file of pairs; iterating reads it from the start.

    Attributes:
        path: Its name, for messages.
        open: Opens it for reading bytes.
        strict: Raise at a line without a pair instead of excluding it.
        rereadable: Whether it can be read more than once; a pipe cannot.
        excluded: The first excluded lines of the last reading.
        excluded_lines: How many there were.
    """

    path: str
    open: Callable[[], IO[bytes]]
    strict: bool = False
    rereadable: bool = True
    excluded: list[Excluded] = field(default_factory=list)
    excluded_lines: int = 0

    def __iter__(self) -> Iterator[tuple[str, str, int]]:
        """First text, second text and line (from 1) of each pair.

        Raises:
            RolloutFormatError: The file cannot be read or unpacked, no line of it holds a pair, or (if strict) one does
                not.
        """
        self.excluded.clear()
        self.excluded_lines, found = 0, False
        for number, line in self._lines():
            pair = f"a line of over {MAX_LINE:,} bytes" if line is None else _pair(line)
            if not isinstance(pair, str):
                found = True
                yield (*pair, number)
                continue
            if self.strict:
                raise RolloutFormatError(self.path, pair, line=number, expected=_EXPECTED)
            self.excluded_lines += 1
            if len(self.excluded) < KEPT_EXCLUSIONS:
                self.excluded.append(Excluded(None, None, pair, self.path, number))
        if not found:
            first = self.excluded[0] if self.excluded else None
            raise RolloutFormatError(
                self.path,
                f"no pair of texts in it; the first line without: {first.reason}" if first else "the file is empty",
                line=first.line if first else None,
                expected=_EXPECTED,
            )

    def count_lines(self) -> int:
        """Lines that are not blank, pair or not; reads the file once.

        Raises:
            RolloutFormatError: The file cannot be read or unpacked.
        """
        return sum(1 for _ in self._lines())

    def _lines(self) -> Iterator[tuple[int, bytes | None]]:
        """Number and content of each line that is not blank; None for one that is too long."""
        number = 0
        try:
            with self.open() as raw, _unpacked(raw) as file:
                while line := file.readline(MAX_LINE + 1):
                    number += 1
                    too_long = len(line) > MAX_LINE and not line.endswith(b"\n")
                    while too_long and (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                        pass
                    if too_long:
                        yield number, None
                    elif content := line.removeprefix(_BOM if number == 1 else b"").strip():
                        yield number, content
        except FileNotFoundError:
            raise RolloutFormatError(self.path, no_such_file(self.path)) from None
        except UNPACKING as error:
            raise RolloutFormatError(self.path, unpacking_problem(error, 0), line=number or None) from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise RolloutFormatError(self.path, f"cannot be read: {reason or error}") from error


_EXPECTED: Final = "an object with " + ", or ".join(f"{first} and {second}" for first, second in FIELDS)


def _unpacked(raw: IO[bytes]) -> IO[bytes]:
    file = io.BufferedReader(cast("io.RawIOBase", raw))
    return cast("IO[bytes]", unpacking(file, file.peek(4)) or file)


def pair_fields(path: str, open_file: Callable[[], IO[bytes]]) -> tuple[str, str] | None:
    """The two fields that the first readable line of a file has; None where it holds something else than pairs.

    Raises:
        RolloutFormatError: The file cannot be read or unpacked.
    """
    lines = TextPairFile(path, open_file)._lines()
    for _, (_, line) in zip(range(_LOOKED_AT), lines, strict=False):
        row = _parsed(line) if line is not None else ""
        if isinstance(row, dict):
            return next((names for names in FIELDS if all(name in row for name in names)), None)
    return None


def _parsed(line: bytes) -> object:
    """The JSON value of a line, or why there is none, as a string."""
    try:
        return json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        return f"not UTF-8: byte 0x{line[error.start]:02x}"
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg}, column {error.colno}"
    except RecursionError:
        return "JSON nested too deeply"
    except ValueError as error:
        found = long_integer(line.decode("utf-8"))
        return found.problem if found else f"not usable JSON: {error}"


def _pair(line: bytes) -> tuple[str, str] | str:
    row = _parsed(line)
    if not isinstance(row, dict):
        return row if isinstance(row, str) and not line.startswith(b'"') else "not an object"
    names = next((names for names in FIELDS if all(name in row for name in names)), None)
    if names is None:
        return "an object without a pair of texts"
    first, second = row[names[0]], row[names[1]]
    if not isinstance(first, str) or not isinstance(second, str):
        return f"{names[1] if isinstance(first, str) else names[0]} is not a string"
    return first, second
