"""Files that a command writes: refused before the work where they cannot be, written whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from likewise.cli.errors import say
from likewise.cli.interrupts import heed

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["check_targets", "write_and_show", "write_faces", "write_target"]

STANDARD_OUTPUT = "-"


def check_targets(targets: dict[str, str | None], runs: Sequence[Path], *, overwrite: bool = False) -> None:
    """Refuse targets that cannot be written, or that would destroy what is to be read.

    Args:
        targets: Option -> file it names, or None.
        runs: Files and folders to be read.
        overwrite: A target may hold runs, as long as they are none of those to be read.

    Raises:
        typer.BadParameter: A target cannot be written; it says why.
    """
    given = {option: target for option, target in targets.items() if target is not None}
    if len({_place(target) for target in given.values()}) < len(given):
        raise typer.BadParameter("each needs a file of its own", param_hint=" and ".join(given))
    for option, target in given.items():
        problem = None if target == STANDARD_OUTPUT else _problem(Path(target), runs, overwrite)
        if problem:
            raise typer.BadParameter(problem, param_hint=option)


def _place(target: str) -> str:
    return target if target == STANDARD_OUTPUT else os.path.realpath(target)


def _problem(target: Path, runs: Sequence[Path], overwrite: bool) -> str | None:
    folder = target.absolute().parent
    try:
        if target.is_dir():
            return f"{target} is a folder; name a file in it"
        if not folder.is_dir():
            return f"the folder {folder} does not exist; create it first"
        if not target.exists():
            return None if os.access(folder, os.W_OK) else f"the folder {folder} cannot be written"
    except (OSError, ValueError) as error:
        return f"{target} cannot be a file's name: {error}"
    if not target.is_file():  # a device or a pipe
        return None
    read = any(run.exists() and (run.samefile(target) or _inside(target, run)) for run in runs)
    if read and overwrite:
        return f"{target} is among what is to be read and would be overwritten; name another file"
    if any(run.exists() and run.samefile(target) for run in runs) or (not overwrite and _holds_runs(target)):
        return f"{target} holds recorded runs and would be overwritten; the option names the file to write"
    return None


def _inside(target: Path, folder: Path) -> bool:
    return folder.is_dir() and target.resolve().is_relative_to(folder.resolve())


def _holds_runs(target: Path) -> bool:
    """`likewise report --json runs/*.json` makes the first log the target: it must survive that."""
    from likewise.core.errors import LikewiseError
    from likewise.formats.files import read_head
    from likewise.formats.registry import FORMATS

    try:
        head = read_head(target)
    except LikewiseError:
        return False
    return any(each.sniff(head, target) is None for each in FORMATS.values())


def _print(text: str) -> None:
    try:
        typer.echo(text, nl=False)
    except BrokenPipeError:
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is buffered would fail again at exit
        raise OSError(error.errno, f"cannot be written ({error.strerror or error})", "standard output") from error


def write_target(target: str, text: str) -> bool:
    """Write to a file atomically, or to standard output; tell whether it was a file.

    Raises:
        KeyboardInterrupt: An interrupt came before; nothing is written.
        OSError: It cannot be written; named by the target, not by the temporary file beside it.
    """
    from likewise.report.write import write_atomically

    heed()
    if target == STANDARD_OUTPUT:
        _print(text)
        return False
    try:
        write_atomically(target, text)
    except OSError as error:
        raise OSError(error.errno, f"cannot be written ({error.strerror or error})", target) from error
    return True


def write_faces(targets: Mapping[str, str | None], face: Callable[[str], str]) -> list[str]:
    """Write what was asked for and return the files; nothing is written before everything is rendered.

    Args:
        targets: Option -> the file it names, or standard output; None where it was not given.
        face: Renders what an option stands for.

    Raises:
        KeyboardInterrupt: An interrupt came before.
        OSError: One of them cannot be written.
    """
    texts = {target: face(option) for option, target in targets.items() if target is not None}
    return [target for target, text in texts.items() if write_target(target, text)]


def write_and_show(
    targets: Mapping[str, str | None],
    face: Callable[[str], str],
    show: Callable[[Console], None],
    *,
    quiet: bool,
) -> None:
    """Write what was asked for; unless told to be quiet, show the rest on the terminal and name the files.

    Args:
        targets: Option -> the file it names, or standard output; None where it was not given.
        face: Renders what an option stands for.
        show: Renders for a terminal; not called where standard output has one of the faces.
        quiet: Say nothing.

    Raises:
        KeyboardInterrupt: An interrupt came before.
        OSError: A file cannot be written.
    """
    written = write_faces(targets, face)
    if quiet:
        return
    if STANDARD_OUTPUT not in targets.values():
        from rich.console import Console

        show(Console())
    if written:
        say(f"wrote {' and '.join(written)}")
