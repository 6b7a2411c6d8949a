"""`likewise.toml`: read once, then each section by the module that uses it; every refusal names file and key.

The reader knows the names of the sections and nothing of what is in them. A new section gets its name in SECTIONS and
is read, through `Table`, where its values are used.
"""

from __future__ import annotations

import json
import math
import re
import sys
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Final, TypeVar

from likewise.core.errors import ConfigError
from likewise.core.paths import no_such_file

__all__ = ["FILE_NAME", "SECTIONS", "Table", "find_config", "nearest", "quoted_key", "read_config", "read_toml"]

FILE_NAME: Final = "likewise.toml"
SECTIONS: Final = ("rules", "tools", "arguments", "annotations", "gates")
LARGEST: Final = 2**20
"""Bytes of a configuration file; no hand writes more."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
Value = TypeVar("Value")


def nearest(word: str, known: Iterable[str]) -> str:
    """` (did you mean 'tools'?)` where a known word is near, else nothing."""
    found = get_close_matches(word, [str(each) for each in known], n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""


def quoted_key(key: str) -> str:
    """A key as TOML writes it: `search`, but `"github.search"`."""
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a configuration, with where it stands.

    Attributes:
        path: File it was read from; "" for one made in Python.
        name: Its dotted name; "" for the whole file.
        values: What TOML gave.
    """

    path: str = ""
    name: str = ""
    values: Mapping[str, object] = field(default_factory=dict)

    def place(self, key: str) -> str:
        """Dotted name of a key of this table."""
        return f"{self.name}.{quoted_key(key)}" if self.name else quoted_key(key)

    def refusal(self, key: str, problem: str, expected: str | None = None) -> ConfigError:
        """The error for a key's value."""
        return ConfigError(self.path, problem, key=self.place(key), expected=expected)

    def only(self, known: Collection[str], what: str = "key") -> None:
        """Refuse every key but the known ones, with the nearest of them.

        Raises:
            ConfigError: A key is unknown.
        """
        for key in self.values:
            if key not in known:
                problem = f"unknown {what} {key!r}{nearest(key, known)}"
                raise ConfigError(self.path, problem, key=self.name or None, expected=", ".join(known))

    def table(self, key: str) -> Table:
        """A table in this one; an empty one where the key is missing.

        Raises:
            ConfigError: The value is no table.
        """
        value = self.values.get(key, {})
        if not isinstance(value, Mapping):
            raise self.refusal(key, _kind(value), "a table")
        return Table(self.path, self.place(key), value)

    def choice(self, key: str, known: Mapping[str, Value], expected: str | None = None) -> Value:
        """What one of some words stands for; `expected` says what would be right where that is more than the words.

        Raises:
            ConfigError: The value is none of the words.
        """
        word = self.values[key]
        if isinstance(word, str) and word in known:
            return known[word]
        problem = f"unknown value {word!r}{nearest(word, known)}" if isinstance(word, str) else _kind(word)
        raise self.refusal(key, problem, expected or " or ".join(json.dumps(each) for each in known))

    def number(self, key: str, low: float = -math.inf, high: float = math.inf) -> float:
        """A finite number from `low` to `high`.

        Raises:
            ConfigError: The value is none.
        """
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refusal(key, _kind(value), "a number")
        if not (low <= value <= high and -sys.float_info.max <= value <= sys.float_info.max):
            limits = "" if low == -math.inf else f" from {low:g}" if high < math.inf else f" of at least {low:g}"
            limits += "" if high == math.inf else f" to {high:g}"
            raise self.refusal(key, "out of range", f"a finite number{limits}")
        return float(value)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; empty where the key is missing.

        Raises:
            ConfigError: The value is none.
        """
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.refusal(key, _kind(value), "a list of strings")
        return tuple(value)


def _kind(value: object) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "a table"}
    return names.get(type(value), "a date or time")


def find_config(folder: str | Path = ".") -> Path | None:
    """The configuration of a folder, where it has one; folders above are not looked into."""
    path = Path(folder) / FILE_NAME
    return path if path.is_file() else None


def read_config(path: str | Path) -> Table:
    """Read a configuration file.

    Returns:
        The whole file as a table; sections that are missing read as empty.

    Raises:
        ConfigError: The file cannot be read, is no TOML, or has a section that nobody reads.
    """
    top = Table(str(path), "", _parsed(Path(path)))
    top.only(SECTIONS, "section")
    return top


def read_toml(path: str | Path) -> Table:
    """Read any TOML file as one table, whatever its sections.

    Raises:
        ConfigError: The file cannot be read, or is no TOML.
    """
    return Table(str(path), "", _parsed(Path(path)))


def _parsed(path: Path) -> dict[str, object]:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise ConfigError(str(path), no_such_file(path)) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else None
        raise ConfigError(str(path), f"cannot be read: {reason or error}") from None
    if len(data) > LARGEST:
        raise ConfigError(str(path), f"over {LARGEST:,} bytes: this is no configuration")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ConfigError(str(path), "not UTF-8") from None
    except RecursionError:
        raise ConfigError(str(path), "nested too deeply") from None
    except ValueError as error:  # no TOML, or an integer of 5,000 digits
        raise ConfigError(str(path), f"not TOML: {error}") from None
