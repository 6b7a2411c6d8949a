"""Gates on the command line: what `--fail-on` and the `[gates]` of likewise.toml ask for, and how a command ends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from likewise.cli.errors import ExitCode, say
from likewise.cli.options import load_config
from likewise.core.listing import some_of

if TYPE_CHECKING:
    from likewise.evaluation.gate_rules import GateSettings
    from likewise.evaluation.gates import GateReport
    from likewise.formats.rollout_set import RolloutSet
    from likewise.scoring.score import ScoringOptions

__all__ = ["FailOn", "check_reach", "end_with_gates", "load_gates"]

WHERE = "'--fail-on' or [gates]"

SHOWN = 20
"""Failures that are named on standard error; the rest is counted."""


def _gates(texts: list[str] | None) -> list[str]:
    """Refused as usage, before any file is read."""
    from likewise.evaluation.gate_rules import parse_gate

    for text in texts or ():
        try:
            parse_gate(text)
        except ValueError as problem:
            raise typer.BadParameter(str(problem)) from None
    return texts or []


FailOn: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        help="End with exit code 1 where a task has this, as in 'rsd > 1.5', 'pass^4 < 0.8', 'mean rsd > 1', flaky; "
        "may be repeated. Adds to [gates] of the settings.",
        metavar="EXPR",
        callback=_gates,
    ),
]


def load_gates(config: Path | None, fail_on: list[str] | None, gamma: float | None = None) -> GateSettings:
    """The gates of the settings and of `--fail-on` together.

    Raises:
        ConfigError: The settings cannot be used.
        BadParameter: Gates cannot be passed together, or one says nothing with this discount.
    """
    from likewise.evaluation.gate_checks import out_of_range
    from likewise.evaluation.gate_rules import gate_settings

    settings = gate_settings(load_config(config).table("gates"))
    try:
        settings = settings.with_gates(fail_on or ())
    except ValueError as problem:
        raise typer.BadParameter(str(problem), param_hint=WHERE) from None
    for gate in settings.every():
        if nothing := out_of_range(gate, gamma):
            raise typer.BadParameter(nothing, param_hint=WHERE)
    return settings


def check_reach(settings: GateSettings, rollouts: RolloutSet, options: ScoringOptions) -> None:
    """Refuse gates that these runs cannot fail, before anything is judged; name the tasks that cannot.

    Raises:
        BadParameter: A gate that no task here can fail, or that needs more runs than any has.
    """
    from likewise.core.group import group_rollouts
    from likewise.evaluation.gate_checks import out_of_reach, reach_of_groups

    if not settings.any:
        return
    problem, warnings = out_of_reach(settings, reach_of_groups(group_rollouts(rollouts), options), options.gamma)
    if problem is not None:
        raise typer.BadParameter(problem, param_hint=WHERE)
    for warning in warnings:
        say(f"warning: {warning}")


def end_with_gates(gates: GateReport) -> None:
    """Name what did not pass, and end with exit code 1 if anything did not."""
    for failure in gates.failures[:SHOWN]:
        say(f"failed: {failure.sentence()}")
    if len(gates.failures) > SHOWN:
        say(f"failed: {len(gates.failures) - SHOWN} more; --json, --junit and --markdown list them")
    if gates.unknown:
        say(f"warning: gates for tasks that these runs do not have: {some_of(gates.unknown, 5)}")
    if gates.failures:
        raise typer.Exit(ExitCode.THRESHOLD)
