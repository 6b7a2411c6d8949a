"""`likewise tables`: methods that ran the same tasks, in the tables of the paper."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.errors import plain_errors, say
from likewise.cli.judge_options import JudgeOptions, finite, judge_from_options
from likewise.cli.option_groups import takes_groups
from likewise.cli.options import (
    Debug,
    Format,
    Gamma,
    JsonFile,
    MapFile,
    Pool,
    Quiet,
    RulesAndStore,
    Seed,
    Strict,
)
from likewise.cli.targets import check_targets, write_and_show

if TYPE_CHECKING:
    from likewise.evaluation.paper_tables import PaperTables

__all__ = ["tables"]


def _named(values: list[str]) -> dict[str, Path]:
    """`NAME=RUNS` by name, in the order given."""
    found: dict[str, Path] = {}
    for value in values:
        name, separator, path = value.partition("=")
        if not separator or not name.strip() or not path:
            raise typer.BadParameter(f"{value!r} is not of the form NAME=RUNS, as in base=runs/base.json")
        if name in found:
            raise typer.BadParameter(f"two methods are called {name!r}")
        found[name] = Path(path)
    return found


def _mixed(values: list[str]) -> dict[str, tuple[float, Path]]:
    """`LAMBDA=RUNS` by the name of the row, `λ = LAMBDA`."""
    found: dict[str, tuple[float, Path]] = {}
    for value in values:
        number, _, path = value.partition("=")
        try:
            mixing = finite(float(number))
        except ValueError:
            mixing = None
        if mixing is None or not path:
            raise typer.BadParameter(f"{value!r} is not of the form LAMBDA=RUNS, as in 0.5=runs/half.json")
        if f"λ = {mixing:g}" in found:
            raise typer.BadParameter(f"lambda {mixing:g} is given twice")
        found[f"λ = {mixing:g}"] = (mixing, Path(path))
    return found


@plain_errors
@takes_groups
def tables(
    methods: Annotated[
        list[str],
        typer.Argument(
            help="Each method's name and its runs (file or folder), in the order of the rows.", metavar="NAME=RUNS..."
        ),
    ],
    *,
    base: Annotated[
        str | None,
        typer.Option(help="Method that the others are compared with; the first if not given.", metavar="NAME"),
    ] = None,
    lambdas: Annotated[
        list[str] | None,
        typer.Option("--lambda", help="Runs of a method of the ablation; may be repeated.", metavar="LAMBDA=RUNS"),
    ] = None,
    turn_limit: Annotated[
        int | None,
        typer.Option(help="Turns a run may take; the longest run read if not given.", metavar="NUMBER", min=1),
    ] = None,
    rsd: Annotated[bool, typer.Option("--rsd", help="Judge the runs as well, for the table of direct RSD.")] = False,
    json_path: JsonFile = None,
    markdown_path: Annotated[str | None, typer.Option("--markdown", help="Write Markdown.", metavar="FILE")] = None,
    latex_path: Annotated[str | None, typer.Option("--latex", help="Write LaTeX (booktabs).", metavar="FILE")] = None,
    csv_path: Annotated[str | None, typer.Option("--csv", help="Write CSV, a line a number.", metavar="FILE")] = None,
    format: Format = None,
    map_file: MapFile = None,
    gamma: Gamma = 0.8,
    seed: Seed = 0,
    judging: JudgeOptions,
    pool: Pool = False,
    strict: Strict = False,
    kept: RulesAndStore,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare methods by progress, its variation between trials, and direct RSD, as the tables of the paper do.

    likewise tables base=runs/base.json rsd=runs/rsd.json --rsd --markdown tables.md

    Progress is the share of sub-goals met after each turn, where the log names sub-goals; else the reward, at the end.
    """
    del debug
    named, mixed = _named(methods), _mixed(lambdas or [])
    places = named | {name: path for name, (_, path) in mixed.items()}
    targets = {"--json": json_path, "--markdown": markdown_path, "--latex": latex_path, "--csv": csv_path}
    if base is not None and base not in named:
        raise typer.BadParameter(f"{base!r} is none of {', '.join(named)}", param_hint="--base")
    check_targets(targets, list(places.values()))
    from likewise.cli.progress import progress_display
    from likewise.core.rollout import Rollout
    from likewise.evaluation.paper_tables import direct_rsd, paper_tables
    from likewise.formats.registry import read_rollouts
    from likewise.scoring.score import ScoringOptions

    rules = kept.rules(quiet=quiet)
    progress = progress_display(quiet)
    runs: dict[str, tuple[Rollout, ...]] = {}
    for name, path in places.items():
        read = read_rollouts([path], format=format, mapping=map_file, strict=strict, progress=progress)
        runs[name] = read.rollouts
        for warning in read.warnings if not quiet else ():
            say(f"warning: {name}: {warning}")
    measured: dict[str, dict[str, float]] = {}
    if rsd:
        chosen = judge_from_options(judging, quiet=quiet)
        with kept.open_store() as label_store:
            for name, own in runs.items():
                found = direct_rsd(
                    own,
                    judge=chosen,
                    rules=rules,
                    store=label_store,
                    options=ScoringOptions(gamma=gamma),
                    progress=progress,
                    pool=pool,
                )
                measured[name] = dict(found.by_task)
                for warning in found.warnings if not quiet else ():
                    say(f"warning: {name}: {warning}")
    made = paper_tables(
        runs,
        base=base or next(iter(named)),
        lambdas={name: mixing for name, (mixing, _) in mixed.items()},
        turn_limit=turn_limit,
        rsd=measured,
        seed=seed,
    )
    _show(made, targets, quiet)


def _show(made: PaperTables, targets: dict[str, str | None], quiet: bool) -> None:
    """Write what was asked for, nothing before everything is rendered; print the rest."""
    from likewise.report.tables_json import tables_as_json
    from likewise.report.tables_terminal import render_tables
    from likewise.report.tables_text import tables_csv, tables_latex, tables_markdown

    faces: dict[str, Callable[[], str]] = {
        "--json": lambda: json.dumps(tables_as_json(made), indent=2, allow_nan=False) + "\n",
        "--markdown": lambda: tables_markdown(made),
        "--latex": lambda: tables_latex(made),
        "--csv": lambda: tables_csv(made),
    }
    write_and_show(targets, lambda option: faces[option](), lambda console: render_tables(made, console), quiet=quiet)
