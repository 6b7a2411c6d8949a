"""SWE-agent trajectories (`.traj`): a JSON object with `trajectory`, or in older files with `history` alone.

Decisions:
- A file is a run. Its task is the id of its problem statement, the name of the file where that is an instance's name,
  or the text of the issue.
- A step of `trajectory` is a turn: the thought is the text, the command is a call of the program that it starts with
  (`edit 1:1` calls `edit`), whole under `command`. The dialect of the tools stays visible: runs of different dialects
  are different agents.
- `submitted` is FINISHED, and so is a run that gave up. Limits of cost, context, calls and time are CUT, and failed
  unless a patch was handed in; so are answers that the agent could not put into form. Errors of the environment or of
  the model's API are INVALID.
- What was handed in is no text of the agent's: `meta["patch_sha256"]` tells equal patches, white space aside.
- The log does not know whether the patch was right: success is None, False where a limit was hit without a patch.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from likewise.core.errors import RolloutFormatError
from likewise.core.provenance import sha256
from likewise.core.rollout import Action, JsonValue, Observation, Rollout, StopReason, ToolCall, Turn
from likewise.core.state_text import canonical_text
from likewise.formats.assemble import FINISHED, UNKNOWN_END, Ending, assemble, broken, cut, one_run, task_of
from likewise.formats.fields import as_list, as_object, as_optional_text, child, first_line
from likewise.formats.files import outline
from likewise.formats.messages import Conversation, read_messages
from likewise.formats.rollout_set import Parsed
from likewise.formats.top_level import read_object

__all__ = ["DESCRIPTION", "NAME", "SUFFIXES", "read", "sniff"]

NAME = "swe-agent"
DESCRIPTION = "SWE-agent trajectories, `.traj`"
SUFFIXES = (".traj",)

_INSTANCE: Final = re.compile(r"[\w.-]+__[\w.-]+-\d+")
_PROGRAM: Final = re.compile(r"[A-Za-z_][\w.-]*")
_LIMITS: Final = frozenset(
    {"exit_cost", "exit_context", "exit_total_execution_time", "exit_command_timeout", "early_exit"}
)
_AGENT_FAILED: Final = frozenset({"exit_format"})
_ENDED: Final = frozenset({"exit_forfeit", "exit_command", "submitted"})
_BROKEN: Final = frozenset({"exit_api", "exit_environment_error", "exit_error", "skipped"})


def sniff(head: str, path: Path) -> str | None:
    """None where there is a `trajectory` of actions, or a `history` of an `agent`; else why not."""
    del path
    seen = outline(head)
    if seen.kind != "object":
        return "the top level is not an object"
    if {"trajectory[].action", "trajectory[].observation"} <= seen.keys:
        return None
    if {"history[].role", "history[].agent"} <= seen.keys and "turns" not in seen.keys:
        return None
    return "no `trajectory` with `action`, and no `history` with `agent`"


def read(path: Path, label: str) -> Parsed:
    """Read one trajectory; its run id is `label`.

    Raises:
        RolloutFormatError: The file cannot be read, or has neither `trajectory` nor `history`.
    """
    top = read_object(path, "`trajectory`")
    if not isinstance(top.get("trajectory"), list) and not isinstance(top.get("history"), list):
        raise RolloutFormatError(str(path), "no list `trajectory` or `history`", pointer="")
    return one_run(lambda: _rollout(top, label, path), label, path)


def _rollout(top: dict[str, JsonValue], label: str, path: Path) -> Rollout:
    history = as_list(top.get("history") or [], "/history")
    steps = as_list(top.get("trajectory") or [], "/trajectory")
    before = _before(history)
    talk = _from_trajectory(steps, before) if steps else _from_history(history)
    config = _config(top.get("replay_config"))
    info = as_object(top.get("info") or {}, "/info")
    status = as_optional_text(info.get("exit_status"), "/info/exit_status")
    submission = info.get("submission")
    patched = isinstance(submission, str) and bool(submission.strip())
    ending = _ending(status, talk)
    meta: dict[str, JsonValue] = {"file": path.name, **_settings(config)}
    meta |= {"exit_status": status} if status else {}
    meta |= {"patch_sha256": sha256(canonical_text(submission))} if isinstance(submission, str) and patched else {}
    return assemble(
        _task(config, before, path),
        label,
        talk,
        ending,
        path=str(path),
        success=False if ending.stop is StopReason.CUT and status and not patched else None,
        meta=meta,
    )


def _config(value: JsonValue) -> dict[str, JsonValue]:
    """The configuration that the run can be replayed from: an object, or one in a string."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _section(record: dict[str, JsonValue], *keys: str) -> dict[str, JsonValue]:
    for key in keys:
        value = record.get(key)
        record = value if isinstance(value, dict) else {}
    return record


