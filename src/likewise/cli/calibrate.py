"""`likewise calibrate`: what may be claimed of a learned metric, from runs of tasks it has not seen."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from likewise.cli.errors import ExitCode, plain_errors, say
from likewise.cli.judge_options import JudgeOptions, finite, judge_from_options
from likewise.cli.learned_options import EncoderName, EncoderUrl, ModelFolder, load_model
from likewise.cli.option_groups import takes_groups
from likewise.cli.options import (
    AsJson,
    Debug,
    Format,
    MapFile,
    Paths,
    Pool,
    Quiet,
    RulesAndStore,
    Strict,
)
from likewise.core.group import LengthPolicy

__all__ = ["calibrate"]


@plain_errors
@takes_groups
def calibrate(
    runs: Paths,
    model: ModelFolder,
    *,
    delta: Annotated[
        float, typer.Option(help="Divergence of two runs that is too much.", metavar="NUMBER", callback=finite, min=0.0)
    ] = 1.0,
    at_most: Annotated[
        float,
        typer.Option(
            help="Share of a new task's run pairs that may be let through and diverge by more.",
            metavar="SHARE",
            callback=finite,
            min=1e-6,
            max=0.999999,
        ),
    ] = 0.1,
    confidence: Annotated[
        float,
        typer.Option(help="Confidence of the claim.", metavar="SHARE", callback=finite, min=0.51, max=0.9999),
    ] = 0.95,
    on_average: Annotated[
        bool, typer.Option("--on-average", help="Claim it on average over calibrations only (needs fewer tasks).")
    ] = False,
    format: Format = None,
    map_file: MapFile = None,
    judging: JudgeOptions,
    encoder: EncoderName = "embedded",
    encoder_url: EncoderUrl = None,
    pool: Pool = False,
    strict: Strict = False,
    kept: RulesAndStore,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Find the score up to which a run may go on, with a guarantee that rests on held-out tasks.

    The task is what counts: n tasks without a failure allow no claim below 1 - 0.05^(1/n) (9.5 % for 30; 5 % needs
    59). The model keeps the calibration. Exit code 1: the claim cannot be kept; the reason is printed.
    """
    del debug
    from likewise.cli.progress import progress_display
    from likewise.evaluation.calibrate import calibrate as find
    from likewise.evaluation.measured_tasks import measure_tasks
    from likewise.formats.registry import read_rollouts
    from likewise.scoring.score import ScoringOptions

    learned = load_model(model, encoder, encoder_url, quiet=quiet)
    progress = progress_display(quiet)
    rules = kept.rules(quiet=quiet)
    chosen = judge_from_options(judging, quiet=quiet)
    rollouts = read_rollouts(runs, format=format, mapping=map_file, strict=strict, progress=progress)
    facts = learned.facts
    options = ScoringOptions(
        gamma=facts["gamma"], length_policy=LengthPolicy(facts["length_policy"]), soft=facts["distance"] == "soft"
    )
    with kept.open_store() as label_store:
        measured = measure_tasks(
            rollouts, judge=chosen, rules=rules, store=label_store, options=options, progress=progress, pool=pool
        )
    for warning in measured.warnings:
        say(f"warning: {warning}")
    found = find(learned, measured, delta=delta, at_most=at_most, confidence=None if on_average else confidence)
    learned.calibration = found
    learned.save(model)
    if as_json:
        typer.echo(
            json.dumps(
                {"schema": "likewise.calibrate/1", "claim": found.claim, **found.as_json()}, indent=2, allow_nan=False
            )
        )
    elif not quiet:
        typer.echo(found.claim)
        if found.threshold is not None:
            typer.echo(f"let through: {found.let_through:.0%} of the held-out states")
        if found.margin is None:
            typer.echo(f"no upper limit of a score: {found.tasks} task(s) are too few for one at this confidence")
        else:
            typer.echo(f"upper limit of a score: the score + {found.margin:.3f}")
    if found.threshold is None:
        raise typer.Exit(ExitCode.THRESHOLD)
