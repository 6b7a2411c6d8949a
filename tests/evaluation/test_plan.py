"""Plans: how many runs and tasks a claim needs."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from likewise.evaluation.plan import (
    Plan,
    assumed_spread,
    measured_spread,
    plan_claim,
    plan_detect,
    plan_pass_hat,
    plan_stable,
    top_up,
)
from likewise.report.plan_json import plan_as_json
from scoring.runs import INVALID, group, run
from sides_factory import figures, side


def test_tasks_for_a_difference_follow_from_the_noise_of_runs_and_of_the_effect():
    plan = plan_detect(assumed_spread("rsd", run_sd=0.8, effect_sd=0.3), 0.4)
    for runs, tasks, total in plan.rows:
        sd = math.sqrt(0.3**2 + 2 * 0.8**2 / runs)
        exact = math.ceil(TTestPower().solve_power(0.4 / sd, power=0.8, alpha=0.05))
        assert exact <= tasks <= exact + 2
        assert total == 2 * runs * tasks
    assert plan.cheapest == min(plan.rows, key=lambda row: row[2])


def test_the_effect_differs_as_much_as_its_size_unless_said():
    assert plan_detect(assumed_spread("rsd", run_sd=0.5), 0.25).effect_sd == 0.25


def test_rows_can_be_held_to_the_runs_and_tasks_at_hand():
    spread = assumed_spread("rsd", run_sd=1.0)
    (row,) = plan_detect(spread, 0.5, runs=8).rows
    assert row[0] == 8
    assert all(tasks <= 40 for _, tasks, _ in plan_detect(spread, 0.5, tasks=40).rows)
    assert plan_detect(spread, 0.01, tasks=3).rows == ()
    assert plan_detect(spread, 0.01, tasks=3).cheapest is None


def test_the_noise_of_one_run_is_the_standard_error_times_the_root_of_the_runs():
    measured = side("r.json", [figures("a", stderr=0.2), figures("b", stderr=0.4), figures("c", None)])
    # Four runs: variances .04 and .16, of one run .16 and .64, on average .4.
    assert measured_spread(measured, "rsd").run_sd == pytest.approx(math.sqrt(0.4))
    # Success: (.5)(.5)/3 a task, times 4 runs.
    assert measured_spread(measured, "success_rate").run_sd == pytest.approx(math.sqrt(4 * 0.25 / 3))
    with pytest.raises(ValueError, match="three runs a task show one"):
        measured_spread(measured, "pass_hat_k")


def test_pass_hat_k_needs_as_many_tasks_as_its_spread_asks_for():
    worst = plan_pass_hat(4, 0.1)
    assert worst.sd == 0.5
    # 1.9845 * .5 / sqrt(n) <= .1 with n near 99: n = 99 (t_.975 with 98 degrees of freedom is 1.9845).
    assert worst.tasks == 99
    assert plan_pass_hat(4, 0.1, rate=0.9).sd == pytest.approx(0.3)
    outcomes = [(True,) * 4, (True, True, True, False), (False,) * 4]
    shown = plan_pass_hat(2, 0.1, side=side("r", [figures(str(i), outcomes=o) for i, o in enumerate(outcomes)]))
    assert shown.sd == pytest.approx(np.std([1.0, 0.5, 0.0], ddof=1))
    with pytest.raises(ValueError, match=r"0 task.s. with 9 known outcomes"):
        plan_pass_hat(9, 0.1, side=side("r", [figures("a")]))


def test_stable_needs_fourteen_runs_that_agree_and_says_what_each_task_lacks():
    plan = plan_stable(0.8, side=side("r", [figures("a")]))  # 3 of 4 alike
    assert plan.rows[:2] == ((0, 14), (1, 22))
    # One run of the task does otherwise, so 22 runs in all: 18 more.
    assert plan.tasks == {"a": 18}


def test_a_task_that_over_a_thousand_further_runs_would_not_show_as_stable_says_none():
    apart = replace(figures("apart"), alike=(300, 600))
    # 300 + m of 600 + m alike, m = 1000: 81 %, far below a share of 99 %
    assert plan_stable(0.99, side=side("s", [apart])).tasks == {"apart": None}


def test_claims_follow_the_finite_sample_rule():
    plan = plan_claim(0.05, 30)
    assert (plan.trials, plan.smallest) == (59, pytest.approx(0.0950, abs=5e-5))
    assert plan_claim(None, None).trials is None


def test_topping_up_counts_valid_runs_and_levels_to_the_best_task_unless_told():
    groups = [
        group(*(run(str(i), "x", task="a") for i in range(4))),
        group(run("0", "x", task="b"), run("1", task="b", stop=INVALID), run("2", "x", task="b")),
    ]
    assert [(t.task_id, t.valid, t.invalid, t.missing) for t in top_up(groups)] == [("a", 4, 0, 0), ("b", 2, 1, 2)]
    assert [t.missing for t in top_up(groups, 8)] == [4, 6]
    assert top_up([]) == ()


def test_a_plan_is_plain_data():
    plan = Plan(
        0.95,
        plan_detect(assumed_spread("rsd"), 0.3),
        plan_pass_hat(2, 0.1),
        plan_stable(0.9),
        plan_claim(0.1, None),
        top_up([]),
    )
    data = json.loads(json.dumps(plan_as_json(plan), allow_nan=False))
    assert data["schema"] == "likewise.plan/1"
    assert data["claim"]["trials"] == 29
    assert plan_as_json(Plan(0.95))["detect"] is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: assumed_spread("cv"), "known for no benchmark"),
        (lambda: plan_detect(assumed_spread("rsd"), 0.0), "a difference to find is positive"),
        (lambda: plan_pass_hat(2, 0.1, rate=1.0), "an expected pass"),
        (lambda: plan_pass_hat(2, 0.0), "half a width is positive"),
        (lambda: plan_stable(0.5), "lies in"),
        (lambda: plan_claim(1.0, None), "a failure rate lies"),
        (lambda: plan_claim(None, 0), "at least one trial"),
    ],
)
def test_what_has_no_answer_is_refused_with_the_reason(call, message):
    with pytest.raises(ValueError, match=message):
        call()
