"""The table of a judge's figures."""

import io

from rich.console import Console

from likewise.core.estimate import Estimate
from likewise.evaluation.judge_eval import JudgeScore
from likewise.metrics.classification import ClassScore
from likewise.report.judge_table import render_judge_table


def printed(**changes):
    one = ClassScore(1.0, 1.0, 1.0, 2)
    fields = {
        "path": "p", "task": "action", "signature": "s", "labels": ("equivalent", "neutral", "contradictory"),
        "confusion": ((2, 0, 0), (0, 0, 0), (0, 0, 0)), "accuracy": Estimate(1.0, 0.3, 1.0, n=2),
        "macro_f1": Estimate(1.0, n=2, reason="resampling 2 pair(s) shows no spread"),
        "per_class": (one, ClassScore(None, None, None, 0), ClassScore(None, None, None, 0)),
        "per_kind": {"[bold]\x1b[31mtext\x9b": (Estimate(1.0, 0.3, 1.0, n=2), Estimate.undefined("no pair"))},
        "not_measured": (),
    }  # fmt: skip
    out = io.StringIO()
    render_judge_table(JudgeScore(**fields | changes), Console(file=out, width=100))
    return out.getvalue()


def test_a_figure_without_interval_gives_its_reason():
    assert "macro F1 1.000 (resampling 2 pair(s) shows no spread)" in printed()


def test_a_kind_is_neither_markup_nor_an_escape():
    assert "[bold]" in printed()
    assert "\x1b" not in printed()
    assert "\x9b" not in printed()
