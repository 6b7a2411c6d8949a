"""What all faces of the paper's tables say alike: a cell's parts, the heading of a table, what it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from likewise.core.estimate import Estimate
from likewise.evaluation.paper_tables import Cell, Column, PaperTables, Row, Table
from likewise.report.text import middle, named
from likewise.report.words import counted

__all__ = ["CellText", "cell_text", "column_title", "method_name", "remarks", "tables_of_paper"]


class CellText(NamedTuple):
    """A cell in words: its mean with interval, its change with interval; empty where there is none."""

    value: str
    interval: str
    change: str
    change_interval: str


def tables_of_paper(tables: PaperTables) -> Iterator[tuple[int, Table]]:
    """The tables that there are, with their numbers in the paper."""
    for number, table in enumerate((tables.performance, tables.ablation, tables.divergence), start=1):
        if table is not None:
            yield number, table


def column_title(column: Column) -> str:
    """The figure with the direction that is better."""
    return f"{column.title} {'↓' if column.lower_is_better else '↑'}"


def method_name(row: Row, limit: int = 60) -> str:
    """A method, in the ablation with its lambda."""
    name = middle(row.method, limit)
    mixing = "" if row.mixing is None else f"λ = {row.mixing:g}"
    return f"{name} ({mixing})" if mixing not in ("", name) else name


def cell_text(cell: Cell, column: Column) -> CellText:
    """`0.61`, `0.55 to 0.67`, `−31%`, `−40% to −20%`; a dash for what is undefined."""
    value, change = cell.value, cell.change
    shown = _number(value.value, column.share)
    if change is None:
        return CellText(shown, _ends(value, column.share), "", "")
    moved = "–" if change.value is None else _signed(change.value)
    ends = "" if change.low is None or change.high is None else f"{_signed(change.low)} to {_signed(change.high)}"
    return CellText(shown, _ends(value, column.share), moved, ends)


def _number(value: float | None, share: bool) -> str:
    if value is None:
        return "–"
    return f"{100 * value:.1f}%" if share else f"{value:.3f}"


def _ends(estimate: Estimate, share: bool) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{_number(estimate.low, share)} to {_number(estimate.high, share)}"


def _signed(change: float) -> str:
    return f"{'−' if change < 0 else '+'}{abs(change) * 100:.1f}%"


def remarks(tables: PaperTables) -> Iterator[str]:
    """How the numbers are made, what is left out, and why intervals are missing."""
    rests: dict[int, dict[str, None]] = {}
    for _, table in tables_of_paper(tables):
        for column in table.columns:
            rests.setdefault(table.tasks[column.name], {})[column.title] = None
    counts = "; ".join(f"{', '.join(titles)}: {counted(count, 'task')}" for count, titles in rests.items())
    yield f"Means over tasks, with changes relative to {middle(tables.base, 60)}. {counts}."
    if tables.turn_limit is not None:
        yield f"Progress is padded to a turn limit of {tables.turn_limit}; CVs are means of per-task CVs (n - 1)."
    by_reason: dict[str, list[str]] = {}
    for task, reason in tables.left_out.items():
        by_reason.setdefault(reason, []).append(task)
    for reason, tasks in by_reason.items():
        yield f"No CV of {counted(len(tasks), 'task')} ({reason}): {named(tasks)}"
    yield from tables.notes
    reasons = (
        estimate.reason
        for _, table in tables_of_paper(tables)
        for row in table.rows
        for cell in row.cells.values()
        for estimate in (cell.value, cell.change)
        if estimate is not None and estimate.reason is not None
    )
    yield from (f"Without interval: {reason}" for reason in dict.fromkeys(reasons))
