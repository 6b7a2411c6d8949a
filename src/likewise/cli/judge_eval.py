"""`likewise judge-eval`: how often the judge is right on labelled pairs."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from likewise.cli.errors import plain_errors
from likewise.cli.judge_options import JudgeOptions, finite, judge_from_options
from likewise.cli.option_groups import takes_groups
from likewise.cli.options import AsJson, Debug, Quiet, RulesAndStore

__all__ = ["judge_eval"]


class Task(StrEnum):
    """What the labels are about."""

    ACTION = "action"
    NLI = "nli"


@plain_errors
@takes_groups
def judge_eval(
    file: Annotated[Path, typer.Argument(help="JSONL of labelled pairs (.gz too).", metavar="FILE")],
    *,
    task: Annotated[
        Task | None,
        typer.Option(
            help="Actions (action_a, action_b) or NLI (premise, hypothesis); told from the fields if not given."
        ),
    ] = None,
    judging: JudgeOptions,
    repeat: Annotated[
        int | None,
        typer.Option(
            help="Let it read a sample of pairs so many times, and count where it agrees.", metavar="NUMBER", min=2
        ),
    ] = None,
    repeat_sample: Annotated[int, typer.Option(help="Pairs of that sample.", metavar="NUMBER", min=1)] = 50,
    gamma: Annotated[
        float, typer.Option(help="Discount of the error bands.", metavar="NUMBER", min=0, max=0.9999, callback=finite)
    ] = 0.8,
    kept: RulesAndStore,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Judge labelled pairs and print accuracy, macro-F1 and the confusion matrix, with intervals.

    Fields of a line: action_a, action_b, label (equivalent / neutral / contradictory), or premise, hypothesis, label
    (entailment / neutral / contradiction); optionally kind.
    """
    del debug
    from likewise.backends.judges import EMBEDDED, embedded_nli
    from likewise.cli.progress import progress_display
    from likewise.evaluation.judge_eval import evaluate_judge, read_labelled_pairs
    from likewise.scoring.stored_judge import StoredJudge

    rules = kept.rules(quiet=quiet)
    chosen = judge_from_options(judging, quiet=quiet)
    pairs = read_labelled_pairs(file, task=str(task) if task else None)
    if pairs.task == "nli" and judging.judge.startswith(("llm", "cascade")):
        raise typer.BadParameter(
            "a chat model judges pairs of actions; NLI pairs need an NLI model", param_hint="--judge"
        )
    if pairs.task == "nli" and judging.judge == EMBEDDED:  # the judge of actions gives no directions
        chosen = embedded_nli()
    with kept.open_store() as label_store:
        asked = StoredJudge(chosen, label_store, progress_display(quiet))
        result = evaluate_judge(pairs, asked, rules, gamma=gamma, repeat=repeat or 0, repeat_sample=repeat_sample)
    if as_json:
        typer.echo(json.dumps(result.as_json(), indent=2))
        return
    from rich.console import Console

    from likewise.report.judge_table import render_judge_table

    render_judge_table(result, Console())
