"""Charts as inline SVG: small, selectable, offline, coloured by the page's own style sheet.

Every text and attribute goes through `Markup.format`, which escapes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from markupsafe import Markup

from likewise.report.text import middle

__all__ = ["Dot", "HeatCell", "HeatRow", "curve", "heat_map", "interval_bar", "scatter"]

_EMPTY = Markup("")
_Placed: TypeAlias = "tuple[tuple[float, float], Dot]"


@dataclass(frozen=True, slots=True)
class Dot:
    """One task in the scatter; `x` and `y` in [0, 1]."""

    label: str
    href: str
    x: float
    y: float
    style: str


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One task at one turn; `distance` None: not measured."""

    distance: float | None
    title: str


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One task in the heat map."""

    label: str
    href: str
    cells: tuple[HeatCell, ...]
    fork: int | None


def _text(x: float, y: float, words: str, style: str = "") -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" class="{}">{}</text>').format(x, y, style, words)


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> Markup:
    line = Markup('<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="{}"/>')
    return line.format(x1, y1, x2, y2, style)


def _rect(x: float, y: float, width: float, height: float, style: str) -> Markup:
    rect = Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" class="{}"/>')
    return rect.format(x, y, width, height, style)


def _svg(width: float, height: float, title: str, body: Sequence[Markup], *, links: bool = False) -> Markup:
    """A chart with links is a group, since `img` would hide them from assistive technology."""
    frame = Markup('<svg viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" role="{2}" aria-label="{3}">')
    opening = frame.format(width, height, "group" if links else "img", title)
    return opening + Markup("<title>{}</title>").format(title) + _EMPTY.join(body) + Markup("</svg>")


# ------------------------------------------------------------------ scatter
_W, _H, _LEFT, _TOP, _RIGHT, _BOTTOM, _R = 560.0, 400.0, 52.0, 28.0, 20.0, 66.0, 6.0
_INSET = 14.0
"""Space between the frame and the first and last value, so that no dot is cut."""
_ASIDE = 0.02
"""Share of the axis that a dot may move aside, to each side: further, and it would tell another success rate."""


@dataclass(frozen=True, slots=True)
class _Plane:
    """The scatter's frame; its height ends at `top`."""

    top: float

    def x(self, share: float) -> float:
        return _LEFT + _INSET + share * (_W - _LEFT - _RIGHT - 2 * _INSET)

    def y(self, divergence: float) -> float:
        return _H - _BOTTOM - _INSET - divergence / self.top * (_H - _TOP - _BOTTOM - 2 * _INSET)


def scatter(dots: Sequence[Dot], right_from: float, consistent_below: float) -> Markup:
    """Success against RSD share, with the three regions named."""
    plane = _Plane(0.5 if all(dot.y <= 0.48 for dot in dots) else 1.0)
    placed = _apart(dots, plane, right_from)
    body = [*_regions(plane, right_from, consistent_below), *_scatter_axes(plane)]
    spots = [spot for spot, _ in placed]
    for (x, y), dot in placed:
        title = f"{middle(dot.label, 80)}: success {dot.x:.0%}, RSD share {dot.y:.2f}"
        circle = Markup(
            '<a href="#{}" tabindex="-1">'
            '<circle cx="{:.1f}" cy="{:.1f}" r="{}" class="dot {}"><title>{}</title></circle></a>'
        )
        covers = sum(_gap((x, y), spot) < 2 * _R for spot in spots) > 1
        body.append(circle.format(dot.href, x, y, _R, f"{dot.style} over" if covers else dot.style, title))
    body += _labels(placed)
    return _svg(_W, _H, f"Success against RSD share, one dot for each of {len(dots)} tasks", body, links=True)


def _regions(plane: _Plane, right_from: float, consistent_below: float) -> Iterator[Markup]:
    split_x, split_y = plane.x(right_from), plane.y(consistent_below)
    floor = _H - _BOTTOM
    yield _rect(_LEFT, _TOP, _W - _LEFT - _RIGHT, split_y - _TOP, "r-inconsistent")
    yield _rect(_LEFT, split_y, split_x - _LEFT, floor - split_y, "r-wrong")
    yield _rect(split_x, split_y, _W - _RIGHT - split_x, floor - split_y, "r-right")
    yield _line(_LEFT, split_y, _W - _RIGHT, split_y, "split")
    yield _line(split_x, split_y, split_x, floor, "split")
    yield _text(_LEFT, _TOP - 8, "inconsistent", "region")
    yield _text(_LEFT, floor + 17, "consistent and wrong", "region n-wrong")
    yield _text(_W - _RIGHT, floor + 17, "consistent and right", "region n-right end")


