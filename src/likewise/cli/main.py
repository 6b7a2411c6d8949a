"""The command line: a table of commands. Each command imports what it needs when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from likewise.cli import inspect, judge_eval, report

__all__ = ["app", "run"]

app = typer.Typer(
    name="likewise",
    help="Tells whether an LLM agent behaves alike when it is run again, and shows where and why it does not.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("report")(report.report)
app.command("inspect")(inspect.inspect)
app.command("judge-eval")(judge_eval.judge_eval)


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
    app()
