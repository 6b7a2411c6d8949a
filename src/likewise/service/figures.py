"""The three figures of an agent that are followed over time, and their changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from likewise.core.estimate import Estimate
from likewise.evaluation.change import Change
from likewise.evaluation.trend import Reading, Shift
from likewise.report.words import interval, number, percent

if TYPE_CHECKING:
    from likewise.store.trends import Observed

__all__ = ["FIGURES", "Figure", "figure_of", "readings_of", "shift_words", "value_words"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of verdicts.

    Attributes:
        metric: Its name in the history and in alerts.
        title: Its name for people.
        hint: How to read it.
        higher_is_better: Whether a fall is a change to the worse.
        share: Whether it is shown in percent.
        of: Its value for one verdict, in [0, 1]; None where it was not measured.
    """

    metric: str
    title: str
    hint: str
    higher_is_better: bool
    share: bool
    of: Callable[[Observed], float | None]


def _contradicts(one: Observed) -> float | None:
    return None if one.contradictory is None else float(one.contradictory)


FIGURES = (
    Figure(
        "reliability",
        "Reliability",
        "1 where all runs say the same",
        higher_is_better=True,
        share=False,
        of=lambda one: one.reliability,
    ),
    Figure(
        "contradiction_rate",
        "Contradiction rate",
        "Share of verdicts whose runs contradict each other",
        higher_is_better=False,
        share=True,
        of=_contradicts,
    ),
    Figure(
        "divergence",
        "RSD of answers",
        "0 where answers are alike, 1 where they contradict",
        higher_is_better=False,
        share=False,
        of=lambda one: one.divergence,
    ),
)


def figure_of(metric: str) -> Figure | None:
    """A figure by its name."""
    return next((figure for figure in FIGURES if figure.metric == metric), None)


def readings_of(observations: Sequence[Observed], figure: Figure) -> list[Reading]:
    """A figure of all verdicts that have it."""
    return [
        Reading(one.id, one.created, one.version, one.task, min(max(value, 0.0), 1.0))
        for one in observations
        if (value := figure.of(one)) is not None
    ]


def value_words(figure: Figure, estimate: Estimate) -> str:
    """`0.91 [0.88 to 0.93]`."""
    value = percent(estimate.value) if figure.share else number(estimate.value)
    spread = interval(estimate, share=figure.share)
    return f"{value} [{spread}]" if spread else value


def shift_words(figure: Figure, shift: Shift) -> str:
    """A change in one sentence."""
    direction = "worse" if shift.change is Change.WORSE else "better"
    when = f"{shift.since.day} {shift.since:%b %Y}"
    version = f", with version {shift.version}" if shift.with_version and shift.version else ""
    moved = f"{value_words(figure, shift.before)} → {value_words(figure, shift.after)}"
    return f"{figure.title} is {direction} since {when}{version}: {moved}"
