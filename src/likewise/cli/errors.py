"""One place where an exception becomes a sentence and an exit code."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from enum import IntEnum
from typing import ParamSpec

import typer

from likewise.core.errors import BackendError, LikewiseError, MissingExtraError
from likewise.core.state_text import canonical_text

__all__ = ["ExitCode", "plain_errors"]

Parameters = ParamSpec("Parameters")


class ExitCode(IntEnum):
    """What CI can act on."""

    FINE = 0
    THRESHOLD = 1
    """A threshold failed: the runs were measured and are not good enough."""
    USAGE = 2
    INPUT = 3
    """A file cannot be read, or holds no rollouts."""
    BACKEND = 4
    """An optional part is missing, or a judge, an encoder or the label store does not work."""
    INTERNAL = 70
    """A fault of ours (EX_SOFTWARE)."""
    INTERRUPTED = 130


def plain_errors(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Turn exceptions of a command into one plain message and an exit code; with `--debug`, show the traceback."""

    @functools.wraps(command)
    def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except (Exception, KeyboardInterrupt) as problem:
            if kwargs.get("debug"):
                raise
            raise typer.Exit(_explain(problem)) from None

    return guarded


def _explain(problem: BaseException) -> ExitCode:
    """Say what happened on standard error, and give the exit code for it."""
    if isinstance(problem, BrokenPipeError):  # the reader of our output has gone, which is its right
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.FINE
    if isinstance(problem, KeyboardInterrupt):
        _say("interrupted. What was judged is kept; the same command goes on from there.")
        return ExitCode.INTERRUPTED
    if isinstance(problem, (BackendError, MissingExtraError)):
        _say(f"error: {problem}")
        return ExitCode.BACKEND
    if isinstance(problem, LikewiseError):
        _say(f"error: {problem}")
        return ExitCode.INPUT
    if isinstance(problem, OSError):
        where = f"{problem.filename}: " if problem.filename else ""
        _say(f"error: {where}{problem.strerror or problem}")
        return ExitCode.INPUT
    if isinstance(problem, MemoryError):
        _say("error: out of memory. Split the input into files of fewer tasks.")
        return ExitCode.INPUT
    _say(f"internal error: {type(problem).__name__}: {problem}")
    _say("This is a fault of likewise, not of your input. Run again with --debug and report the traceback.")
    return ExitCode.INTERNAL


def _say(message: str) -> None:
    # Error texts quote log files, and those may hold terminal escapes.
    typer.echo("likewise: " + canonical_text(message), err=True)
