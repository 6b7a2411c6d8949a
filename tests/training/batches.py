"""Batches as trainers hand them to rewards, and models and judges small enough to follow by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from judges import LetterEncoder, TableJudge
from learned.samples import checkpoint
from likewise.core.labels import Relation
from likewise.learned.model import RSDModel

SAYS = "Hello, I need help with my booking."


def said(text):
    return {"role": "assistant", "content": text}


def called(name, arguments, text=""):
    call = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": text, "tool_calls": [call]}


def user(text):
    return {"role": "user", "content": text}


def tool(text, name="look_up"):
    return {"role": "tool", "name": name, "content": text}


def prompt(text=SAYS):
    return [user(text)]


def conversation(*actions, answer="And?", closing=False):
    """Actions with the user's answer between them, and after the last where it closes."""
    messages = []
    for action in actions:
        messages += [said(action) if isinstance(action, str) else action, user(answer)]
    return messages if closing else messages[:-1]


def judge():
    """Letters: a and b are equivalent, a and c contradict each other, all else is neutral."""
    return TableJudge({("a", "b"): Relation.EQUIVALENT, ("a", "c"): Relation.CONTRADICTORY})


def model(seed=0, scale=0.1, **changes):
    """A network at its start, its last layer made small: else all that it says is beyond the largest value."""
    made = checkpoint(seed=seed, **changes)
    last = {name: made.weights[name] * np.float32(scale) for name in ("third.weight", "third.bias")}
    return RSDModel(replace(made, weights={**made.weights, **last}), LetterEncoder())


def call(reward):
    """What an engine does, in a process of its own."""
    return reward([prompt()] * 3, ["a", "b", "c"], [[1], [2], [3]])
