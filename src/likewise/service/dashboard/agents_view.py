"""What the overview and the page of an agent show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from markupsafe import Markup

from likewise.core.estimate import Estimate
from likewise.evaluation.change import Change
from likewise.evaluation.trend import Shift, Trend
from likewise.report.text import one_line
from likewise.report.words import counted, interval, number, percent
from likewise.service.dashboard.trend_chart import ChartPoint, ShiftMark, spark_line, trend_chart
from likewise.service.figures import FIGURES, Figure, shift_words

if TYPE_CHECKING:
    from likewise.store.trends import AgentSummary, SeriesPoint

__all__ = ["AgentRow", "FigureCell", "FigureTrend", "agent_row", "figure_trends"]


@dataclass(frozen=True, slots=True)
class FigureCell:
    """A figure in the overview: value, spread or reason, small line, and what is confirmed to have become worse."""

    title: str
    value: str
    spread: str
    spark: Markup
    regression: str


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent in the overview."""

    name: str
    verdicts: int
    failed: int
    refused: int
    versions: tuple[str, ...]
    last: datetime | None
    cells: tuple[FigureCell, ...]

    @property
    def regressed(self) -> bool:
        """Whether any figure has become worse."""
        return any(cell.regression for cell in self.cells)


@dataclass(frozen=True, slots=True)
class FigureTrend:
    """A figure on an agent's page."""

    title: str
    hint: str
    now: str
    spread: str
    chart: Markup
    shifts: tuple[str, ...]
    worse: bool
    doubt: str
    rows: tuple[tuple[str, str, str], ...]


def agent_row(summary: AgentSummary, series: Sequence[SeriesPoint], trends: Mapping[str, Trend]) -> AgentRow:
    """One agent of the overview."""
    cells = []
    for figure in FIGURES:
        trend = trends[figure.metric]
        estimate = _estimate(summary, figure)
        points = _points(series, figure, by="day")
        latest = trend.latest
        worse = latest is not None and latest.change is Change.WORSE
        regression = shift_words(figure, latest) if worse and latest is not None else ""
        value, spread = _told(figure, estimate)
        cells.append(FigureCell(figure.title, value, spread, spark_line(points, _marks(trend, figure)), regression))
    versions = tuple(version for version in summary.versions if version)
    return AgentRow(
        summary.agent, summary.verdicts, summary.failed, summary.refused, versions, summary.last, tuple(cells)
    )


def figure_trends(
    summary: AgentSummary, series: Sequence[SeriesPoint], trends: Mapping[str, Trend], *, by: str
) -> list[FigureTrend]:
    """The charts of an agent's page, by day or by version."""
    made = []
    for figure in FIGURES:
        trend = trends[figure.metric]
        points = _points(series, figure, by=by)
        marks = _marks(trend, figure) if by == "day" else []
        value, spread = _told(figure, _estimate(summary, figure))
        made.append(
            FigureTrend(
                figure.title,
                figure.hint,
                value,
                spread,
                trend_chart(figure.title, points, marks, share=figure.share),
                tuple(shift_words(figure, shift) for shift in reversed(trend.shifts)),
                trend.latest is not None and trend.latest.change is Change.WORSE,
                _doubt(trend),
                tuple((point.label, " ".join(_told(figure, point.estimate)), point.behind) for point in points),
            )
        )
    return made


def _doubt(trend: Trend) -> str:
    if trend.readings == 0:
        return "no verdict was measured"
    if trend.doubt < 0.1:
        return "nothing speaks for a change to the worse" if not trend.shifts else "nothing speaks for a further change"
    return f"evidence for a change to the worse: {percent(trend.doubt)} of what confirms one"


def _estimate(source: AgentSummary | SeriesPoint, figure: Figure) -> Estimate:
    found: Estimate = getattr(source, figure.metric)
    return found


def _told(figure: Figure, estimate: Estimate) -> tuple[str, str]:
    value = percent(estimate.value) if figure.share else number(estimate.value)
    return value, interval(estimate, share=figure.share) or one_line(estimate.reason or "", 80)


def _points(series: Sequence[SeriesPoint], figure: Figure, *, by: str) -> list[ChartPoint]:
    if by == "version":
        return [
            ChartPoint(float(i), one_line(point.version or "no version", 40), _estimate(point, figure), _behind(point))
            for i, point in enumerate(series)
        ]
    return [
        ChartPoint(
            float(point.day.toordinal()), f"{point.day.day} {point.day:%b}", _estimate(point, figure), _behind(point)
        )
        for point in series
        if point.day is not None
    ]


def _behind(point: SeriesPoint) -> str:
    return counted(point.verdicts, "verdict")


def _marks(trend: Trend, figure: Figure) -> list[ShiftMark]:
    return [_mark(shift, figure) for shift in trend.shifts]


def _mark(shift: Shift, figure: Figure) -> ShiftMark:
    return ShiftMark(float(shift.since.toordinal()), shift.change is Change.WORSE, shift_words(figure, shift))


def days_ago(days: int, today: date | None = None) -> datetime:
    """The beginning of a day so long ago, UTC."""
    day = (today or datetime.now(UTC).date()) - timedelta(days=days)
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
