"""ATIF trajectories (Agent Trajectory Interchange Format): a JSON object of `schema_version` and `steps`.

Decisions:
- A file is a run. The format has no task: the task is the first thing its user says.
- A step of source "agent" is an action, its observation comes before the next one. Steps copied from an earlier context
  (`is_copied_context`) are not done again: observations.
- A run that goes on in the file named by `continued_trajectory_ref` is joined with it. The trajectory of a sub-agent
  that another file names is no run of its own.
- The format does not say how a run ended: FINISHED, but CUT where the file that it goes on in was not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path, PurePosixPath

from likewise.core.rollout import JsonValue, Rollout, StopReason
from likewise.formats.assemble import FINISHED, assemble, continued, one_run, read_chat, task_of
from likewise.formats.fields import (
    as_list,
    as_object,
    as_text,
    child,
    scalars,
)
from likewise.formats.files import outline
from likewise.formats.rollout_set import Parsed
from likewise.formats.top_level import read_object, refused_whole

__all__ = ["DESCRIPTION", "NAME", "chains", "joined", "read", "sniff"]

NAME = "atif"
DESCRIPTION = "ATIF trajectories, a JSON object with `schema_version` and `steps`"


def sniff(head: str, path: Path) -> str | None:
    """None where `schema_version` begins with ATIF, or the steps have a `source` and a `step_id`; else why not."""
    del path
    seen = outline(head)
    if seen.kind != "object":
        return "the top level is not an object"
    if seen.texts.get("schema_version", "").upper().startswith("ATIF"):
        return None
    if {"steps[].source", "steps[].step_id"} <= seen.keys:
        return None
    return 'no "schema_version": "ATIF-..."'


def read(path: Path, label: str) -> Parsed:
    """Read one trajectory; its run id is `label`.

    Raises:
        RolloutFormatError: The file cannot be read, or is no object with a list `steps`.
    """
    top = read_object(path, "`steps`")
    with refused_whole(path):
        steps = as_list(top.get("steps"), "/steps")
    return one_run(lambda: _rollout(top, steps, label, path), label, path)


def _rollout(top: dict[str, JsonValue], steps: list[JsonValue], label: str, path: Path) -> Rollout:
    chat: list[tuple[JsonValue, str]] = []
    copied = 0
    agents: list[JsonValue] = []
    task = None
    for index, item in enumerate(steps):
        place = child("/steps", index)
        step = as_object(item, place)
        chat += [(message, place) for message in _chat(step, place)]
        copied = len(chat) if step.get("is_copied_context") is True else copied
        agents += _agents_of(step)
        if task is None and step.get("source") == "user" and isinstance(step.get("message"), str):
            task = str(step["message"])
    talk = read_chat(chat, scripted=copied)
    session = top.get("session_id")
    if not (task and task.strip()):
        task = f"session {session}" if isinstance(session, str) else path.stem
    meta: dict[str, JsonValue] = {"file": path.name, **_agent(top, steps), "sub_agents": agents}
    meta |= scalars(top, ("session_id", "schema_version", "continued_trajectory_ref"))
    return assemble(task_of(task), label, talk, FINISHED, path=str(path), meta=meta)


def _chat(step: dict[str, JsonValue], place: str) -> list[JsonValue]:
    """One step as chat messages: what was said and called, then the results."""
    source = as_text(step.get("source"), child(place, "source"))
    role = {"agent": "assistant"}.get(source, source)
    names: dict[str, JsonValue] = {}
    calls: list[JsonValue] = []
    calls_at = child(place, "tool_calls")
    for index, item in enumerate(as_list(step.get("tool_calls") or [], calls_at)):
        call = as_object(item, child(calls_at, index))
        name = as_text(call.get("function_name"), child(child(calls_at, index), "function_name"))
        names[str(call.get("tool_call_id"))] = name
        calls.append({"name": name, "arguments": call.get("arguments")})
    results_at = child(child(place, "observation"), "results")
    observation = as_object(step.get("observation") or {}, child(place, "observation"))
    chat: list[JsonValue] = [{"role": role, "content": step.get("message"), "tool_calls": calls or None}]
    for index, item in enumerate(as_list(observation.get("results") or [], results_at)):
        result = as_object(item, child(results_at, index))
        name_of = names.get(str(result.get("source_call_id")))
        chat.append({"role": "tool", "name": name_of, "content": result.get("content")})
    return chat


def _agents_of(step: dict[str, JsonValue]) -> list[JsonValue]:
    """File names of the trajectories of sub-agents that a step started."""
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, dict) else None
    found: list[JsonValue] = []
    for result in results if isinstance(results, list) else []:
        references = result.get("subagent_trajectory_ref") if isinstance(result, dict) else None
        for each in references if isinstance(references, list) else []:
            named = each.get("trajectory_path") if isinstance(each, dict) else None
            found += [PurePosixPath(named).name] if isinstance(named, str) else []
    return found


def _agent(top: dict[str, JsonValue], steps: list[JsonValue]) -> dict[str, JsonValue]:
    agent = top.get("agent")
    fields = agent if isinstance(agent, dict) else {}
    models = [each.get("model_name") for each in steps if isinstance(each, dict) and each.get("source") == "agent"]
    model = next((each for each in (fields.get("model_name"), *models) if isinstance(each, str)), None)
    meta: dict[str, JsonValue] = {} if model is None else {"model": model}
    for name, key in (("agent", "name"), ("agent_version", "version")):
        meta |= {name: fields[key]} if isinstance(fields.get(key), str) else {}
    return meta


def chains(runs: Sequence[Rollout]) -> tuple[list[tuple[int, ...]], list[str]]:
    """Which trajectories go on in a further file; those of sub-agents are no runs and in no chain.

    Only files of the same folder belong together: a reference that leads elsewhere is not followed.

    Args:
        runs: All trajectories read; their turns are not looked at.

    Returns:
        Places of what is one run, in the order read, and warnings.
    """
    places = {_place(run): place for place, run in enumerate(runs)}
    targets = {place: places.get(_target(run)) for place, run in enumerate(runs) if _reference(run)}
    later = set(targets.values())
    agents = {(_place(run)[0], str(name)) for run in runs for name in as_list(run.meta.get("sub_agents", []), "")}
    reached: set[int] = set()
    found: list[tuple[int, ...]] = []
    warnings: list[str] = []
    for place in sorted(range(len(runs)), key=lambda each: each in later):  # beginnings first; else a circle stays
        if _place(runs[place]) in agents:
            warnings.append(f"{runs[place].path}: the trajectory of a sub-agent, not a run of its own; left out")
        elif place not in reached:
            found.append(_followed(place, runs, targets, reached, warnings))
    return sorted(found), warnings


def _place(run: Rollout) -> tuple[str, str]:
    """Folder and file name."""
    return str(Path(run.path).parent), Path(run.path).name


def _reference(run: Rollout) -> str | None:
    value = run.meta.get("continued_trajectory_ref")
    return value if isinstance(value, str) and value else None


def _target(run: Rollout) -> tuple[str, str]:
    return _place(run)[0], PurePosixPath(_reference(run) or "").name


def _followed(
    first: int, runs: Sequence[Rollout], targets: dict[int, int | None], reached: set[int], warnings: list[str]
) -> tuple[int, ...]:
    """A trajectory with all that it goes on in; the places of it are added to `reached`."""
    chain = [first]
    reached.add(first)
    while _reference(runs[chain[-1]]):
        following = targets[chain[-1]]
        if following is None or following in reached or not (runs[first].valid and runs[following].valid):
            warnings.append(f"{runs[chain[-1]].path}: {_missing(runs[chain[-1]])}")
            break
        reached.add(following)
        chain.append(following)
    return tuple(chain)


def _missing(run: Rollout) -> str:
    return f"goes on in {_reference(run)!r}, which was not read"


def joined(parts: Sequence[Rollout]) -> Rollout:
    """The run whose parts these are; cut where the last of them goes on in what was not read."""
    whole = reduce(continued, parts)
    if _reference(parts[-1]) and whole.valid:
        return replace(whole, stop=StopReason.CUT, notes=(*whole.notes, _missing(parts[-1])))
    return whole