def _scatter_axes(plane: _Plane) -> Iterator[Markup]:
    for tick in range(5):
        share = tick / 4
        yield _text(plane.x(share), _H - _BOTTOM + 36, f"{share:.0%}", "tick mid")
        yield _text(_LEFT - 8, plane.y(share * plane.top) + 4, f"{share * plane.top:g}", "tick end")
    yield _text((_LEFT + _W - _RIGHT) / 2, _H - 8, "success rate", "axis mid")
    turned = Markup('<text transform="translate(14 {:.0f}) rotate(-90)" class="axis mid">RSD share</text>')
    yield turned.format((_TOP + _H - _BOTTOM) / 2)


def _apart(dots: Sequence[Dot], plane: _Plane, right_from: float) -> list[_Placed]:
    """Dots that would cover each other move a little aside, where that helps; the height stays exact."""
    placed: list[_Placed] = []
    for dot in sorted(dots, key=lambda dot: (dot.y, dot.x)):
        y = plane.y(dot.y)
        best, widest = plane.x(dot.x), -1.0
        for x in _spots(dot, plane, right_from):
            # Past the width of a dot nothing is covered: the first such spot, nearest to the true one, is as good.
            gap = min((_gap((x, y), spot) for spot, _ in placed), default=2 * _R)
            if min(gap, 2 * _R) > widest:
                best, widest = x, min(gap, 2 * _R)
        placed.append(((best, y), dot))
    return placed


def _spots(dot: Dot, plane: _Plane, right_from: float) -> Iterator[float]:
    """Where a dot may stand, its true place first: at most `_ASIDE` of the axis away, never over the threshold."""
    true, split, right = plane.x(dot.x), plane.x(right_from), dot.x >= right_from
    reach = _ASIDE * (plane.x(1.0) - plane.x(0.0))
    for part in (0.0, 1.0, -1.0, 0.5, -0.5):
        x = true + part * reach
        if part == 0.0 or (x - _R >= split if right else x + _R <= split):
            yield x


def _gap(one: tuple[float, float], other: tuple[float, float]) -> float:
    return math.hypot(one[0] - other[0], one[1] - other[1])


def _labels(placed: Sequence[_Placed]) -> Iterator[Markup]:
    """Names beside the dots, worst first, as far as they cover nothing."""
    taken = [(x - _R, y - _R, x + _R, y + _R) for (x, y), _ in placed]
    for (x, y), dot in sorted(placed, key=lambda item: item[0][1]):
        name = middle(dot.label, 18)
        width = 7.2 * len(name)
        for left, at, side in ((x + _R + 4, x + _R + 4, ""), (x - _R - 4 - width, x - _R - 4, " end")):
            box = (left, y - 7, left + width, y + 7)
            inside = left >= _LEFT and left + width <= _W - _RIGHT - 2
            if inside and all(box[2] < a or box[0] > c or box[3] < b or box[1] > d for a, b, c, d in taken):
                taken.append(box)
                yield _text(at, y + 4, name, "dot-name" + side)
                break


