"""How a judge did, as a terminal table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from likewise.core.estimate import Estimate
from likewise.evaluation.judge_error import JudgeError
from likewise.evaluation.judge_eval import JudgeScore
from likewise.metrics.bounds import Bound
from likewise.report.text import one_line

__all__ = ["render_judge_table"]

SHOWN_REASONS = 5
"""Reasons for pairs that were not measured, each a line."""


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
    for line in _further_lines(score):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    console.print(score.signature, style="dim", highlight=False, markup=False, soft_wrap=True)


def _further_lines(score: JudgeScore) -> Iterator[str]:
    reasons = Counter(one_line(reason, 160) for reason in score.not_measured).most_common()
    for reason, count in reasons[:SHOWN_REASONS]:
        yield f"not measured, {count}: {reason}"
    if rest := reasons[SHOWN_REASONS:]:
        yield f"not measured, {sum(count for _, count in rest)}: {len(rest)} further reason(s)"
    if score.error is not None:
        yield from _error_lines(score.error)
    if score.repeatability is not None:
        found = score.repeatability
        failed = f"; a reading failed on {found.failed} more" if found.failed else ""
        yield f"read {found.readings} times, alike on {_figure(found.agreeing)} of {found.agreeing.n} pairs{failed}"
    yield from map(one_line, score.notes)


def _error_lines(error: JudgeError) -> Iterator[str]:
    """The error of distances and its two bands, each under its own name."""
    largest = "none" if error.largest is None else f"{error.largest:g}"
    yield f"error of distances (0 / 0.5 / 1): mean {_figure(error.mean)}, largest met {largest}"
    yield f"what RSD (gamma {error.gamma:g}, at most {1 / (1 - error.gamma):g}) may be off by:"
    yield f"  by the theorem, if no pair is judged worse than the worst here: {_band(error.theorem)}"
    upper = "" if error.average_upper.value is None else f", with the upper limit {error.average_upper.value:.3f}"
    yield f"  on average, which is no theorem: {_band(error.average)}{upper}"


def _band(bound: Bound) -> str:
    return one_line(bound.reason or "") if bound.value is None else f"{bound.direction} {bound.value:.3f}"
