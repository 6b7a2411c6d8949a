"""`likewise score`: the learned metric at every turn of recorded runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated

import typer

from likewise.cli.errors import ExitCode, plain_errors, say
from likewise.cli.judge_options import finite
from likewise.cli.learned_options import EncoderName, EncoderUrl, ModelFolder, load_model
from likewise.cli.options import (
    Debug,
    Format,
    HtmlFile,
    JsonFile,
    MapFile,
    Paths,
    Quiet,
    Strict,
)
from likewise.cli.targets import check_targets, write_and_show

__all__ = ["score"]


@plain_errors
def score(
    runs: Paths,
    model: ModelFolder,
    json_path: JsonFile = None,
    html_path: HtmlFile = None,
    jump: Annotated[
        float,
        typer.Option(
            help="Rise from one turn to the next that counts as a jump, as a share of the largest score.",
            metavar="SHARE",
            callback=finite,
            min=0.0,
            max=1.0,
        ),
    ] = 0.1,
    fail_above: Annotated[
        float | None,
        typer.Option(help="Exit with 1 where a run's score is ever above this.", metavar="NUMBER", callback=finite),
    ] = None,
    format: Format = None,
    map_file: MapFile = None,
    encoder: EncoderName = "embedded",
    encoder_url: EncoderUrl = None,
    strict: Strict = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Say, at every turn of each run, how far two futures from there would diverge. No judge is asked.

    Exit codes: 0 fine, 1 a score above --fail-above, 2 usage, 3 input or model unreadable, 4 an encoder does not work.
    """
    del debug
    targets = {"--json": json_path, "--html": html_path}
    check_targets(targets, runs)
    from likewise.cli.progress import progress_display
    from likewise.formats.registry import read_rollouts
    from likewise.learned.curves import score_runs
    from likewise.report.curves_html import render_curves_html
    from likewise.report.curves_table import render_curves

    learned = load_model(model, encoder, encoder_url, quiet=quiet)
    progress = progress_display(quiet)
    rollouts = read_rollouts(runs, format=format, mapping=map_file, strict=strict, progress=progress)
    curves = score_runs(learned, rollouts, jump=jump, progress=progress)
    if not curves.runs:
        say("error: no run could be scored; `likewise inspect` says why")
        raise typer.Exit(ExitCode.INPUT)
    faces: dict[str, Callable[[], str]] = {
        "--json": lambda: json.dumps(curves.as_json(), indent=2, allow_nan=False) + "\n",
        "--html": lambda: render_curves_html(curves),
    }
    write_and_show(targets, lambda option: faces[option](), lambda console: render_curves(curves, console), quiet=quiet)
    highest = max(each.value for run in curves.runs for each in run.scores)
    if fail_above is not None and highest > fail_above:
        say(f"the highest score, {highest:.3f}, is above {fail_above:g}")
        raise typer.Exit(ExitCode.THRESHOLD)
