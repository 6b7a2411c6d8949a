"""What a judge's measured error means for RSD: the theorem's band, and beside it the average case, each by its name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from likewise.core.estimate import Estimate
from likewise.metrics.bounds import Bound, average_case_band, error_band
from likewise.metrics.classification import mean_distance_error

__all__ = ["JudgeError", "judge_error"]

REMAINDER = 1e-9
"""Weight of the turns behind the last one that the average case adds up; what is left out cannot be seen."""


@dataclass(frozen=True, slots=True)
class JudgeError:
    """Error of a judge's distances on labelled pairs, and what RSD computed from them may be off by.

    Attributes:
        gamma: Discount that the bands are for.
        mean: Mean |d_hat - d*|, in [0, 1].
        largest: Largest |d_hat - d*| met; None where no pair was judged.
        theorem: |U_hat - U*| <= eps_NLI / (1 - gamma), with the largest error met in the place of the supremum.
        average: sum over turns of gamma^t times the mean error: how far off U is on average. No theorem.
        average_upper: The same from the upper confidence limit of the mean error.
    """

    gamma: float
    mean: Estimate
    largest: float | None
    theorem: Bound
    average: Bound
    average_upper: Bound

    def as_json(self) -> dict[str, object]:
        """The fields by name."""
        return {
            "gamma": self.gamma,
            "mean_distance_error": self.mean.as_json(),
            "largest_distance_error": self.largest,
            "theorem_band": self.theorem.as_json() | {"supremum": "largest error met; that of all pairs may be larger"},
            "average_case_band": self.average.as_json(),
            "average_case_band_upper": self.average_upper.as_json(),
        }


def judge_error(confusion: Sequence[Sequence[int]], gamma: float) -> JudgeError:
    """The error of a judge's distances and its bands, for direct RSD (no representation, so eps_phi is 0).

    The supremum in the theorem is over all pairs there are. A sample shows only that it is at least the largest error
    met, so the theorem's band holds if no pair is judged worse than the worst one here.

    Args:
        confusion: Counts by true (row) and judged (column) relation, in the order of the distance.
        gamma: Discount in [0, 1).

    Returns:
        The error and its bands, each with a value or the reason why it has none.

    Raises:
        ValueError: A discount outside [0, 1).
    """
    matrix = np.array(confusion, dtype=np.int64)
    mean = mean_distance_error(matrix)
    met = [abs(truth - guess) / 2 for truth, guess in np.argwhere(matrix > 0).tolist()]
    return JudgeError(
        gamma,
        mean,
        max(met, default=None),
        error_band(0.0, max(met, default=1.0), gamma),
        _average(mean.value, gamma),
        _average(mean.high, gamma),
    )


def _average(error: float | None, gamma: float) -> Bound:
    """The average case over all turns, up to those that weigh nothing."""
    turns = 1 if gamma == 0 else math.ceil(math.log(REMAINDER) / math.log(gamma))
    return average_case_band(np.full(0 if error is None else turns, error or 0.0, dtype=np.float64), gamma)
