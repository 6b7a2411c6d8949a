"""A comparison as Markdown that fits a pull-request comment (GitHub allows 65,536 characters, GitLab more)."""

from __future__ import annotations

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
from likewise.report.markdown_text import code, plain, table
from likewise.report.words import counted, number, percent

__all__ = ["comparison_markdown"]

_SIGNS = {Change.BETTER: "✅ better", Change.WORSE: "❌ worse", Change.UNDECIDED: "➖ undecided"}
_SHOWN = 50
"""Tasks of the table; with names of up to 80 characters each it stays below 20,000 characters."""


def comparison_markdown(comparison: Comparison) -> str:
    """The verdict, the figures, and the tasks in a fold; ends with a line end."""
    lines = [
        f"### Consistency: {_SIGNS[comparison.verdict]}",
        "",
        f"{code(comparison.base)} → {code(comparison.candidate)}",
        "",
    ]
    lines += [f"- {plain(line)}" for line in headline(comparison)] + [""]
    rows = [
        (
            plain(d.title) + (" \\*" if d.figure in comparison.deciding else ""),
            figure_text(d.base.value, d.share),
            figure_text(d.candidate.value, d.share),
            difference_text(d),
            plain(p_text(d.p_adjusted)),
            str(d.tasks),
            _SIGNS[d.change] if d.difference.value is not None else "–",
        )
        for d in comparison.differences
    ]
    lines += table(("figure", "base", "candidate", "difference", "p", "tasks", "verdict"), rows, range(1, 6))
    lines += ["", "\\* decides the verdict", ""]
    lines += [*(f"- {plain(gap)}" for gap in gaps(comparison)), ""] if gaps(comparison) else []
    lines += _tasks(comparison)
    notes = [*unmatched(comparison), *comparison.warnings]
    if notes:
        lines += ["", *(f"- ⚠️ {plain(note)}" for note in notes)]
    lines += ["", f"<sub>{plain(how_decided(comparison))}<br>{code(_signature(comparison), 400, cell=False)}</sub>"]
    return "\n".join(lines) + "\n"


def _signature(comparison: Comparison) -> str:
    return str(comparison.signature.get("text", ""))


def _tasks(comparison: Comparison) -> list[str]:
    tasks = changed_tasks(comparison)
    called = sum(bool(task_notes(task)) for task in tasks)
    rows = []
    for t in tasks[:_SHOWN]:
        success = [percent(sum(s.outcomes) / len(s.outcomes)) if s.outcomes else "–" for s in (t.base, t.candidate)]
        rows.append(
            (
                code(t.task_id),
                f"{t.base.valid} → {t.candidate.valid}",
                f"{number(t.base.rsd.value)} → {number(t.candidate.rsd.value)}",
                plain(p_text(t.rsd_p_adjusted)),
                plain(" → ".join(success)),
                plain(p_text(t.success_p_adjusted)),
                task_notes(t),
            )
        )
    title = f"{counted(len(tasks), 'shared task')}, {called} with a change that is not luck"
    lines = [f"<details{' open' if called else ''}><summary>{title}</summary>", ""]
    lines += table(("task", "runs", "RSD", "p", "success", "p", "called"), rows, range(1, 6))
    if len(tasks) > _SHOWN:
        lines += ["", f"{len(tasks) - _SHOWN} more in the JSON and HTML reports."]
    return [*lines, "", "</details>"]
