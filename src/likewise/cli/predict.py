"""`likewise predict`: does consistency predict success, on runs of one's own?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.cli.errors import plain_errors
from likewise.cli.judge_options import JudgeOptions, judge_from_options
from likewise.cli.option_groups import takes_groups
from likewise.cli.options import (
    Debug,
    Format,
    HtmlFile,
    JsonFile,
    MapFile,
    Paths,
    Pool,
    Quiet,
    RulesAndStore,
    ScoringFlags,
    Seed,
    Strict,
)
from likewise.cli.targets import check_targets, write_and_show

if TYPE_CHECKING:
    from likewise.evaluation.predict import Prediction

__all__ = ["predict"]


@plain_errors
@takes_groups
def predict(
    runs: Paths,
    *,
    json_path: JsonFile = None,
    html_path: HtmlFile = None,
    format: Format = None,
    map_file: MapFile = None,
    scoring: ScoringFlags,
    seed: Seed = 0,
    judging: JudgeOptions,
    pool: Pool = False,
    strict: Strict = False,
    kept: RulesAndStore,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Say whether consistency predicts success: each number of a task against its failures, beside run length.

    RUNS are recorded runs, or one report written by `likewise report --json`, which spares judging again.
    Takes at least three tasks with outcomes; with fewer than about thirty, intervals are wide.
    """
    del debug
    targets = {"--json": json_path, "--html": html_path}
    check_targets(targets, runs)
    from likewise.evaluation.predict import predict as predicted
    from likewise.evaluation.sides import is_report
    from likewise.evaluation.task_numbers import numbers_of, read_numbers

    notes: tuple[str, ...] = ()
    if len(runs) == 1 and is_report(Path(runs[0])):
        tasks = read_numbers(Path(runs[0]))
    else:
        from likewise.cli.progress import progress_display
        from likewise.evaluation.evaluate import evaluate
        from likewise.formats.registry import read_rollouts

        rules = kept.rules(quiet=quiet)
        chosen = judge_from_options(judging, quiet=quiet)
        progress = progress_display(quiet)
        rollouts = read_rollouts(runs, format=format, mapping=map_file, strict=strict, progress=progress)
        with kept.open_store() as label_store:
            evaluation = evaluate(
                rollouts,
                judge=chosen,
                rules=rules,
                store=label_store,
                options=scoring.options(),
                seed=seed,
                progress=progress,
                pool=pool,
            )
        tasks, notes = numbers_of(evaluation), (*evaluation.warnings, str(evaluation.signature))
    _show(predicted(tasks, seed=seed, notes=notes), targets, quiet)


def _show(prediction: Prediction, targets: dict[str, str | None], quiet: bool) -> None:
    """Write what was asked for, nothing before everything is rendered; print the rest."""
    from likewise.report.predict_html import prediction_html
    from likewise.report.predict_json import prediction_as_json
    from likewise.report.predict_terminal import render_prediction

    faces: dict[str, Callable[[], str]] = {
        "--json": lambda: json.dumps(prediction_as_json(prediction), indent=2, allow_nan=False) + "\n",
        "--html": lambda: prediction_html(prediction),
    }
    write_and_show(
        targets, lambda option: faces[option](), lambda console: render_prediction(prediction, console), quiet=quiet
    )
