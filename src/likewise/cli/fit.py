"""`likewise fit`: recorded runs in, a learned metric out."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.errors import plain_errors, say
from likewise.cli.judge_options import JudgeOptions, judge_from_options
from likewise.cli.learned_options import EncoderName, EncoderUrl, encoder_from_options, one_line
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
    ScoringFlags,
    Seed,
    Strict,
)

if TYPE_CHECKING:
    from likewise.learned.model import RSDModel
    from likewise.learned.options import FitOptions

__all__ = ["fit"]


@plain_errors
@takes_groups
def fit(
    runs: Paths,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Folder of the model; made if need be.", metavar="FOLDER", show_default=False),
    ],
    *,
    format: Format = None,
    map_file: MapFile = None,
    scoring: ScoringFlags,
    set_options: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Another option of training, as in n=5, loss=huber, same_state=equivalent, heads=5; may be "
            "repeated. docs/learned.md lists them.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    steps: Annotated[int, typer.Option(help="Most steps of training.", metavar="NUMBER", min=1)] = 6000,
    seed: Seed = 0,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do not go on with a training that was stopped.")] = False,
    demo: Annotated[
        str | None,
        typer.Option(help="Label the model as a demonstration, and say of what.", metavar="TEXT", callback=one_line),
    ] = None,
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
    """Learn, from recorded runs, to tell at every turn how far two futures would diverge.

    Needs PyTorch: pip install 'likewise[learned]'. Using the model does not. Whole tasks are held out to say when to
    stop. A training that was stopped goes on with the same command.
    """
    del debug
    _check_folder(out)
    options = _options(set_options or [], scoring, steps, seed)
    from likewise.cli.progress import progress_display
    from likewise.evaluation.fit import fit_measured
    from likewise.evaluation.measured_tasks import measure_tasks
    from likewise.formats.registry import read_rollouts
    from likewise.learned.network import load_torch
    from likewise.learned.resume import TrainingFolder

    load_torch()  # before anything is judged
    progress = progress_display(quiet)
    rules = kept.rules(quiet=quiet)
    chosen = judge_from_options(judging, quiet=quiet)
    vectors = encoder_from_options(encoder, encoder_url, quiet=quiet)
    rollouts = read_rollouts(runs, format=format, mapping=map_file, strict=strict, progress=progress)
    with kept.open_store() as label_store:
        measured = measure_tasks(
            rollouts,
            judge=chosen,
            rules=rules,
            store=label_store,
            options=scoring.options(),
            progress=progress,
            pool=pool,
        )
    for warning in measured.warnings:
        say(f"warning: {warning}")
    training = TrainingFolder(out, measured.fingerprint, vectors.encoder_id, options)
    resume = None if fresh else training.load()
    if resume is not None and not quiet:
        say(f"going on from step {resume.step}")
    model = fit_measured(
        measured, vectors, options, soft=scoring.soft, progress=progress, demo=demo, resume=resume, save=training.save
    )
    model.save(out)
    training.remove()
    _show(model, out, quiet, as_json)


def _check_folder(out: Path) -> None:
    with suppress(OSError):
        if out.exists() and not out.is_dir():
            raise typer.BadParameter(f"{out} is a file; name a folder", param_hint="--out")
        if (
            out.is_dir()
            and any(out.iterdir())
            and not (out / "model.json").exists()
            and not (out / "training").exists()
        ):
            raise typer.BadParameter(f"{out} holds other files; name a new folder", param_hint="--out")


def _options(settings: list[str], scoring: ScoringFlags, steps: int, seed: int) -> FitOptions:
    from likewise.learned.options import parse_options

    try:
        return parse_options(settings, gamma=scoring.gamma, length_policy=scoring.length_policy, steps=steps, seed=seed)
    except ValueError as problem:
        raise typer.BadParameter(str(problem), param_hint="--set") from None


def _show(model: RSDModel, out: Path, quiet: bool, as_json: bool) -> None:
    facts = model.facts
    if as_json:
        typer.echo(json.dumps({"schema": "likewise.fit/1", "model": str(out), **facts}, indent=2, allow_nan=False))
        return
    if quiet:
        return
    training = facts["training"]
    held_out = next(look[2] for look in training["looks"] if look[0] == training["best_step"])
    typer.echo(f"{out}: learned from {facts['rollouts']} runs of {facts['tasks']} tasks")
    if held_out is None:
        typer.echo("no task was held out (there are fewer than three): nothing says how good it is")
    else:
        root = held_out**0.5
        typer.echo(
            f"held-out tasks: {len(training['held_out_tasks'])}; root mean squared miss of a pair's future {root:.3f} "
            f"of at most {model.largest:g}, best at step {training['best_step']}"
        )
    typer.echo("next: likewise calibrate --model ... on tasks it has not seen, then likewise score --model ...")
