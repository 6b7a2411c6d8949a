"""Runs a callable agent several times on one question, and keeps each run as a rollout."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from likewise.core.errors import GroupError
from likewise.core.rollout import Action, Observation, Rollout, StopReason, Turn
from likewise.formats.fields import FieldError
from likewise.formats.messages import read_messages

__all__ = ["rollout_of", "run_repeatedly"]


def run_repeatedly(
    agent: Callable[[Any], Any],
    query: object,
    k: int,
    *,
    task_id: str,
    passes: Callable[[Any], bool] | None = None,
) -> list[Rollout]:
    """Run an agent k times, one after the other.

    A run that raises is data: it is kept as an invalid rollout with the exception as its problem, never scored as an
    empty answer.

    Args:
        agent: Takes the question; gives text, a list of OpenAI-style messages, a mapping with `messages`, a `Rollout`,
            or a coroutine of one of these.
        query: The question.
        k: Runs, at least 2.
        task_id: Task that the rollouts are of.
        passes: Whether what the agent gave solves the task; None where only alikeness matters.

    Returns:
        k rollouts, the failed ones among them.

    Raises:
        GroupError: Every run failed; it names each cause.
        ValueError: Fewer than two runs.
        TypeError: The agent gave something that is no run.
    """
    if k < 2:
        raise ValueError(f"comparing runs needs at least two, got k = {k}")
    rollouts = []
    for number in range(k):
        run_id = str(number + 1)
        try:
            output = _awaited(agent(query))
            success = None if passes is None else bool(passes(output))
        except Exception as problem:  # whatever the agent raises is its result
            cause = f"{type(problem).__name__}: {problem}"
            rollouts.append(Rollout(task_id, run_id, (), StopReason.INVALID, problem=cause))
            continue
        rollouts.append(replace(rollout_of(output, query, task_id, run_id), success=success))
    if not any(rollout.valid for rollout in rollouts):
        causes = dict.fromkeys(str(rollout.problem) for rollout in rollouts)
        raise GroupError(f"all {k} runs failed: {'; '.join(list(causes)[:5])}")
    return rollouts


def rollout_of(output: object, query: object, task_id: str, run_id: str) -> Rollout:
    """What an agent gave, as a rollout.

    Raises:
        TypeError: It is no run.
    """
    if isinstance(output, Rollout):
        return replace(output, task_id=task_id, run_id=run_id)
    if isinstance(output, str):
        seen = (Observation("user", query if isinstance(query, str) else repr(query)),)
        return Rollout(task_id, run_id, (Turn(seen, Action(output)),))
    messages = output.get("messages") if isinstance(output, Mapping) else output
    if isinstance(messages, Sequence) and not isinstance(messages, (str, bytes)):
        try:
            read = read_messages(list(messages), "")
        except FieldError as problem:
            raise TypeError(f"the agent gave messages that cannot be read: {problem}") from None
        return Rollout(task_id, run_id, read.turns, notes=read.notes, last_observations=read.last_observations)
    raise TypeError(
        f"the agent gave {type(output).__name__}; it should give text, a list of OpenAI-style messages, a mapping with "
        "messages, or a Rollout"
    )


def _awaited(result: Any) -> Any:  # noqa: ANN401 - what an agent gives can be anything
    """The result itself, or what a coroutine gives, also where an event loop is running already."""
    if not inspect.iscoroutine(result):
        return result
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(result)
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(asyncio.run(result))
        except BaseException as problem:
            failure.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
