"""A figure over time as inline SVG: points with their intervals, and the changes that are more than noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from likewise.core.estimate import Estimate
from likewise.report.text import middle
from likewise.report.words import interval, number, percent

__all__ = ["ChartPoint", "ShiftMark", "spark_line", "trend_chart"]

_W, _H, _LEFT, _RIGHT, _TOP, _BOTTOM = 480.0, 220.0, 54.0, 14.0, 28.0, 30.0
_EMPTY = Markup("")


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """A day's or a version's figure.

    Attributes:
        place: Where it stands on the axis: days since any day, or the number of the version.
        label: What is written below, where there is room.
        estimate: In [0, 1], or the reason why there is none.
        behind: What it rests on ("12 verdicts").
    """

    place: float
    label: str
    estimate: Estimate
    behind: str


@dataclass(frozen=True, slots=True)
class ShiftMark:
    """A change: from where on, and whether to the worse."""

    place: float
    worse: bool
    words: str


@dataclass(frozen=True, slots=True)
class _Frame:
    first: float
    last: float
    low: float
    high: float
    width: float = _W
    height: float = _H

    def x(self, place: float) -> float:
        span = self.last - self.first
        share = 0.5 if span <= 0 else (place - self.first) / span
        return _LEFT + 8 + share * (self.width - _LEFT - _RIGHT - 16)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.height - _BOTTOM - share * (self.height - _TOP - _BOTTOM)


def trend_chart(title: str, points: Sequence[ChartPoint], shifts: Sequence[ShiftMark], *, share: bool) -> Markup:
    """A line through the points with a band of their intervals, broken at long gaps; nothing without a value."""
    known = [point for point in points if point.estimate.defined]
    if not known:
        return _EMPTY
    frame = _Frame(points[0].place, points[-1].place, *_range(known))
    body = [
        *_axes(frame, points, share),
        *_band(frame, known),
        *(mark for shift in shifts for mark in _shift(frame, shift)),
        *_line(frame, known),
        *(_dot(frame, point, share) for point in known),
    ]
    told = f"{title}: {len(known)} points, last {_value(known[-1].estimate, share)}"
    told += "".join(f"; {shift.words}" for shift in shifts)
    opening = Markup('<svg class="trend" viewBox="0 0 {0:.0f} {1:.0f}" role="img" aria-label="{2}"><title>{2}</title>')
    return opening.format(_W, _H, told) + _EMPTY.join(body) + Markup("</svg>")


def _value(estimate: Estimate, share: bool) -> str:
    value = percent(estimate.value) if share else number(estimate.value)
    spread = interval(estimate, share=share)
    return f"{value} [{spread}]" if spread else value


def _range(known: Sequence[ChartPoint]) -> tuple[float, float]:
    """Ends of the value axis: wide enough for all intervals, never so narrow that noise looks like a fall."""
    lows = [point.estimate.low if point.estimate.low is not None else point.estimate.value or 0.0 for point in known]
    highs = [point.estimate.high if point.estimate.high is not None else point.estimate.value or 0.0 for point in known]
    low, high = math.floor(min(lows) * 10 + 1e-9), math.ceil(max(highs) * 10 - 1e-9)
    while high - low < 3 or (high - low) % _step(high - low):
        if high < 10:
            high += 1
        else:
            low -= 1
        if high > 9 and low <= 0:
            return 0.0, 1.0
    return low / 10, high / 10


def _step(tenths: int) -> int:
    """Tenths between two lines of the grid: five lines at most."""
    return 1 if tenths <= 4 else 2


def _axes(frame: _Frame, points: Sequence[ChartPoint], share: bool) -> Iterator[Markup]:
    line = Markup('<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="{}"/>')
    text = Markup('<text x="{:.1f}" y="{:.1f}" class="tick {}">{}</text>')
    tenths = round((frame.high - frame.low) * 10)
    for tenth in range(0, tenths + 1, _step(tenths)):
        value = frame.low + tenth / 10
        y = frame.y(value)
        yield line.format(_LEFT, y, _W - _RIGHT, y, "grid" if tenth else "base")
        yield text.format(_LEFT - 6, y + 4, "end", percent(value) if share else number(value, 1))
    written = -1e9
    for point in points:
        x, label = frame.x(point.place), middle(point.label, 14)
        width = 9.0 * len(label)  # as wide as letters are on a phone
        x = min(max(x, _LEFT + width / 2), _W - width / 2)
        if x - written > width + 14:
            written = x
            yield text.format(x, _H - 10, "mid", label)


def _runs(known: Sequence[ChartPoint]) -> list[list[ChartPoint]]:
    """Points that follow each other without a gap of more than a week, or of more than three usual steps."""
    steps = sorted(b.place - a.place for a, b in pairwise(known))
    longest = max(7.0, 3 * steps[len(steps) // 2]) if steps else 7.0
    runs: list[list[ChartPoint]] = []
    for point in known:
        if runs and point.place - runs[-1][-1].place <= longest:
            runs[-1].append(point)
        else:
            runs.append([point])
    return runs


def _band(frame: _Frame, known: Sequence[ChartPoint]) -> Iterator[Markup]:
    whisker = Markup('<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}" class="whisker"/>')
    for run in _runs(known):
        ends = [
            (frame.x(p.place), frame.y(p.estimate.low), frame.y(p.estimate.high))
            for p in run
            if p.estimate.low is not None and p.estimate.high is not None
        ]
        if len(ends) > 1:
            there = " L".join(f"{x:.1f} {high:.1f}" for x, _, high in ends)
            back = " L".join(f"{x:.1f} {low:.1f}" for x, low, _ in reversed(ends))
            yield Markup('<path d="M{} L{} Z" class="area"/>').format(there, back)
        else:
            yield from (whisker.format(x, low, high) for x, low, high in ends)


def _line(frame: _Frame, known: Sequence[ChartPoint]) -> Iterator[Markup]:
    for run in _runs(known):
        path = " L".join(f"{frame.x(p.place):.1f} {frame.y(p.estimate.value or 0.0):.1f}" for p in run)
        yield Markup('<path d="M{}" class="curve"/>').format(path)


def _dot(frame: _Frame, point: ChartPoint, share: bool) -> Markup:
    dot = Markup('<circle cx="{:.1f}" cy="{:.1f}" r="3.2" class="point"><title>{}</title></circle>')
    words = f"{point.label}: {_value(point.estimate, share)}, {point.behind}"
    return dot.format(frame.x(point.place), frame.y(point.estimate.value or 0.0), words)


def _shift(frame: _Frame, shift: ShiftMark) -> Iterator[Markup]:
    x = frame.x(shift.place)
    style = "shift-worse" if shift.worse else "shift-better"
    line = Markup('<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}" class="{3}"><title>{4}</title></line>')
    yield line.format(x, _TOP - 8, frame.height - _BOTTOM, style, shift.words)
    side = "end" if x > frame.width * 0.6 else ""
    text = Markup('<text x="{:.1f}" y="{:.1f}" class="shift-note {} {}">{}</text>')
    yield text.format(x + (-5 if side else 5), _TOP - 10, style, side, "▼ worse" if shift.worse else "▲ better")


def spark_line(points: Sequence[ChartPoint], shifts: Sequence[ShiftMark]) -> Markup:
    """The same line small and without words, on a scale from 0 to 1; nothing for fewer than two values."""
    known = [point for point in points if point.estimate.defined]
    if len(known) < 2:
        return _EMPTY
    first, span = known[0].place, (known[-1].place - known[0].place) or 1.0

    def spot(place: float, value: float) -> str:
        return f"{2 + 116 * (place - first) / span:.1f} {26 - 24 * value:.1f}"

    path = " L".join(spot(point.place, point.estimate.value or 0.0) for point in known)
    marks = [
        Markup('<path d="M{} V28" class="{}"/>').format(
            spot(shift.place, 1.0), "shift-worse" if shift.worse else "shift-better"
        )
        for shift in shifts
        if first <= shift.place <= known[-1].place
    ]
    opening = Markup('<svg class="spark" viewBox="0 0 120 30" width="120" height="30" aria-hidden="true">')
    return opening + Markup('<path d="M{}" class="curve"/>').format(path) + _EMPTY.join(marks) + Markup("</svg>")
