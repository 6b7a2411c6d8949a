"""`likewise compare`: is the candidate more consistent than the base, or was it luck?"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.errors import ExitCode, plain_errors, say
from likewise.cli.judge_options import JudgeOptions, finite, judge_from_options
from likewise.cli.option_groups import takes_groups
from likewise.cli.options import (
    Debug,
    Format,
    HtmlFile,
    JsonFile,
    JunitFile,
    MapFile,
    MarkdownFile,
    Pool,
    Quiet,
    RulesAndStore,
    ScoringFlags,
    Seed,
    Strict,
)
from likewise.cli.targets import check_targets, write_and_show

if TYPE_CHECKING:
    from likewise.evaluation.change import Comparison
    from likewise.evaluation.results import Evaluation
    from likewise.evaluation.sides import Side
    from likewise.evaluation.versions import Measuring
    from likewise.formats.rollout_set import RolloutSet
    from likewise.metrics.testing import TwoVersions

__all__ = ["compare"]

SHOWN = 20
"""Failures that are named on standard error; the rest is counted."""


def _side(path: Path) -> Path:
    if str(path) == "-" and not path.exists():
        raise typer.BadParameter("standard input is not read; name a file or a folder")
    return path


def _figures(names: list[str] | None) -> list[str]:
    from likewise.evaluation.sides import FIGURES

    for name in names or ():
        if name not in FIGURES:
            raise typer.BadParameter(f"no figure {name!r}; there are {', '.join(FIGURES)}")
    return names or ["rsd"]


def _fail_on(names: list[str] | None) -> list[str]:
    from likewise.report.compare_junit import FAIL_ON

    for name in names or ():
        if name not in FAIL_ON:
            known = "; ".join(f"{key}: {meaning}" for key, meaning in FAIL_ON.items())
            raise typer.BadParameter(f"nothing to fail on is called {name!r} ({known})")
    return names or []


@plain_errors
@takes_groups
def compare(
    base: Annotated[
        Path, typer.Argument(help="Runs (file or folder) or JSON report of the base.", metavar="BASE", callback=_side)
    ],
    candidate: Annotated[
        Path, typer.Argument(help="Runs or JSON report of the candidate.", metavar="CANDIDATE", callback=_side)
    ],
    *,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--figure",
            "--metric",
            help="Figure that decides the verdict; may be repeated. Default: rsd.",
            metavar="FIGURE",
            callback=_figures,
        ),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            help="End with exit code 1 on: worse, undecided, not-better, task-worse; may be repeated.",
            metavar="WHAT",
            callback=_fail_on,
        ),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option(
            "--partial", help="Let --fail-on pass though the candidate lacks tasks or figures that the base has."
        ),
    ] = False,
    json_path: JsonFile = None,
    markdown_path: MarkdownFile = None,
    junit_path: JunitFile = None,
    html_path: HtmlFile = None,
    k: Annotated[int | None, typer.Option("--k", help="k of pass^k.", metavar="NUMBER", min=1)] = None,
    power: Annotated[
        float,
        typer.Option(
            help="Power for further runs and detectable differences.",
            metavar="NUMBER",
            min=0.01,
            max=0.999,
            callback=finite,
        ),
    ] = 0.8,
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
    """Compare two versions of an agent on the tasks that both ran: better, worse, or undecided.

    A side is recorded runs, or a report written by `likewise report --json` (then measured with the same judge, rules,
    gamma and length policy, or refused). Where both are runs, they are also compared with each other, task by task.

    Exit codes: 0 fine, 1 what --fail-on names has come about, 2 usage, 3 input unreadable or not comparable, 4 a judge
    or the label store does not work, 130 interrupted.
    """
    del debug
    targets = {"--json": json_path, "--markdown": markdown_path, "--junit": junit_path, "--html": html_path}
    check_targets(targets, [base, candidate])
    from likewise.cli.progress import progress_display
    from likewise.evaluation.compare import compare as compared
    from likewise.evaluation.sides import is_report, read_side
    from likewise.evaluation.versions import Measuring
    from likewise.formats.registry import read_rollouts

    rules = kept.rules(quiet=quiet)
    progress = progress_display(quiet)
    reports = [is_report(path) for path in (base, candidate)]
    chosen = None
    if not all(reports):
        chosen = judge_from_options(judging, quiet=quiet)
    sides = [
        read_side(path)
        if report
        else read_rollouts([path], format=format, mapping=map_file, strict=strict, progress=progress)
        for path, report in zip((base, candidate), reports, strict=True)
    ]
    with kept.open_store(needed=not all(reports)) as label_store:
        how = Measuring(
            judge=chosen,
            rules=rules,
            store=label_store,
            options=scoring.options(),
            seed=seed,
            progress=progress,
            pool=pool,
        )
        first, second, between, warnings, unjudged = _measured(how, (str(base), str(candidate)), sides)
    comparison = compared(
        first, second, deciding=metric or ("rsd",), k=k, between=between, power=power, seed=seed, warnings=warnings
    )
    _write(comparison, fail_on or [], partial, targets, quiet)
    if unjudged:  # a comparison of nothing must not pass in CI
        say(f"error: no pair of actions of {' and of '.join(unjudged)} could be judged; the warnings say why")
        raise typer.Exit(ExitCode.BACKEND)
    _end(comparison, fail_on or [], partial)


def _measured(
    how: Measuring, names: tuple[str, str], sides: Sequence[Side | RolloutSet]
) -> tuple[Side, Side, dict[str, TwoVersions] | None, list[str], list[str]]:
    """Both sides, the comparison of their runs where both were read as runs, their warnings, and who was not judged."""
    from likewise.evaluation.sides import Side, side_of

    warnings: list[str] = []
    unjudged: list[str] = []

    def known(word: str, name: str, evaluation: Evaluation) -> Side:
        if evaluation.summary.valid == 0:
            say(f"error: no run of {name} could be scored; `likewise inspect` says why")
            raise typer.Exit(ExitCode.INPUT)
        warnings.extend(f"{word}: {warning}" for warning in evaluation.warnings)
        if evaluation.judge_use.distinct_pairs and not evaluation.judge_use.by_rule:
            unjudged.append(name)
        return side_of(evaluation, name)

    one, other = sides
    if not isinstance(one, Side) and not isinstance(other, Side):
        first, second, between = how.both(one, other)
        return known("base", names[0], first), known("candidate", names[1], second), between, warnings, unjudged
    base, candidate = (
        side if isinstance(side, Side) else known(word, name, how.one(side))
        for word, name, side in zip(("base", "candidate"), names, sides, strict=True)
    )
    return base, candidate, None, warnings, unjudged


def _write(
    comparison: Comparison, fail_on: list[str], partial: bool, targets: dict[str, str | None], quiet: bool
) -> None:
    """Write what was asked for, nothing before everything is rendered; print the rest."""
    from likewise.report.compare_html import comparison_html
    from likewise.report.compare_json import comparison_as_json
    from likewise.report.compare_junit import comparison_junit
    from likewise.report.compare_markdown import comparison_markdown
    from likewise.report.compare_terminal import render_comparison

    faces: dict[str, Callable[[], str]] = {
        "--json": lambda: json.dumps(comparison_as_json(comparison), indent=2, allow_nan=False) + "\n",
        "--markdown": lambda: comparison_markdown(comparison),
        "--junit": lambda: comparison_junit(comparison, fail_on, partial=partial),
        "--html": lambda: comparison_html(comparison),
    }
    write_and_show(
        targets, lambda option: faces[option](), lambda console: render_comparison(comparison, console), quiet=quiet
    )


def _end(comparison: Comparison, fail_on: list[str], partial: bool) -> None:
    """Exit code 1 with the reasons where the build fails; what was not compared is told in any case."""
    from likewise.report.compare_junit import comparison_failures
    from likewise.report.compare_words import unmatched

    if fail_on:
        for line in unmatched(comparison):
            say(f"warning: {line}")
    failures = comparison_failures(comparison, fail_on, partial=partial)
    for failure in failures[:SHOWN]:
        say(f"failed: {failure}")
    if len(failures) > SHOWN:
        say(f"failed: {len(failures) - SHOWN} more")
    if failures:
        raise typer.Exit(ExitCode.THRESHOLD)
