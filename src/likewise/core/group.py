"""Rollouts of one task, in a fixed order, and the pairs among them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from likewise.core.errors import GroupError
from likewise.core.rollout import Rollout, StopReason

__all__ = ["LengthPolicy", "RolloutGroup", "group_rollouts"]


class LengthPolicy(StrEnum):
    """What the turns after a rollout's own end count as; part of every number's signature."""

    ABSORB = "absorb"
    """A rollout that ended acts END from then on: END against END is 0, END against an action is 1."""
    TRUNCATE = "truncate"
    """Only turns that both rollouts have are compared."""


@dataclass(frozen=True, slots=True)
class RolloutGroup:
    """All rollouts of one task; scoring uses the valid ones."""

    task_id: str
    rollouts: tuple[Rollout, ...]

    def __post_init__(self) -> None:
        """Refuse foreign tasks and run ids that occur twice."""
        if any(rollout.task_id != self.task_id for rollout in self.rollouts):
            raise GroupError(f"a group holds rollouts of one task; got others in the group of task {self.task_id!r}")
        repeated = [run for run, count in Counter(r.run_id for r in self.rollouts).items() if count > 1]
        if repeated:
            raise GroupError(f"task {self.task_id!r} has run ids that occur twice: {', '.join(sorted(repeated)[:5])}")

    @property
    def valid(self) -> tuple[Rollout, ...]:
        """The rollouts that may be scored, K of them."""
        return tuple(rollout for rollout in self.rollouts if rollout.valid)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The P = K(K-1)/2 pairs of valid rollouts, as indices into `valid`, in lexicographic order."""
        return tuple(combinations(range(len(self.valid)), 2))

    @property
    def lengths(self) -> tuple[int, ...]:
        """Turns of each valid rollout."""
        return tuple(len(rollout.turns) for rollout in self.valid)

    @property
    def cut(self) -> tuple[bool, ...]:
        """Whether each valid rollout was cut from outside."""
        return tuple(rollout.stop is StopReason.CUT for rollout in self.valid)


def group_rollouts(rollouts: Iterable[Rollout]) -> list[RolloutGroup]:
    """Group rollouts by task: tasks in order of first appearance, rollouts in the order given.

    Raises:
        GroupError: A run id occurs twice within a task.
    """
    by_task: dict[str, list[Rollout]] = defaultdict(list)
    for rollout in rollouts:
        by_task[rollout.task_id].append(rollout)
    return [RolloutGroup(task_id, tuple(members)) for task_id, members in by_task.items()]
