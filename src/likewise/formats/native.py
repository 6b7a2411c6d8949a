"""Our own format: JSON Lines, one rollout a line, versioned; what is written is what is read.

Each line is `{"schema": "likewise.rollout/1", "task_id", "run_id", "turns", "stop", "reward", "success", "problem",
"notes", "meta", "last_observations"}`. Lone surrogates survive as JSON escapes.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import IO
from uuid import uuid4

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import Action, JsonValue, Observation, Rollout, StopReason, ToolCall, Turn
from likewise.formats.fields import (
    DEEPEST,
    FieldError,
    as_flag,
    as_list,
    as_object,
    as_optional_text,
    as_text,
    child,
    collect,
    nesting,
    reward_and_notes,
)
from likewise.formats.files import outline, read_lines
from likewise.formats.rollout_set import Parsed

__all__ = [
    "DESCRIPTION",
    "NAME",
    "SCHEMA",
    "read",
    "rollout_from_json",
    "rollout_lines",
    "rollout_to_json",
    "sniff",
    "write_rollouts",
]

NAME = "native"
DESCRIPTION = "likewise JSON Lines, one rollout a line"
SCHEMA = "likewise.rollout/1"
_FAMILY = "likewise.rollout/"


def sniff(head: str, path: Path) -> str | None:
    """None where the first line names a `likewise.rollout/` schema, else why not."""
    del path
    seen = outline(head)
    if seen.kind != "object":
        return "the first line is not a JSON object"
    if seen.texts.get("schema", "").replace("\\/", "/").startswith(_FAMILY):
        return None
    return f'no "schema": "{SCHEMA}" in the first line'


def read(path: Path, label: str) -> Parsed:
    """Read a file of our own; run ids are those written.

    Raises:
        RolloutFormatError: The file cannot be read, or a line has a schema that this version does not know.
    """
    del label
    lines = read_lines(path)
    for value, line, pointer in lines.values:
        schema = value.get("schema") if isinstance(value, dict) else None
        if isinstance(schema, str) and schema.startswith(_FAMILY) and schema != SCHEMA:
            problem = f"schema {schema[:60]!r} is not known to this version"
            raise RolloutFormatError(str(path), problem, line=line, pointer=f"{pointer}/schema", expected=repr(SCHEMA))
    rollouts, excluded = collect(
        lines.values, lambda record, pointer: _acted(rollout_from_json(record, pointer, str(path))), str(path)
    )
    return Parsed(tuple(rollouts), (*lines.excluded, *excluded))


def _acted(rollout: Rollout) -> Rollout:
    """The run, invalid where its agent never acted: two runs of nothing would else agree in everything."""
    if rollout.turns or not rollout.valid:
        return rollout
    problem = "no action of the agent" if rollout.last_observations else "no messages"
    logged: dict[str, JsonValue] = {} if rollout.reward is None else {"logged_reward": rollout.reward}
    meta = {**rollout.meta, **logged}
    return replace(rollout, stop=StopReason.INVALID, problem=problem, reward=None, success=None, meta=meta)


def write_rollouts(path: str | Path, rollouts: Iterable[Rollout]) -> int:
    """Write rollouts as JSON Lines, atomically: the file is complete or not there. Returns how many were written.

    They are written one after another, so that a stream of any length can pass; a name that ends in .gz is compressed.
    A high and a low surrogate side by side come back as the one character they stand for; all else comes back as it
    was, but for `path`, which is the file read.

    Raises:
        RolloutFormatError: A rollout holds something that JSON cannot.
        OSError: The folder is missing or cannot be written.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name[:100]}.{uuid4().hex}.tmp")
    count = 0
    try:
        with temporary.open("xb") as file:
            with _packed(file) if target.suffix.lower() == ".gz" else nullcontext(file) as stream:
                for line in rollout_lines(rollouts, target):
                    stream.write(line.encode("ascii"))
                    count += 1
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return count


def _packed(file: IO[bytes]) -> gzip.GzipFile:
    """Without name and time, so that the same rollouts are the same bytes."""
    return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)


def rollout_lines(rollouts: Iterable[Rollout], target: Path) -> Iterator[str]:
    """Each rollout as a line; `target` is named in errors."""
    return (_dump(rollout, target) + "\n" for rollout in rollouts)


