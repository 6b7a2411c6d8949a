"""What every reward is: a picklable object that is called as TRL calls rewards, and scores turns on request.

    reward(prompts, completions, completion_ids, **columns) -> [number or None for each completion]

None means not measured. It is never 0, which would be a reward like others.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from likewise.training.completions import Columns, Completion, read_completions
from likewise.training.guards import TrainingWarning

__all__ = ["AroundReward", "CompletionScore", "Reward", "mean_of", "needed_curves", "progress_curves"]


@dataclass(frozen=True, slots=True)
class CompletionScore:
    """What a reward says of one completion.

    Attributes:
        value: The reward; None where it was not measured.
        turns: The reward of each of its actions, for credit by turn; None where not measured.
        parts: What the reward is made of, by name, as it is logged.
    """

    value: float | None
    turns: tuple[float | None, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Minus no divergence is 0, and not the minus 0 of floats."""
        object.__setattr__(self, "value", _unsigned(self.value))
        object.__setattr__(self, "turns", tuple(_unsigned(turn) for turn in self.turns))
        object.__setattr__(self, "parts", {name: part + 0.0 for name, part in self.parts.items()})


def _unsigned(value: float | None) -> float | None:
    return None if value is None else value + 0.0


class Reward(ABC):
    """A reward of completions."""

    needs: tuple[str, ...] = ()
    """Columns that only a trainer of this package makes."""

    @property
    def __name__(self) -> str:
        """The name under which engines log it."""
        return type(self).__qualname__.rpartition(".")[2]

    @property
    @abstractmethod
    def lowest(self) -> float:
        """The smallest value there can be; -inf where there is none."""

    @abstractmethod
    def measure(self, completions: Sequence[Completion], columns: Columns) -> list[CompletionScore]:
        """Score completions that are read already.

        Args:
            completions: All that one process holds of a batch.
            columns: What the trainer handed on beside them.
        """

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Any] | None = None,
        **columns: Any,  # noqa: ANN401 - columns of any kind
    ) -> list[float | None]:
        """Score completions, as TRL asks.

        Args:
            prompts: A text or chat messages each, repeated for each completion.
            completions: A text or chat messages each.
            completion_ids: Tokens of each completion; not used.
            columns: Whatever the trainer has beside them; `log_metric` is told the means of what the reward is made of.

        Returns:
            A reward for each completion; None where it was not measured.
        """
        del completion_ids
        read = read_completions(prompts, completions, columns)
        scores = self.measure(read, columns)
        log = columns.get("log_metric")
        if log is not None:
            for name, value in _means(scores, progress_curves(columns, len(read))).items():
                log(name, value)
        return [score.value for score in scores]

    def turn_scores(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Any] | None = None,
        **columns: Any,  # noqa: ANN401 - columns of any kind
    ) -> list[list[float | None]]:
        """The same, action by action; an empty list where a reward knows no turns."""
        del completion_ids
        scores = self.measure(read_completions(prompts, completions, columns), columns)
        return [list(score.turns) for score in scores]

    def close(self) -> None:  # noqa: B027 - most rewards hold nothing open
        """Let go of files and models; the reward can be called again, and opens them again."""


class AroundReward(Reward):
    """A reward that changes what another gives, and needs, reaches and holds open what that one does."""

    def __init__(self, reward: Reward) -> None:
        """Take the other."""
        self._reward = reward

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of the reward."""
        return self._reward.needs

    @property
    def lowest(self) -> float:
        """That of the reward."""
        return self._reward.lowest

    def close(self) -> None:
        """Close the reward."""
        self._reward.close()


def _means(scores: Sequence[CompletionScore], curves: Sequence[list[float] | None]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for score in scores:
        for name, value in score.parts.items():
            values.setdefault(name, []).append(value)
    ends = [curve[-1] for curve in curves if curve is not None]
    if ends:
        values["progress"] = ends
    return {name: sum(found) / len(found) for name, found in values.items()}


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean of those that were measured; None where none was."""
    found = [value for value in values if value is not None]
    return sum(found) / len(found) if found else None


def progress_curves(columns: Columns, n: int) -> list[list[float] | None]:
    """Progress p_0 .. p_T of each completion from the column `progress`; None where it was not measured.

    Args:
        columns: What the trainer handed on.
        n: Completions.

    Returns:
        The curves. One with a missing or non-finite point is not measured as a whole.

    Raises:
        ValueError: Progress outside [0, 1], another number of curves than completions, or an entry that is no curve.
    """
    given = columns.get("progress")
    if given is None:
        return [None] * n
    if isinstance(given, str) or not hasattr(given, "__len__"):
        raise ValueError(f"column 'progress' is a list with a curve for each completion, got {given!r:.60}")
    if len(given) != n:
        raise ValueError(f"column 'progress' has {len(given)} entries for {n} completion(s)")
    return [_curve(index, curve) for index, curve in enumerate(given)]


def needed_curves(columns: Columns, n: int, who: str) -> list[list[float] | None]:
    """The same for a reward that can say nothing without progress.

    Args:
        columns: What the trainer handed on.
        n: Completions.
        who: The reward, for the sentence.

    Returns:
        The curves; a batch in which no progress was measured is warned of.

    Raises:
        ValueError: There is no column `progress`, or it holds what cannot be.
    """
    if columns.get("progress") is None:
        raise ValueError(
            f"{who} needs the column 'progress', and the trainer hands on none: let the rollout function return it, "
            "p_0 before the first action and a point after each, or put it into the data set (verl: extra_info; "
            "verifiers: info)"
        )
    curves = progress_curves(columns, n)
    if n and all(curve is None for curve in curves):
        warnings.warn(
            f"no completion of a batch has its progress measured, so {who} measures nothing: look at what fills the "
            "column 'progress'",
            TrainingWarning,
            stacklevel=3,
        )
    return curves


def _curve(index: int, curve: Any) -> list[float] | None:  # noqa: ANN401 - a column's entry
    if curve is None:
        return None
    try:
        points = [math.nan if point is None else float(point + 0) for point in curve]  # a text is no number
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"column 'progress', completion {index}: a curve is a list of numbers, p_0 before the first action and one "
            f"after each; got {curve!r:.60}"
        ) from None
    if not points or not all(map(math.isfinite, points)):
        return None
    if min(points) < 0 or max(points) > 1:
        raise ValueError(f"progress lies in [0, 1] at every turn; completion {index} has {points}")
    return points
