"""Alignment of the turns of two runs by edit distance, so that one inserted turn does not shift all that follow.

A global alignment (Needleman and Wunsch 1970) with one more move: a merge sets one turn of a run against several of
the other, as where one agent makes in parallel the calls that the other makes one after another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from likewise.metrics.divergence import discounted_sum

__all__ = ["Block", "align", "aligned_divergence"]

TIE = 1e-9
"""Costs this close are a tie."""


@dataclass(frozen=True, slots=True)
class Block:
    """Turns of two runs that belong together; one side is empty where a turn is skipped.

    Attributes:
        first: (start, stop) in the first run.
        second: (start, stop) in the second run.
    """

    first: tuple[int, int]
    second: tuple[int, int]


def align(
    cost: Float[np.ndarray, "n m"], gap: float, merges: Mapping[tuple[int, int, int, int], float] | None = None
) -> tuple[Block, ...]:
    """The cheapest alignment of two runs, by dynamic programming.

    Of equally cheap alignments the one is taken whose first differing step is a match, else a merge, else a skip in
    the first run, else a skip in the second; among merges the one whose spans end first.

    Args:
        cost: Cost of turn i of the first run against turn j of the second, at least 0.
        gap: Cost of a turn that is skipped, at least 0.
        merges: Cost of turns (i0 to i1) against (j0 to j1), by (i0, i1, j0, j1); stops are exclusive, no side empty.

    Returns:
        Blocks in order; together they cover all turns of both runs.

    Raises:
        ValueError: A cost that is negative or not finite, or a merge outside the runs or with an empty side.
    """
    merges = merges or {}
    _check_costs(cost, gap, merges)
    n, m = cost.shape
    search = _Search(cost.tolist(), (n, m), gap, defaultdict(list))
    for (i0, i1, j0, j1), merged in sorted(merges.items()):
        search.merges[i0, j0].append((i1, j1, merged))
    return tuple(search.blocks())


@dataclass(frozen=True, slots=True)
class _Search:
    """The dynamic programme, on lists: cell by cell these are faster than arrays."""

    cost: list[list[float]]
    shape: tuple[int, int]
    gap: float
    merges: dict[tuple[int, int], list[tuple[int, int, float]]]

    def moves(self, i: int, j: int) -> list[tuple[int, int, float]]:
        """Where a step from turns (i, j) may lead and what it costs, preferred ones first."""
        n, m = self.shape
        moves = [(i + 1, j + 1, self.cost[i][j])] if i < n and j < m else []
        moves += self.merges.get((i, j), [])
        moves += [(i + 1, j, self.gap)] if i < n else []
        moves += [(i, j + 1, self.gap)] if j < m else []
        return moves

    def rest(self) -> list[list[float]]:
        """The least cost from each pair of turns to both ends."""
        n, m = self.shape
        rest = [[0.0] * (m + 1) for _ in range(n + 1)]
        for i in range(n, -1, -1):
            for j in range(m, -1, -1):
                if i == n or j == m or (i, j) in self.merges:
                    rest[i][j] = min((price + rest[i2][j2] for i2, j2, price in self.moves(i, j)), default=0.0)
                else:
                    below = rest[i + 1]
                    rest[i][j] = min(self.cost[i][j] + below[j + 1], self.gap + below[j], self.gap + rest[i][j + 1])
        return rest

    def blocks(self) -> Iterator[Block]:
        """Follow the preferred of the cheapest steps from both starts to both ends."""
        rest, here = self.rest(), (0, 0)
        while here != self.shape:
            cheapest = rest[here[0]][here[1]] + TIE
            there = next((i, j) for i, j, price in self.moves(*here) if price + rest[i][j] <= cheapest)
            yield Block((here[0], there[0]), (here[1], there[1]))
            here = there


def _check_costs(cost: Float[np.ndarray, "n m"], gap: float, merges: Mapping[tuple[int, int, int, int], float]) -> None:
    prices = np.concatenate([cost.ravel(), [gap], list(merges.values())])
    if not np.isfinite(prices).all() or (prices < 0).any():
        raise ValueError("costs of an alignment are finite and at least 0")
    n, m = cost.shape
    for i0, i1, j0, j1 in merges:
        if not (0 <= i0 < i1 <= n and 0 <= j0 < j1 <= m):
            raise ValueError(f"a merge has two non-empty sides inside {n} and {m} turns, got {(i0, i1, j0, j1)}")


def aligned_divergence(block_distance: Float[np.ndarray, " blocks"], gamma: float) -> float:
    """Divergence of two aligned runs: block distances discounted by block index.

    Args:
        block_distance: Distance of each block of an alignment, in [0, 1]; that of a skipped turn is the caller's
            choice (1 under LengthPolicy.ABSORB).
        gamma: Discount in [0, 1).

    Returns:
        Divergence in [0, 1/(1-gamma)].

    Raises:
        ValueError: A distance outside [0, 1] or missing, or a discount outside [0, 1).
    """
    if not ((block_distance >= 0) & (block_distance <= 1)).all():
        raise ValueError("every block of an alignment has a distance in [0, 1]")
    return float(discounted_sum(block_distance[None, :], gamma)[0])
