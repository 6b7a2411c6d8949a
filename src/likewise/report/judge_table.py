"""How a judge did, as a terminal table."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from likewise.core.estimate import Estimate
from likewise.evaluation.judge_eval import JudgeScore
from likewise.report.text import one_line

__all__ = ["render_judge_table"]


def _figure(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"undefined ({estimate.reason})"
    if estimate.low is None:
        return f"{estimate.value:.3f} ({estimate.reason})"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def render_judge_table(score: JudgeScore, console: Console) -> None:
    """Print accuracy, macro F1, per-class figures, the confusion matrix and per-kind figures."""
    judged = sum(map(sum, score.confusion))
    console.print(f"{judged} pairs judged, {len(score.not_measured)} not measured", highlight=False)
    console.print(
        f"accuracy {_figure(score.accuracy)}   macro F1 {_figure(score.macro_f1)}", highlight=False, markup=False
    )
    table = Table("true \\ judged", *score.labels, "precision", "recall", "F1")
    for label, row, figures in zip(score.labels, score.confusion, score.per_class, strict=True):
        table.add_row(label, *map(str, row), _share(figures.precision), _share(figures.recall), _share(figures.f1))
    console.print(table)
    if score.per_kind:
        kinds = Table("kind", "accuracy", "macro F1", "pairs")
        for kind, (right, f1) in score.per_kind.items():
            kinds.add_row(Text(one_line(kind)), _figure(right), _figure(f1), str(right.n))
        console.print(kinds, markup=False)
    console.print(score.signature, style="dim", highlight=False, markup=False, soft_wrap=True)
