"""Verdicts in the terminal: one row a query, then what clashes and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from likewise.report.terminal import print_plainly
from likewise.report.text import one_line
from likewise.report.words import counted

__all__ = ["render_verdicts"]

_STYLE = {"serve": "green", "flag": "yellow", "refuse": "red", "error": "red"}
ROWS = 200
"""Queries that are listed; more are counted."""


def render_verdicts(entries: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Print verdicts, as `Verdict.as_json` gives them with their `id` and `error`."""
    print_plainly(Group(*_parts(entries)), console)


def _parts(entries: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, highlight=False)
    for name in ("query", "decision", "label", "reliability", "agreed", "failed"):
        table.add_column(name, overflow="fold", justify="right" if name in ("agreed", "failed") else "left")
    for entry in entries[:ROWS]:
        table.add_row(*_row(entry))
    parts: list[RenderableType] = [table]
    if len(entries) > ROWS:
        parts.append(_said(f"and {len(entries) - ROWS} more"))
    for entry in entries[:ROWS]:
        parts += _details(entry)
    counts = {name: sum(_decision(entry) == name for entry in entries) for name in _STYLE}
    told = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    parts.append(_said(f"{counted(len(entries), 'question')}: {told}", "bold"))
    return parts


def _decision(entry: Mapping[str, Any]) -> str:
    return "error" if entry.get("error") else str(entry.get("decision"))


def _row(entry: Mapping[str, Any]) -> list[str | Text]:
    decision = _decision(entry)
    name = one_line(str(entry.get("id", "")), 40)
    if entry.get("error"):
        return [name, Text(decision, style=_STYLE[decision]), "", "not measured", "", str(len(entry["audit_trail"]))]
    interval = entry["reliability_interval"]
    value = "not measured" if interval["value"] is None else f"{interval['value']:.2f}"
    if interval.get("low") is not None:
        value += f" [{interval['low']:.2f}, {interval['high']:.2f}]"
    style = _STYLE.get(decision, "")
    agreed, failed = str(entry["runs_agreed"]), str(entry["runs_failed"])
    return [name, Text(decision, style=style), str(entry["label"]), value, agreed, failed]


def _details(entry: Mapping[str, Any]) -> list[RenderableType]:
    """The answer where it is served, and the reasons where it is not simply served."""
    name = one_line(str(entry.get("id", "")), 40)
    if entry.get("error"):
        return [_said(f"{name}: {one_line(str(entry['error']), 300)}", "red")]
    parts: list[RenderableType] = []
    if entry.get("answer") is not None:
        parts.append(_said(f"{name}: {one_line(str(entry['answer']), 300)}"))
    for call in entry.get("tool_calls") or ():
        parts.append(_said(f"{name}: calls {one_line(str(call['name']), 80)} {one_line(str(call['arguments']), 200)}"))
    parts += [_said(f"{name}: {one_line(reason, 400)}", "yellow") for reason in entry["reasons"]]
    fix = entry["remediation_report"]["priority_fix"]
    if fix:
        parts.append(_said(f"{name}: to do: {one_line(str(fix), 300)}", "dim"))
    return parts


def _said(sentence: str, style: str = "") -> Padding:
    return Padding(Text(sentence, style=style), (0, 0, 0, 1))
