"""`likewise inspect`: what would be read from files, and what excluded, without judging anything."""

from __future__ import annotations

import json

import typer

from likewise.cli.errors import plain_errors
from likewise.cli.options import AsJson, Debug, Format, Paths, Strict

__all__ = ["inspect"]


@plain_errors
def inspect(
    runs: Paths, format: Format = None, strict: Strict = False, as_json: AsJson = False, debug: Debug = False
) -> None:
    """Say what would be read: format, tasks, rollouts, turns, tool calls, and what is excluded and why."""
    del debug
    from likewise.formats.registry import read_rollouts
    from likewise.formats.summary import summarise

    summary = summarise(read_rollouts(runs, format=format, strict=strict))
    if as_json:
        typer.echo(json.dumps(summary, indent=2))
        return
    from rich.console import Console

    from likewise.report.inspection import render_inspection

    render_inspection(summary, Console())
