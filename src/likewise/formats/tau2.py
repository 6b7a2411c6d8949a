"""tau2-bench result files: `{timestamp, info, tasks, simulations}`.

Decisions:
- `user_stop` and `agent_stop` are FINISHED. `max_steps` and `timeout` are CUT. So are `too_many_errors` and
  `agent_error`: the agent failed (success is False), but the harness stopped it, and what it would have done next was
  not seen. The other errors (infrastructure, simulated user, unexpected) are the harness's: INVALID. A reason that is
  missing or not known is CUT with a note, for then nothing is claimed about the turns after the last one.
- A first assistant message without cost, usage and calls is the scripted greeting, and the messages that repeat the
  task's `initial_state.message_history` are prepared: nobody's actions, all of them observations of turn 0.
- Calls with requestor "user" are made by the simulated user: they and their results are observations.
- There is no system message; the policy is in `info`, and its hash in `meta["policy_sha256"]`.
- Sub-goals are the `action_checks` of the run, else the task's expected actions (a run that was cut has no checks, and
  the goals it had all the same); `meta["progress"]` has the share met after each turn. The log's verdicts stand.
- Trials are sorted. Every file may number its trials from 0, so run ids carry the file: `label#task#trial`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from likewise.core.rollout import JsonValue, Rollout, StopReason
from likewise.formats.fields import (
    as_list,
    as_object,
    as_optional_text,
    child,
    collect,
    first_line,
    identifier,
    ordinal,
    reward_and_notes,
    scalars,
)
from likewise.formats.files import outline
from likewise.formats.messages import Conversation, read_messages
from likewise.formats.rollout_set import Parsed
from likewise.formats.sub_goals import Made, SubGoal, agent_calls, progress_curve
from likewise.formats.top_level import read_object, refused_whole

__all__ = ["DESCRIPTION", "NAME", "read", "sniff"]

NAME = "tau2"
DESCRIPTION = "tau2-bench results, a JSON object with `simulations`"

_SOLVED: Final = 1.0 - 1e-6
_ENDED: Final = frozenset({"user_stop", "agent_stop"})
_LIMITS: Final = frozenset({"max_steps", "timeout"})
_AGENT_FAILED: Final = frozenset({"too_many_errors", "agent_error"})
_SIGNS: Final = frozenset({"info.environment_info", "info.agent_info", "info.user_info", "info.num_trials"})


@dataclass(frozen=True, slots=True)
class _File:
    """What the simulations of one file share; `seen` counts the runs of each task."""

    path: Path
    label: str
    meta: dict[str, JsonValue]
    histories: dict[str, list[JsonValue]]
    goals: dict[str, list[SubGoal]]
    seen: dict[str, int] = field(default_factory=dict)


def sniff(head: str, path: Path) -> str | None:
    """None where the top level has `simulations`, or an `info` as tau2 writes it before them; else why not."""
    del path
    seen = outline(head)
    if seen.kind != "object":
        return "the top level is not an object"
    if "simulations" in seen.keys or _SIGNS & seen.keys:
        return None
    return "no `simulations` and no `info` of tau2"


def read(path: Path, label: str) -> Parsed:
    """Read a result file; tasks in order of first appearance, trials sorted; run ids are `label#task#trial`.

    Raises:
        RolloutFormatError: The file cannot be read, or has no list `simulations`.
    """
    top = read_object(path, "`simulations`")
    with refused_whole(path):
        simulations = as_list(top.get("simulations"), "/simulations")
        common = _common_meta(as_object(top.get("info", {}) or {}, "/info"), path)
    source = _File(path, label, common, _histories(top.get("tasks")), _expected(top.get("tasks")))

    def make(record: dict[str, JsonValue], pointer: str) -> Rollout:
        return _rollout(record, pointer, source)

    numbered = ((item, None, child("/simulations", index)) for index, item in enumerate(simulations))
    rollouts, excluded = collect(numbered, make, str(path))
    first: dict[str, int] = {}
    for rollout in rollouts:
        first.setdefault(rollout.task_id, len(first))
    rollouts.sort(key=lambda rollout: (first[rollout.task_id], *_trial_order(rollout.meta.get("trial"))))
    return Parsed(tuple(rollouts), tuple(excluded))


def _trial_order(trial: JsonValue) -> tuple[int, str]:
    return (int(trial), "") if isinstance(trial, int | float) else (0, str(trial))


def _common_meta(info: dict[str, JsonValue], path: Path) -> dict[str, JsonValue]:
    agent, user, world = (_section(info, key) for key in ("agent_info", "user_info", "environment_info"))
    meta: dict[str, JsonValue] = {"file": path.name, **scalars(info, ("git_commit",))}
    for name, value in (
        ("model", agent.get("llm")),
        ("agent", agent.get("implementation")),
        ("temperature", _section(agent, "llm_args").get("temperature")),
        ("user_model", user.get("llm")),
        ("domain", world.get("domain_name")),
    ):
        if isinstance(value, str | int | float):
            meta[name] = value
    policy = world.get("policy")
    if isinstance(policy, str):
        meta["policy_sha256"] = hashlib.sha256(policy.encode("utf-8", "surrogatepass")).hexdigest()
    return meta


def _section(record: dict[str, JsonValue], key: str) -> dict[str, JsonValue]:
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def _rollout(record: dict[str, JsonValue], pointer: str, source: _File) -> Rollout:
    task_id = identifier(record.get("task_id"), child(pointer, "task_id"))
    count = ordinal(source.seen, task_id)
    trial = count if record.get("trial") is None else record["trial"]
    run_id = f"{source.label}#{task_id}#{identifier(trial, child(pointer, 'trial'))}"
    messages = record.get("messages")
    scripted = _scripted(messages, source.histories.get(task_id, []))
    talk = read_messages(messages, child(pointer, "messages"), scripted=scripted)
    reason = as_optional_text(record.get("termination_reason"), child(pointer, "termination_reason"))
    stop, problem, notes = _ending(reason, record, talk)
    reward_info = as_object(record.get("reward_info") or {}, child(pointer, "reward_info"))
    reward, reward_notes = reward_and_notes(reward_info.get("reward"))
    success = None if reward is None else reward >= _SOLVED
    meta = {**source.meta, "trial": trial, **scalars(record, ("seed", "termination_reason"))}
    meta |= {"record_id": record["id"]} if isinstance(record.get("id"), str) else {}
    meta |= _copies(record)
    goals = _checked(reward_info) or source.goals.get(task_id, [])
    if talk.turns and goals:
        calls = [*agent_calls(talk.turns), *_user_calls(messages, scripted)]
        meta["progress"] = progress_curve(goals, calls, len(talk.turns))
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
        path=str(source.path),
        notes=(*talk.notes, *reward_notes, *notes),
        meta=meta,
        last_observations=talk.last_observations,
    )


def _copies(record: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """What tells a run from a copy of it: when it ran, and the ids that the provider gave its answers."""
    times = (("start_time", "started"), ("end_time", "ended"))
    meta: dict[str, JsonValue] = {name: record[key] for key, name in times if isinstance(record.get(key), str)}
    messages = record.get("messages")
    said = [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []
    own = [_section(each, "raw_data").get("id") for each in said if each.get("role") == "assistant"]
    ids: list[JsonValue] = [each for each in own if isinstance(each, str)]
    return meta | ({"response_ids": ids} if ids else {})


def _scripted(messages: object, history: list[JsonValue]) -> int:
    """How many messages at the start are not the agent's doing."""
    if not isinstance(messages, list) or not messages:
        return 0
    if history and [_gist(each) for each in messages[: len(history)]] == [_gist(each) for each in history]:
        return len(history)
    first = messages[0]
    greeting = isinstance(first, dict) and first.get("role") == "assistant" and first.get("usage") is None
    return int(greeting and not first.get("cost") and not first.get("tool_calls"))


