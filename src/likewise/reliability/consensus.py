"""The answer that most runs agree on: the medoid of the largest class, not the string that occurs most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

__all__ = ["Consensus", "find_consensus"]


@dataclass(frozen=True, slots=True)
class Consensus:
    """Which run speaks for all.

    Attributes:
        run: Position among the good runs of the one whose answer is served; None where there is none.
        members: Positions of the runs in its class.
        runs: Good runs.
        tie: Whether another class is as large.
    """

    run: int | None
    members: tuple[int, ...]
    runs: int
    tie: bool

    @property
    def majority(self) -> bool:
        """Whether more than half of the good runs agree."""
        return 2 * len(self.members) > self.runs

    @property
    def runs_agreed(self) -> str:
        """`4/5`: runs of the largest class, of the runs that gave an answer."""
        return f"{len(self.members)}/{self.runs}"


def find_consensus(classes: Sequence[int], distance: Float[np.ndarray, "runs runs"]) -> Consensus:
    """The medoid of the largest class.

    Args:
        classes: Class of each good run; -1 where it is not known (its pairs could not be judged).
        distance: Symmetric distances between runs; NaN where not measured.

    Returns:
        The consensus. Among classes of one size the one nearest to all runs is taken and the tie is told; among equal
        medoids the earliest run.
    """
    sizes = Counter(kind for kind in classes if kind >= 0)
    if not sizes:
        alone = len(classes) == 1
        return Consensus(0 if alone else None, (0,) if alone else (), len(classes), False)
    largest = max(sizes.values())
    filled = np.where(np.isnan(distance), 1.0, distance)
    np.fill_diagonal(filled, 0.0)

    def members(kind: int) -> list[int]:
        return [run for run, label in enumerate(classes) if label == kind]

    def medoid(kind: int) -> tuple[float, float, int]:
        within = members(kind)
        return min((float(filled[run, within].sum()), float(filled[run].sum()), run) for run in within)

    leaders = [kind for kind, size in sizes.items() if size == largest]
    chosen = min(leaders, key=lambda kind: (medoid(kind)[1], medoid(kind)[2]))
    return Consensus(medoid(chosen)[2], tuple(members(chosen)), len(classes), len(leaders) > 1)
