"""`likewise plan`: how many runs and tasks a claim needs, before they are paid for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.errors import plain_errors
from likewise.cli.judge_options import finite
from likewise.cli.options import AsJson, Debug, Format, MapFile, Strict

if TYPE_CHECKING:
    from likewise.evaluation.plan import Plan, Spread
    from likewise.evaluation.sides import Side

__all__ = ["plan"]

QUESTIONS = "--detect, --pass-hat with --within, --stable, --claim, --agreement or RUNS"


def _figure(name: str) -> str:
    from likewise.evaluation.sides import FIGURES

    if name not in FIGURES:
        raise typer.BadParameter(f"no figure {name!r}; there are {', '.join(FIGURES)}")
    return name


@plain_errors
def plan(
    runs_read: Annotated[
        list[Path] | None,
        typer.Argument(help="Recorded runs: which tasks need more of them.", metavar="[RUNS]", show_default=False),
    ] = None,
    detect: Annotated[
        float | None,
        typer.Option(
            help="Find a mean difference of this size by `likewise compare`.", metavar="NUMBER", callback=finite
        ),
    ] = None,
    figure: Annotated[str, typer.Option(help="Figure of --detect.", metavar="FIGURE", callback=_figure)] = "rsd",
    pass_hat: Annotated[int | None, typer.Option(help="Show pass^K.", metavar="K", min=1)] = None,
    within: Annotated[
        float | None, typer.Option(help="Half the width of the interval of pass^K.", metavar="NUMBER", callback=finite)
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="pass^K that is expected; 0.5, the worst case, if not given.", metavar="NUMBER")
    ] = None,
    stable: Annotated[
        float | None,
        typer.Option(help="Show that this share of a task's runs ends alike.", metavar="SHARE", callback=finite),
    ] = None,
    claim: Annotated[
        float | None,
        typer.Option(help="Show that failures are at most this often, by flawless trials.", metavar="RATE"),
    ] = None,
    agreement: Annotated[
        float | None,
        typer.Option(
            help="Runs that each mode of `likewise run` takes, for an agent that gives its usual answer this often.",
            metavar="SHARE",
            callback=finite,
        ),
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Runs of each task.", metavar="NUMBER", min=1)] = None,
    tasks: Annotated[int | None, typer.Option(help="Tasks at hand.", metavar="NUMBER", min=1)] = None,
    power: Annotated[
        float, typer.Option(help="Probability of finding the difference.", metavar="NUMBER", min=0.01, max=0.999)
    ] = 0.8,
    run_sd: Annotated[
        float | None,
        typer.Option(help="Noise of one run, instead of an assumed one.", metavar="NUMBER", min=0.0, callback=finite),
    ] = None,
    effect_sd: Annotated[
        float | None,
        typer.Option(
            help="How much the change differs between tasks; as much as --detect if not given.",
            metavar="NUMBER",
            min=0.0,
            callback=finite,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--from", help="Take spreads from a report written by `likewise report --json`.", metavar="FILE"),
    ] = None,
    format: Format = None,
    map_file: MapFile = None,
    strict: Strict = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Say how many runs or tasks a claim needs. Nothing is judged and nothing is run.

    likewise plan --detect 0.3 --from report.json; likewise plan --pass-hat 4 --within 0.1; likewise plan --stable 0.8;
    likewise plan --claim 0.05; likewise plan --agreement 0.9; likewise plan runs/ --runs 8
    """
    del debug
    if not runs_read and all(asked is None for asked in (detect, pass_hat, stable, claim, agreement)):
        raise typer.BadParameter(f"ask something: {QUESTIONS}")
    if (pass_hat is None) != (within is None):
        raise typer.BadParameter("--pass-hat and --within belong together")
    from likewise.evaluation import plan as planning
    from likewise.evaluation.sides import read_side
    from likewise.reliability.mode_plan import plan_modes

    side = None if report is None else read_side(report)
    try:
        answer = planning.Plan(
            confidence=0.95,
            detect=None
            if detect is None
            else planning.plan_detect(
                _spread(side, figure, run_sd, effect_sd), detect, power=power, runs=runs, tasks=tasks
            ),
            pass_hat=None
            if pass_hat is None or within is None
            else planning.plan_pass_hat(pass_hat, within, rate=rate, side=side),
            stable=None if stable is None else planning.plan_stable(stable, side=side),
            claim=None if claim is None else planning.plan_claim(claim, tasks),
        )
        modes = None if agreement is None else plan_modes(agreement, runs)
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from None
    if runs_read:
        answer = _with_top_up(answer, runs_read, runs, format, map_file, strict)
    if as_json:
        from likewise.report.plan_json import plan_as_json

        typer.echo(json.dumps(plan_as_json(answer, agreement, modes), indent=2, allow_nan=False))
        return
    from rich.console import Console

    from likewise.report.plan_table import render_plan

    render_plan(answer, Console(), agreement, modes)


def _spread(side: Side | None, figure: str, run_sd: float | None, effect_sd: float | None) -> Spread:
    from likewise.evaluation.plan import assumed_spread, measured_spread

    if side is not None and run_sd is None:
        return measured_spread(side, figure, effect_sd)
    return assumed_spread(figure, run_sd, effect_sd)


def _with_top_up(
    answer: Plan, paths: list[Path], runs: int | None, format: str | None, map_file: Path | None, strict: bool
) -> Plan:
    from dataclasses import replace

    from likewise.core.group import group_rollouts
    from likewise.evaluation.plan import top_up
    from likewise.formats.registry import read_rollouts

    groups = group_rollouts(read_rollouts(paths, format=format, mapping=map_file, strict=strict))
    return replace(answer, top_up=top_up(groups, runs))
