"""Was it luck? Permutation and exact tests, and what testing many at once does to a p-value.

Sources: Fisher 1935 (permutation and exact test); Phipson and Smyth 2010 (a drawn p-value is never 0); Holm 1979;
Benjamini and Hochberg 1995.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64

__all__ = [
    "TwoVersions",
    "benjamini_hochberg",
    "compare_runs",
    "fisher_exact_p",
    "holm",
    "paired_permutation_p",
]

ENUMERATE_UP_TO = 12
"""Sign flips of so many differences are enumerated (4096 of them); above, they are drawn."""
SPLITS_UP_TO = 20_000
"""Ways to divide runs between two versions that are enumerated; above, they are drawn."""
ROUNDING = 1e-9
"""Statistics that differ by less, relative to their size, are ties and count as such."""


def paired_permutation_p(differences: Float[np.ndarray, " tasks"], resamples: int = 10_000, seed: int = 0) -> float:
    """Two-sided p-value of a mean difference between two agents on the same tasks, by flipping signs.

    Exact where the two would be exchangeable on each task if nothing had changed. Up to 12 tasks all sign patterns are
    enumerated; above, patterns are drawn and the observed one counts as drawn too, so the value is never 0.

    Args:
        differences: Second agent minus first, one per task.
        resamples: Drawn sign patterns above 12 tasks.
        seed: Seed of the draws.

    Returns:
        The p-value in (0, 1].

    Raises:
        ValueError: No task, a difference that is not finite, or fewer than one resample.
    """
    n = len(differences)
    if n == 0:
        raise ValueError("a paired test needs at least one task that both agents ran")
    if not np.isfinite(differences).all():
        raise ValueError("a paired test takes finite differences; leave out tasks that one agent lacks and name them")
    if resamples < 1:
        raise ValueError(f"a permutation test needs at least one resample, got {resamples}")
    # Ties with the observed sum must count whatever the order of summation rounds to.
    observed = abs(float(differences.sum())) - ROUNDING * float(np.abs(differences).sum())
    if n <= ENUMERATE_UP_TO:
        signs = np.array(list(product((1.0, -1.0), repeat=n)))
        return float(np.mean(np.abs(signs @ differences) >= observed))
    generator = np.random.default_rng(seed)
    hits, rows = 0, max(1, 1_000_000 // n)
    for start in range(0, resamples, rows):
        drawn = min(rows, resamples - start)
        signs = 1.0 - 2.0 * generator.integers(0, 2, (drawn, n), dtype=np.int8)
        hits += int(np.count_nonzero(np.abs(signs @ differences) >= observed))
    return (1 + hits) / (1 + resamples)


class TwoVersions(NamedTuple):
    """Runs of one task by two versions of an agent, compared.

    Attributes:
        difference: Mean distance among the second version's runs minus that among the first's.
        difference_p: Its two-sided p-value; None where a version has fewer than two runs.
        between: Mean distance between a run of the first and a run of the second.
        shift: `between` minus the mean of the two means within (energy distance over 2): 0 where both act alike.
        shift_p: One-sided p-value of the shift; None where a version has fewer than two runs.
    """

    difference: float | None
    difference_p: float | None
    between: float
    shift: float | None
    shift_p: float | None


def compare_runs(
    distance: Float[np.ndarray, "runs runs"], first: int, resamples: int = 10_000, seed: int = 0
) -> TwoVersions:
    """Do two versions' runs of one task differ in how much they differ, and do they act otherwise?

    Both p-values come from dividing all runs anew between the versions: they say how often such a number comes about
    if the version makes no difference to a run. All divisions are enumerated up to 20,000, else drawn.

    Source: permutation test; energy statistic, Székely and Rizzo 2004.

    Args:
        distance: Distance of each two runs, symmetric; the diagonal is ignored.
        first: How many of the runs, counted from the first row, are the first version's.
        resamples: Drawn divisions where there are too many to enumerate.
        seed: Seed of the draws.

    Returns:
        The differences and their p-values in (0, 1].

    Raises:
        ValueError: A version without a run, or a distance that is not finite or not symmetric.
    """
    n = len(distance)
    if not 0 < first < n:
        raise ValueError(f"each version needs at least one run, got {first} and {n - first}")
    clean = np.where(np.eye(n, dtype=bool), 0.0, distance.astype(np.float64))
    if not np.isfinite(clean).all() or not np.allclose(clean, clean.T):
        raise ValueError("distances between runs are finite and symmetric")
    member = np.zeros((1, n))
    member[0, :first] = 1.0
    within_first, within_second, between = (part[0] for part in _means(clean, member, first))
    if min(first, n - first) < 2:
        return TwoVersions(None, None, float(between), None, None)
    difference = float(within_second - within_first)
    shift = float(between - (within_first + within_second) / 2)
    slack = ROUNDING * max(1.0, float(clean.max()))
    as_extreme, as_shifted, total = 0, 0, 0
    for members in _divisions(n, first, resamples, seed):
        a, b, c = _means(clean, members, first)
        as_extreme += int(np.count_nonzero(np.abs(b - a) >= abs(difference) - slack))
        as_shifted += int(np.count_nonzero(c - (a + b) / 2 >= shift - slack))
        total += len(members)
    observed = 0 if math.comb(n, first) <= SPLITS_UP_TO else 1  # enumeration holds the observed division itself
    return TwoVersions(
        difference,
        (observed + as_extreme) / (observed + total),
        float(between),
        shift,
        (observed + as_shifted) / (observed + total),
    )


def _means(
    distance: Float64[np.ndarray, "runs runs"], member: Float64[np.ndarray, "divisions runs"], first: int
) -> tuple[Float64[np.ndarray, " divisions"], ...]:
    """Mean distance within the first version, within the second, and between them, for each division."""
    n = len(distance)
    other = 1.0 - member
    rows = member @ distance
    within_first, between = (rows * member).sum(axis=1), (rows * other).sum(axis=1)
    within_second = ((other @ distance) * other).sum(axis=1)
    second = n - first
    return (
        within_first / max(1, first * (first - 1)),
        within_second / max(1, second * (second - 1)),
        between / (first * second),
    )


def _divisions(n: int, first: int, resamples: int, seed: int) -> Iterator[Float64[np.ndarray, "divisions runs"]]:
    """Blocks of divisions of n runs, 1 for the first version: all of them, or so many drawn."""
    if math.comb(n, first) <= SPLITS_UP_TO:
        chosen = np.array(list(combinations(range(n), first)))
        members = np.zeros((len(chosen), n))
        members[np.arange(len(chosen))[:, None], chosen] = 1.0
        yield members
        return
    generator = np.random.default_rng(seed)
    for start in range(0, resamples, 4096):
        drawn = np.zeros((min(4096, resamples - start), n))
        drawn[:, :first] = 1.0
        yield generator.permuted(drawn, axis=1)


def fisher_exact_p(successes: tuple[int, int], trials: tuple[int, int]) -> float:
    """Two-sided p-value of Fisher's exact test: do two versions succeed equally often?

    Args:
        successes: Successes of the first and the second version.
        trials: Their trials.

    Returns:
        The p-value in (0, 1]: the probability of all tables with these margins that are no likelier than the observed.

    Raises:
        ValueError: Successes outside [0, trials].
    """
    (a, b), (n, m) = successes, trials
    if not (0 <= a <= n and 0 <= b <= m):
        raise ValueError(f"successes lie in [0, trials], got {a} of {n} and {b} of {m}")
    total = a + b
    ways = [math.comb(n, k) * math.comb(m, total - k) for k in range(max(0, total - m), min(n, total) + 1)]
    observed = ways[a - max(0, total - m)]
    return sum(way for way in ways if way <= observed) / math.comb(n + m, total)


def holm(p_values: Float[np.ndarray, " tests"]) -> Float64[np.ndarray, " tests"]:
    """Holm's adjusted p-values: calling those below alpha holds the chance of any false call to alpha.

    Args:
        p_values: One p-value a test, in [0, 1].

    Returns:
        Adjusted p-values in the same order.

    Raises:
        ValueError: A value outside [0, 1].
    """
    order, sorted_p = _sorted(p_values)
    n = len(sorted_p)
    scaled = np.maximum.accumulate(sorted_p * (n - np.arange(n))) if n else sorted_p
    return _unsorted(np.minimum(scaled, 1.0), order)


def benjamini_hochberg(p_values: Float[np.ndarray, " tests"]) -> Float64[np.ndarray, " tests"]:
    """Benjamini and Hochberg's adjusted p-values: of those called below alpha, a share of alpha is false on average.

    Where nothing has changed anywhere this too holds the chance of any false call to alpha. For independent tests.

    Args:
        p_values: One p-value a test, in [0, 1].

    Returns:
        Adjusted p-values in the same order.

    Raises:
        ValueError: A value outside [0, 1].
    """
    order, sorted_p = _sorted(p_values)
    n = len(sorted_p)
    scaled = np.minimum.accumulate((sorted_p * n / np.arange(1, n + 1))[::-1])[::-1] if n else sorted_p
    return _unsorted(np.minimum(scaled, 1.0), order)


def _sorted(p_values: Float[np.ndarray, " tests"]) -> tuple[np.ndarray, Float64[np.ndarray, " tests"]]:
    if not ((p_values >= 0) & (p_values <= 1)).all():
        raise ValueError("p-values lie in [0, 1]")
    order = np.argsort(p_values, kind="stable")
    return order, np.asarray(p_values[order], dtype=np.float64)


def _unsorted(values: Float64[np.ndarray, " tests"], order: np.ndarray) -> Float64[np.ndarray, " tests"]:
    back = np.empty_like(values)
    back[order] = values
    return back
