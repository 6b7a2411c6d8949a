"""`likewise formats`: which log formats are read, and what each says of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from likewise.cli.errors import ExitCode, plain_errors, say
from likewise.cli.options import AsJson, Debug

__all__ = ["formats"]


@plain_errors
def formats(
    file: Annotated[
        Path | None, typer.Argument(help="Say of this file which format it has, and why not the others.")
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """List the log formats that are read, those of other packages included.

    With a file: what each format says of it. The first that fits reads it. Exit code 3 where none does.
    """
    del debug
    from likewise.formats.registry import FORMATS, available_formats, claims
    from likewise.formats.walk import PACKED, SUFFIXES

    found = available_formats()
    said = claims(file) if file is not None else {}
    rows = [
        {
            "name": name,
            "description": each.DESCRIPTION,
            "suffixes": sorted(SUFFIXES.union(getattr(each, "SUFFIXES", ()))),
            "built_in": name in FORMATS,
            **({"fits": said[name] is None, "reason": said[name]} if file is not None else {}),
        }
        for name, each in found.items()
    ]
    if as_json:
        typer.echo(json.dumps({"schema": "likewise.formats/1", "formats": rows, "packed": list(PACKED)}, indent=2))
    else:
        from rich.console import Console

        from likewise.report.inspection import render_formats

        render_formats(rows, Console())
        if file is None:
            common = ", ".join(sorted(SUFFIXES))
            typer.echo(f"Each may also be in a file of {common}.")
            typer.echo(f"Any file may be packed ({', '.join(PACKED)}).")
    if file is not None and None not in said.values():
        say(f"error: {file}: no format fits; --map reads any JSON by a mapping of your own")
        raise typer.Exit(ExitCode.INPUT)
