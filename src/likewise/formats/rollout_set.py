"""What reading gives: of one file (Parsed), of everything that was asked for (RolloutSet)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from likewise.core.rollout import Excluded, Rollout

__all__ = ["Parsed", "RolloutSet"]


@dataclass(frozen=True, slots=True)
class Parsed:
    """What one reader made of one file.

    Attributes:
        rollouts: Runs that could be read, invalid ones (crashed in the harness) among them.
        excluded: Records that could not be read, each with its place and a reason.
        warnings: What the user should know about the file as a whole.
        part_of: File that this one was written with and is read with: it has no rollouts of its own.
    """

    rollouts: tuple[Rollout, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    warnings: tuple[str, ...] = ()
    part_of: str | None = None


@dataclass(frozen=True, slots=True)
class RolloutSet:
    """Everything one call read; iterates over the rollouts.

    Attributes:
        rollouts: All rollouts; `(task_id, run_id)` occurs once.
        excluded: Records that are not among the rollouts, and why.
        files: Each file read, with the name of the format it was read as.
        warnings: What the user should know.
    """

    rollouts: tuple[Rollout, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Rollout]:
        """The rollouts, in the order read."""
        return iter(self.rollouts)

    def __len__(self) -> int:
        """How many rollouts there are, invalid ones included."""
        return len(self.rollouts)
