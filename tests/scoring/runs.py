"""Short ways to write rollouts down in tests."""

from __future__ import annotations

from likewise.core.group import RolloutGroup
from likewise.core.rollout import Action, Observation, Rollout, StopReason, ToolCall, Turn

FINISHED, CUT, INVALID = StopReason


def call(name, **arguments):
    return ToolCall(name, arguments)


def calls(*made):
    """One action of parallel calls."""
    return Action(tool_calls=made)


def said(text):
    return Observation("user", text)


def returned(text, name="get"):
    return Observation("tool", text, name)


def run(run_id, *steps, task="t", stop=FINISHED, success=None):
    """A rollout; a step is an action, a text, or (observations..., action or text)."""
    turns = []
    for step in steps:
        *observations, action = step if isinstance(step, tuple) else (step,)
        turns.append(Turn(tuple(observations), Action(action) if isinstance(action, str) else action))
    problem = "the harness failed" if stop is INVALID else None
    return Rollout(task, run_id, tuple(turns), stop, success=success, problem=problem)


def group(*runs):
    return RolloutGroup(runs[0].task_id, runs)


def speaking(*texts, **more):
    """A group of rollouts "0", "1", ...; each is given by the texts of its turns, "ab" as "a" and "b"."""
    return group(*(run(str(i), *text, **more) for i, text in enumerate(texts)))
