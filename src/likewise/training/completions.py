"""From what a trainer hands to a reward to rollouts: any engine's prompts, completions and columns.

A completion is a text (one action) or a list of chat messages. Where an environment spoke within it, the trainer's own
list is often one long text: the column `transcript` then holds the messages, and is read instead.

Nothing that a policy writes can fail here: a call that cannot be read is the text that it is.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from likewise.core.rollout import Rollout, StopReason, Turn
from likewise.formats.fields import FieldError
from likewise.formats.messages import read_messages

__all__ = ["Columns", "Completion", "groups_of", "read_completions"]

Columns: TypeAlias = Mapping[str, Any]
"""What a trainer hands on beside prompts and completions: a list by name, an entry a completion."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One completion of one prompt.

    Attributes:
        key: What tells its prompt from others; completions with one key are siblings.
        before: Turns of the prompt itself (an earlier part of the conversation): seen, never scored.
        rollout: What the policy did, a turn for each action; the first one's observations are the prompt's last.
    """

    key: str
    before: tuple[Turn, ...]
    rollout: Rollout


def read_completions(prompts: Sequence[Any], completions: Sequence[Any], columns: Columns) -> list[Completion]:
    """Read completions into rollouts.

    Args:
        prompts: A text or chat messages each, repeated for each completion.
        completions: A text or chat messages each.
        columns: `transcript` is read in place of the completions, `stop` says "cut" where a limit ended a run,
            `task_id` tells tasks of one prompt apart; others are left alone.

    Returns:
        One for each completion, in order.

    Raises:
        ValueError: Numbers that differ, or a message that no policy wrote and that cannot be read.
    """
    tails = _column(columns, "transcript", len(completions)) or completions
    stops = _column(columns, "stop", len(completions))
    tasks = _column(columns, "task_id", len(completions))
    if len(prompts) != len(completions):
        raise ValueError(f"{len(completions)} completion(s) need a prompt each, got {len(prompts)}")
    found = []
    for index, (prompt, tail) in enumerate(zip(prompts, tails, strict=True)):
        task = "" if tasks is None or tasks[index] is None else str(tasks[index])
        stop = None if stops is None else stops[index]
        # A trainer may give None for rows that an environment did not fill.
        found.append(_completion(index, prompt, completions[index] if tail is None else tail, task, stop))
    return found


def _column(columns: Columns, name: str, n: int) -> Sequence[Any] | None:
    values = columns.get(name)
    if values is None:
        return None
    if len(values) != n:
        raise ValueError(f"column {name!r} has {len(values)} entries for {n} completion(s)")
    return list(values)


def _completion(index: int, prompt: Any, tail: Any, task: str, stop: Any) -> Completion:  # noqa: ANN401 - any engine's
    opening = _messages(prompt, "user", f"prompt {index}")
    done = [_readable(message) for message in _messages(tail, "assistant", f"completion {index}")]
    if stop not in (None, "finished", "cut"):
        raise ValueError(f"column 'stop' of completion {index} is 'finished' or 'cut', got {str(stop)[:40]!r}")
    try:
        whole = read_messages([*opening, *done], "")
    except FieldError as problem:
        raise ValueError(f"completion {index} with its prompt: {problem}") from None
    spoken = sum(message.get("role") == "assistant" for message in opening)
    key = json.dumps([task, opening], sort_keys=True, default=str)
    rollout = Rollout(
        task_id=task or key,
        run_id=str(index),
        turns=whole.turns[spoken:],
        stop=StopReason.CUT if stop == "cut" else StopReason.FINISHED,
        notes=whole.notes,
        last_observations=whole.last_observations,
    )
    return Completion(key, whole.turns[:spoken], rollout)


def _messages(value: Any, role: str, what: str) -> list[dict[str, Any]]:  # noqa: ANN401 - any engine's
    if isinstance(value, str):
        return [{"role": role, "content": value}]
    if isinstance(value, Sequence) and all(isinstance(each, Mapping) for each in value):
        # Columns of a data set give every message every key that one of them has.
        return [{name: each[name] for name in each if each[name] is not None} for each in value]
    raise ValueError(f"{what} is neither a text nor a list of messages, but {type(value).__name__}")


def _readable(message: dict[str, Any]) -> dict[str, Any]:
    """The message, or its text form where the policy wrote calls that are none."""
    if message.get("role") != "assistant":
        return message
    try:
        read_messages([message], "")
    except FieldError:
        rest = {name: value for name, value in message.items() if name not in ("role", "content")}
        content = message.get("content")
        said = content if isinstance(content, str) else json.dumps(content, default=str)
        return {"role": "assistant", "content": f"{said}\n{json.dumps(rest, default=str, sort_keys=True)}"}
    return message


def groups_of(keys: Sequence[str]) -> list[list[int]]:
    """Positions of the completions of each prompt, prompts in order of first appearance."""
    members: dict[str, list[int]] = defaultdict(list)
    for position, key in enumerate(keys):
        members[key].append(position)
    return list(members.values())
