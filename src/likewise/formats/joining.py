"""Runs that may go on in a further file: which files belong together is known when all were seen, not before.

So that a folder of any size passes, only what tells runs apart is kept of each: who, when, where. The first runs are
kept whole, up to a limit, and small folders are read once; what is beyond it is read again, when it is its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from likewise.core.errors import RolloutFormatError
from likewise.core.protocols import Progress
from likewise.core.rollout import Rollout

__all__ = ["HELD", "Joining", "Parts"]

HELD: Final = 16 * 2**20
"""Characters of runs that are kept rather than read a second time."""
_PER_TURN: Final = 500
"""Characters that a turn takes beside its texts, roughly."""


class Joining(Protocol):
    """What a format has whose runs may lie in several files."""

    def chains(self, runs: Sequence[Rollout], /) -> tuple[list[tuple[int, ...]], list[str]]:
        """Which runs are parts of one, by their places, in order; and warnings. Runs come without turns.

        What is in no chain is left out; a run that stands alone is a chain of one.
        """
        ...

    def joined(self, parts: Sequence[Rollout], /) -> Rollout:
        """The run that the parts of one chain are, turns and all."""
        ...


@dataclass(slots=True)
class _Part:
    path: Path
    label: str
    place: int
    facts: Rollout
    whole: Rollout | None


@dataclass(slots=True)
class Parts:
    """The runs of one format while its files pass by.

    Attributes:
        format: Puts them together.
        read: Reads a file once more: path, label -> its runs.
        held: Characters of runs that are kept whole.
    """

    format: Joining
    read: Callable[[Path, str], Sequence[Rollout]]
    held: int = HELD
    _parts: dict[int, _Part] = field(default_factory=dict)
    _last: tuple[Path, Sequence[Rollout]] | None = None

    def take(self, path: Path, label: str, runs: Sequence[Rollout]) -> None:
        """The runs of one file, in its order."""
        for place, run in enumerate(runs):
            size = _size(run)
            keep = size <= self.held
            self.held -= size if keep else 0
            facts = replace(run, turns=(), last_observations=())
            self._parts[len(self._parts)] = _Part(path, label, place, facts, run if keep else None)

    def runs(self, warnings: list[str], progress: Progress) -> Iterator[Rollout]:
        """The runs that there are, once all files were taken; `warnings` is added to.

        Raises:
            RolloutFormatError: A file that is read a second time is gone, or has fewer runs than before.
        """
        chains, told = self.format.chains([part.facts for part in self._parts.values()])
        warnings += told
        if all(part.whole is not None for part in self._parts.values()):
            yield from map(self._joined, chains)
            return
        with progress("reading a second time", len(chains)) as task:
            for chain in chains:
                yield self._joined(chain)
                task.advance()

    def _joined(self, chain: Sequence[int]) -> Rollout:
        return self.format.joined([self._whole(self._parts.pop(place)) for place in chain])  # what is told is let go

    def _whole(self, part: _Part) -> Rollout:
        if part.whole is not None:
            return part.whole
        if self._last is None or self._last[0] != part.path:
            self._last = part.path, self.read(part.path, part.label)
        runs = self._last[1]
        if part.place >= len(runs) or runs[part.place].run_id != part.facts.run_id:
            raise RolloutFormatError(str(part.path), "changed while it was read; run again when nothing writes to it")
        return runs[part.place]


def _size(run: Rollout) -> int:
    texts = sum(len(turn.action.text) + sum(len(each.text) for each in turn.observations) for turn in run.turns)
    calls = sum(len(str(call.arguments)) for action in run.actions for call in action.tool_calls)
    return texts + calls + _PER_TURN * (len(run.turns) + 1)
