from __future__ import annotations

import re

from likewise.learned.curves import Curve, Curves
from likewise.learned.model import Score
from likewise.report.curves_html import render_curves_html


def score(value, familiar=True):
    return Score(value, value / 5, None, 0.1, familiar)


def curves(**changes):
    runs = (
        Curve("<b>task</b>", "0", False, (score(0.0), score(5.0, familiar=False)), ("</title><script>", "b"), (1,), 1),
        Curve("t", "1", None, (score(1.0),), ("c",), (), None),
    )
    whole = {
        "runs": runs,
        "excluded": 2,
        "largest": 5.0,
        "threshold": 2.5,
        "claim": "a claim",
        "signature": "s|t",
        "demo": None,
    }
    return Curves(**(whole | changes))


def test_each_turn_is_a_point_at_its_height():
    page = render_curves_html(curves())
    points = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="3.5" fill="([^"]+)"', page)
    # 640 by 120 with an edge of 24: value 0 lies at 96, value 5 at 24, value 1 at 96 - 72/5.
    assert [(x, y) for x, y, _ in points] == [("24.0", "96.0"), ("616.0", "24.0"), ("24.0", "81.6")]
    assert points[1][2] == "none"  # a state unlike those of the training is hollow
    assert 'y1="60.0" y2="60.0"' in page  # the threshold


def test_what_logs_say_is_escaped_and_nothing_is_loaded_from_outside():
    page = render_curves_html(curves())
    assert "<script" not in page
    assert "&lt;b&gt;task&lt;/b&gt;" in page
    assert not re.search(r"(src|href)=", page)


def test_what_a_reader_should_know_is_said():
    page = render_curves_html(curves(demo="of airline tasks"))
    for said in (
        "a claim",
        "2 run(s) left out",
        "1 of 3 states are unlike",
        "A demonstration model: of airline",
        "s|t",
    ):
        assert said in page
    assert "jumps at turn 1" in page
    assert "failed" in page
