"""Which field of a record is what: one table of names, from which any record becomes runs.

A place in a record is a path: keys and positions joined by dots (`outcome.task_success`, `messages.0.text`); a key that
is there as a whole counts before its parts. A path may end in what is to be made of the value: `@json` (JSON in a
string), `@path` and `@query` (the two halves of a URL). `@folder` and `@file` are no places in the record: the names
of the folder and of the file that it lies in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from likewise.core.rollout import JsonValue
from likewise.core.state_text import canonical_json

__all__ = ["Calls", "FieldMap", "Messages", "Turns", "find", "has", "is_set", "text_of"]

_WITHOUT = ("@folder", "@file")


@dataclass(frozen=True, slots=True)
class Calls:
    """Where the tool call of a turn is.

    Attributes:
        name: Paths whose texts, joined by a blank, name the tool.
        arguments: Paths of its arguments: objects are merged, other values go under the last key of their path.
        only: Path -> values; a turn is a call where each of them matches.
        drop: Names of arguments that say nothing about what the agent did.
        instead_of_text: Whether a turn with a call has no text of its own (the text spells the call).
    """

    name: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    only: tuple[tuple[str, tuple[str, ...]], ...] = ()
    drop: frozenset[str] = frozenset()
    instead_of_text: bool = False


@dataclass(frozen=True, slots=True)
class Turns:
    """A list in which each item is a turn: what came before the action, its text and call, what came after."""

    list: str
    text: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    call: Calls | None = None


@dataclass(frozen=True, slots=True)
class Messages:
    """A list of messages under roles of the log's own; roles that are not named are the environment's."""

    list: str
    agent: frozenset[str]
    role: str = "role"
    text: str = "content"
    system: frozenset[str] = frozenset({"system", "developer"})
    tool: frozenset[str] = frozenset({"tool", "function"})
    skip: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Where the facts of a run are in a record.

    Attributes:
        task: Paths whose texts, joined by "/", name the task.
        by_text: Whether the task is named by a text of any length rather than by an id.
        run: Paths whose texts, joined by "/", name the run; none: runs are counted.
        records: Path of the list of records in the file; "": the file's own list, its lines, or the file itself.
        system, prompt: Paths of what the agent was told before it acted.
        answers: Paths of final answers. Without turns or messages each is a run of its own, and so is each item of a
            list of texts. With them there is one, and it is the text of the last action.
        error: Path of what is set only where the harness failed.
        status: Path of a word on how the run ended, and in the three next what it may be.
        facts: Name in `Rollout.meta` -> path.
    """

    task: tuple[str, ...]
    by_text: bool = False
    run: tuple[str, ...] = ()
    records: str = ""
    system: tuple[str, ...] = ()
    prompt: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    success: str = ""
    reward: str = ""
    error: str = ""
    status: str = ""
    finished: frozenset[str] = frozenset()
    cut: frozenset[str] = frozenset()
    invalid: frozenset[str] = frozenset()
    facts: tuple[tuple[str, str], ...] = ()
    turns: Turns | None = None
    messages: Messages | None = None

    def paths(self) -> Iterator[str]:
        """Every path in a record that the map names, those inside turns and messages aside."""
        single = (self.success, self.reward, self.error, self.status, *(path for _, path in self.facts))
        lists = [each.list for each in (self.turns, self.messages) if each is not None]
        several = (*self.task, *self.run, *self.system, *self.prompt, *self.answers, *single, *lists)
        yield from (path for path in several if path and path not in _WITHOUT)


def find(record: JsonValue, path: str, source: Path | None = None) -> JsonValue:
    """What a path leads to; None where there is nothing."""
    if path in _WITHOUT:
        at = None if source is None else source.absolute()
        return None if at is None else at.parent.name if path == "@folder" else at.stem
    place, made = _made(path)
    _, value = _at(record, place)
    return made(value) if made is not None and isinstance(value, str) else value


def has(record: JsonValue, path: str) -> bool:
    """Whether a path leads anywhere, be it to null."""
    return _at(record, _made(path)[0])[0]


def _made(path: str) -> tuple[str, Callable[[str], JsonValue] | None]:
    place, mark, made = path.rpartition("@")
    return (place, _MADE[made]) if mark and made in _MADE else (path, None)


def _at(value: JsonValue, path: str) -> tuple[bool, JsonValue]:
    """Whether a path leads anywhere, and to what."""
    key, dot, rest = path.partition(".")
    if isinstance(value, dict) and path in value:
        return True, value[path]
    if isinstance(value, dict) and key in value:
        return _at(value[key], rest) if dot else (True, value[key])
    if isinstance(value, list) and key.removeprefix("-").isdecimal() and -len(value) <= int(key) < len(value):
        return _at(value[int(key)], rest) if dot else (True, value[int(key)])
    return False, None


def _json(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def _query(text: str) -> JsonValue:
    """The parameters of a URL; one that comes more than once has a list."""
    found: dict[str, JsonValue] = {}
    try:
        pairs = parse_qsl(urlsplit(text).query, keep_blank_values=True)
    except ValueError:
        return text
    for key, value in pairs:
        before = found.get(key)
        found[key] = value if before is None else [*(before if isinstance(before, list) else [before]), value]
    return found


def _path(text: str) -> JsonValue:
    try:
        return urlsplit(text).path
    except ValueError:
        return text


_MADE: Final[dict[str, Callable[[str], JsonValue]]] = {"json": _json, "query": _query, "path": _path}


def is_set(value: JsonValue) -> bool:
    """Whether a value says something: neither null nor false, blank nor empty."""
    return bool(value.strip()) if isinstance(value, str) else bool(value)


def text_of(value: JsonValue) -> str:
    """A value as text: a list of one text or number is that one, other lists and objects are JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], list | dict):
        return text_of(value[0])
    return canonical_json(value)
