"""`likewise train`: a policy by a recipe: SFT, RSD, GRPO, or all of it in small."""

from __future__ import annotations

import json
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.errors import plain_errors, say
from likewise.cli.options import Debug, Quiet, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from likewise.core.protocols import Judge
    from likewise.core.rollout import Rollout
    from likewise.learned.model import RSDModel
    from likewise.training.large import LargeSettings
    from likewise.training.tiny_settings import TinySettings

__all__ = ["app", "fit_small"]

app = typer.Typer(help="Train an agent to act alike, by a recipe.", no_args_is_help=True, rich_markup_mode=None)

Recipe = Annotated[str, typer.Option("--recipe", help="A recipe's file, or one of the package's own by its name.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint.")]


def _large(recipe: str) -> LargeSettings:
    from likewise.core.errors import ConfigError
    from likewise.training.large import LargeSettings
    from likewise.training.recipe import read_recipe, settings_from

    found = read_recipe(recipe)
    if "train" not in found:
        raise ConfigError(recipe, "this recipe is for `likewise train tiny`", key="train", expected="a table")
    return settings_from(LargeSettings, found["train"], recipe, "train")


@contextmanager
def _speaking(recipe: str) -> Iterator[None]:
    """Name the recipe in what is wrong with it, and say what the guards find while the training runs."""
    from likewise.core.errors import ConfigError
    from likewise.training.guards import TrainingWarning

    show = warnings.showwarning

    def shown(message: Warning | str, category: type[Warning], *others: Any, **more: Any) -> None:  # noqa: ANN401
        if issubclass(category, TrainingWarning):
            say(str(message))
        else:
            show(message, category, *others, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", TrainingWarning)
        warnings.showwarning = shown
        try:
            yield
        except ConfigError as problem:
            if problem.path:
                raise
            key = f"train.{problem.key}" if problem.key else None
            raise ConfigError(recipe, problem.problem, key=key, expected=problem.expected) from None


@app.command("sft", short_help="Learn from expert runs.")
@plain_errors
def sft(recipe: Recipe, resume: Resume = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """Fine-tune the recipe's model on the successful ones of its expert runs."""
    del debug
    settings = _large(recipe)
    from likewise.training.large import train_on_experts

    with _speaking(recipe):
        losses = train_on_experts(settings, resume=resume)
    if not quiet:
        shown = f", loss {losses[0]:z.3f} -> {losses[-1]:z.3f}" if losses else ""
        typer.echo(f"{settings.folder('sft')}: trained{shown}")


@app.command("rsd", short_help="Fit RSD on the policy's own runs.")
@plain_errors
def rsd(recipe: Recipe, quiet: Quiet = False, debug: Debug = False) -> None:
    """Fit the learned metric on the runs of the recipe's model; `likewise fit` with the recipe's options."""
    del debug
    settings = _large(recipe)
    from likewise.backends.judges import judge_from_name
    from likewise.cli.progress import progress_display
    from likewise.core.errors import ConfigError
    from likewise.evaluation.fit import fit_rsd
    from likewise.formats.registry import read_rollouts
    from likewise.learned.options import parse_options
    from likewise.training.large import check_recipe

    try:
        options = parse_options(f"{name}={value}" for name, value in settings.rsd.items())
    except ValueError as problem:
        raise ConfigError(recipe, str(problem), key="train.rsd") from None
    if not settings.runs:
        raise ConfigError(recipe, "the recipe names no files of runs", key="train.runs")
    with _speaking(recipe):
        check_recipe(settings)
    rollouts = read_rollouts([Path(path) for path in settings.runs])
    judge, show = judge_from_name(settings.judge), progress_display(quiet)
    with open_store(None, False) as store:
        model = fit_rsd(rollouts, options=options, judge=judge, store=store, progress=show)
    model.save(settings.folder("rsd"))
    if not quiet:
        typer.echo(f"{settings.folder('rsd')}: learned from {model.facts['rollouts']} runs")


@app.command("grpo", short_help="Train the policy with a reward of consistency.")
@plain_errors
def grpo(recipe: Recipe, resume: Resume = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """Train the recipe's model by GRPO, from the states of its own runs, with the recipe's reward."""
    del debug
    settings = _large(recipe)
    from likewise.training.large import train_on_states

    with _speaking(recipe):
        entries = train_on_states(settings, resume=resume)
    if not quiet:
        shown = f", reward {entries[0]['reward']:z.3f} -> {entries[-1]['reward']:z.3f}" if entries else ""
        typer.echo(f"{settings.folder('grpo')}: trained{shown}")


@app.command("tiny", short_help="The whole pipeline in small, on this machine.")
@plain_errors
def tiny(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the pipeline; gone on with.", metavar="FOLDER")],
    recipe: Recipe = "tiny",
    seed: Annotated[int, typer.Option(help="Seed of everything random.", metavar="NUMBER", min=0)] = 0,
    arm: Annotated[
        list[str] | None, typer.Option("--arm", help="A way to train; may be repeated. Default: all.", metavar="NAME")
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Warm up a policy, collect its runs, fit RSD, train on with each reward, evaluate: in `bookings`, from nothing.

    The runs of each arm are in FOLDER/arms/ARM/temperature-1.jsonl, for `likewise report`, `compare` and `tables`.
    """
    del debug
    from likewise.training.recipe import read_recipe, settings_from
    from likewise.training.tiny_settings import ARMS, TinySettings

    settings = settings_from(TinySettings, read_recipe(recipe).get("tiny"), recipe, "tiny")
    unknown = [name for name in arm or () if name not in ARMS]
    if unknown:
        raise typer.BadParameter(f"no arm {unknown[0]!r}; there are {', '.join(ARMS)}", param_hint="--arm")
    from likewise.training.pipeline import TinyPipeline

    try:
        pipeline = TinyPipeline(out, seed, settings, fit_small, say=(lambda _: None) if quiet else say)
    except ValueError as problem:
        raise typer.BadParameter(str(problem), param_hint="--out") from None
    shown = {name: _summary(pipeline.arm(name)[1.0]) for name in arm or ARMS}
    if not quiet:
        typer.echo(json.dumps(shown, indent=2))


def fit_small(rollouts: Sequence[Rollout], judge: Judge, settings: TinySettings, seed: int) -> RSDModel:
    """RSD of a tiny policy; on all tasks to the end, as the reward is asked about these tasks and no others."""
    from likewise.evaluation.fit import fit_rsd
    from likewise.learned.options import FitOptions

    options = FitOptions(gamma=settings.gamma, n=settings.n, steps=settings.fit_steps, every=settings.fit_steps,
                         rate=1e-3, mix=0.02, hold_out=0.0, seed=seed)  # fmt: skip
    return fit_rsd(rollouts, options=options, judge=judge)


def _summary(rollouts: Sequence[Rollout]) -> dict[str, Any]:
    rewards = [each.reward for each in rollouts if each.reward is not None]
    return {
        "runs": len(rollouts),
        "progress": round(sum(rewards) / len(rewards), 3),
        "success": round(sum(each.success is True for each in rollouts) / len(rollouts), 3),
    }
