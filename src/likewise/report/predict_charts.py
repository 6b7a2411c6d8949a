"""The drawings of a prediction: every number's AUROC with its interval, and tasks by a number and their failures."""

from __future__ import annotations

from markupsafe import Markup

from likewise.evaluation.predict import Prediction, Predictor
from likewise.report.text import middle
from likewise.report.words import percent

__all__ = ["forest", "number_scatter"]

_WIDTH, _LABEL, _ROW, _TOP, _FOOT, _EDGE = 720.0, 230.0, 26.0, 12.0, 34.0, 24.0
_SIDE, _LEFT, _BELOW = 300.0, 46.0, 44.0
_FRAME = Markup('<svg viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" role="img" aria-label="{2}">')
_TEXT = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}" class="{}">{}</text>')
_LINE = Markup('<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="{}"/>')


def forest(prediction: Prediction) -> Markup:
    """A line a number: its AUROC and interval; the dashed line is chance, full dots are told from it."""
    height = _TOP + _ROW * len(prediction.predictors) + _FOOT
    span = _WIDTH - _LABEL - _EDGE
    body = [Markup("<title>AUROC of each number, with its interval</title>")]
    foot = height - _FOOT
    body.append(_LINE.format(_LABEL + span / 2, _TOP, _LABEL + span / 2, foot, "fork-line"))
    for i, each in enumerate(prediction.predictors):
        body.append(_forest_row(each, prediction, _TOP + _ROW * (i + 0.5), span))
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        body.append(_TEXT.format(_LABEL + span * tick, foot + 18, "middle", "quiet", percent(tick)))
    title = f"AUROC of {len(prediction.predictors)} numbers of tasks, with intervals"
    return _FRAME.format(_WIDTH, height, title) + Markup("").join(body) + Markup("</svg>")


def _forest_row(each: Predictor, prediction: Prediction, y: float, span: float) -> Markup:
    row = _TEXT.format(_LABEL - 12, y + 4, "end", "", each.title)
    value, low, high = each.auroc.value, each.auroc.low, each.auroc.high
    if value is None:
        return row + _TEXT.format(_LABEL, y + 4, "start", "quiet", each.auroc.reason or "")
    style = "o-unknown" if each is prediction.length else "o-good"
    if low is not None and high is not None:
        row += _LINE.format(_LABEL + span * low, y, _LABEL + span * high, y, f"run {style}")
    told = low is not None and high is not None and not low <= 0.5 <= high
    dot = Markup('<circle cx="{:.1f}" cy="{:.1f}" r="5" class="end {}{}"><title>{}</title></circle>')
    return row + dot.format(_LABEL + span * value, y, "full " if told else "", style, f"{each.title}: {value:.2f}")


def number_scatter(prediction: Prediction, predictor: Predictor) -> Markup:
    """One dot a task: the number to the right, the share of failed runs upwards."""
    tasks = [(task, task.values[predictor.name]) for task in prediction.tasks]
    known = [(task, value) for task, value in tasks if value is not None]
    largest = max((value for _, value in known), default=0.0) or 1.0
    width, height = _LEFT + _SIDE + _EDGE, _TOP + _SIDE * 0.8 + _BELOW
    foot = height - _BELOW
    body = [Markup("<title>{} against the share of failed runs</title>").format(predictor.title)]
    body.append(_LINE.format(_LEFT, foot, _LEFT + _SIDE, foot, "base"))
    for share in (0.0, 0.5, 1.0):
        y = foot - share * (foot - _TOP)
        body.append(_TEXT.format(_LEFT - 8, y + 4, "end", "quiet", percent(share)))
        body.append(_TEXT.format(_LEFT + share * _SIDE, foot + 18, "middle", "quiet", f"{share * largest:.3g}"))
    body.append(_TEXT.format(_LEFT + _SIDE / 2, height - 6, "middle", "axis", predictor.title))
    dot = Markup('<circle cx="{:.1f}" cy="{:.1f}" r="5" class="end o-good"><title>{}</title></circle>')
    for task, value in known:
        rate = task.failures / (task.failures + task.successes)
        title = f"{middle(task.task_id, 60)}: {predictor.title} {value:.2f}, {rate:.0%} failed"
        body.append(dot.format(_LEFT + value / largest * _SIDE, foot - rate * (foot - _TOP), title))
    title = f"{predictor.title} against the share of failed runs, {len(known)} tasks"
    return _FRAME.format(width, height, title) + Markup("").join(body) + Markup("</svg>")
