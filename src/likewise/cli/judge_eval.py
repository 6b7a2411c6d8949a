"""`likewise judge-eval`: how often the judge is right on labelled pairs."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from likewise.cli.errors import plain_errors
from likewise.cli.options import AsJson, Debug, NoStore, Quiet, Store, open_store

__all__ = ["judge_eval"]


class Task(StrEnum):
    """What the labels are about."""

    ACTION = "action"
    NLI = "nli"


@plain_errors
def judge_eval(
    file: Annotated[Path, typer.Argument(help="JSONL of labelled pairs (.gz too).", metavar="FILE")],
    task: Annotated[
        Task | None,
        typer.Option(
            help="Actions (action_a, action_b) or NLI (premise, hypothesis); told from the fields if not given."
        ),
    ] = None,
    store: Store = None,
    no_store: NoStore = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Judge labelled pairs and print accuracy, macro-F1 and the confusion matrix, with intervals.

    Fields of a line: action_a, action_b, label (equivalent / neutral / contradictory), or premise, hypothesis, label
    (entailment / neutral / contradiction); optionally kind.
    """
    del debug
    from likewise.backends.onnx_nli import embedded_judge
    from likewise.cli.progress import progress_display
    from likewise.evaluation.judge_eval import evaluate_judge, read_labelled_pairs
    from likewise.scoring.stored_judge import StoredJudge

    pairs = read_labelled_pairs(file, task=str(task) if task else None)
    with open_store(store, no_store) as label_store:
        result = evaluate_judge(pairs, StoredJudge(embedded_judge(), label_store, progress_display(quiet)))
    if as_json:
        typer.echo(json.dumps(result.as_json(), indent=2))
        return
    from rich.console import Console

    from likewise.report.judge_table import render_judge_table

    render_judge_table(result, Console())
