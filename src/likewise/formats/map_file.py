"""A mapping file (TOML): the user's own words on which field of a log is what.

    task = "task_id"                  # required; several are joined
    success = "correct"
    [turns]
    list = "turns"
    text = "agent_reply"
    after = "observation"

The keys are those of `FieldMap`, `Turns`, `Calls` and `Messages`; see docs/formats.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from likewise.core.config import Table, read_toml
from likewise.formats.field_map import Calls, FieldMap, Messages, Turns

__all__ = ["FACTS", "read_map"]

FACTS: Final = {
    "model": "model",
    "agent": "agent",
    "domain": "domain",
    "response_id": "response_ids",
    "cached": "cached",
    "started": "started",
    "ended": "ended",
    "seed": "seed",
    "temperature": "temperature",
}
"""Keys of a mapping that become facts of a run, and the names of these facts."""

_SINGLE: Final = ("records", "success", "reward", "error", "status")
_SEVERAL: Final = ("task", "run", "system", "prompt", "answer")
_WORDS: Final = ("finished", "cut", "invalid")
_TOP: Final = (*_SEVERAL, *_SINGLE, *_WORDS, *FACTS, "turns", "messages")


def read_map(path: str | Path) -> FieldMap:
    """Read a mapping file.

    Raises:
        ConfigError: It cannot be read, has a key that is not known, or does not say what a task and an action are.
    """
    top = read_toml(path)
    top.only(_TOP)
    if "task" not in top.values:
        raise top.refusal("task", "missing", "the path of what names the task")
    shapes = [key for key in ("turns", "messages") if key in top.values]
    if len(shapes) > 1:
        raise top.refusal("messages", "beside a table of turns", "one of the two")
    if not shapes and "answer" not in top.values:
        raise top.refusal("answer", "missing", "the path of the answer, or a table [turns] or [messages]")
    return FieldMap(
        task=_paths(top, "task"),
        run=_paths(top, "run"),
        system=_paths(top, "system"),
        prompt=_paths(top, "prompt"),
        answers=_paths(top, "answer"),
        facts=tuple((FACTS[key], _path(top, key)) for key in FACTS if key in top.values),
        turns=_turns(top.table("turns")) if "turns" in top.values else None,
        messages=_messages(top.table("messages")) if "messages" in top.values else None,
        records=_path(top, "records"),
        success=_path(top, "success"),
        reward=_path(top, "reward"),
        error=_path(top, "error"),
        status=_path(top, "status"),
        finished=frozenset(top.texts("finished")),
        cut=frozenset(top.texts("cut")),
        invalid=frozenset(top.texts("invalid")),
    )


def _path(table: Table, key: str, default: str = "") -> str:
    value = table.values.get(key, default)
    if not isinstance(value, str) or (key in table.values and not value.strip()):
        raise table.refusal(key, "no path", 'a path such as "outcome.success"')
    return value


def _paths(table: Table, key: str) -> tuple[str, ...]:
    value = table.values.get(key, [])
    return (_path(table, key),) if isinstance(value, str) else table.texts(key)


def _needed(table: Table, *keys: str) -> None:
    for key in keys:
        if key not in table.values:
            raise table.refusal(key, "missing", "a path")


def _turns(table: Table) -> Turns:
    table.only(("list", "text", "before", "after", "call"))
    _needed(table, "list")
    if "text" not in table.values and "call" not in table.values:
        raise table.refusal("text", "missing", "the path of what the agent said, or a table [turns.call]")
    call = _calls(table.table("call")) if "call" in table.values else None
    return Turns(_path(table, "list"), _paths(table, "text"), _paths(table, "before"), _paths(table, "after"), call)


def _calls(table: Table) -> Calls:
    table.only(("name", "arguments", "only", "drop", "instead_of_text"))
    _needed(table, "name")
    only = table.table("only")
    instead = table.values.get("instead_of_text", False)
    if not isinstance(instead, bool):
        raise table.refusal("instead_of_text", "no boolean", "true or false")
    return Calls(
        name=_paths(table, "name"),
        arguments=_paths(table, "arguments"),
        only=tuple((key, _paths(only, key)) for key in only.values),
        drop=frozenset(table.texts("drop")),
        instead_of_text=instead,
    )


def _messages(table: Table) -> Messages:
    table.only(("list", "agent", "role", "text", "system", "tool", "skip"))
    _needed(table, "list", "agent")
    roles = {key: frozenset(_paths(table, key)) for key in ("system", "tool", "skip") if key in table.values}
    return Messages(
        list=_path(table, "list"),
        agent=frozenset(_paths(table, "agent")),
        role=_path(table, "role", "role"),
        text=_path(table, "text", "content"),
        **roles,
    )
