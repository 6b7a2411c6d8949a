"""A comparison in the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from likewise.evaluation.change import Change, Comparison
from likewise.report.compare_words import (
    changed_tasks,
    difference_text,
    figure_text,
    gaps,
    headline,
    how_decided,
    p_text,
    task_notes,
    unmatched,
)
from likewise.report.terminal import print_plainly
from likewise.report.text import middle, one_line
from likewise.report.words import number, percent

__all__ = ["render_comparison"]

_STYLES = {Change.BETTER: "bold green", Change.WORSE: "bold red", Change.UNDECIDED: "bold"}
_SHOWN = 40


def render_comparison(comparison: Comparison, console: Console) -> None:
    """Print the verdict, all figures, and the tasks, those with a change first."""
    print_plainly(_report(comparison), console)


def _report(comparison: Comparison) -> RenderableType:
    names = f"{middle(comparison.base, 60)} → {middle(comparison.candidate, 60)}"
    head = Text.assemble((comparison.verdict.value.upper(), _STYLES[comparison.verdict]), "  ", (names, "dim"))
    lines = [Text(line) for line in headline(comparison)]
    notes = [Text(one_line(line), style="dim") for line in gaps(comparison)]
    notes += [Text(one_line(line), style="yellow") for line in (*unmatched(comparison), *comparison.warnings)]
    foot = [Text(how_decided(comparison), style="dim"), Text(one_line(_signature(comparison)), style="dim")]
    return Group(
        *(Padding(part, (0, 0, 0, 1)) for part in (head, *lines)),
        _figures(comparison),
        _tasks(comparison),
        *(Padding(part, (0, 0, 0, 1)) for part in (*notes, *foot)),
    )


def _signature(comparison: Comparison) -> str:
    return str(comparison.signature.get("text", ""))


def _figures(comparison: Comparison) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), highlight=False)
    table.add_column("figure", overflow="fold")
    for name in ("base", "candidate", "difference", "p", "tasks"):
        table.add_column(name, justify="right", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    for d in comparison.differences:
        mark = " *" if d.figure in comparison.deciding else ""
        table.add_row(
            Text(d.title + mark),
            figure_text(d.base.value, d.share),
            figure_text(d.candidate.value, d.share),
            Text(difference_text(d)),
            p_text(d.p_adjusted),
            str(d.tasks),
            Text(d.change.value if d.difference.value is not None else "–", style=_STYLES[d.change]),
        )
    table.caption = "* decides the verdict"
    table.caption_justify = "left"
    return table


def _tasks(comparison: Comparison) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), highlight=False)
    table.add_column("task", overflow="fold", min_width=8)
    for name in ("runs", "RSD", "p", "success", "p"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("called", overflow="fold")
    tasks = changed_tasks(comparison)
    for t in tasks[:_SHOWN]:
        success = [percent(sum(s.outcomes) / len(s.outcomes)) if s.outcomes else "–" for s in (t.base, t.candidate)]
        table.add_row(
            Text(middle(t.task_id, 56)),
            f"{t.base.valid} → {t.candidate.valid}",
            f"{number(t.base.rsd.value)} → {number(t.candidate.rsd.value)}",
            p_text(t.rsd_p_adjusted),
            " → ".join(success),
            p_text(t.success_p_adjusted),
            task_notes(t),
        )
    if len(tasks) > _SHOWN:
        table.caption = f"{len(tasks) - _SHOWN} more in the JSON, Markdown and HTML"
        table.caption_justify = "left"
    return table
