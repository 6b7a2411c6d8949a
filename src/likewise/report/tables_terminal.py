"""The paper's tables in the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from likewise.evaluation.paper_tables import PaperTables, Table
from likewise.report.tables_words import CellText, cell_text, column_title, method_name, remarks, tables_of_paper
from likewise.report.terminal import print_plainly
from likewise.report.text import one_line

__all__ = ["render_tables"]


def render_tables(tables: PaperTables, console: Console) -> None:
    """Print the tables under each other: mean, its interval, its change, the change's interval."""
    parts: list[RenderableType] = []
    for number, table in tables_of_paper(tables):
        parts += [Padding(Text(f"Table {number}. {table.title}", style="bold"), (1, 0, 0, 1)), _grid(table)]
    parts += [Padding(Text(one_line(remark), style="dim"), (0, 0, 0, 1)) for remark in remarks(tables)]
    print_plainly(Group(*parts), console)


def _grid(table: Table) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), highlight=False)
    grid.add_column("method", overflow="fold", min_width=8)
    for column in table.columns:
        grid.add_column(column_title(column), justify="right", overflow="fold")
    for row in table.rows:
        cells = [_stacked(cell_text(row.cells[column.name], column)) for column in table.columns]
        grid.add_row(Text(method_name(row, 40)), *cells)
    return grid


def _stacked(cell: CellText) -> Text:
    lines = [Text(cell.value), Text(cell.interval, style="dim"), Text(cell.change, style="bold")]
    lines.append(Text(cell.change_interval, style="dim"))
    return Text("\n").join(line for line in lines if line.plain)
