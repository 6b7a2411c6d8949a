"""Equivalence classes of runs, the largest of them, and how far the judge is from being transitive.

Mutual entailment of a real model is not transitive, so "classes" need a rule: here, connected components. A chain
of entailments makes one class even if its ends do not entail each other; each such break is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int, Int8

from likewise.core.estimate import Estimate
from likewise.core.labels import NOT_MEASURED, Relation
from likewise.metrics.resampling import wilson_share

__all__ = ["EquivalenceClasses", "dominant_share", "equivalence_classes"]


@dataclass(frozen=True, slots=True)
class EquivalenceClasses:
    """Which runs say the same.

    Attributes:
        classes: Class of each run, numbered by first member; -1 for a run that was compared with no other.
        transitivity_violations: Triples of runs with two equivalent sides and a third that is measured and not.
        sizes: Runs in each class.
    """

    classes: tuple[int, ...]
    transitivity_violations: int
    sizes: tuple[int, ...]


def equivalence_classes(relation: Int8[np.ndarray, "runs runs"]) -> EquivalenceClasses:
    """Classes of runs as connected components of mutual entailment.

    Args:
        relation: Symmetric relation labels between runs; the diagonal is ignored. A row of NOT_MEASURED is a run
            without an action, which belongs to no class.

    Returns:
        Classes, their sizes and the number of transitivity violations.

    Raises:
        ValueError: A relation that is not symmetric.
    """
    crooked = np.argwhere(relation != relation.T)
    if len(crooked):
        raise ValueError(f"a relation is symmetric; runs {crooked[0, 0]} and {crooked[0, 1]} differ by direction")
    others = ~np.eye(len(relation), dtype=bool)
    measured = (relation != NOT_MEASURED) & others
    equivalent = (relation == Relation.EQUIVALENT) & others
    classes = _components(equivalent, measured.any(axis=1))
    # Runs in the middle of a path i - j - k whose ends are measured and not equivalent; each triple has one open side.
    middles = equivalent.astype(np.int64) @ equivalent.astype(np.int64)
    violations = int(middles[np.triu(measured & ~equivalent)].sum())
    sizes = Counter(kind for kind in classes if kind >= 0)
    return EquivalenceClasses(tuple(classes), violations, tuple(sizes[kind] for kind in sorted(sizes)))


def _components(adjacent: Bool[np.ndarray, "runs runs"], present: Bool[np.ndarray, " runs"]) -> list[int]:
    classes = [-1] * len(present)
    found = 0
    for start in np.flatnonzero(present).tolist():
        if classes[start] >= 0:
            continue
        frontier = [start]
        while frontier:
            run = frontier.pop()
            if classes[run] < 0:
                classes[run] = found
                frontier.extend(np.flatnonzero(adjacent[run]).tolist())
        found += 1
    return classes


def dominant_share(
    classes: EquivalenceClasses | Sequence[int] | Int[np.ndarray, " runs"], confidence: float = 0.95
) -> Estimate:
    """Share of the largest class among the measured runs.

    The Wilson interval is that of the class named; that it was chosen for being the largest makes the share of few
    runs somewhat too high.

    Args:
        classes: Class of each run, or the result of `equivalence_classes`; -1 for runs that were not measured.
        confidence: Share of intervals that should hold the true share, in (0, 1).

    Returns:
        Share in (0, 1], n = measured runs; undefined where no run was measured.
    """
    ids = classes.classes if isinstance(classes, EquivalenceClasses) else classes
    sizes = Counter(int(kind) for kind in ids if kind >= 0)
    return wilson_share(max(sizes.values(), default=0), sizes.total(), "run", confidence)
