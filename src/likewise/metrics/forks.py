"""Where runs of one task part ways, and how much of their divergence lies behind that fork."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int, Int64

from likewise.metrics.divergence import discounted_sum

__all__ = ["divergence_behind_fork", "first_fork_turn", "history_classes"]


def first_fork_turn(classes: Int[np.ndarray, "turns runs"]) -> int | None:
    """The first turn at which the measured runs are in more than one class.

    Args:
        classes: Equivalence class of each run's action at each turn; -1 where a run has none.

    Returns:
        Turn number from 0; None where the runs never part.
    """
    for turn, row in enumerate(classes):
        if len(np.unique(row[row >= 0])) > 1:
            return turn
    return None


def history_classes(classes: Int[np.ndarray, "turns runs"]) -> Int64[np.ndarray, "turns runs"]:
    """The fork tree: runs are together at a turn only if they were together at every turn so far.

    Args:
        classes: Equivalence class of each run's action at each turn; -1 where a run has none.

    Returns:
        Classes numbered by first member at each turn; -1 from a run's first missing action on, since its history is
        then unknown or over.
    """
    tree = np.full(classes.shape, -1, dtype=np.int64)
    histories: list[tuple[int, ...] | None] = [()] * classes.shape[1]
    for turn, row in enumerate(classes.tolist()):
        numbers: dict[tuple[int, ...], int] = {}
        for run, kind in enumerate(row):
            history = histories[run]
            if history is None or kind < 0:
                histories[run] = None
                continue
            # The parent's number and the own class say all of the history that later turns need.
            number = numbers.setdefault((*history, kind), len(numbers))
            tree[turn, run], histories[run] = number, (number,)
    return tree


def divergence_behind_fork(
    turn_distance: Float[np.ndarray, "pairs turns"],
    pairs: Int[np.ndarray, "pairs 2"],
    classes_at_fork: Int[np.ndarray, " runs"],
    turn: int,
    gamma: float,
) -> float | None:
    """Share of the discounted divergence from the fork on that lies in pairs which separated at the fork.

    Args:
        turn_distance: Distances in [0, 1], as `divergence.turn_distances` gives them; NaN counts 0.
        pairs: The two runs of each pair.
        classes_at_fork: Equivalence class of each run at the fork; a run of class -1 separates from nobody.
        turn: Turn number of the fork.
        gamma: Discount in [0, 1).

    Returns:
        Share in [0, 1]; None where no pair diverges from the fork on.

    Raises:
        ValueError: A turn outside the rollouts, or a discount outside [0, 1).
    """
    if not 0 <= turn < turn_distance.shape[1]:
        raise ValueError(f"the fork lies in turns 0 to {turn_distance.shape[1] - 1}, got {turn}")
    behind = discounted_sum(turn_distance[:, turn:], gamma)
    total = float(behind.sum())
    if total == 0:
        return None
    first, second = classes_at_fork[pairs[:, 0]], classes_at_fork[pairs[:, 1]]
    separated = (first >= 0) & (second >= 0) & (first != second)
    return float(behind[separated].sum()) / total
