"""Chat logs in OpenAI form: one run a line, `{"task_id", "messages": [...]}`, or a JSON list of such runs.

Keys, first one present wins:
- task: `task_id`, `task`, `question_id`, `example_id`, `id`
- run: `run_id`, `run`; else a number from `trial`, `attempt`, `epoch`, `sample`; else how often the task came before
- `messages` (required); optional: `reward` (a number), `success` (a boolean), `stop` ("finished" or "cut"),
  `finish_reason` ("length" and "content_filter" are cuts, "error" is a crash), `error` (not empty: the run crashed and
  is invalid)
- kept as meta: `model`, `domain`, `seed`, `temperature`, `agent`, `trial`, `attempt`, `epoch`, `sample`; `response_ids`
  (or one `response_id`), `cached`, `started` and `ended`, by which copies of a generation are known; and the MCP
  annotations of `tools`, where the definitions in it have any

`success` is never derived from `reward`, whose scale the log does not tell.
"""

from __future__ import annotations

from pathlib import Path

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import JsonValue, Rollout, StopReason
from likewise.core.tool_hints import META_KEY, tool_hints
from likewise.formats.assemble import SAYS_NOTHING, says_nothing
from likewise.formats.fields import (
    FieldError,
    as_flag,
    child,
    collect,
    first_line,
    identifier,
    ordinal,
    reward_and_notes,
    scalars,
    type_name,
)
from likewise.formats.files import outline, read_head, read_json, read_lines
from likewise.formats.messages import Conversation, read_messages
from likewise.formats.rollout_set import Parsed

__all__ = ["DESCRIPTION", "NAME", "read", "sniff"]

NAME = "openai-chat"
DESCRIPTION = "chat messages in OpenAI form, one run a line"

_TASK_KEYS = ("task_id", "task", "question_id", "example_id", "id")
_RUN_KEYS = ("run_id", "run")
_TRIAL_KEYS = ("trial", "attempt", "epoch", "sample")
_META_KEYS = ("model", "domain", "seed", "temperature", "agent", "cached", "started", "ended", *_TRIAL_KEYS)


def sniff(head: str, path: Path) -> str | None:
    """None where the first run has `messages`, else why not."""
    del path
    seen = outline(head)
    if seen.kind == "other":
        return "the file does not start with a JSON object or list"
    prefix = "[]." if seen.kind == "list" else ""
    return None if f"{prefix}messages" in seen.keys else "the first run has no `messages`"


def read(path: Path, label: str) -> Parsed:
    """Read a file of runs; a run without an id of its own is called `label#task#trial`.

    Raises:
        RolloutFormatError: The file cannot be read, or holds neither runs line by line nor one JSON value.
    """
    seen: dict[str, int] = {}

    def make(record: dict[str, JsonValue], pointer: str) -> Rollout:
        return _rollout(record, pointer, str(path), label, seen)

    if (whole := _whole(path)) is not None:
        rollouts, excluded = collect(whole, make, str(path), _TASK_KEYS)
        return Parsed(tuple(rollouts), tuple(excluded))
    lines = read_lines(path)
    rollouts, excluded = collect(lines.values, make, str(path), _TASK_KEYS)
    return Parsed(tuple(rollouts), (*lines.excluded, *excluded))


def _whole(path: Path) -> list[tuple[JsonValue, int | None, str]] | None:
    """The runs of a file that is one JSON value; None for a file with one run a line."""
    opening = read_head(path).lstrip()
    if opening.startswith("["):
        records = read_json(path)
        if isinstance(records, list):
            return [(record, None, child("", index)) for index, record in enumerate(records)]
        raise RolloutFormatError(str(path), type_name(records), pointer="", expected="a list of runs")
    if opening.startswith("{") and opening[1:].lstrip(" \t\r").startswith("\n"):  # one run, indented
        return [(read_json(path), None, "")]
    return None


def _first(record: dict[str, JsonValue], keys: tuple[str, ...]) -> str | None:
    return next((key for key in keys if record.get(key) is not None), None)


def _rollout(record: dict[str, JsonValue], pointer: str, path: str, label: str, seen: dict[str, int]) -> Rollout:
    task_key = _first(record, _TASK_KEYS)
    if task_key is None:
        raise FieldError(child(pointer, "task_id"), f"missing (expected one of {', '.join(_TASK_KEYS)})")
    task_id = identifier(record[task_key], child(pointer, task_key))
    count = ordinal(seen, task_id)
    run_key, trial_key = _first(record, _RUN_KEYS), _first(record, _TRIAL_KEYS)
    if run_key is not None:
        run_id = identifier(record[run_key], child(pointer, run_key))
    else:
        trial = count if trial_key is None else record[trial_key]
        run_id = f"{label}#{task_id}#{identifier(trial, child(pointer, trial_key or 'trial'))}"
    talk = read_messages(record.get("messages"), child(pointer, "messages"))
    stop, problem, notes = _ending(record, talk)
    reward, reward_notes = reward_and_notes(record.get("reward"))
    success = as_flag(record.get("success"), child(pointer, "success"))
    invalid = stop is StopReason.INVALID
    meta = scalars(record, _META_KEYS)
    ids = record.get("response_ids", [record["response_id"]] if "response_id" in record else None)
    meta |= {"response_ids": ids} if isinstance(ids, list) else {}
    meta |= {META_KEY: hints} if (hints := tool_hints(record.get("tools"))) else {}
    meta |= {"logged_reward": reward} if invalid and reward is not None else {}
    return Rollout(
        task_id=task_id,
        run_id=run_id,
        turns=talk.turns,
        stop=stop,
        reward=None if invalid else reward,
        success=None if invalid else success,
        problem=problem,
        path=path,
        notes=(*talk.notes, *reward_notes, *notes),
        meta=meta,
        last_observations=talk.last_observations,
    )


def _ending(record: dict[str, JsonValue], talk: Conversation) -> tuple[StopReason, str | None, tuple[str, ...]]:
    error = record.get("error")
    if error:  # false, "" and {} all say that there was none
        text = first_line(error) if isinstance(error, str) else type_name(error)
        return StopReason.INVALID, f"infra_error: {text or 'without a message'}", ()
    if not talk.turns:
        return StopReason.INVALID, "no messages" if not talk.last_observations else "no action of the agent", ()
    if says_nothing(talk):
        return StopReason.INVALID, SAYS_NOTHING, ()
    stop = record.get("stop")
    if stop is None and record.get("finish_reason") == "error":
        return StopReason.INVALID, "infra_error: finish_reason error", ()
    if stop is None and record.get("finish_reason") == "content_filter":
        return StopReason.CUT, None, ("stopped by a content filter",)
    if stop == StopReason.CUT.value or (stop is None and record.get("finish_reason") == "length"):
        return StopReason.CUT, None, ()
    known = stop is None or stop == StopReason.FINISHED.value
    return StopReason.FINISHED, None, () if known else ("stop reason that is not known",)
