from __future__ import annotations

import io

from rich.console import Console

from likewise.report.curves_table import render_curves
from report.test_curves_html import curves


def test_a_line_a_run_with_its_highest_turn_and_its_jumps():
    out = io.StringIO()
    render_curves(curves(), Console(file=out, width=100))
    text = out.getvalue()
    assert "a claim" in text
    assert "1 of 3 states are unlike those of the training" in text
    (line,) = [each for each in text.splitlines() if "<b>task</b> / 0" in each]
    assert line.split() == ["<b>task</b>", "/", "0", "2", "0.00", "5.00", "1", "1", "▁█"]