def _checked(reward_info: dict[str, JsonValue]) -> list[SubGoal]:
    """The sub-goals of a run with the log's verdict on each."""
    checks = reward_info.get("action_checks")
    found = []
    for check in checks if isinstance(checks, list) else []:
        action, verdict = (
            (check.get(key) for key in ("action", "action_match")) if isinstance(check, dict) else (None, 0)
        )
        found += _goals([action], verdict if isinstance(verdict, bool) else None)
    return found


def _expected(tasks: JsonValue) -> dict[str, list[SubGoal]]:
    """The expected actions of those tasks that have any."""
    found: dict[str, list[SubGoal]] = {}
    for task in tasks if isinstance(tasks, list) else []:
        actions = _section(task, "evaluation_criteria").get("actions") if isinstance(task, dict) else None
        if isinstance(task, dict) and isinstance(actions, list):
            found[str(task.get("id"))] = _goals(actions)
    return found


def _goals(actions: list[JsonValue], met: bool | None = None) -> list[SubGoal]:
    goals = []
    for action in actions:
        name, arguments, compared = (
            (action.get(key) for key in ("name", "arguments", "compare_args"))
            if isinstance(action, dict)
            else (None, None, None)
        )
        if isinstance(name, str) and isinstance(arguments, dict):
            counted = tuple(str(each) for each in compared) if isinstance(compared, list) else None
            goals.append(SubGoal(name, arguments, counted, met))
    return goals


