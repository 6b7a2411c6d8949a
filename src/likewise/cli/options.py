"""Options that several commands share: one name, one meaning, one help line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = ["AsJson", "Debug", "Format", "NoStore", "Paths", "Quiet", "Store", "Strict"]

Paths: TypeAlias = Annotated[list[Path], typer.Argument(help="Files or folders of rollouts.", metavar="RUNS...")]
Format: TypeAlias = Annotated[
    str | None, typer.Option("--format", help="Read as this format instead of recognising it.", metavar="NAME")
]
Strict: TypeAlias = Annotated[bool, typer.Option("--strict", help="Refuse what would otherwise be excluded.")]
Store: TypeAlias = Annotated[
    Path | None,
    typer.Option("--store", help="Label store to use.", metavar="FILE", envvar="LIKEWISE_LABEL_STORE"),
]
NoStore: TypeAlias = Annotated[bool, typer.Option("--no-store", help="Neither read nor write the label store.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars, no table.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Debug: TypeAlias = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
