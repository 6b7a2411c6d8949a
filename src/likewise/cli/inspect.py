"""`likewise inspect`: what would be read from files, and what excluded, without judging anything."""

from __future__ import annotations

import json

import typer

from likewise.cli.errors import plain_errors
from likewise.cli.options import AsJson, Debug, Format, MapFile, Paths, Strict

__all__ = ["inspect"]


@plain_errors
def inspect(
    runs: Paths,
    format: Format = None,
    map_file: MapFile = None,
    strict: Strict = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Say what would be read: format, tasks, rollouts, turns, tool calls, and what is excluded and why."""
    del debug
    from likewise.cli.progress import progress_display
    from likewise.formats.registry import stream_rollouts
    from likewise.formats.summary import Tally

    tally, progress = Tally(), progress_display(as_json)
    stream = stream_rollouts(runs, format=format, mapping=map_file, strict=strict, progress=progress)
    for rollout in stream:
        tally.add(rollout)
    summary = tally.summary(stream)
    if as_json:
        typer.echo(json.dumps(summary, indent=2))
        return
    from rich.console import Console

    from likewise.report.inspection import render_inspection

    render_inspection(summary, Console())
