"""Typed access to the fields of a parsed record: a wrong type is a FieldError that knows its JSON pointer."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable

from likewise.core.rollout import Excluded, JsonValue, Rollout

__all__ = [
    "DEEPEST",
    "FieldError",
    "as_flag",
    "as_list",
    "as_object",
    "as_optional_text",
    "as_text",
    "bounded",
    "child",
    "collect",
    "first_line",
    "identifier",
    "nesting",
    "ordinal",
    "reward_and_notes",
    "scalars",
    "type_name",
]

DEEPEST = 100
"""Levels of arguments that are kept as an object: what compares them goes down level by level."""
_TYPE_NAMES = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a string"}
_TYPE_NAMES |= {list: "a list", dict: "an object"}


class FieldError(ValueError):
    """A field that cannot be used; `collect` turns it into an Excluded with path and line."""

    def __init__(self, pointer: str, problem: str) -> None:
        """Keep the JSON pointer (RFC 6901) beside the problem."""
        super().__init__(pointer, problem)
        self.pointer, self.problem = pointer, problem


def child(pointer: str, key: str | int) -> str:
    """The JSON pointer one step further down."""
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def type_name(value: object) -> str:
    """What JSON calls the type of a value."""
    return _TYPE_NAMES.get(type(value), type(value).__name__)


def _wrong(value: object, pointer: str, expected: str) -> FieldError:
    found = "missing or null" if value is None else type_name(value)
    return FieldError(pointer, f"{found} (expected {expected})")


def as_object(value: object, pointer: str) -> dict[str, JsonValue]:
    """The value, which must be an object."""
    if isinstance(value, dict):
        return value
    raise _wrong(value, pointer, "an object")


def as_list(value: object, pointer: str) -> list[JsonValue]:
    """The value, which must be a list."""
    if isinstance(value, list):
        return value
    raise _wrong(value, pointer, "a list")


def as_text(value: object, pointer: str) -> str:
    """The value, which must be a string."""
    if isinstance(value, str):
        return value
    raise _wrong(value, pointer, "a string")


def as_optional_text(value: object, pointer: str) -> str | None:
    """The value, which must be a string or null."""
    return None if value is None else as_text(value, pointer)


def as_flag(value: object, pointer: str) -> bool | None:
    """The value, which must be true, false or null."""
    if value is None or isinstance(value, bool):
        return value
    raise _wrong(value, pointer, "a boolean")


def identifier(value: object, pointer: str) -> str:
    """A task or run id: a string that is not blank, or an integer; always given as a string."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value.strip():
        return value
    raise (
        FieldError(pointer, "blank id") if isinstance(value, str) else _wrong(value, pointer, "a string or an integer")
    )


def reward_and_notes(value: object) -> tuple[float | None, tuple[str, ...]]:
    """A reward, or None where it is missing or no finite number; the notes say which.

    A reward that is no number (a dict of scores, NaN, a number beyond a float) is missing, never 0.
    """
    if value is None:
        return None, ()
    if not isinstance(value, int | float):
        return None, ("reward that is not a number",)
    try:
        reward = float(value)
    except OverflowError:
        reward = math.inf
    return (reward, ()) if math.isfinite(reward) else (None, ("reward that is not a finite number",))


def scalars(record: dict[str, JsonValue], keys: Iterable[str]) -> dict[str, JsonValue]:
    """Those of the keys that hold a plain value (neither null, list nor object)."""
    return {key: record[key] for key in keys if isinstance(record.get(key), str | int | float | bool)}


def first_line(text: str, limit: int = 200) -> str:
    """First line of a text that says something, shortened."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= limit else line[: limit - 3] + "..."


def nesting(value: JsonValue) -> int:
    """Depth of a JSON value, 0 for a plain one, without recursion."""
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, list | dict)]:
        depth += 1
        level = [item for outer in level for item in _items(outer)]
    return depth


def bounded(arguments: dict[str, JsonValue]) -> dict[str, JsonValue] | str:
    """Arguments of a call; as text where they are nested deeper than what compares them can go."""
    return arguments if nesting(arguments) <= DEEPEST else json.dumps(arguments)


def _items(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def ordinal(counts: dict[str, int], task_id: str) -> int:
    """How often the task occurred before, counted in `counts`: a trial number for logs that have none."""
    counts[task_id] = counts.get(task_id, -1) + 1
    return counts[task_id]


def collect(
    records: Iterable[tuple[JsonValue, int | None, str]],
    make: Callable[[dict[str, JsonValue], str], Rollout],
    path: str,
    id_keys: tuple[str, ...] = ("task_id",),
) -> tuple[list[Rollout], list[Excluded]]:
    """Turn records into rollouts; a record that cannot be one becomes an Excluded.

    Args:
        records: Each record with its line (None for a file that is one JSON value) and its JSON pointer.
        make: Makes a rollout of a record and its pointer, or raises FieldError.
        path: File the records come from.
        id_keys: Where a record may hold its task id, for naming the excluded ones.
    """
    rollouts: list[Rollout] = []
    excluded: list[Excluded] = []
    for record, line, pointer in records:
        try:
            rollouts.append(make(as_object(record, pointer), pointer))
        except FieldError as error:
            task = _any_id(record, id_keys)
            excluded.append(Excluded(task, _any_id(record, ("run_id",)), error.problem, path, line, error.pointer))
        except RecursionError:
            excluded.append(Excluded(_any_id(record, id_keys), None, "nested too deeply", path, line, pointer))
    return rollouts, excluded


def _any_id(record: JsonValue, keys: tuple[str, ...]) -> str | None:
    values = (record.get(key) for key in keys) if isinstance(record, dict) else ()
    usable = (value for value in values if isinstance(value, str | int) and not isinstance(value, bool))
    return next((str(value) for value in usable), None)
