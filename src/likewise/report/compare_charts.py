"""The two drawings of a comparison: each figure's difference with its interval, and each task's RSD on both sides."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from likewise.evaluation.change import Change, Difference, TaskChange
from likewise.report.text import middle

__all__ = ["difference_bar", "dumbbells"]

_WIDTH, _LABEL, _ROW, _TOP, _FOOT, _EDGE = 720.0, 230.0, 22.0, 12.0, 34.0, 16.0
_CLASSES = {Change.BETTER: "o-good", Change.WORSE: "o-bad", Change.UNDECIDED: "o-unknown"}


def difference_bar(difference: Difference) -> Markup:
    """The interval of a difference on a scale of its own, with 0 in the middle; nothing without an interval."""
    estimate = difference.difference
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return Markup("")
    reach = max(abs(estimate.low), abs(estimate.high)) or 1.0
    low, at, high = (60 + 54 * end / reach for end in (estimate.low, estimate.value, estimate.high))
    drawing = Markup(
        '<svg class="ib-wide" viewBox="0 0 120 16" width="120" height="16" aria-hidden="true">'
        '<line x1="60" y1="1" x2="60" y2="15" class="fork-line"/>'
        '<line x1="{:.1f}" y1="8" x2="{:.1f}" y2="8" class="run {}"/>'
        '<circle cx="{:.1f}" cy="8" r="4" class="end full {}"/></svg>'
    )
    style = _CLASSES[difference.change]
    return drawing.format(low, high, style, at, style)


def dumbbells(tasks: Sequence[TaskChange], most: int = 80) -> Markup:
    """One line a task from its RSD in the base (open dot) to that in the candidate (full dot)."""
    rows = [
        (task, task.base.rsd.value, task.candidate.rsd.value)
        for task in tasks
        if task.base.rsd.value is not None and task.candidate.rsd.value is not None
    ][:most]
    if not rows:
        return Markup("")
    scale = max(max(one, other) for _, one, other in rows) or 1.0
    height = _TOP + _ROW * len(rows) + _FOOT
    body = [Markup("<title>RSD of each task in the base and in the candidate</title>")]
    span = _WIDTH - _LABEL - _EDGE
    line = Markup(
        '<text x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>'
        '<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="run {style}"/>'
        '<circle cx="{:.1f}" cy="{:.1f}" r="4.5" class="end o-unknown"><title>{}</title></circle>'
        '<circle cx="{:.1f}" cy="{:.1f}" r="5" class="end full {style}"><title>{}</title></circle>'
    )
    for i, (task, one, other) in enumerate(rows):
        y = _TOP + _ROW * (i + 0.5)
        x1, x2 = (_LABEL + span * value / scale for value in (one, other))
        name = middle(task.task_id, 32)
        body.append(
            line.format(
                *(_LABEL - 12, y + 4, name, x1, y, x2, y, x1, y, f"{name}: base {one:.2f}"),
                *(x2, y, f"{name}: candidate {other:.2f}"),
                style=_CLASSES[task.rsd],
            )
        )
    body.append(_axis(scale, span, height))
    frame = Markup('<svg viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" role="img" aria-label="{2}">')
    title = f"RSD of {len(rows)} tasks in the base and in the candidate"
    return frame.format(_WIDTH, height, title) + Markup("").join(body) + Markup("</svg>")


def _axis(scale: float, span: float, height: float) -> Markup:
    tick = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="middle" class="quiet">{}</text>')
    y = height - _FOOT + 18
    ticks = [tick.format(_LABEL + span * share, y, f"{scale * share:.2f}") for share in (0.0, 0.5, 1.0)]
    return Markup("").join(ticks)