def _user_calls(messages: JsonValue, scripted: int) -> list[Made]:
    """The calls of the simulated user, which some tasks expect, after as many turns as the agent had taken."""
    made: list[Made] = []
    turns = 0
    for index, message in enumerate(messages if isinstance(messages, list) else []):
        role = message.get("role") if isinstance(message, dict) else None
        turns += role == "assistant" and index >= scripted
        calls = message.get("tool_calls") if isinstance(message, dict) and role == "user" else None
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict) and isinstance(name := call.get("name"), str):
                made.append((turns, name, call.get("arguments")))
    return made


def _gist(message: JsonValue) -> tuple[JsonValue, JsonValue]:
    return (message.get("role"), message.get("content")) if isinstance(message, dict) else (None, None)


def _histories(tasks: JsonValue) -> dict[str, list[JsonValue]]:
    """The prepared messages of those tasks that have any."""
    found: dict[str, list[JsonValue]] = {}
    for task in tasks if isinstance(tasks, list) else []:
        history = _section(task, "initial_state").get("message_history") if isinstance(task, dict) else None
        if isinstance(task, dict) and isinstance(history, list):
            found[str(task.get("id"))] = history
    return found


def _ending(
    reason: str | None, record: dict[str, JsonValue], talk: Conversation
) -> tuple[StopReason, str | None, tuple[str, ...]]:
    known = _ENDED | _LIMITS | _AGENT_FAILED
    if reason is not None and reason not in known and reason.endswith("_error"):
        detail = _section(record, "info").get("error")
        detail = f": {first_line(detail)}" if isinstance(detail, str) else ""
        return StopReason.INVALID, f"infra_error: {reason}{detail}", ()
    if not talk.turns:
        return StopReason.INVALID, "no messages" if not talk.last_observations else "no action of the agent", ()
    if reason in _ENDED:
        return StopReason.FINISHED, None, ()
    if reason in _LIMITS:
        return (
            StopReason.CUT,
            None,
            ("stopped by the step limit" if reason == "max_steps" else "stopped by a time limit",),
        )
    if reason in _AGENT_FAILED:
        return StopReason.CUT, None, (f"stopped by the harness: {reason}",)
    return StopReason.CUT, None, ("the log does not say how the run ended",)
