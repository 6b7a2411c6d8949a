"""The tools that rollouts call, as a list in the terminal and as JSON (`likewise.tools/1`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from likewise.backends.tool_classes import ClassSource
from likewise.backends.tool_names import ToolClass
from likewise.backends.tool_rules import ToolRules
from likewise.core.config import nearest
from likewise.report.text import one_line
from likewise.scoring.tool_inventory import ArgumentRole, ArgumentSummary, ToolSummary

__all__ = ["SCHEMA", "ToolReport", "render_tools", "tools_as_json"]

SCHEMA = "likewise.tools/1"
LONGEST_NAME = 60
WIDEST_NAME = 40
"""Characters of a tool's name behind which the counts still stand in one column."""


@dataclass(frozen=True, slots=True)
class ToolReport:
    """What `likewise tools` shows.

    Attributes:
        tools: The tools found.
        rules: How their calls are compared.
        config: Configuration file in use, if any.
        warnings: What was wrong with the files read.
    """

    tools: Sequence[ToolSummary]
    rules: ToolRules
    config: str | None = None
    warnings: Sequence[str] = ()

    @property
    def unused(self) -> list[str]:
        """What the configuration speaks of and no rollout has, each with the nearest that one has."""
        found = [tool.name for tool in self.tools]
        names = sorted(self.rules.configured_tools - set(found))
        return [f"tool {name!r}{nearest(name, found)}" for name in names] + [
            f"argument {each} of {tool.name!r}" for tool in self.tools for each in tool.unknown_arguments
        ]


def tools_as_json(report: ToolReport) -> dict[str, object]:
    """Schema `likewise.tools/1`; docs/configuration.md explains it."""
    return {
        "schema": SCHEMA,
        "rules": report.rules.rules_id,
        "config": report.config,
        "tools": [
            {
                "name": tool.name,
                "calls": tool.calls,
                "rollouts": tool.rollouts,
                "tasks": tool.tasks,
                "class": str(tool.verdict.tool_class),
                "source": str(tool.verdict.source),
                "reason": tool.verdict.reason,
                "arguments": [
                    {"path": each.path, "calls": each.calls, "role": str(each.role), "mode": each.mode}
                    for each in tool.arguments
                ],
                "more_arguments": tool.more_arguments,
            }
            for tool in report.tools
        ],
        "unused": report.unused,
        "warnings": list(report.warnings),
    }


def render_tools(report: ToolReport, console: Console) -> None:
    """Print a line for each tool, its arguments by their role below it; then what to look at.

    No columns: a tool's name is what the user types after --pin, and must not be shortened.
    """
    widest = min(max((len(one_line(tool.name)) for tool in report.tools), default=0), WIDEST_NAME)
    for tool in report.tools:
        name = one_line(tool.name).ljust(widest)
        used = f"{tool.calls:>6,} {_noun(tool.calls, 'call')} in {tool.tasks:>3,} {_noun(tool.tasks, 'task').rstrip()}"
        words = "changes state" if tool.verdict.tool_class is ToolClass.CHANGES else "reads"
        console.print(Text(name, style="bold").append(f"  {used.ljust(25)}  {words}", style="not bold"))
        console.print(Padding(Text(one_line(_why(tool)), style="dim"), (0, 0, 0, 4), expand=False))
        for line in _arguments(tool):
            console.print(Padding(Text(one_line(line)), (0, 0, 0, 4), expand=False))
    if report.unused:
        where = report.config or "the configuration"
        console.print(Text(one_line(f"warning: {where} speaks of what no run has: {', '.join(report.unused)}")))
    for warning in report.warnings:
        console.print(Text("warning: " + one_line(warning)))
    footer = f"settings: {report.config or 'none'}   rules: {report.rules.rules_id}"
    console.print(Text(one_line(footer), style="dim"))


def _noun(count: int, noun: str) -> str:
    return f"{noun} " if count == 1 else f"{noun}s"


def _why(tool: ToolSummary) -> str:
    return "pinned" if tool.verdict.source is ClassSource.PIN else f"{tool.verdict.source}: {tool.verdict.reason}"


def _arguments(tool: ToolSummary) -> list[str]:
    lines = []
    for role in ArgumentRole:
        listed = [_argument(each, tool.calls) for each in tool.arguments if each.role is role]
        if listed:
            lines.append(f"{role}: {', '.join(listed)}")
    if tool.more_arguments:
        lines.append(f"and {tool.more_arguments:,} more arguments")
    return lines or ["no arguments"]


def _argument(argument: ArgumentSummary, calls: int) -> str:
    """Name, how the user wants it compared, and in how many calls where not in all."""
    notes = [] if argument.mode is None or argument.role is ArgumentRole.IGNORED else [argument.mode]
    notes += [f"{argument.calls:,} of {calls:,} calls"] if argument.calls < calls else []
    name = one_line(argument.path, LONGEST_NAME) or "(not parsed)"
    return f"{name} ({', '.join(notes)})" if notes else name
