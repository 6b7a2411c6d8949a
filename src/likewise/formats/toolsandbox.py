"""Result folders of ToolSandbox: `result_summary.json` and `trajectories/<scenario>/conversation.json`.

Decisions:
- A folder is one run of each of its scenarios: M folders are M runs. The summary is read, and the conversations with
  it; conversations and execution contexts are parts of it and have no runs of their own.
- Turns are those of the conversation between user, agent and tools. A scenario that raised an exception is INVALID: its
  conversation was not written, and its similarity of 0 is no measurement.
- Reward is the similarity, in [0, 1]. ToolSandbox draws no line between solved and not: success is None.
- `meta["progress"]` has the mean, over all milestones, of the similarity reached so far: before the first turn, then
  after each. A milestone assigned with similarity 0 was not reached.
- The execution context says whether the conversation had ended (`conversation_active`): if it had not, the limit of
  messages stopped it: CUT.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import Excluded, JsonValue, Rollout
from likewise.formats.assemble import CUT_BY_LIMIT, FINISHED, UNKNOWN_END, Ending, assemble, broken
from likewise.formats.fields import FieldError, as_list, as_object, as_text, child, scalars, type_name
from likewise.formats.files import outline, read_json
from likewise.formats.messages import Conversation, read_messages
from likewise.formats.rollout_set import Parsed

__all__ = ["DESCRIPTION", "NAME", "READ_TOGETHER", "read", "sniff"]

NAME = "toolsandbox"
DESCRIPTION = "ToolSandbox result folders, by their `result_summary.json`"

_FOLDER: Final = re.compile(r"agent_(?P<agent>.+)_user_(?P<user>.+?)_\d\d_\d\d_\d{4}_\d\d_\d\d_\d\d")
_SUMMARY: Final = "result_summary.json"
_TRAJECTORIES: Final = "trajectories"
_CONVERSATION: Final = "conversation.json"
_CONTEXT: Final = "execution_context.json"
_LONGEST_NAME: Final = 255  # bytes; of a longer one the file system says so by an error
READ_TOGETHER: Final = frozenset({_SUMMARY, _CONVERSATION, _CONTEXT})
"""Names of files that are equal in two folders as soon as two runs went alike: no copies."""


def sniff(head: str, path: Path) -> str | None:
    """None for a summary of scenarios, and for a part of a folder that has one beside it; else why not."""
    if "per_scenario_results" in outline(head).keys:
        return None
    if _owner(path) is not None and path.name in (_CONVERSATION, _CONTEXT):
        return None
    return "no `per_scenario_results`, and no part of a folder that has them"


def _owner(path: Path) -> Path | None:
    """The summary that a file in `trajectories/<scenario>/` belongs to."""
    folders = path.parents
    if len(folders) < 3 or folders[1].name != _TRAJECTORIES:
        return None
    summary = folders[2] / _SUMMARY
    return summary if summary.is_file() else None


def read(path: Path, label: str) -> Parsed:
    """Read a folder by its summary; run ids are `label`, one run of each scenario.

    Raises:
        RolloutFormatError: The summary cannot be read, or has no list `per_scenario_results`.
    """
    owner = _owner(path)
    if owner is not None and path.name in (_CONVERSATION, _CONTEXT):
        return Parsed(part_of=str(owner))
    top = read_json(path)
    if not isinstance(top, dict):
        expected = "an object with `per_scenario_results`"
        raise RolloutFormatError(str(path), type_name(top), pointer="", expected=expected)
    try:
        results = as_list(top.get("per_scenario_results"), "/per_scenario_results")
    except FieldError as error:
        raise RolloutFormatError(str(path), error.problem, pointer=error.pointer) from None
    rollouts: list[Rollout] = []
    excluded: list[Excluded] = []
    for index, item in enumerate(results):
        place = child("/per_scenario_results", index)
        try:
            rollouts.append(_rollout(as_object(item, place), place, path, label))
        except FieldError as error:
            name = item.get("name") if isinstance(item, dict) else None
            named = name if isinstance(name, str) else None
            excluded.append(Excluded(named, label, error.problem, str(path), None, error.pointer))
        except RecursionError:
            excluded.append(Excluded(None, label, "nested too deeply", str(path), None, place))
        except RolloutFormatError as error:  # of the conversation
            named = str(item["name"]) if isinstance(item, dict) else None
            excluded.append(Excluded(named, label, error.problem, error.path, error.line, error.pointer))
    return Parsed(tuple(rollouts), tuple(excluded))


def _rollout(result: dict[str, JsonValue], place: str, path: Path, label: str) -> Rollout:
    name = as_text(result.get("name"), child(place, "name"))
    too_long = len(name.encode("utf-8", "replace")) > _LONGEST_NAME
    if too_long or not name.strip() or name in (".", "..") or {"/", "\\", "\0"} & set(name):
        raise FieldError(child(place, "name"), "a scenario's name that no folder can have")
    folder = path.parent / _TRAJECTORIES / name
    meta: dict[str, JsonValue] = {"file": path.name, "folder": path.parent.name}
    if found := _FOLDER.fullmatch(path.parent.name):
        meta |= {"agent": found["agent"], "user_model": found["user"]}
    meta |= scalars(result, ("milestone_similarity", "minefield_similarity", "turn_count"))
    failure = result.get("exception_type")
    if failure is not None:
        trace = result.get("traceback")
        lines = [line for line in trace.splitlines() if line.strip()] if isinstance(trace, str) else []
        talk, ending = Conversation((), (), ()), broken(lines[-1] if lines else str(failure))
    else:
        if not (folder / _CONVERSATION).is_file():
            raise FieldError(place, f"no {_TRAJECTORIES}/{name}/{_CONVERSATION} beside the summary")
        messages = as_list(read_json(folder / _CONVERSATION), "")
        talk = read_messages(messages, "")
        ending = _ending(folder / _CONTEXT)
        milestones = result.get("milestone_mapping")
        meta["progress"] = _progress(messages, len(milestones) if isinstance(milestones, dict) else 0)
    return assemble(name, label, talk, ending, path=str(path), reward=result.get("similarity"), meta=meta)


def _ending(context: Path) -> Ending:
    """Whether the user or the agent had ended the conversation, by the last row of the sandbox's messages."""
    if not context.is_file():
        return UNKNOWN_END
    try:
        top = read_json(context)
    except RolloutFormatError:
        return UNKNOWN_END
    rows: JsonValue = top
    for key in ("_dbs", "SANDBOX"):
        rows = rows.get(key) if isinstance(rows, dict) else None
    last = rows[-1] if isinstance(rows, list) and rows else None
    active = last.get("conversation_active") if isinstance(last, dict) else None
    return {True: CUT_BY_LIMIT, False: FINISHED}.get(active, UNKNOWN_END) if isinstance(active, bool) else UNKNOWN_END


def _progress(messages: list[JsonValue], milestones: int) -> list[JsonValue]:
    """The mean best similarity to the milestones, before the first action and after each turn; empty without any."""
    best: dict[str, float] = {}
    curve: list[JsonValue] = []
    count = milestones
    for message in messages:
        if isinstance(message, dict) and message.get("role") == "assistant":
            curve.append(sum(best.values()))
        for match in _matches(message):
            index, similarity = match.get("milestone_index"), match.get("milestone_similarity")
            if isinstance(similarity, int | float):
                best[str(index)] = max(best.get(str(index), 0.0), float(similarity))
    curve.append(sum(best.values()))
    count = max(count, len(best))
    return [value / count for value in curve if isinstance(value, int | float)] if count else []


def _matches(message: JsonValue) -> list[dict[str, JsonValue]]:
    if not isinstance(message, dict):
        return []
    details = message.get(f"{message.get('role')}_details")
    found = details.get("milestone_matches") if isinstance(details, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
