"""tau-bench result files: a list of `{task_id, trial, reward, info, traj}`, `traj` being OpenAI-style messages.

Decisions:
- A run whose `info.reward_info` is null and that neither its user (`###STOP###`) nor a transfer to a human ended was
  stopped by the step cap: CUT, and failed, since the published pass^k counts it so.
- A run with `info.error`, or without messages or any action, failed in the harness: INVALID. The 0.0 that the harness
  writes for it is no reward: reward and success are None, the 0.0 stays in `meta["logged_reward"]`.
- The files name no model: run ids and `meta["file"]` carry the file's name, and files are not to be pooled blindly.
- Sub-goals are the actions that the task expects (`info.task.actions`); `meta["progress"]` has the share of them that
  were taken after each turn, with the same arguments. The reward is not made of them: it compares data bases.
- Calls of the tool `think` are calls like any other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import JsonValue, Observation, Rollout, StopReason
from likewise.formats.fields import (
    as_object,
    child,
    collect,
    first_line,
    identifier,
    ordinal,
    reward_and_notes,
    scalars,
    type_name,
)
from likewise.formats.files import outline, read_json
from likewise.formats.messages import Conversation, read_messages
from likewise.formats.rollout_set import Parsed
from likewise.formats.sub_goals import SubGoal, agent_calls, progress_curve

__all__ = ["DESCRIPTION", "NAME", "read", "sniff"]

NAME = "tau-bench"
DESCRIPTION = "tau-bench results, a JSON list of runs with `traj`"

_SOLVED: Final = 1.0 - 1e-6
_STOP_WORD: Final = "###STOP###"
_EMPTY: Final = "the list is empty: no runs"
_TRANSFER: Final = "transfer_to_human_agents"


def sniff(head: str, path: Path) -> str | None:
    """None where the top level is a list of runs with `traj`, else why not."""
    del path
    seen = outline(head)
    if seen.kind != "list":
        return "the top level is not a list of runs"
    if "".join(head.split()) == "[]":
        return _EMPTY
    if "[].traj" in seen.keys or {"[].task_id", "[].trial", "[].info"} <= seen.keys:
        return None
    if {"[].task_id", "[].reward", "[].info"} <= seen.keys:
        return None
    return "the first run has no `traj`"


def read(path: Path, label: str) -> Parsed:
    """Read a result file; run ids are `label#task#trial`.

    Raises:
        RolloutFormatError: The file cannot be read, or its top level is not a list.
    """
    records = read_json(path)
    if not isinstance(records, list):
        raise RolloutFormatError(str(path), type_name(records), pointer="", expected="a list of runs")
    seen: dict[str, int] = {}

    def make(record: dict[str, JsonValue], pointer: str) -> Rollout:
        return _rollout(record, pointer, path, label, seen)

    numbered = ((record, None, child("", index)) for index, record in enumerate(records))
    rollouts, excluded = collect(numbered, make, str(path))
    warnings: tuple[str, ...] = ()
    if len(records) > 2 and all(
        isinstance(r, dict) and "trial" in r and r["trial"] == r.get("task_id") for r in records
    ):
        warnings = (f"{path}: every trial number equals its task id, so trials do not number the runs of a task",)
    return Parsed(tuple(rollouts), tuple(excluded), warnings)


def _rollout(record: dict[str, JsonValue], pointer: str, path: Path, label: str, seen: dict[str, int]) -> Rollout:
    task_id = identifier(record.get("task_id"), child(pointer, "task_id"))
    count = ordinal(seen, task_id)
    trial = count if record.get("trial") is None else record["trial"]
    run_id = f"{label}#{task_id}#{identifier(trial, child(pointer, 'trial'))}"
    info = as_object(record.get("info", {}) or {}, child(pointer, "info"))
    talk = read_messages(record.get("traj"), child(pointer, "traj"))
    reward, reward_notes = reward_and_notes(record.get("reward"))
    meta: dict[str, JsonValue] = {"file": path.name, **scalars(record, ("trial",)), **scalars(info, ("user_cost",))}
    if talk.turns and (goals := _goals(info)):
        meta["progress"] = progress_curve(goals, agent_calls(talk.turns), len(talk.turns))
    stop, problem, notes = _ending(info, talk)
    success = None if reward is None else reward >= _SOLVED
    if stop is StopReason.INVALID:
        meta |= {} if reward is None else {"logged_reward": reward}
        reward = success = None
    elif stop is StopReason.CUT:
        success = bool(success)
    return Rollout(
        task_id=task_id,
        run_id=run_id,
        turns=talk.turns,
        stop=stop,
        reward=reward,
        success=success,
        problem=problem,
        path=str(path),
        notes=(*talk.notes, *reward_notes, *notes),
        meta=meta,
        last_observations=talk.last_observations,
    )


def _goals(info: dict[str, JsonValue]) -> list[SubGoal]:
    task = info.get("task")
    actions = task.get("actions") if isinstance(task, dict) else None
    goals = []
    for action in actions if isinstance(actions, list) else []:
        name, arguments = (action.get("name"), action.get("kwargs")) if isinstance(action, dict) else (None, None)
        if isinstance(name, str) and isinstance(arguments, dict):
            goals.append(SubGoal(name, arguments))
    return goals


def _ending(info: dict[str, JsonValue], talk: Conversation) -> tuple[StopReason, str | None, tuple[str, ...]]:
    error = info.get("error")
    if error is not None:
        text = first_line(error) if isinstance(error, str) else type_name(error)
        return StopReason.INVALID, f"infra_error: {text or 'without a message'}", ()
    if not talk.turns:
        return StopReason.INVALID, "no messages" if not talk.last_observations else "no action of the agent", ()
    if _ended_by_itself(talk.last_observations):
        return StopReason.FINISHED, None, ()
    if "reward_info" in info and info["reward_info"] is None:
        return StopReason.CUT, None, ("stopped by the step limit",)
    return StopReason.FINISHED, None, ("the log does not say how the run ended",)


def _ended_by_itself(last: tuple[Observation, ...]) -> bool:
    return any(o.name == _TRANSFER if o.source == "tool" else _STOP_WORD in o.text for o in last)
