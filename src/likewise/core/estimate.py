"""A number, how sure it is, or the reason why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Estimate"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval, or a reason.

    Attributes:
        value: The estimate; None where it is undefined.
        low: Lower end of the interval; None where there is no interval.
        high: Upper end of the interval; None where there is no interval.
        stderr: Standard error, where known.
        n: Independent units that it rests on (tasks, or rollouts).
        reason: Why the value or its interval is missing; None exactly where both are there.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    stderr: float | None = None
    n: int | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        """Refuse NaN, half an interval, and a gap without a reason."""
        for number in (self.value, self.low, self.high, self.stderr):
            if number is not None and not math.isfinite(number):
                raise ValueError(f"an estimate holds finite numbers or a reason, got {number}")
        if (self.low is None) != (self.high is None):
            raise ValueError("an interval has two ends")
        complete = self.value is not None and self.low is not None
        if complete == (self.reason is not None):
            raise ValueError("a reason stands exactly where the value or its interval is missing")

    @classmethod
    def undefined(cls, reason: str, n: int | None = None) -> Estimate:
        """No value, and why."""
        return cls(None, n=n, reason=reason)

    @classmethod
    def exact(cls, value: float, n: int | None = None) -> Estimate:
        """A value that is no sample's guess: its interval is the value."""
        return cls(value, value, value, stderr=0.0, n=n)

    @property
    def defined(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    def as_json(self) -> dict[str, float | int | str | None]:
        """`{value, low, high}` (with `stderr`, `n`, `reason` where known); undefined is `{value: null, reason}`."""
        if self.value is None:
            return {"value": None, "reason": self.reason}
        extra = {"stderr": self.stderr, "n": self.n, "reason": self.reason}
        return {"value": self.value, "low": self.low, "high": self.high} | {
            key: value for key, value in extra.items() if value is not None
        }
