"""`likewise predict`: does consistency predict success, on runs of one's own?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.cli.errors import plain_errors, say
from likewise.cli.judge_options import (
    AnswerTokens,
    InputPrice,
    JudgeName,
    JudgeUrl,
    MaxCost,
    OutputPrice,
    Parallel,
    SureFrom,
    Swap,
    Timeout,
    judge_from_options,
)
from likewise.cli.options import (
    ConfigFile,
    Debug,
    Format,
    Gamma,
    HtmlFile,
    JsonFile,
    Length,
    MapFile,
    NoStore,
    Paths,
    Pool,
    Quiet,
    Seed,
    Soft,
    Store,
    Strict,
    ToolsFiles,
    load_rules,
    open_store,
)
from likewise.cli.targets import STANDARD_OUTPUT, check_targets, write_faces
from likewise.core.group import LengthPolicy

if TYPE_CHECKING:
    from likewise.evaluation.predict import Prediction

__all__ = ["predict"]


@plain_errors
def predict(
    runs: Paths,
    json_path: JsonFile = None,
    html_path: HtmlFile = None,
    format: Format = None,
    map_file: MapFile = None,
    gamma: Gamma = 0.8,
    length_policy: Length = LengthPolicy.ABSORB,
    soft: Soft = False,
    seed: Seed = 0,
    judge: JudgeName = "embedded",
    judge_url: JudgeUrl = None,
    parallel: Parallel = 8,
    timeout: Timeout = 60.0,
    answer_tokens: AnswerTokens = 600,
    swap: Swap = False,
    max_cost: MaxCost = None,
    input_price: InputPrice = None,
    output_price: OutputPrice = None,
    sure_from: SureFrom = 0.9,
    pool: Pool = False,
    strict: Strict = False,
    config: ConfigFile = None,
    tools_files: ToolsFiles = None,
    store: Store = None,
    no_store: NoStore = False,
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
        from likewise.scoring.score import ScoringOptions

        rules = load_rules(config, tools_files, quiet=quiet)
        chosen = judge_from_options(
            judge,
            url=judge_url,
            parallel=parallel,
            timeout=timeout,
            answer_tokens=answer_tokens,
            swap=swap,
            max_cost=max_cost,
            input_price=input_price,
            output_price=output_price,
            sure_from=sure_from,
            quiet=quiet,
        )
        progress = progress_display(quiet)
        rollouts = read_rollouts(runs, format=format, mapping=map_file, strict=strict, progress=progress)
        options = ScoringOptions(gamma=gamma, length_policy=length_policy, soft=soft)
        with open_store(store, no_store) as label_store:
            evaluation = evaluate(
                rollouts,
                judge=chosen,
                rules=rules,
                store=label_store,
                options=options,
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

    faces: dict[str, Callable[[], str]] = {
        "--json": lambda: json.dumps(prediction_as_json(prediction), indent=2, allow_nan=False) + "\n",
        "--html": lambda: prediction_html(prediction),
    }
    written = write_faces(targets, lambda option: faces[option]())
    if not quiet and STANDARD_OUTPUT not in targets.values():
        from rich.console import Console

        from likewise.report.predict_terminal import render_prediction

        render_prediction(prediction, Console())
    if not quiet and written:
        say(f"wrote {' and '.join(written)}")
