"""The paper's tables as text: Markdown, LaTeX (booktabs) and CSV."""

from __future__ import annotations

import csv
import io
import re

from likewise.core.estimate import Estimate
from likewise.evaluation.paper_tables import PaperTables, Table
from likewise.report.markdown_text import code, plain
from likewise.report.markdown_text import table as markdown_table
from likewise.report.tables_words import CellText, cell_text, column_title, method_name, remarks, tables_of_paper
from likewise.report.text import one_line

__all__ = ["tables_csv", "tables_latex", "tables_markdown"]

_CSV = ("table", "method", "lambda", "figure", "tasks", "value", "low", "high", "reason",
        "change", "change_low", "change_high", "change_reason")  # fmt: skip
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "↑": r"$\uparrow$", "↓": r"$\downarrow$", "λ": r"$\lambda$", "−": "$-$", "–": "--",
}  # fmt: skip
_TO_ESCAPE = re.compile("|".join(map(re.escape, _LATEX)))


def tables_markdown(tables: PaperTables) -> str:
    """All tables under each other; ends with a line end."""
    lines: list[str] = []
    for number, table in tables_of_paper(tables):
        head = ("method", *(plain(column_title(column)) for column in table.columns))
        rows = [
            (code(method_name(row)), *(_markdown(cell_text(row.cells[each.name], each)) for each in table.columns))
            for row in table.rows
        ]
        lines += [f"**Table {number}. {plain(table.title)}**", "", *markdown_table(head, rows, range(1, len(head))), ""]
    return "\n".join([*lines, *(f"- {plain(remark)}" for remark in remarks(tables))]) + "\n"


def _markdown(cell: CellText) -> str:
    parts = [cell.value + (f" ({cell.change})" if cell.change else "")]
    spread = [f"[{ends}]" for ends in (cell.interval, cell.change_interval) if ends]
    return "<br>".join(parts + ([f"<sub>{' '.join(spread)}</sub>"] if spread else []))


def tables_latex(tables: PaperTables) -> str:
    """One `table` environment each, for the package booktabs; every text of others escaped."""
    lines: list[str] = [f"% {one_line(remark)}" for remark in remarks(tables)]
    for _, table in tables_of_paper(tables):
        lines += _latex_table(table)
    return "\n".join(lines) + "\n"


def _latex_table(table: Table) -> list[str]:
    head = " & ".join(("Method", *(_escaped(column_title(column)) for column in table.columns)))
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escaped(table.title)}}}",
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
        rf"{head} \\",
        r"\midrule",
    ]
    for row in table.rows:
        cells = [cell_text(row.cells[column.name], column) for column in table.columns]
        shown = [_escaped(cell.value + (f" ({cell.change})" if cell.change else "")) for cell in cells]
        lines.append(rf"{' & '.join((_escaped(method_name(row)), *shown))} \\")
        if any(cell.interval or cell.change_interval for cell in cells):
            spread = [" ".join(f"[{ends}]" for ends in (c.interval, c.change_interval) if ends) for c in cells]
            small = (rf"{{\scriptsize {_escaped(ends)}}}" if ends else "" for ends in spread)
            lines.append(rf" & {' & '.join(small)} \\")
    return [*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"]


def _escaped(text: str) -> str:
    return _TO_ESCAPE.sub(lambda found: _LATEX[found[0]], one_line(text))


def tables_csv(tables: PaperTables) -> str:
    """One line a number, with its interval or the reason why there is none; numbers in full."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_CSV)
    for number, table in tables_of_paper(tables):
        for row in table.rows:
            for column in table.columns:
                cell = row.cells[column.name]
                mixing = "" if row.mixing is None else row.mixing
                place = (number, _guarded(one_line(row.method)), mixing, column.name, table.tasks[column.name])
                writer.writerow((*place, *_numbers(cell.value), *_numbers(cell.change)))
    return file.getvalue()


def _numbers(estimate: Estimate | None) -> tuple[float | str, ...]:
    if estimate is None:
        return "", "", "", ""
    ends = ("" if number is None else number for number in (estimate.value, estimate.low, estimate.high))
    return (*ends, estimate.reason or "")


def _guarded(name: str) -> str:
    """A name that a spreadsheet would read as a formula, made text."""
    return f"'{name}" if name[:1] in ("=", "+", "-", "@") else name
