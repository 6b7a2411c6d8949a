"""The command line: a table of commands. Each command imports what it needs when it runs."""

from __future__ import annotations

import signal
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from likewise.cli import inspect, judge_eval, report
from likewise.cli.errors import ExitCode

__all__ = ["app", "run"]

app = typer.Typer(
    name="likewise",
    help="Tells whether an LLM agent behaves alike when it is run again, and shows where and why it does not.",
    epilog="Start here: likewise report runs/*.json --html report.html",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich takes longer to import than all of --help otherwise does
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("report", short_help="Measure how alike the runs of each task are.")(report.report)
app.command("inspect", short_help="Say what would be read, judging nothing.")(inspect.inspect)
app.command("judge-eval", short_help="Score the judge on labelled pairs.")(judge_eval.judge_eval)


def _print_version(wanted: bool) -> None:
    if wanted:
        from likewise.core.version import VERSION

        typer.echo(f"likewise {VERSION}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    del version


def run() -> None:
    """Entry point of the `likewise` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a task's name that the encoding lacks must not end the program
            stream.reconfigure(errors="replace")
    try:
        app()
    except SystemExit as end:
        if end.code == ExitCode.INTERRUPTED:  # a second Ctrl-C has nothing left to stop
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise
