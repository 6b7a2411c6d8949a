"""What would be read from files, as a terminal table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from likewise.report.text import one_line
from likewise.report.words import location

__all__ = ["render_inspection"]

COUNTS = ("tasks", "rollouts", "valid", "turns", "tool_calls")


def _plain(value: object) -> Text:
    """A cell that prints as it stands: log text is neither markup nor terminal escapes."""
    return Text(one_line(str(value)) if value is not None else "-")


def render_inspection(summary: Mapping[str, Any], console: Console) -> None:
    """Print formats, counts, what is excluded and why, and warnings."""
    files = Table("file", "format")
    for file in summary["files"]:
        files.add_row(_plain(file["path"]), _plain(file["format"]))
    console.print(files)
    counts = Table(*COUNTS)
    counts.add_row(*(f"{summary[key]:,}" for key in COUNTS))
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
