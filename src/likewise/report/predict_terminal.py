"""A prediction in the terminal: the answer, a drawing of the AUROCs, and the table."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from likewise.core.estimate import Estimate
from likewise.evaluation.predict import Prediction
from likewise.report.compare_words import p_text
from likewise.report.predict_words import answer, how_made, remarks, share_text, signed_text
from likewise.report.terminal import print_plainly
from likewise.report.text import one_line

__all__ = ["render_prediction"]

_CELLS = 21
"""Places of the drawing, for 0% to 100% in steps of 5."""


def render_prediction(prediction: Prediction, console: Console) -> None:
    """Print it."""
    parts: list[RenderableType] = [_said(line, "bold" if n == 0 else "") for n, line in enumerate(answer(prediction))]
    parts += [_drawing(prediction), _table(prediction)]
    parts += [_said(line, "dim") for line in (*remarks(prediction), how_made(prediction))]
    print_plainly(Group(*parts), console)


def _said(line: str, style: str) -> Padding:
    return Padding(Text(one_line(line), style=style), (0, 0, 0, 1))


def _drawing(prediction: Prediction) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), highlight=False)
    table.add_column("number", overflow="fold")
    table.add_column("0%      AUROC     100%", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    for each in prediction.predictors:
        style = "bold" if each is prediction.length else ""
        table.add_row(Text(each.title, style=style), Text(_strip(each.auroc)), share_text(each.auroc))
    return table


def _strip(estimate: Estimate) -> str:
    """`·······┆──●───·····`: interval, value, and chance in the middle."""
    places = ["·"] * _CELLS
    places[_CELLS // 2] = "┆"
    if estimate.low is not None and estimate.high is not None:
        for place in range(_place(estimate.low), _place(estimate.high) + 1):
            places[place] = "─"
    if estimate.value is not None:
        places[_place(estimate.value)] = "●"
    return "".join(places)


def _place(share: float) -> int:
    return round(share * (_CELLS - 1))


def _table(prediction: Prediction) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), highlight=False)
    table.add_column("number", overflow="fold", min_width=12)
    table.add_column("tasks", justify="right", no_wrap=True)
    for name in ("AUROC: p", "points beside length", "rank correlation", "given length"):
        table.add_column(name, justify="right", overflow="fold")
    for each in prediction.predictors:
        table.add_row(
            Text(each.title),
            str(each.tasks),
            _stacked("", *_p_values(each.auroc_p, each.auroc_p_adjusted)),
            _stacked(signed_text(each.beside_length, points=True)),
            _stacked(signed_text(each.correlation), *_p_values(each.correlation_p, None)),
            _stacked(signed_text(each.partial), *_p_values(each.partial_p, each.partial_p_adjusted)),
        )
    return table


def _stacked(text: str, *below: str) -> Text:
    """A number, its interval and more, under each other."""
    value, _, spread = text.partition(" ")
    lines = [Text(value), *(Text(line, style="dim") for line in (spread, *below))]
    return Text("\n").join(line for line in lines if line.plain)


def _p_values(p: float | None, adjusted: float | None) -> list[str]:
    """`p 0.04`, `Holm 0.12`."""
    return [f"{name} {p_text(value)}" for name, value in (("p", p), ("Holm", adjusted)) if value is not None]
