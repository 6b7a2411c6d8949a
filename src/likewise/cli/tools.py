"""`likewise tools`: which tools the runs call, how their calls are compared, and a way to say otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.errors import ExitCode, plain_errors, say
from likewise.cli.options import AsJson, ConfigFile, Debug, Format, MapFile, Paths, Strict, ToolsFiles, load_config

if TYPE_CHECKING:
    from likewise.backends.tool_names import ToolClass

__all__ = ["tools"]


@plain_errors
def tools(
    runs: Paths,
    pin: Annotated[
        list[str] | None,
        typer.Option(
            "--pin",
            help="Say what a tool does, and write it to the settings file; may be repeated.",
            metavar="TOOL=reads|changes",
        ),
    ] = None,
    config: ConfigFile = None,
    tools_files: ToolsFiles = None,
    format: Format = None,
    map_file: MapFile = None,
    strict: Strict = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """List the tools that the runs call: calls, tasks, whether each reads or changes state and why, its arguments.

    Two calls that change one object to different values contradict each other, two look-ups never do: pin a tool where
    its name misleads.
    """
    del debug
    from likewise.backends.tool_rules import ToolRules
    from likewise.cli.pins import parse_pins, write_pins
    from likewise.cli.targets import check_targets
    from likewise.core.config import FILE_NAME
    from likewise.formats.registry import read_rollouts
    from likewise.report.tool_list import ToolReport, render_tools, tools_as_json
    from likewise.scoring.tool_inventory import logged_hints, tool_inventory

    pins = parse_pins(pin or [])
    target = config or Path(FILE_NAME)
    check_targets({"--config": str(target) if pins else None}, runs)
    settings = load_config(config, may_be_missing=bool(pins))
    rules = ToolRules.from_config(settings, tools_files or ())
    rollouts = read_rollouts(runs, format=format, mapping=map_file, strict=strict)
    hints = logged_hints(rollouts)
    found = tool_inventory(rollouts, rules.with_hints(hints))
    if not found:
        say(f"error: no tool is called in the {len(rollouts)} rollout(s) read; `likewise inspect` says what is in them")
        raise typer.Exit(ExitCode.INPUT)
    if pins:
        _refuse_unknown(pins, {tool.name for tool in found} | rules.hinted_tools)
        write_pins(target, pins)
        settings = load_config(target)
        rules = ToolRules.from_config(settings, tools_files or ())
        found = tool_inventory(rollouts, rules.with_hints(hints))
        say(f"wrote {target}: {', '.join(f'{name} = {each}' for name, each in pins.items())}")
    report = ToolReport(found, rules.with_hints(hints), settings.path or None, rollouts.warnings)
    if as_json:
        typer.echo(json.dumps(tools_as_json(report), indent=2))
        return
    from rich.console import Console

    render_tools(report, Console())


def _refuse_unknown(pins: dict[str, ToolClass], known: set[str]) -> None:
    from likewise.core.config import nearest

    for name in pins:
        if name not in known:
            hint = nearest(name, known) or f"; there are {', '.join(sorted(known))}"
            raise typer.BadParameter(f"no run calls a tool {name!r}{hint}", param_hint="--pin")
