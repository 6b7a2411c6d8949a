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
    if Path("-") in (paths or []) and not Path("-").exists():
        raise typer.BadParameter("standard input is not read; name a file (with `< FILE`, /dev/stdin is one)")
    return paths or []


def _known_format(name: str | None) -> str | None:
    """Refused as usage, before any file is opened: no file makes such a format right."""
    if name is not None:
        from likewise.formats.registry import available_formats

        if name not in (formats := available_formats()):
            raise typer.BadParameter(f"no format {name!r}; there are {', '.join(formats)}")
    return name


def _not_both(context: typer.Context) -> None:
    """The environment may name a store that --no-store then turns off; two options contradict each other."""
    sources = [context.get_parameter_source(name) for name in ("store", "no_store")]
    if all(source is not None and source.name == "COMMANDLINE" for source in sources):
        raise typer.BadParameter("--store and --no-store exclude each other")


def _store(context: typer.Context, store: Path | None) -> Path | None:
    _not_both(context)
    return store


def _no_store(context: typer.Context, no_store: bool) -> bool:
    _not_both(context)
    return no_store


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
    str | None,
    typer.Option(
        "--format",
        help="Read as this format; found file by file if not given.",
        metavar="NAME",
        callback=_known_format,
    ),
]
Strict: TypeAlias = Annotated[bool, typer.Option("--strict", help="Refuse what would otherwise be excluded.")]
Store: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--store",
        help="Where judgements are kept. Default: user cache folder; LIKEWISE_LABEL_STORE or --store choose another.",
        metavar="FILE",
        envvar="LIKEWISE_LABEL_STORE",
        show_envvar=False,  # the help line names it
        callback=_store,
    ),
]
NoStore: TypeAlias = Annotated[
    bool, typer.Option("--no-store", help="Neither read nor keep judgements.", callback=_no_store)
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no table.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Debug: TypeAlias = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def open_store(store: Path | None, no_store: bool) -> AbstractContextManager[LabelStore | None]:
    """The label store that the options name; the environment and the default come after them."""
    from likewise.backends.label_store import LabelStore, default_path

    return nullcontext() if no_store else LabelStore((store or default_path()).expanduser())
