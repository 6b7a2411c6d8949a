"""The command line: a table of commands. Each command imports what it needs when it runs."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from likewise.cli import (
    calibrate,
    check,
    collect,
    compare,
    convert,
    db,
    doctor,
    fit,
    formats,
    grade,
    inspect,
    judge_eval,
    keys,
    label,
    plan,
    predict,
    report,
    score,
    serve,
    tables,
    tools,
    train,
)
from likewise.cli import run as run_command
from likewise.cli.usage import PlainCommand, PlainGroup

__all__ = ["app", "run"]

app = typer.Typer(
    name="likewise",
    help="Tells whether an LLM agent behaves alike when it is run again, and shows where and why it does not.",
    epilog="Start here: likewise report runs/*.json --html report.html",
    cls=PlainGroup,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich takes longer to import than all of --help otherwise does
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("report", short_help="Measure how alike the runs of each task are.")(report.report)
app.command("run", short_help="Ask an agent several times, serve only what holds.")(run_command.run)
app.command("check", short_help="The same verdict for recorded answers.")(check.check)
app.command("compare", short_help="Say whether a candidate is better than a base.")(compare.compare)
app.command("tables", short_help="Compare methods in the tables of the paper.")(tables.tables)
app.command("grade", short_help="Give runs progress by a judge over grading notes.")(grade.grade)
app.command("predict", short_help="Say whether consistency predicts success here.")(predict.predict)
app.command("plan", short_help="Say how many runs a claim needs.")(plan.plan)
app.command("collect", short_help="Run an agent in an environment, several times.")(collect.collect)
app.add_typer(train.app, name="train", short_help="Train an agent to act alike, by a recipe.")
app.command("fit", short_help="Learn to see divergence ahead, turn by turn.")(fit.fit)
app.command("score", short_help="Score every turn with a learned metric.")(score.score)
app.command("calibrate", short_help="Say what may be claimed of a learned metric.")(calibrate.calibrate)
app.command("inspect", short_help="Say what would be read, judging nothing.")(inspect.inspect)
app.command("formats", short_help="List the log formats that are read.")(formats.formats)
app.command("convert", short_help="Write runs of any format as JSON Lines of ours.")(convert.convert)
app.command("tools", short_help="List the tools that runs call, and pin what they do.")(tools.tools)
app.command("label", short_help="Label pairs of actions, as many as there are.")(label.label)
app.command("doctor", short_help="Try what is installed and set up here.")(doctor.doctor)
app.command("serve", short_help="Serve REST and the OpenAI-compatible proxy.")(serve.serve)
app.add_typer(keys.app, name="keys", short_help="Make, list and revoke API keys of the service.")
app.add_typer(db.app, name="db", short_help="Look after the history of verdicts.")
app.command("judge-eval", short_help="Score the judge on labelled pairs.")(judge_eval.judge_eval)
for table in (app, *(group.typer_instance for group in app.registered_groups if group.typer_instance is not None)):
    for command in table.registered_commands:
        command.cls = PlainCommand


def _print_version(wanted: bool) -> None:
    if wanted:
        from likewise.cli.about import version_line

        typer.echo(version_line())
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _main(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version, Python's and the models'.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    del version
    if context.invoked_subcommand is None:
        from likewise.cli.welcome import welcome

        welcome(Path())


def run() -> None:
    """Run the command that the arguments name; `likewise.cli.start` comes before."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a task's name that the encoding lacks must not end the program
            stream.reconfigure(errors="replace")
    if sys.argv[1:] in (["--help"], ["-h"]):
        _leave_options_out()
    if {"--install-completion", "--show-completion"} & set(sys.argv[1:-1]):  # followed by the name of a shell
        os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"  # the one way to make Typer take it
    app()


def _leave_options_out() -> None:
    """Spare --help the reading of what no line of it shows: the options of every command."""
    for command in app.registered_commands:
        command.callback = _no_options


def _no_options() -> None:
    """Never called."""
