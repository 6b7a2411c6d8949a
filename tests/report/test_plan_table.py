"""A plan in the terminal."""

from io import StringIO

from rich.console import Console

from likewise.evaluation.plan import (
    Plan,
    assumed_spread,
    plan_claim,
    plan_detect,
    plan_pass_hat,
    plan_stable,
    top_up,
)
from likewise.report.plan_table import render_plan
from scoring.runs import group, run


def printed(plan):
    file = StringIO()
    render_plan(plan, Console(file=file, width=100))
    return file.getvalue()


def test_each_answer_says_what_it_needs_and_what_it_rests_on():
    text = printed(
        Plan(
            0.95,
            plan_detect(assumed_spread("rsd", run_sd=1.0), 0.5),
            plan_pass_hat(4, 0.1),
            plan_stable(0.8),
            plan_claim(0.05, 30),
        )
    )
    assert "To find a difference of 0.5 in mean rsd with power 80%" in text
    assert "Noise of one run 1 (given); the change differs between tasks by 0.5" in text
    assert "To show pass^4 within ±0.1: 99 tasks of at least 4 runs." in text
    assert "at least 80% of a task's runs end alike" in text
    assert "at most 0.05 failures, at 95%: 59 trials without one." in text
    assert "30 trials without a failure allow no claim below 9.5% (1 − 0.05^(1/30))." in text


def test_tasks_that_lack_runs_are_listed_worst_first_and_names_stay_text():
    groups = [group(run("1", "x", task="[bold]a[/]\x1b[31m")), group(*(run(str(i), "x", task="b") for i in range(3)))]
    text = printed(Plan(0.95, top_up=top_up(groups, 4)))
    assert "2 of 2 tasks lack runs for 4 valid ones each: 4 in all." in text
    assert "[bold]a[/]" in text
    assert "\x1b" not in text
    assert "All 2 tasks have 1 valid runs or more." in printed(Plan(0.95, top_up=top_up(groups, 1)))


def test_a_plan_that_nothing_fulfils_says_so():
    assert "No number of runs shown does it" in printed(
        Plan(0.95, plan_detect(assumed_spread("rsd", run_sd=1.0), 0.001, tasks=5))
    )
