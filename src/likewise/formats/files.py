"""Bytes to JSON: whole files, lines, and the head of a file for sniffing. Every failure is a RolloutFormatError."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from likewise.core.errors import RolloutFormatError
from likewise.core.paths import no_such_file
from likewise.core.rollout import Excluded, JsonValue
from likewise.formats.compressed import ZIP, packing, unpack, unpacking
from likewise.formats.long_integers import long_integer

__all__ = [
    "HEAD_BYTES",
    "Lines",
    "Outline",
    "outline",
    "parse_json",
    "read_bytes",
    "read_head",
    "read_json",
    "read_lines",
    "read_values",
]

HEAD_BYTES = 65_536
_DEEPEST = 8
_MAGIC = 4
_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_SOMETHING = re.compile(r"\S")
_TOKEN = re.compile(r'\s*(?:("[^"\\]*(?:\\.[^"\\]*)*")|([{}\[\]:,])|([^\s{}\[\]:,"]+))', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Outline:
    """What the head of a file shows of its JSON.

    Attributes:
        kind: "object", "list" or "other" (not JSON, or a plain value).
        keys: Paths of the keys seen, such as "info.seed" or "[].traj[].role".
        texts: Short string values by path.
    """

    kind: str
    keys: frozenset[str] = frozenset()
    texts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lines:
    """The JSON values of a file with one a line, each with its line number from 1, and the lines that hold none."""

    values: list[tuple[JsonValue, int | None, str]]
    excluded: list[Excluded]


def read_bytes(path: Path, limit: int = -1) -> bytes:
    """A file's bytes, unpacked where it is packed with gzip or zstd; the first `limit` of them where not negative.

    Raises:
        RolloutFormatError: The file cannot be read or unpacked, is an archive (where all of it is asked for), or is in
            UTF-16.
    """
    data = _raw_bytes(path, limit)
    if limit < 0 and (problem := packing(data[:1024])):
        raise RolloutFormatError(str(path), problem)
    if _looks_like_utf16(data[:1024]):
        raise RolloutFormatError(str(path), "not UTF-8 (it looks like UTF-16; save it as UTF-8)")
    return data


def _raw_bytes(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_MAGIC)
            if file.seekable():
                file.seek(0)
                if (stream := unpacking(file, data)) is not None:
                    return unpack(stream, path, os.fstat(file.fileno()).st_size, limit)
                file.seek(len(data))
            return data + file.read(limit if limit < 0 else max(0, limit - len(data)))
    except FileNotFoundError:
        raise RolloutFormatError(str(path), no_such_file(path)) from None
    except RolloutFormatError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else None
        raise RolloutFormatError(str(path), f"cannot be read: {reason or error}") from error


def _looks_like_utf16(head: bytes) -> bool:
    if head.startswith((*ZIP, b"PAR1")):  # a Parquet file is bytes too
        return False
    if head.startswith(_UTF16_BOMS) and len(head) > 2:
        return True
    even, odd = head[::2].count(0), head[1::2].count(0)  # plain letters leave every other byte NUL
    return max(even, odd) * 3 > len(head) and min(even, odd) * 4 < max(even, odd)


def read_head(path: Path) -> str:
    """The start of a file as text, at most 64 KiB of it (unpacked), without a byte order mark.

    Raises:
        RolloutFormatError: The file cannot be read or is empty.
    """
    head = read_bytes(path, HEAD_BYTES)
    if not head.removeprefix(_BOM).strip():
        raise RolloutFormatError(
            str(path), "the file is empty" if len(head) < HEAD_BYTES else "starts with blanks only"
        )
    return head.removeprefix(_BOM).decode("utf-8", errors="replace")


def _decode(data: bytes, path: Path, line: int | None = None) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = line or data.count(b"\n", 0, error.start) + 1
        problem = f"not UTF-8: byte 0x{data[error.start]:02x}"
        raise RolloutFormatError(str(path), problem, line=line) from None


def _json_problem(error: json.JSONDecodeError, text: str) -> str:
    """What is wrong, as a clause: the parser's own messages are not made to be read with a column after them."""
    if error.msg.startswith("Unterminated string"):
        return f"the JSON ends too early, in a string that starts at column {error.colno}"
    if error.msg == "Extra data":
        first = text[: error.pos]
        if "\n" in first[len(first.rstrip()) :] and "\n" not in first.strip():
            return "several JSON values, one a line: this looks like JSONL"
        if text[error.pos] in "{[":
            return f"a second JSON value begins here, column {error.colno}; write one value a line, or a list of all"
    reason = error.msg.removesuffix(" at").rstrip(": ")
    cut = error.pos >= len(text.rstrip())
    return f"{'the JSON ends too early' if cut else 'not JSON'}: {reason}, column {error.colno}"


