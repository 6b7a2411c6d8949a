"""`likewise report`: repeated rollouts in, consistency report out."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.errors import plain_errors
from likewise.cli.options import Debug, Format, NoStore, Paths, Quiet, Store, Strict
from likewise.core.group import LengthPolicy

if TYPE_CHECKING:
    from likewise.evaluation.results import Evaluation

__all__ = ["report"]


@plain_errors
def report(
    runs: Paths,
    json_path: Annotated[
        str | None, typer.Option("--json", help="Write JSON to this file; - for standard output.", metavar="FILE")
    ] = None,
    html_path: Annotated[
        Path | None, typer.Option("--html", help="Write one HTML file that opens offline.", metavar="FILE")
    ] = None,
    format: Format = None,
    gamma: Annotated[float, typer.Option(help="Discount per turn, in [0, 1).", min=0.0, max=0.9999)] = 0.8,
    length_policy: Annotated[
        LengthPolicy, typer.Option(help="What turns after a run's own end count as.")
    ] = LengthPolicy.ABSORB,
    soft: Annotated[bool, typer.Option("--soft", help="Distances from probabilities instead of labels.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap over tasks.")] = 0,
    strict: Strict = False,
    store: Store = None,
    no_store: NoStore = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Measure how alike the runs of each task are, where they part, and what that costs.

    Exit codes: 0 fine, 2 usage, 3 input unreadable, 4 a judge or the label store does not work.
    """
    del debug
    _check_targets(json_path, html_path)
    from likewise.backends.label_store import LabelStore, default_path
    from likewise.cli.progress import progress_display
    from likewise.evaluation.evaluate import evaluate
    from likewise.formats.registry import read_rollouts
    from likewise.scoring.score import ScoringOptions

    progress = progress_display(quiet)
    rollouts = read_rollouts(runs, format=format, strict=strict, progress=progress)
    with nullcontext() if no_store else LabelStore(store or default_path()) as label_store:
        evaluation = evaluate(
            rollouts,
            store=label_store,
            options=ScoringOptions(gamma=gamma, length_policy=length_policy, soft=soft),
            seed=seed,
            progress=progress,
        )
    _write(evaluation, json_path, html_path)
    if not quiet and json_path != "-":
        from rich.console import Console

        from likewise.report.terminal import render_terminal

        render_terminal(evaluation, Console())


def _check_targets(json_path: str | None, html_path: Path | None) -> None:
    """Refuse a target that cannot be written before any work is done."""
    for target in (html_path, Path(json_path) if json_path not in (None, "-") else None):
        if target is None:
            continue
        if target.is_dir():
            raise typer.BadParameter(f"{target} is a folder; name a file in it")
        if not target.absolute().parent.is_dir():
            raise typer.BadParameter(f"the folder {target.absolute().parent} does not exist; create it first")


def _write(evaluation: Evaluation, json_path: str | None, html_path: Path | None) -> None:
    from likewise.report.as_json import evaluation_as_json
    from likewise.report.write import write_atomically

    if json_path is not None:
        text = json.dumps(evaluation_as_json(evaluation), indent=2, allow_nan=False) + "\n"
        if json_path == "-":
            sys.stdout.write(text)
        else:
            write_atomically(Path(json_path), text)
    if html_path is not None:
        from likewise.report.html import render_html

        write_atomically(html_path, render_html(evaluation))
