"""The table of a judge's figures."""

import io

from rich.console import Console

from likewise.core.estimate import Estimate
from likewise.evaluation.judge_error import judge_error
from likewise.evaluation.judge_eval import JudgeScore
from likewise.evaluation.repeatability import Repeatability
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


def test_the_error_of_distances_and_its_bands_stand_under_their_own_names():
    shown = printed(error=judge_error(((6, 2, 0), (0, 8, 1), (1, 0, 2)), 0.8))
    assert "error of distances (0 / 0.5 / 1): mean 0.125 [" in shown
    assert "largest met 1" in shown
    assert "by the theorem, if no pair is judged worse than the worst here: empty: the band 5 is not below" in shown
    assert "on average, which is no theorem: at most 0.625, with the upper limit" in shown


def test_without_an_error_no_band_is_printed():
    assert "theorem" not in printed()


def test_readings_reasons_and_notes_are_printed_and_capped():
    readings = Repeatability(3, Estimate(0.75, 0.3, 0.95, n=4), 1)
    reasons = ("budget of 1 spent",) * 3 + tuple(f"reason {i}\x1b[31m" for i in range(6))
    shown = printed(repeatability=readings, notes=("asked 12 times\x1b[31m",), not_measured=reasons)
    assert "read 3 times, alike on 0.750 [0.300, 0.950] of 4 pairs; a reading failed on 1 more" in shown
    assert "not measured, 3: budget of 1 spent" in shown
    assert "not measured, 2: 2 further reason(s)" in shown
    assert "asked 12 times" in shown
    assert "\x1b" not in shown
