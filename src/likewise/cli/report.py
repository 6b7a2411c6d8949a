"""`likewise report`: repeated rollouts in, consistency report out."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.errors import ExitCode, plain_errors, say
from likewise.cli.options import Debug, Format, NoStore, Paths, Quiet, Store, Strict, open_store
from likewise.cli.targets import STANDARD_OUTPUT, check_targets, write_target
from likewise.core.group import LengthPolicy

if TYPE_CHECKING:
    from likewise.evaluation.results import Evaluation

__all__ = ["report"]


def _finite(gamma: float) -> float:
    if math.isnan(gamma):  # passes every comparison with a limit
        raise typer.BadParameter("not a number")
    return gamma


@plain_errors
def report(
    runs: Paths,
    json_path: Annotated[
        str | None, typer.Option("--json", help="Write JSON to this file; - for standard output.", metavar="FILE")
    ] = None,
    html_path: Annotated[
        str | None, typer.Option("--html", help="Write one HTML file that opens offline.", metavar="FILE")
    ] = None,
    format: Format = None,
    gamma: Annotated[
        float,
        typer.Option(help="Discount per turn.", metavar="NUMBER", min=0.0, max=0.9999, callback=_finite),
    ] = 0.8,
    length_policy: Annotated[
        LengthPolicy, typer.Option(help="Turns after a run's own end: its absence counts, or they do not.")
    ] = LengthPolicy.ABSORB,
    soft: Annotated[bool, typer.Option("--soft", help="Distances from probabilities instead of labels.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap over tasks.", metavar="NUMBER", min=0)] = 0,
    strict: Strict = False,
    store: Store = None,
    no_store: NoStore = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Measure how alike the runs of each task are, where they part, and what that costs.

    Exit codes: 0 fine, 2 usage, 3 input unreadable or no run to score, 4 a judge or the label store does not work,
    130 interrupted.
    Judgements are kept in the label store: the same command goes on where it was stopped.
    """
    del debug
    check_targets({"--json": json_path, "--html": html_path}, runs)
    from likewise.cli.progress import progress_display
    from likewise.evaluation.evaluate import evaluate
    from likewise.formats.registry import read_rollouts
    from likewise.scoring.score import ScoringOptions

    progress = progress_display(quiet)
    rollouts = read_rollouts(runs, format=format, strict=strict, progress=progress)
    options = ScoringOptions(gamma=gamma, length_policy=length_policy, soft=soft)
    with open_store(store, no_store) as label_store:
        evaluation = evaluate(rollouts, store=label_store, options=options, seed=seed, progress=progress)
    written = _write(evaluation, json_path, html_path)
    if not quiet and STANDARD_OUTPUT not in (json_path, html_path):
        from rich.console import Console

        from likewise.report.terminal import render_terminal

        render_terminal(evaluation, Console())
    if not quiet and written:
        say(f"wrote {' and '.join(written)}")
    if evaluation.summary.valid == 0:  # a report of nothing must not pass in CI
        say("error: no run could be scored; `likewise inspect` says why")
        raise typer.Exit(ExitCode.INPUT)


def _write(evaluation: Evaluation, json_path: str | None, html_path: str | None) -> list[str]:
    """Write what was asked for and return the files; nothing is written before everything is rendered."""
    texts: dict[str, str] = {}
    if json_path is not None:
        from likewise.report.as_json import evaluation_as_json

        texts[json_path] = json.dumps(evaluation_as_json(evaluation), indent=2, allow_nan=False) + "\n"
    if html_path is not None:
        from likewise.report.html import render_html

        texts[html_path] = render_html(evaluation)
    return [target for target, text in texts.items() if write_target(target, text)]
