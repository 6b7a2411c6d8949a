"""Options that several commands share: one name, one meaning, one help line."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from likewise.backends.label_store import LabelStore

__all__ = ["AsJson", "Debug", "Format", "NoStore", "Paths", "Quiet", "Store", "Strict", "open_store"]


def _at_least_one(context: typer.Context, paths: list[Path] | None) -> list[Path]:
    if not paths and not context.resilient_parsing:
        raise typer.BadParameter(f"name files or folders of recorded runs, as in: {context.command_path} runs/*.json")
    return paths or []


Paths: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        help="Files or folders of recorded runs.",
        metavar="RUNS",
        callback=_at_least_one,
        default_factory=list,  # not "required": the callback says what to type
        show_default=False,
    ),
]
Format: TypeAlias = Annotated[
    str | None, typer.Option("--format", help="Read as this format; found file by file if not given.", metavar="NAME")
]
Strict: TypeAlias = Annotated[bool, typer.Option("--strict", help="Refuse what would otherwise be excluded.")]
Store: TypeAlias = Annotated[
    Path | None,
    typer.Option("--store", help="Where judgements are kept.", metavar="FILE", envvar="LIKEWISE_LABEL_STORE"),
]
NoStore: TypeAlias = Annotated[bool, typer.Option("--no-store", help="Neither read nor keep judgements.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no table.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Debug: TypeAlias = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def open_store(store: Path | None, no_store: bool) -> AbstractContextManager[LabelStore | None]:
    """The label store that the options name; the environment and the default come after them."""
    from likewise.backends.label_store import LabelStore, default_path

    return nullcontext() if no_store else LabelStore((store or default_path()).expanduser())