# ------------------------------------------------------------------ curve
def curve(means: Sequence[float | None], counts: Sequence[int]) -> Markup:
    """Mean distance at each turn over the tasks that reach it, and below how many tasks those are."""
    turns = len(means)
    top, bottom, bars = 14.0, _H - 114.0, 40.0
    step = (_W - _LEFT - _RIGHT) / max(turns, 1)
    xs = [_LEFT + step * (turn + 0.5) for turn in range(turns)]
    body = list(_curve_axes(top, bottom, bottom + 32 + bars))
    points = [(x, bottom - mean * (bottom - top)) for x, mean in zip(xs, means, strict=True) if mean is not None]
    path = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    if points:
        area = Markup('<path d="M{:.1f} {:.1f} L{} L{:.1f} {:.1f} Z" class="area"/><path d="M{}" class="curve"/>')
        body.append(area.format(points[0][0], bottom, path, points[-1][0], bottom, path))
    every = max(1, -(-turns // 14))
    for turn, (x, mean, count) in enumerate(zip(xs, means, counts, strict=True)):
        height = bars * count / max([*counts, 1])
        title = f"turn {turn}: mean distance {'not measured' if mean is None else f'{mean:.2f}'}, {count} tasks"
        marks = [_rect(x - step * 0.36, bottom + 32 + bars - height, step * 0.72, height, "bar")]
        if mean is not None:
            marks.append(
                Markup('<circle cx="{:.1f}" cy="{:.1f}" r="3.2" class="point"/>').format(
                    x, bottom - mean * (bottom - top)
                )
            )
        body.append(Markup("<g><title>{}</title>{}</g>").format(title, _EMPTY.join(marks)))
        if turn % every == 0:
            body.append(_text(x, bottom + 32 + bars - height - 4, str(count), "tick mid"))
            body.append(_text(x, bottom + 32 + bars + 15, str(turn), "tick mid"))
    return _svg(_W, _H, f"Mean distance of two runs at each of {turns} turns, and the number of tasks behind it", body)


def _curve_axes(top: float, bottom: float, base: float) -> Iterator[Markup]:
    for tick in range(5):
        y = bottom - tick / 4 * (bottom - top)
        yield _line(_LEFT, y, _W - _RIGHT, y, "grid" if tick else "base")
        yield _text(_LEFT - 8, y + 4, f"{tick / 4:g}", "tick end")
    yield _line(_LEFT, base, _W - _RIGHT, base, "base")
    yield _text(_LEFT - 8, base - 16, "tasks", "tick end")
    yield _text((_LEFT + _W - _RIGHT) / 2, _H - 6, "turn", "axis mid")
    turned = Markup('<text transform="translate(14 {:.0f}) rotate(-90)" class="axis mid">mean distance</text>')
    yield turned.format((top + bottom) / 2)


# ------------------------------------------------------------------ heat map
_ROW, _HEAD = 22.0, 24.0


def heat_map(rows: Sequence[HeatRow]) -> Markup:
    """Mean distance of every task at every turn; hatched where nothing was measured, empty where no run goes on."""
    turns = max((len(row.cells) for row in rows), default=0)
    name = 30 + 7.0 * max((len(middle(row.label, 23)) for row in rows), default=0)
    cell = min(38.0, max(13.0, (1120 - name) / max(turns, 1)))
    every = max(1, -(-22 // int(cell)))
    body = [
        Markup(
            '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)"><rect width="6" height="6" class="hatch-bg"/>'
            '<path d="M0 0V6" class="hatch-line"/></pattern></defs>'
        )
    ]
    body += [_text(name + cell * (t + 0.5), 16, str(t), "tick mid") for t in range(0, turns, every)]
    body.append(_text(name - 10, 16, "turn", "tick end"))
    body += [_heat_row(row, _HEAD + _ROW * i, name, cell) for i, row in enumerate(rows)]
    width = max(name + cell * turns + 8, 420)
    title = f"Mean distance of two runs, {len(rows)} tasks by {turns} turns"
    return _svg(width, _HEAD + _ROW * len(rows) + 4, title, body, links=True)


def _heat_row(row: HeatRow, y: float, name: float, cell: float) -> Markup:
    marks = [_text(name - 10, y + 15, middle(row.label, 23), "row-name end")]
    for turn, one in enumerate(row.cells):
        x = name + turn * cell
        style = "h-none" if one.distance is None else f"h{round(one.distance * 10)}"
        rect = Markup('<rect x="{:.1f}" y="{:.0f}" width="{:.1f}" height="{:.0f}" class="{}"><title>{}</title></rect>')
        marks.append(rect.format(x + 0.75, y + 1, cell - 1.5, _ROW - 2, style, one.title))
        if turn == row.fork:
            dot = Markup('<circle cx="{:.1f}" cy="{:.1f}" r="3.4" class="fork-dot"/>')
            marks.append(dot.format(x + cell / 2, y + _ROW / 2))
    return Markup('<a href="#{}">{}</a>').format(row.href, _EMPTY.join(marks))


# ------------------------------------------------------------------ interval
def interval_bar(value: float | None, low: float | None, high: float | None, limit: float) -> Markup:
    """A value with its interval on a short scale, to compare down a column; nothing where there is no value."""
    if value is None or limit <= 0:
        return _EMPTY
    width = 84.0
    at = [min(max((end if end is not None else value) / limit, 0.0), 1.0) * width for end in (low, value, high)]
    bar = Markup('<svg class="ib" viewBox="0 0 84 12" width="84" height="12" aria-hidden="true">{}{}{}</svg>')
    spread = _line(at[0], 6, at[2], 6, "ib-range") if low is not None else _EMPTY
    return bar.format(_rect(0, 2, width, 8, "ib-back"), _rect(0, 2, at[1], 8, "ib-bar"), spread)
