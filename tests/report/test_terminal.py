import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from likewise.core.estimate import Estimate
from likewise.core.rollout import Excluded, StopReason
from likewise.report.inspection import render_inspection
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
        "5 apart throughout",
        "likewise:0.1.0|",
        "Consistent: RSD share",
    ):
        assert words in text
    assert "2/3" in text


def test_what_was_not_fully_measured_is_not_called_cut():
    text = printed(evaluation([task("task 2", rsd=2.22, rsd_band=(2.2201, 2.2239))]), 120)
    assert "not fully measured" in text
    assert "task 2: 2.220 to 2.224" in text
    assert "cut" not in text


def test_the_summary_has_the_final_answers_and_says_where_there_is_no_interval():
    result = evaluation()
    reason = "all 12 tasks have one value"
    estimates = {1: Estimate(0.5, 0.4, 0.6, n=12), 5: Estimate(1.0, n=1, reason=reason)}
    text = printed(replace(result, summary=replace(result.summary, pass_hat_k=estimates, tasks=12)), 120)
    assert "disagree with probability 0.40 [0.30 to 0.50]" in text
    assert "1: 50% [40 to 60%], 12 of 12 tasks; 5: 100% (no interval), 1 of 12 tasks" in text
    assert reason not in text
    assert "1: 50% [40 to 60%]; 2: 70% [60 to 80%]" in printed(result, 120)  # on all tasks


def test_a_reason_names_where_it_was_first_found():
    excluded = [Excluded(None, None, f"reason {n // 2}", f"file{n}.json", n, "/x") for n in range(13)]
    text = printed(evaluation(excluded=tuple(excluded)), 120)
    assert "2 × reason 0 (first: file0.json:0 /x)" in text
    assert "2 further reasons: `likewise inspect` lists all" in text


def test_the_judge_rows_count_pairs_and_rules_apart():
    text = printed(evaluation(), 120)
    assert re.search(
        r"judge +12 distinct pairs; 4 text pairs judged by the model, 2 known from the store\s+$", text, re.M
    )
    assert re.search(r"^ +settled by: identical 6, nli 6", text, re.M)


def test_a_report_without_a_scored_run_starts_with_that():
    dead = [rollout("t", "a", [], stop=StopReason.INVALID, problem="died", success=None)]
    result = evaluation([task("t", dead, rsd=None, success=None, turns=(), classes=())])
    nothing = Estimate.undefined("no task has a judged pair")
    text = printed(replace(result, summary=replace(result.summary, contradiction_share=nothing)), 120)
    assert text.startswith(" No run could be scored; the reasons are below.")
    assert "judged pair of judged pairs" not in text
    assert "could not be placed" not in text


def test_an_ascii_stream_gets_ascii():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    render_terminal(hostile_evaluation(), Console(file=stream, width=80))
    stream.flush()


def test_an_evaluation_without_tasks_prints():
    assert "0 tasks" in printed(evaluation([]))


def test_an_inspection_says_where_each_record_lies():
    row = {"task_id": None, "run_id": "a", "reason": "no turns", "path": "runs.json", "line": 3, "pointer": "/3/traj"}
    counts = dict.fromkeys(("tasks", "rollouts", "valid", "turns", "tool_calls"), 1)
    stream = io.StringIO()
    summary = counts | {"files": [], "excluded": [row], "warnings": [], "valid_per_task": {"4": 2, "1": 1}}
    render_inspection(summary, Console(file=stream, width=120))
    assert "runs.json:3 /3/traj" in stream.getvalue()
    assert "2 with 4, 1 with 1" in stream.getvalue()


@pytest.mark.parametrize(("count", "shown"), [(3, "f2.json"), (100, "tau2")])
def test_an_inspection_of_many_files_counts_them_by_format(count, shown):
    rows = [{"path": f"f{i}.json", "format": "tau2", "rollouts": 2, "valid": 1, "excluded": 0} for i in range(count)]
    counts = dict.fromkeys(("tasks", "rollouts", "valid", "turns", "tool_calls"), 1)
    stream = io.StringIO()
    summary = counts | {"files": rows, "excluded": [], "warnings": [], "valid_per_task": {}}
    render_inspection(summary, Console(file=stream, width=120))
    assert shown in stream.getvalue()
    assert ("f2.json" in stream.getvalue()) is (count < 100)
    assert ("200" in stream.getvalue()) is (count == 100)


def with_errors():
    """Issue 493 of tau2-bench: one run solved, three that the harness broke, each of a task of its own."""
    dead = [rollout(n, n, [], stop=StopReason.INVALID, problem="died", success=None) for n in "bcd"]
    tasks = [task("a", [rollout("a", "1", ["x"])], rsd=None, success=1.0)]
    tasks += [task(run.task_id, [run], rsd=None, success=None, turns=(), classes=()) for run in dead]
    result = evaluation(tasks)
    rates = {"success_rate": Estimate(1.0, n=1, reason="one task"), "success_rate_all": Estimate(0.25, 0.0, 0.7, n=4)}
    return replace(result, summary=replace(result.summary, **rates, tasks_without_valid=("b", "c", "d")))


def test_where_runs_failed_in_the_harness_both_denominators_stand_side_by_side():
    text = " ".join(printed(with_errors()).split())
    assert "success 25% [0 to 70%], mean over tasks, where the 3 runs that failed in the harness count" in text
    assert "as failures (1 of 4 runs succeeded) 100% (no interval), mean over tasks, without them (1 of 1)" in text
    assert "no valid run b, c, d" in text


def test_tasks_with_fewer_outcomes_than_the_others_are_named_with_their_number():
    assert "outcomes 0 in 3 tasks; 1 in a." in " ".join(printed(with_errors()).split())
    assert "outcomes" not in printed(evaluation()).split()
