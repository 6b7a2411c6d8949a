"""The command line: a table of commands. Each command imports what it needs when it runs."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from likewise.cli import (
    calibrate,
    check,
    compare,
    convert,
    fit,
    formats,
    inspect,
    judge_eval,
    label,
    plan,
    report,
    score,
    tools,
)
from likewise.cli import run as run_command

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
app.command("run", short_help="Ask an agent several times, serve only what holds.")(run_command.run)
app.command("check", short_help="The same verdict for recorded answers.")(check.check)
app.command("compare", short_help="Say whether a candidate is better than a base.")(compare.compare)
app.command("plan", short_help="Say how many runs a claim needs.")(plan.plan)
app.command("fit", short_help="Learn to see divergence ahead, turn by turn.")(fit.fit)
app.command("score", short_help="Score every turn with a learned metric.")(score.score)
app.command("calibrate", short_help="Say what may be claimed of a learned metric.")(calibrate.calibrate)
app.command("inspect", short_help="Say what would be read, judging nothing.")(inspect.inspect)
app.command("formats", short_help="List the log formats that are read.")(formats.formats)
app.command("convert", short_help="Write runs of any format as JSON Lines of ours.")(convert.convert)
app.command("tools", short_help="List the tools that runs call, and pin what they do.")(tools.tools)
app.command("label", short_help="Label pairs of actions, as many as there are.")(label.label)
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
    """Run the command that the arguments name; `likewise.cli.start` comes before."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a task's name that the encoding lacks must not end the program
            stream.reconfigure(errors="replace")
    app()
