"""`likewise report`: repeated rollouts in, consistency report out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from likewise.cli.errors import ExitCode, plain_errors, say
from likewise.cli.gate_options import FailOn, end_with_gates, load_gates
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
    UncertainBelow,
    judge_from_options,
)
from likewise.cli.options import (
    ConfigFile,
    Debug,
    Format,
    Gamma,
    HtmlFile,
    JsonFile,
    JunitFile,
    Length,
    MapFile,
    MarkdownFile,
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
    from likewise.evaluation.gates import GateReport
    from likewise.evaluation.results import Evaluation

__all__ = ["report"]


@plain_errors
def report(
    runs: Paths,
    json_path: JsonFile = None,
    html_path: HtmlFile = None,
    markdown_path: MarkdownFile = None,
    junit_path: JunitFile = None,
    fail_on: FailOn = None,
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
    uncertain_below: UncertainBelow = 0.6,
    pool: Pool = False,
    strict: Strict = False,
    config: ConfigFile = None,
    tools_files: ToolsFiles = None,
    store: Store = None,
    no_store: NoStore = False,
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
    from likewise.scoring.score import ScoringOptions

    rules = load_rules(config, tools_files, quiet=quiet)
    settings = load_gates(config, fail_on)
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
            uncertain_below=uncertain_below,
        )
    gates = check_gates(evaluation, settings)
    written = _write(evaluation, gates, targets)
    if not quiet and STANDARD_OUTPUT not in targets.values():
        from rich.console import Console

        from likewise.report.states import render_states
        from likewise.report.terminal import render_terminal

        render_terminal(evaluation, Console())
        render_states(gates, Console())
    if not quiet and written:
        say(f"wrote {' and '.join(written)}")
    if evaluation.summary.valid == 0:  # a report of nothing must not pass in CI
        say("error: no run could be scored; `likewise inspect` says why")
        raise typer.Exit(ExitCode.INPUT)
    end_with_gates(gates)
    use = evaluation.judge_use
    if use.distinct_pairs and not use.by_rule:  # nor one of nothing but failures of the judge
        say(f"error: none of the {use.distinct_pairs} pair(s) of actions could be judged; the warnings say why")
        raise typer.Exit(ExitCode.BACKEND)


def _write(evaluation: Evaluation, gates: GateReport, targets: dict[str, str | None]) -> list[str]:
    """Write what was asked for and return the files; nothing is written before everything is rendered."""
    return write_faces(targets, lambda option: _face(option, evaluation, gates))


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
