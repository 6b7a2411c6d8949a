"""A figure of one agent over time: when it changed, and whether that is more than noise."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

import numpy as np
from jaxtyping import Bool, Float64, Int

from likewise.core.estimate import Estimate
from likewise.evaluation.change import Change
from likewise.metrics.change_point import LEAST_HISTORY, change_evidence, sequential_ranks
from likewise.metrics.intervals import pair_mean_limits

__all__ = ["FALSE_ALARM", "Reading", "Shift", "Trend", "find_shifts"]

FALSE_ALARM = 0.05
"""Largest probability that an agent whose behaviour never changes is ever called worse, over all its figures."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A figure of one verdict.

    Attributes:
        id: Of the verdict; no other has it.
        time: When it was made.
        version: Of the agent; "" where unknown.
        task: What it may be compared with.
        value: The figure, in [0, 1].
    """

    id: str
    time: datetime
    version: str
    task: str
    value: float


@dataclass(frozen=True, slots=True)
class Shift:
    """A change that is more than noise.

    Attributes:
        change: Better or worse.
        since: The day from which it most likely holds.
        version: The agent's version at that point.
        with_version: Whether it begins with the first verdict of a version.
        confirmed: When the evidence sufficed.
        before: Mean from the last change, or the beginning, to `since`.
        after: Mean from `since` to the next change, or the end.
    """

    change: Change
    since: date
    version: str
    with_version: bool
    confirmed: datetime
    before: Estimate
    after: Estimate


@dataclass(frozen=True, slots=True)
class Trend:
    """All changes of a figure in order of time, and how near the readings since the last are to the next.

    Attributes:
        shifts: Confirmed changes.
        readings: How many readings there were.
        doubt: Evidence for a change to the worse since the last shift, as a share of what confirms one, in [0, 1].
    """

    shifts: tuple[Shift, ...]
    readings: int
    doubt: float

    @property
    def latest(self) -> Shift | None:
        """The last change."""
        return self.shifts[-1] if self.shifts else None


@dataclass(frozen=True, slots=True)
class _Found:
    change: Change
    at: int
    start: int


def find_shifts(readings: Sequence[Reading], *, higher_is_better: bool, alpha: float = FALSE_ALARM / 3) -> Trend:
    """Find every point from which a figure is lower, or higher, than before.

    Each verdict is compared with earlier ones of its task only, so another mix of recurring tasks is no change; the
    first verdicts of each task, and those of tasks that do not recur, are compared with each other. After a change is
    confirmed everything begins anew with the next verdict. An alarm that only the order of equal values raised begins
    anew, too, and is no change; leaving alarms out can make claims only rarer.

    Args:
        readings: In order of time.
        higher_is_better: Whether a fall is a change to the worse.
        alpha: Largest probability of ever claiming a change to the worse while nothing changes, in (0, 1); as large
            for a change to the better.

    Returns:
        The changes. Adding later readings never takes one back.

    Raises:
        ValueError: Readings out of order, or a value outside [0, 1].
    """
    times = [reading.time for reading in readings]
    if times != sorted(times):
        raise ValueError("readings come in order of time")
    values = np.array([reading.value for reading in readings], dtype=np.float64)
    if values.size and not ((values >= 0) & (values <= 1)).all():
        raise ValueError("a figure lies in [0, 1]")
    starts, marked = _blocks(readings)
    goodness = values if higher_is_better else 1 - values
    found, begin, doubt = list[_Found](), 0, 0.0
    while begin < len(readings):
        hit, doubt = _next(readings[begin:], goodness[begin:], *_from(begin, starts, marked), alpha)
        if hit is None:
            break
        if _visible(readings[begin : begin + hit.at + 1], goodness[begin : begin + hit.at + 1], hit):
            found.append(_Found(hit.change, begin + hit.at, begin + hit.start))
        begin += hit.at + 1
        doubt = 0.0
    return Trend(
        tuple(_shifts(readings, values, found, dict(zip(starts.tolist(), marked.tolist(), strict=True)))),
        len(readings),
        doubt,
    )


def _next(
    readings: Sequence[Reading],
    goodness: Float64[np.ndarray, " n"],
    starts: Int[np.ndarray, " blocks"],
    marked: Bool[np.ndarray, " blocks"],
    alpha: float,
) -> tuple[_Found | None, float]:
    """The first change in either direction, and how near a change to the worse is."""
    ties = np.array([_tie(reading.id) for reading in readings])
    ranks = sequential_ranks(goodness, ties, _strata(readings))
    worse, better = (change_evidence(each, starts, marked, alpha) for each in (ranks, 1 - ranks))
    hits = [
        _Found(change, evidence.alarm.at, evidence.alarm.start)
        for change, evidence in ((Change.WORSE, worse), (Change.BETTER, better))
        if evidence.alarm is not None
    ]
    return min(hits, key=lambda hit: hit.at, default=None), min(1.0, worse.capital * alpha)


def _visible(readings: Sequence[Reading], goodness: Float64[np.ndarray, " n"], hit: _Found) -> bool:
    """Whether the readings, within their tasks, moved the way that is claimed even if chance decides no tie.

    Among equal values it decides every rank, and so could call a change where there is none to be seen.
    """
    middle = sequential_ranks(goodness, np.full(len(readings), 0.5), _strata(readings))
    after = float(np.nanmean(middle[hit.start : hit.at + 1]))  # NaN: the first verdicts of a task
    return after < 0.5 if hit.change is Change.WORSE else after > 0.5


def _strata(readings: Sequence[Reading]) -> list[tuple[str, ...]]:
    """Own stratum of a task that has been seen before, else the one of first sights: fixed by the tasks' names alone.

    What decides must not be the values, or ranks would no longer be uniform while nothing changes.
    """
    seen: Counter[str] = Counter()
    strata: list[tuple[str, ...]] = []
    for reading in readings:
        strata.append((reading.task,) if seen[reading.task] >= LEAST_HISTORY else ())
        seen[reading.task] += 1
    return strata


def _tie(verdict_id: str) -> float:
    """A number in (0, 1) that belongs to a verdict and tells nothing of it."""
    digest = hashlib.sha256(verdict_id.encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(digest[:6], "big") + 0.5) / 2**48


def _blocks(readings: Sequence[Reading]) -> tuple[Int[np.ndarray, " blocks"], Bool[np.ndarray, " blocks"]]:
    """Where days and new versions begin; marked where a version does."""
    known: set[str] = set()
    starts, marked = [], []
    day: date | None = None
    for i, reading in enumerate(readings):
        new = reading.version not in known
        if new or reading.time.date() != day:
            starts.append(i)
            marked.append(new)
        known.add(reading.version)
        day = reading.time.date()
    return np.array(starts, dtype=np.int64), np.array(marked, dtype=bool)


def _from(
    begin: int, starts: Int[np.ndarray, " blocks"], marked: Bool[np.ndarray, " blocks"]
) -> tuple[Int[np.ndarray, " blocks"], Bool[np.ndarray, " blocks"]]:
    """The blocks after a position, counted from there; what is left of the block that holds it comes first."""
    later = starts > begin
    return np.concatenate([[0], starts[later] - begin]), np.concatenate([[False], marked[later]])


def _shifts(
    readings: Sequence[Reading], values: Float64[np.ndarray, " n"], found: Sequence[_Found], marked: dict[int, bool]
) -> list[Shift]:
    edges = [0, *(hit.start for hit in found), len(readings)]
    return [
        Shift(
            hit.change,
            readings[hit.start].time.date(),
            readings[hit.start].version,
            marked.get(hit.start, False),
            readings[hit.at].time,
            _mean(values[edges[i] : hit.start]),
            _mean(values[hit.start : edges[i + 2]]),
        )
        for i, hit in enumerate(found)
    ]


def _mean(values: Float64[np.ndarray, " n"]) -> Estimate:
    """The mean with a distribution-free interval."""
    if not len(values):
        return Estimate.undefined("no verdict was measured in this time", n=0)
    low, high = pair_mean_limits(values, float(len(values)))
    return Estimate(float(values.mean()), low, high, n=len(values))
