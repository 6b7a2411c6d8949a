"""Recorded rollouts as what trainers of language models read: conversations to learn, states to act from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from likewise.core.rollout import Rollout
from likewise.training.episode import chat_messages
from likewise.training.recorded_progress import recorded_curve

__all__ = ["as_dataset", "conversations", "states"]


def conversations(rollouts: Iterable[Rollout], *, successful: bool = True) -> list[dict[str, Any]]:
    """Whole runs, `{"messages": [...]}` each, that end with what the agent did last.

    Args:
        rollouts: Recorded runs; invalid ones and those without turns are left out.
        successful: Whether only runs that the log calls successful are kept; one that it says nothing of is not.
    """
    kept = (each for each in rollouts if each.valid and each.turns and (each.success is True or not successful))
    return [{"messages": chat_messages(each.turns, objects=True)} for each in kept]


def states(rollouts: Iterable[Rollout]) -> list[dict[str, Any]]:
    """Every state that an agent acted from, `{"prompt": [...], "task_id": ..., "reached": ...}` each; equal ones once.

    `reached` is the progress of the run at that point, None where its log gives none. A completion of such a prompt is
    one action, and the state after it is what RSD scores: agents are trained without an environment, from recorded
    runs.
    """
    found: dict[str, dict[str, Any]] = {}
    for rollout in rollouts:
        if not rollout.valid:
            continue
        curve = recorded_curve(rollout)
        for number, turn in enumerate(rollout.turns):
            if not turn.observations:
                continue
            prompt = chat_messages(rollout.turns[:number], turn.observations, objects=True)
            reached = None if curve is None else curve[number]
            row = {"prompt": prompt, "task_id": rollout.task_id, "reached": reached}
            found.setdefault(repr((rollout.task_id, prompt)), row)
    return list(found.values())


def as_dataset(rows: list[dict[str, Any]]) -> Any:  # noqa: ANN401 - datasets'
    """Rows as a data set whose messages stay as they are: by default every call would get every other's arguments."""
    from datasets import Dataset, Features, Json, List, Value

    kinds = {"messages": List(Json()), "prompt": List(Json()), "tools": List(Json()), "task_id": Value("string"),
             "reached": Value("float64")}  # fmt: skip
    return Dataset.from_list(rows, features=Features({name: kinds[name] for name in rows[0]}))
