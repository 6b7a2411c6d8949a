"""`likewise report`: repeated rollouts in, consistency report out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from likewise.cli.cycles import rare_cycle_search
from likewise.cli.errors import ExitCode, plain_errors, say
from likewise.cli.gate_options import FailOn, check_reach, end_with_gates, load_gates
from likewise.cli.judge_options import JudgeOptions, UncertainBelow, judge_from_options
from likewise.cli.option_groups import takes_groups
from likewise.cli.options import (
    Debug,
    Format,
    HtmlFile,
    JsonFile,
    JunitFile,
    MapFile,
    MarkdownFile,
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
    from rich.console import Console

    from likewise.evaluation.gates import GateReport
    from likewise.evaluation.results import Evaluation

__all__ = ["report"]


@plain_errors
@rare_cycle_search()
@takes_groups
def report(
    runs: Paths,
    *,
    json_path: JsonFile = None,
    html_path: HtmlFile = None,
    markdown_path: MarkdownFile = None,
    junit_path: JunitFile = None,
    fail_on: FailOn = None,
    format: Format = None,
    map_file: MapFile = None,
    scoring: ScoringFlags,
    seed: Seed = 0,
    judging: JudgeOptions,
    uncertain_below: UncertainBelow = 0.6,
    pool: Pool = False,
    strict: Strict = False,
    kept: RulesAndStore,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Measure how alike the runs of each task are, where they part, and what that costs.

    Exit codes: 0 fine, 1 a gate (--fail-on, or [gates] of the settings) was not passed, 2 usage, 3 input unreadable or
    no run to score, 4 a judge or the label store does not work, 130 interrupted.
    Judgements are kept in the label store: the same command goes on where it was stopped.
    """
    del debug
    targets = {"--json": json_path, "--html": html_path, "--markdown": markdown_path, "--junit": junit_path}
    check_targets(targets, runs)
    from likewise.cli.progress import progress_display
    from likewise.evaluation.evaluate import evaluate
    from likewise.evaluation.gates import check_gates
    from likewise.formats.registry import read_rollouts

    rules = kept.rules(quiet=quiet)
    settings = load_gates(kept.config, fail_on, scoring.gamma)
    chosen = judge_from_options(judging, quiet=quiet)
    progress = progress_display(quiet)
    rollouts = read_rollouts(runs, format=format, mapping=map_file, strict=strict, progress=progress)
    options = scoring.options()
    check_reach(settings, rollouts, options)
    with kept.open_store() as label_store:
        evaluation = evaluate(
            rollouts,
            judge=chosen,
            rules=rules,
            store=label_store,
            options=options,
            seed=seed,
            progress=progress,
            pool=pool,
            uncertain_below=uncertain_below,
        )
    gates = check_gates(evaluation, settings)
    write_and_show(
        targets,
        lambda option: _face(option, evaluation, gates),
        lambda console: _show(evaluation, gates, console),
        quiet=quiet,
    )
    if evaluation.summary.valid == 0:  # a report of nothing must not pass in CI
        say("error: no run could be scored; `likewise inspect` says why")
        raise typer.Exit(ExitCode.INPUT)
    use = evaluation.judge_use
    if use.distinct_pairs and not use.by_rule:  # nor one of nothing but failures of the judge
        say(f"error: none of the {use.distinct_pairs} pair(s) of actions could be judged; the warnings say why")
        raise typer.Exit(ExitCode.BACKEND)
    end_with_gates(gates)


def _show(evaluation: Evaluation, gates: GateReport, console: Console) -> None:
    from likewise.report.states import render_states
    from likewise.report.terminal import render_terminal

    render_terminal(evaluation, console)
    render_states(gates, console)


def _face(option: str, evaluation: Evaluation, gates: GateReport) -> str:
    """The report as the option names it; each module is loaded only where it is wanted."""
    if option == "--json":
        from likewise.report.as_json import evaluation_as_json

        whole = {**evaluation_as_json(evaluation), "gates": gates.as_json()}
        return json.dumps(whole, indent=2, allow_nan=False) + "\n"
    if option == "--html":
        from likewise.report.html import render_html

        return render_html(evaluation)
    if option == "--markdown":
        from likewise.report.markdown import report_markdown

        return report_markdown(evaluation, gates)
    from likewise.report.junit import report_junit

    return report_junit(evaluation, gates)
