import io
import re

import pytest
from rich.console import Console

from likewise.core.rollout import StopReason
from likewise.report.terminal import render_terminal
from report_factory import evaluation, hostile_evaluation, rollout, task


def printed(result, width=80, **options) -> str:
    stream = io.StringIO()
    render_terminal(result, Console(file=stream, width=width, **options))
    return stream.getvalue()


@pytest.mark.parametrize("width", [30, 60, 80, 109, 110, 160])
def test_every_width_prints_and_no_line_is_longer(width):
    text = printed(hostile_evaluation(), width)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width


def test_nothing_is_cut_off_at_80_columns():
    text = printed(evaluation([task("airline 12", rsd=2.5, success=0.25), task("x", rsd=None)]))
    for words in ("airline 12", "2/2", "25%", "2.50", "2.40–2.60", "0.50", "2.00", "turn 1 claim", "agent"):
        assert words in text
    assert "…" not in text


def test_worst_task_comes_first_and_undefined_last():
    text = printed(evaluation([task("none", rsd=None), task("mild", rsd=0.5), task("worst", rsd=4.0)]))
    places = [re.search(rf"^ {name}\b", text, re.M).start() for name in ("worst", "mild", "none")]
    assert places == sorted(places)


def test_markup_in_a_task_id_prints_literally():
    text = printed(evaluation([task("[mobile_data_issue]x[PERSONA:None]")]), 120)
    assert "[mobile_data_issue]x[PERSONA:None]" in text
    assert "[bold red]x[/bold red]" in printed(evaluation([task("[bold red]x[/bold red]")]), 120)


def test_no_escape_or_control_character_reaches_a_stream_that_is_no_terminal():
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", printed(hostile_evaluation()))


def test_a_terminal_gets_only_our_own_colours():
    text = printed(hostile_evaluation(), force_terminal=True, color_system="standard")
    rest = re.sub("\x1b\\[[0-9;]*m", "", text)
    assert "\x1b[" in text
    assert "\x1b" not in rest
    assert "title" not in re.sub(r"</?title>", "", rest)


def test_summary_says_what_was_left_out_and_what_it_means():
    runs = [
        rollout("t", "a", ["x"]),
        rollout("t", "b", ["x"]),
        rollout("t", "c", [], stop=StopReason.INVALID, problem="harness died", success=None),
    ]
    text = printed(evaluation([task("t", runs, rsd=0.1, success=0.0, rsd_band=(0.1, 0.7))]))
    for words in (
        "1 task is consistent and wrong: t.",
        "left out: 2",
        "harness died",
        "no turns",
        "0.10 to 0.70",
        "pass^k",
        "5 = apart throughout",
        "likewise:0.1.0|",
        "Consistent: normalised RSD below 0.25",
    ):
        assert words in text
    assert "2/3" in text


def test_an_ascii_stream_gets_ascii():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    render_terminal(hostile_evaluation(), Console(file=stream, width=80))
    stream.flush()


def test_an_evaluation_without_tasks_prints():
    assert "0 tasks" in printed(evaluation([]))