def _dump(rollout: Rollout, target: Path) -> str:
    try:
        return json.dumps(rollout_to_json(rollout), separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        problem = f"run {rollout.run_id!r} of task {rollout.task_id!r} cannot be written: {error}"
        raise RolloutFormatError(str(target), problem) from error


def rollout_to_json(rollout: Rollout) -> dict[str, JsonValue]:
    """One line of the format, as a JSON object."""
    meta: dict[str, JsonValue] = dict(rollout.meta)
    if (depth := nesting(meta)) > DEEPEST:
        raise ValueError(f"its meta is nested {depth} levels deep, at most {DEEPEST} are read back")
    return {
        "schema": SCHEMA,
        "task_id": rollout.task_id,
        "run_id": rollout.run_id,
        "turns": [
            {"observations": _observations_to_json(turn.observations), "action": _action_to_json(turn.action)}
            for turn in rollout.turns
        ],
        "stop": rollout.stop.value,
        "reward": rollout.reward,
        "success": rollout.success,
        "problem": rollout.problem,
        "notes": list(rollout.notes),
        "meta": meta,
        "last_observations": _observations_to_json(rollout.last_observations),
    }


def _observations_to_json(observations: tuple[Observation, ...]) -> list[JsonValue]:
    return [{"source": each.source, "text": each.text, "name": each.name} for each in observations]


def _action_to_json(action: Action) -> dict[str, JsonValue]:
    for call in action.tool_calls:
        if not isinstance(call.arguments, str) and (depth := nesting(call.arguments)) > DEEPEST:
            raise ValueError(
                f"arguments of {call.name!r} are nested {depth} levels deep, at most {DEEPEST} are read back"
            )
    calls: list[JsonValue] = [{"name": call.name, "arguments": call.arguments} for call in action.tool_calls]
    return {"text": action.text, "tool_calls": calls}


def rollout_from_json(record: dict[str, JsonValue], pointer: str = "", path: str = "") -> Rollout:
    """A rollout of one line's object.

    Raises:
        FieldError: A field is missing or has the wrong type.
    """
    schema = record.get("schema")
    if schema != SCHEMA:
        raise FieldError(child(pointer, "schema"), f"no schema of ours (expected {SCHEMA!r})")
    stop = record.get("stop", StopReason.FINISHED.value)
    if stop not in list(StopReason):
        raise FieldError(child(pointer, "stop"), f"unknown stop reason (expected one of {', '.join(StopReason)})")
    problem = as_optional_text(record.get("problem"), child(pointer, "problem"))
    if (stop == StopReason.INVALID) != (problem is not None):
        raise FieldError(child(pointer, "problem"), "a problem must be given exactly where stop is 'invalid'")
    reward, reward_notes = reward_and_notes(record.get("reward"))
    turns_at, notes_at, meta_at = child(pointer, "turns"), child(pointer, "notes"), child(pointer, "meta")
    meta = as_object(record.get("meta", {}), meta_at)
    _shallow(meta, meta_at)
    notes = as_list(record.get("notes", []), notes_at)
    return Rollout(
        task_id=as_text(record.get("task_id"), child(pointer, "task_id")),
        run_id=as_text(record.get("run_id"), child(pointer, "run_id")),
        turns=tuple(
            _turn(turn, child(turns_at, index)) for index, turn in enumerate(as_list(record.get("turns"), turns_at))
        ),
        stop=StopReason(str(stop)),
        reward=reward,
        success=as_flag(record.get("success"), child(pointer, "success")),
        problem=problem,
        path=path,
        notes=(*(as_text(note, child(notes_at, index)) for index, note in enumerate(notes)), *reward_notes),
        meta=meta,
        last_observations=_observations(record.get("last_observations", []), child(pointer, "last_observations")),
    )


def _turn(value: JsonValue, pointer: str) -> Turn:
    turn = as_object(value, pointer)
    action_at = child(pointer, "action")
    action = as_object(turn.get("action"), action_at)
    calls_at = child(action_at, "tool_calls")
    calls = as_list(action.get("tool_calls", []), calls_at)
    return Turn(
        _observations(turn.get("observations", []), child(pointer, "observations")),
        Action(
            as_text(action.get("text", ""), child(action_at, "text")),
            tuple(_call(call, child(calls_at, index)) for index, call in enumerate(calls)),
        ),
    )


def _call(value: JsonValue, pointer: str) -> ToolCall:
    call = as_object(value, pointer)
    arguments = call.get("arguments", {})
    if not isinstance(arguments, str):
        arguments = as_object(arguments, child(pointer, "arguments"))
        _shallow(arguments, child(pointer, "arguments"))
    return ToolCall(as_text(call.get("name"), child(pointer, "name")), arguments)


def _shallow(value: JsonValue, pointer: str) -> None:
    if (depth := nesting(value)) > DEEPEST:
        raise FieldError(pointer, f"nested too deeply: {depth} levels (expected at most {DEEPEST}, or a string)")


def _observations(value: JsonValue, pointer: str) -> tuple[Observation, ...]:
    observations = []
    for index, item in enumerate(as_list(value, pointer)):
        place = child(pointer, index)
        fields = as_object(item, place)
        source = as_text(fields.get("source"), child(place, "source"))
        text = as_text(fields.get("text", ""), child(place, "text"))
        name = as_optional_text(fields.get("name"), child(place, "name"))
        observations.append(Observation(source, text, name))
    return tuple(observations)
