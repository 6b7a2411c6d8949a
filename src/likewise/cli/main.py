"""The command line: the table of commands, the program's own options, and its start."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from likewise.cli.command_table import Entry, TableGroup

__all__ = ["app", "run"]


class _Commands(TableGroup):
    """All commands, in the order of `likewise --help`."""

    table: ClassVar[Mapping[str, Entry]] = {
        "report": Entry("likewise.cli.report:report", "Measure how alike the runs of each task are."),
        "run": Entry("likewise.cli.run:run", "Ask an agent several times, serve only what holds."),
        "check": Entry("likewise.cli.check:check", "The same verdict for recorded answers."),
        "compare": Entry("likewise.cli.compare:compare", "Say whether a candidate is better than a base."),
        "tables": Entry("likewise.cli.tables:tables", "Compare methods in the tables of the paper."),
        "grade": Entry("likewise.cli.grade:grade", "Give runs progress by a judge over grading notes."),
        "predict": Entry("likewise.cli.predict:predict", "Say whether consistency predicts success here."),
        "plan": Entry("likewise.cli.plan:plan", "Say how many runs a claim needs."),
        "collect": Entry("likewise.cli.collect:collect", "Run an agent in an environment, several times."),
        "fit": Entry("likewise.cli.fit:fit", "Learn to see divergence ahead, turn by turn."),
        "score": Entry("likewise.cli.score:score", "Score every turn with a learned metric."),
        "calibrate": Entry("likewise.cli.calibrate:calibrate", "Say what may be claimed of a learned metric."),
        "inspect": Entry("likewise.cli.inspect:inspect", "Say what would be read, judging nothing."),
        "formats": Entry("likewise.cli.formats:formats", "List the log formats that are read."),
        "convert": Entry("likewise.cli.convert:convert", "Write runs of any format as JSON Lines of ours."),
        "tools": Entry("likewise.cli.tools:tools", "List the tools that runs call, and pin what they do."),
        "label": Entry("likewise.cli.label:label", "Label pairs of actions, as many as there are."),
        "doctor": Entry("likewise.cli.doctor:doctor", "Try what is installed and set up here."),
        "serve": Entry("likewise.cli.serve:serve", "Serve REST and the OpenAI-compatible proxy."),
        "judge-eval": Entry("likewise.cli.judge_eval:judge_eval", "Score the judge on labelled pairs."),
        "train": Entry("likewise.cli.train:app", "Train an agent to act alike, by a recipe."),
        "keys": Entry("likewise.cli.keys:app", "Make, list and revoke API keys of the service."),
        "db": Entry("likewise.cli.db:app", "Look after the history of verdicts."),
    }


app = typer.Typer(
    name="likewise",
    help="Tells whether an LLM agent behaves alike when it is run again, and shows where and why it does not.",
    epilog="Start here: likewise report runs/*.json --html report.html",
    cls=_Commands,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich takes longer to import than all of --help otherwise does
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    if {"--install-completion", "--show-completion"} & set(sys.argv[1:-1]):  # followed by the name of a shell
        os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"  # the one way to make Typer take it
    app()