def _settings(config: dict[str, JsonValue]) -> dict[str, JsonValue]:
    model = _section(config, "agent", "model")
    found = {name: model.get(key) for name, key in (("model", "name"), ("temperature", "temperature"))}
    return {name: value for name, value in found.items() if isinstance(value, str | int | float)}


def _task(config: dict[str, JsonValue], before: tuple[Observation, ...], path: Path) -> str:
    problem = _section(config, "problem_statement")
    instance, text = problem.get("id"), problem.get("text")
    if isinstance(instance, str) and instance.strip():
        return instance
    if _INSTANCE.fullmatch(path.stem) or path.parent.name == path.stem:
        return path.stem
    asked = next((each.text for each in before if each.source == "user"), "")
    text = text if isinstance(text, str) and text.strip() else asked
    return task_of(text) if text.strip() else path.stem


def _before(history: list[JsonValue]) -> tuple[Observation, ...]:
    """What the agent was told before it first acted: system prompt, demonstrations, the issue."""
    first = _first_action(history)
    return read_messages(history[:first], "/history", scripted=first).last_observations


def _is_action(entry: JsonValue) -> bool:
    return isinstance(entry, dict) and entry.get("role") == "assistant" and not entry.get("is_demo")


def _from_trajectory(steps: list[JsonValue], before: tuple[Observation, ...]) -> Conversation:
    turns: list[Turn] = []
    seen = before
    for index, item in enumerate(steps):
        place = child("/trajectory", index)
        step = as_object(item, place)
        action = _action(step, place)
        turns.append(Turn(seen, action))
        text = as_optional_text(step.get("observation"), child(place, "observation"))
        seen = (Observation("tool", text or "", action.tool_calls[0].name if action.tool_calls else None),)
    return Conversation(tuple(turns), seen, ())


def _from_history(history: list[JsonValue]) -> Conversation:
    """The turns of a file without `trajectory`, in the same form where its entries have the command."""
    talk = read_messages(history, "/history", scripted=_first_action(history))
    entries = [(index, each) for index, each in enumerate(history) if _is_action(each)]
    turns = [
        replace(turn, action=_action(as_object(entry, ""), child("/history", index)))
        if isinstance(entry, dict) and isinstance(entry.get("action"), str)
        else turn
        for turn, (index, entry) in zip(talk.turns, entries, strict=False)
    ]
    return replace(talk, turns=tuple(turns))


def _first_action(history: list[JsonValue]) -> int:
    return next((n for n, each in enumerate(history) if _is_action(each)), len(history))


def _action(step: dict[str, JsonValue], place: str) -> Action:
    """Thought and command of a step; where a step has no command, what the model said is its text."""
    command = (as_optional_text(step.get("action"), child(place, "action")) or "").strip()
    thought = as_optional_text(step.get("thought"), child(place, "thought"))
    if not command:
        response = as_optional_text(step.get("response"), child(place, "response"))
        return Action((thought or response or "").strip())
    program = _PROGRAM.match(command)
    name = program.group() if program else "shell"
    return Action((thought or "").strip(), (ToolCall(name, {"command": command}),))


def _ending(status: str | None, talk: Conversation) -> Ending:
    if status is None:
        last = talk.turns[-1].action.tool_calls if talk.turns else ()
        return FINISHED if any(call.name == "submit" for call in last) else UNKNOWN_END
    base = status.removeprefix("submitted (").rstrip(")") if status.startswith("submitted (") else status
    if base in _BROKEN:
        return broken(status)
    if base in _LIMITS:
        return cut(f"stopped by a limit: {status}")
    if base in _AGENT_FAILED:
        return cut(f"stopped by the harness: {status}")
    if base in _ENDED:
        return FINISHED
    return Ending(StopReason.CUT, None, (f"an exit status that is not known: {first_line(status, 60)}",))
