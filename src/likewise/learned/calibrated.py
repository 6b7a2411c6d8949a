"""What calibration on held-out tasks adds to a model, as it is stored in its checkpoint."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from likewise.core.errors import CheckpointError

__all__ = ["Calibration"]

LARGEST_KNOTS = 10_000


@dataclass(frozen=True, slots=True)
class Calibration:
    """A threshold, a margin and a correction, from held-out tasks.

    Attributes:
        delta: Divergence of two runs that is too much.
        at_most: Share of run pairs that may be let through and diverge by more.
        confidence: With which confidence; None where the claim is one on average (conformal risk control).
        tasks: Held-out tasks it rests on.
        threshold: Scores up to this are let through; None where no threshold keeps the claim.
        reason: Why there is none.
        limit: Upper limit of that share at the threshold.
        let_through: Share of the held-out states let through.
        margin: Added to a score it gives an upper limit for all states of a new task; None where tasks are too few.
        knots: Scores at which the correction is tabled.
        corrected: Measured divergence there, never falling.
    """

    delta: float
    at_most: float
    confidence: float | None
    tasks: int
    threshold: float | None
    reason: str | None
    limit: float | None
    let_through: float
    margin: float | None
    knots: tuple[float, ...]
    corrected: tuple[float, ...]

    @property
    def claim(self) -> str:
        """The guarantee in one sentence, or why there is none."""
        if self.threshold is None:
            return f"no claim: {self.reason}"
        sure = "on average" if self.confidence is None else f"with confidence {self.confidence:.0%}"
        return (
            f"{sure}, at most {self.at_most:.2%} of the run pairs of a new task are let through (score at most "
            f"{self.threshold:.3f}) and differ by more than {self.delta:g}; {self.tasks} held-out tasks"
        )

    def correct(self, score: float) -> float:
        """The measured divergence that goes with a score."""
        return float(np.interp(score, self.knots, self.corrected))

    def as_json(self) -> dict[str, Any]:
        """The fields by name."""
        return {**asdict(self), "knots": list(self.knots), "corrected": list(self.corrected)}

    @classmethod
    def from_json(cls, value: dict[str, Any], where: str) -> Calibration:
        """Read what `as_json` wrote.

        Raises:
            CheckpointError: A field is missing, unknown or wrong; names it.
        """
        names = list(cls.__dataclass_fields__)
        wrong = sorted(set(names) ^ set(value))
        if wrong:
            raise CheckpointError(where, f"calibration.{wrong[0][:60]}", "the fields of a calibration", "another")
        for name, optional in (
            ("delta", False),
            ("at_most", False),
            ("confidence", True),
            ("threshold", True),
            ("limit", True),
            ("let_through", False),
            ("margin", True),
        ):
            if not (_is_number(value[name]) or (optional and value[name] is None)):
                raise CheckpointError(where, f"calibration.{name}", "a number", repr(value[name])[:80])
        if not isinstance(value["tasks"], int) or value["tasks"] < 1:
            raise CheckpointError(where, "calibration.tasks", "a whole number", repr(value["tasks"])[:80])
        if (value["threshold"] is None) != isinstance(value["reason"], str):
            raise CheckpointError(where, "calibration.reason", "a text where there is no threshold", "otherwise")
        tables = value["knots"], value["corrected"]
        if not all(_is_rising(table) for table in tables) or len(tables[0]) != len(tables[1]):
            raise CheckpointError(where, "calibration.knots", "two tables of rising numbers of one length", "otherwise")
        return cls(**{**value, "knots": tuple(tables[0]), "corrected": tuple(tables[1])})


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_rising(table: object) -> bool:
    if not isinstance(table, list) or not 0 < len(table) <= LARGEST_KNOTS or not all(map(_is_number, table)):
        return False
    return all(a <= b for a, b in pairwise(table))
