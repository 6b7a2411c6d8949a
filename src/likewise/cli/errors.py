"""One place where an exception becomes a sentence and an exit code."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from enum import IntEnum
from typing import ParamSpec

import typer

from likewise.cli.interrupts import CODE, work
from likewise.core.errors import (
    BackendError,
    ConfigError,
    LikewiseError,
    MissingExtraError,
    RolloutFormatError,
    StoreUnavailableError,
)
from likewise.core.paths import no_such_file

__all__ = ["ExitCode", "plain_errors", "say"]

Parameters = ParamSpec("Parameters")


class ExitCode(IntEnum):
    """What CI can act on."""

    FINE = 0
    THRESHOLD = 1
    """A threshold failed: the runs were measured and are not good enough."""
    USAGE = 2
    """The command line, or the settings file, says something that cannot be done."""
    INPUT = 3
    """A file cannot be read, or holds no rollouts."""
    BACKEND = 4
    """An optional part is missing, or a judge, an encoder or the label store does not work."""
    INTERNAL = 70
    """A fault of ours (EX_SOFTWARE)."""
    INTERRUPTED = CODE


def plain_errors(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Turn exceptions of a command into one plain message and an exit code; with `--debug`, show the traceback."""

    @functools.wraps(command)
    def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            with work():
                command(*args, **kwargs)
                if sys.stdout is not None:
                    sys.stdout.flush()  # here, where a closed pipe is still ours to be quiet about
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except BrokenPipeError:  # the reader of our output has gone, which is its right
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except (Exception, KeyboardInterrupt) as problem:
            if kwargs.get("debug"):
                raise
            code = _explain(problem, resumes=kwargs.get("no_store") is False)
            if kwargs.get("as_json") is True and isinstance(problem, RolloutFormatError) and _is_missing(problem.path):
                say("--json takes no file here: it prints; for a file, type > FILE behind the command")
            raise typer.Exit(code) from None

    return guarded


def _is_missing(path: str) -> bool:
    """Whether a name ends in .json and nothing is there: `--json out.json` reads as two arguments."""
    return path.endswith(".json") and not os.path.lexists(path)


def _explain(problem: BaseException, resumes: bool) -> ExitCode:
    """Say what happened on standard error, and give the exit code for it."""
    if isinstance(problem, KeyboardInterrupt):
        kept = "; what was judged is kept, and the same command goes on from there" if resumes else ""
        say(f"interrupted{kept}")
        return ExitCode.INTERRUPTED
    if isinstance(problem, (BackendError, MissingExtraError, StoreUnavailableError)):
        say(f"error: {problem}")
        return ExitCode.BACKEND
    if isinstance(problem, ConfigError):  # as much the user's word as the command line
        say(f"error: {problem}")
        return ExitCode.USAGE
    if isinstance(problem, LikewiseError):
        say(f"error: {problem}")
        return ExitCode.INPUT
    if isinstance(problem, OSError):
        where = f"{problem.filename}: " if problem.filename else ""
        missing = isinstance(problem, FileNotFoundError) and problem.filename
        say(f"error: {where}{no_such_file(str(problem.filename)) if missing else problem.strerror or problem}")
        return ExitCode.INPUT
    if isinstance(problem, MemoryError):
        say("error: out of memory; split the input into files of fewer tasks")
        return ExitCode.INPUT
    say(f"internal error: {type(problem).__name__}: {problem}")
    say("this is a fault of likewise, not of your input; run again with --debug and report the traceback")
    return ExitCode.INTERNAL


def say(message: str) -> None:
    """Print one line on standard error, free of the terminal escapes that quoted log text may hold."""
    from likewise.report.text import one_line

    try:
        typer.echo("likewise: " + one_line(message), err=True)
    except BrokenPipeError:  # nobody reads it; the exit code that follows still counts
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
