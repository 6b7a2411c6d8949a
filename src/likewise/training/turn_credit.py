"""Credit by turn: each action gets the advantage of its own score, in place of one number for the whole completion.

Arrays in, arrays out; the trainer (training.grpo) knows tokens and processes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float64, Int, Int64

__all__ = ["segments", "spread_advantages", "turn_advantages"]

EPSILON = 1e-4
"""Added to a standard deviation before dividing by it, as TRL does for whole completions."""


def segments(model_tokens: Int[np.ndarray, "completions tokens"]) -> Int64[np.ndarray, "completions tokens"]:
    """The action that each token belongs to: a run of tokens that the policy wrote is one action.

    Args:
        model_tokens: 1 for tokens of the policy, 0 for those of the environment and padding.

    Returns:
        Actions counted from 0 in each row; -1 for tokens that the policy did not write.
    """
    written = model_tokens > 0
    starts = written & ~np.pad(written, ((0, 0), (1, 0)))[:, :-1]
    return np.where(written, starts.cumsum(axis=1) - 1, -1).astype(np.int64)


def turn_advantages(
    scores: Sequence[Sequence[float | None]], group_size: int, *, scale: bool = True
) -> Float64[np.ndarray, "completions turns"]:
    """How much better each action scored than its siblings' actions at the same turn.

    Args:
        scores: Score of each action of each completion; completions of one prompt lie together.
        group_size: Completions a prompt.
        scale: Whether to divide by the standard deviation of the siblings' scores (sample form).

    Returns:
        Advantages; NaN where an action was not scored, or alone at its turn.

    Raises:
        ValueError: Completions that do not fill whole groups.
    """
    if group_size < 1 or len(scores) % group_size:
        raise ValueError(f"{len(scores)} completion(s) do not make groups of {group_size}")
    turns = max(map(len, scores), default=0)
    table = np.full((len(scores), turns), np.nan)
    for row, own in enumerate(scores):
        table[row, : len(own)] = [np.nan if score is None else score for score in own]
    groups = table.reshape(len(scores) // group_size, group_size, turns)
    measured = ~np.isnan(groups)
    n = measured.sum(axis=1, keepdims=True)
    mean = np.where(measured, groups, 0.0).sum(axis=1, keepdims=True) / np.maximum(n, 1)
    advantage = groups - mean
    if scale:
        square = np.where(measured, advantage**2, 0.0).sum(axis=1, keepdims=True)
        advantage = advantage / (np.sqrt(square / np.maximum(n - 1, 1)) + EPSILON)
    return np.asarray(np.where(n > 1, advantage, np.nan).reshape(len(scores), turns), dtype=np.float64)


def spread_advantages(
    whole: Float[np.ndarray, " completions"],
    by_turn: Float[np.ndarray, "completions turns"],
    turns: Sequence[int],
    action: Int[np.ndarray, "completions tokens"],
) -> tuple[Float64[np.ndarray, "completions tokens"], int]:
    """An advantage for each token: that of its action, or of the whole completion where the action has none.

    A completion whose runs of tokens are not as many as its scored actions keeps the one number: which token belongs
    to which action is then not known.

    Args:
        whole: Advantage of each completion.
        by_turn: Advantage of each action; NaN where it has none.
        turns: Scored actions of each completion.
        action: The action of each token, as `segments` gives it.

    Returns:
        Advantages, 0 for tokens that the policy did not write; and how many completions kept the one number.
    """
    spread = np.repeat(whole.astype(np.float64)[:, None], action.shape[1], axis=1)
    kept = 0
    for row, own in enumerate(action):
        if own.max(initial=-1) + 1 != turns[row] or not turns[row]:
            kept += 1
            continue
        given = by_turn[row][np.maximum(own, 0)]
        spread[row] = np.where(np.isnan(given), spread[row], given)
    return np.where(action >= 0, spread, 0.0), kept