def parse_json(text: str, path: Path, line: int | None = None) -> JsonValue:
    """Parse one JSON value.

    Raises:
        RolloutFormatError: Not JSON, cut off, nested too deeply or holding an integer too long to convert.
    """
    try:
        value: JsonValue = json.loads(text)
    except json.JSONDecodeError as error:
        raise RolloutFormatError(str(path), _json_problem(error, text), line=line or error.lineno) from None
    except RecursionError:
        raise RolloutFormatError(str(path), "JSON nested too deeply", line=line, pointer="") from None
    except ValueError as error:  # an integer of more digits than Python converts
        raise _too_long(text, path, line) or RolloutFormatError(str(path), f"not usable JSON: {error}") from None
    return value


def _too_long(text: str, path: Path, line: int | None) -> RolloutFormatError | None:
    found = long_integer(text)
    if found is None:
        return None
    return RolloutFormatError(str(path), found.problem, line=line or found.line, pointer=found.pointer or None)


def read_json(path: Path) -> JsonValue:
    """Parse a file that is one JSON value."""
    data = read_bytes(path).removeprefix(_BOM)
    if not data.strip():
        raise RolloutFormatError(str(path), "the file is empty")
    return parse_json(_decode(data, path), path)


def read_lines(path: Path) -> Lines:
    """Parse a file with one JSON value a line; a line that is none is excluded, blank lines count for nothing.

    Raises:
        RolloutFormatError: The file cannot be read, is empty, or no line of it is JSON.
    """
    data = read_bytes(path).removeprefix(_BOM)
    lines, first_error = Lines([], []), None
    for number, raw in enumerate(data.split(b"\n"), start=1):
        if not raw.strip():
            continue
        try:
            lines.values.append((parse_json(_decode(raw, path, number), path, number), number, ""))
        except RolloutFormatError as error:
            first_error = first_error or error
            lines.excluded.append(Excluded(None, None, error.problem, str(path), number, error.pointer))
    if first_error and not lines.values:
        raise first_error
    if not lines.values:
        raise RolloutFormatError(str(path), "the file is empty")
    return lines


def read_values(path: Path) -> Lines:
    """The JSON values of a file: one value, one a line, or several after each other over many lines.

    Raises:
        RolloutFormatError: The file cannot be read, is empty, or holds no JSON value.
    """
    data = read_bytes(path).removeprefix(_BOM)
    if not data.strip():
        raise RolloutFormatError(str(path), "the file is empty")
    first, _, rest = data.strip().partition(b"\n")
    if rest.lstrip()[:1] in (b"{", b"[") and _is_json(first):
        return read_lines(path)
    text = _decode(data, path)
    try:
        return Lines([(parse_json(text, path), None, "")], [])
    except RolloutFormatError as error:
        several = _several(text)
        if len(several) < 2:
            raise error from None
        return Lines([(value, line, "") for value, line in several], [])


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _several(text: str) -> list[tuple[JsonValue, int | None]]:
    """Values that follow each other with nothing but blanks between them, each with its line; none if one is broken."""
    decoder, found, position, line = json.JSONDecoder(), list[tuple[JsonValue, int | None]](), 0, 1
    while match := _SOMETHING.search(text, position):
        line += text.count("\n", position, match.start())
        try:
            value, position = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            return []
        found.append((value, line))
        line += text.count("\n", match.start(), position)
    return found


@lru_cache(maxsize=4)
def outline(head: str) -> Outline:
    """The keys that the head of a file shows, however the rest goes on; linear in the head.

    Every format asks for the outline of the same head, so the last ones are kept.
    Reading stops where the head ends, so a text of 50 MB hides what follows it and nothing before it.
    """
    opening = head.lstrip()[:1]
    if opening not in ("{", "["):
        return Outline("other")
    keys: set[str] = set()
    texts: dict[str, str] = {}
    stack: list[tuple[str, str]] = []  # closing bracket, path of what it holds
    key, position, previous = "", 0, ""
    while match := _TOKEN.match(head, position):
        position, (string, mark, _) = match.end(), match.groups()
        inside_object = bool(stack) and stack[-1][0] == "}"
        if mark and mark in "{[":
            path = key if inside_object else (stack[-1][1] if stack else "")
            deep = len(stack) >= _DEEPEST  # further down, the path stays: it would grow with the depth
            stack.append(("}", path) if mark == "{" else ("]", path if deep else f"{path}[]"))
        elif mark and mark in "}]":
            stack[-1:] = []
            if not stack:  # the first value is complete: a second line says nothing new
                break
        elif len(stack) > _DEEPEST:
            pass
        elif string and inside_object and previous in ("{", ","):
            key = f"{stack[-1][1]}.{string[1:-1]}".lstrip(".")
            keys.add(key)
        elif string and inside_object and len(string) < 200:
            texts.setdefault(key, string[1:-1])
        previous = mark or "value"
    return Outline("object" if opening == "{" else "list", frozenset(keys), texts)
