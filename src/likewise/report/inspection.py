"""What would be read from files, as a terminal table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from likewise.formats.walk import SUFFIXES
from likewise.report.text import location, one_line

__all__ = ["render_formats", "render_inspection"]

MOST_FILES = 40
"""More files than this are shown by format; `--json` lists them all."""
COUNTS = ("tasks", "rollouts", "valid", "turns", "tool_calls")


def _plain(value: object) -> Text:
    """A cell that prints as it stands: log text is neither markup nor terminal escapes."""
    return Text(one_line(str(value)) if value is not None else "-")


def render_inspection(summary: Mapping[str, Any], console: Console) -> None:
    """Print formats, counts, what is excluded and why, and warnings."""
    console.print(_files(summary["files"]))
    counts = Table(*COUNTS, "tasks by valid runs")
    per_task = ", ".join(f"{tasks:,} with {runs}" for runs, tasks in summary["valid_per_task"].items())
    counts.add_row(*(f"{summary[key]:,}" for key in COUNTS), per_task or "-")
    console.print(counts)
    if summary["excluded"]:
        excluded = Table("task", "run", "excluded because", title=f"{len(summary['excluded'])} excluded")
        excluded.add_column("where", overflow="fold")
        for row in summary["excluded"]:
            where = location(row["path"], row["line"], row["pointer"])
            excluded.add_row(_plain(row["task_id"]), _plain(row["run_id"]), _plain(row["reason"]), Text(where))
        console.print(excluded)
    for warning in summary["warnings"]:
        console.print(Text("warning: " + one_line(warning)))


def _files(rows: list[Mapping[str, Any]]) -> Table:
    """Each file, or, of many, each format."""
    numbers = ("rollouts", "valid", "excluded")
    if len(rows) <= MOST_FILES:
        files = Table("file", "format", *numbers)
        for row in rows:
            files.add_row(_plain(row["path"]), _plain(row["format"]), *(f"{row[key]:,}" for key in numbers))
        return files
    formats = Table("format", "files", *numbers)
    for name in dict.fromkeys(row["format"] for row in rows):
        members = [row for row in rows if row["format"] == name]
        totals = (f"{sum(row[key] for row in members):,}" for key in numbers)
        formats.add_row(_plain(name), f"{len(members):,}", *totals)
    return formats


def render_formats(rows: list[dict[str, Any]], console: Console) -> None:
    """Print the formats, with what each says of a file where one was asked about."""
    asked = any("fits" in row for row in rows)
    table = Table("format", "why not" if asked else "what it is", *(() if asked else ("own suffix",)))
    for row in rows:
        name = row["name"] if row["built_in"] else f"{row['name']} (of another package)"
        if asked:
            table.add_row(_plain(name), Text("fits", style="bold") if row["fits"] else _plain(row["reason"]))
        else:
            table.add_row(
                _plain(name),
                _plain(row["description"]),
                _plain(" ".join(sorted(set(row["suffixes"]) - SUFFIXES)) or "-"),
            )
    console.print(table)
