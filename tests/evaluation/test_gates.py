"""States of tasks, and gates that tasks do not pass."""

import math

import pytest
from scipy import stats

from likewise.core.estimate import Estimate
from likewise.core.rollout import StopReason
from likewise.evaluation.gate_rules import GateSettings, StateBasis, StateRule, gate_settings
from likewise.evaluation.gates import State, check_gates, task_state
from report_factory import evaluation, rollout, task


def alike(classes, successes=None, task_id="t"):
    """A task whose runs end in these classes of answers (-1: none)."""
    successes = successes or [True] * len(classes)
    runs = [rollout(task_id, str(i), ["x"], success=ok) for i, ok in enumerate(successes)]
    return task(task_id, runs, answer_classes=tuple(classes))


def state(classes, successes=None, **rule):
    return task_state(alike(classes, successes), StateRule(**rule))


# States: worked by hand for a share of 0.8


@pytest.mark.parametrize(
    ("alike_runs", "runs", "expected"),
    [
        (13, 13, State.UNDECIDED),  # .8^13 = .055
        (14, 14, State.STABLE),  # .8^14 = .044
        (4, 4, State.UNDECIDED),
        (1, 4, State.FLAKY),  # Pr(1 or fewer of 4 at .8) = .2^4 + 4 (.8)(.2^3) = .0272
        (2, 4, State.UNDECIDED),  # .0272 + 6 (.64)(.04) = .181
        (3, 8, State.FLAKY),  # Pr(3 or fewer of 8) = .0104
        (5, 8, State.UNDECIDED),
        (29, 30, State.STABLE),  # .8^30 + 30 (.2)(.8^29) = .0105
    ],
)
def test_states_follow_from_binomial_tails(alike_runs, runs, expected):
    classes = [0] * alike_runs + list(range(1, runs - alike_runs + 1))
    found = state(classes)
    assert (found.state, found.alike, found.runs) == (expected, alike_runs, runs)
    assert found.low == pytest.approx(stats.beta.ppf(0.05, alike_runs, runs - alike_runs + 1))
    high = 1.0 if alike_runs == runs else stats.beta.ppf(0.95, alike_runs + 1, runs - alike_runs)
    assert found.high == pytest.approx(high)


@pytest.mark.parametrize("runs", [2, 3, 5, 8, 14, 20])
@pytest.mark.parametrize("share", [0.6, 0.8, 0.95])
@pytest.mark.parametrize("true", [0.3, 0.55, 0.6, 0.79, 0.8, 0.9, 0.999])
def test_a_state_is_wrong_with_probability_a_twentieth_at_most(runs, share, true):
    # Two classes of probability `true` and 1 - `true`: every outcome is enumerated.
    largest, wrong = max(true, 1 - true), 0.0
    for first in range(runs + 1):
        found = state([0] * first + [1] * (runs - first), share=share).state
        claims_too_much = (found is State.STABLE and largest < share) or (found is State.FLAKY and largest >= share)
        if claims_too_much:
            wrong += math.comb(runs, first) * true**first * (1 - true) ** (runs - first)
    assert wrong <= 0.05


def test_ten_alike_runs_are_no_proof():
    # The case of ten passes in ten: the true share may still be .74.
    found = state([0] * 10)
    assert (found.state, found.low) == (State.UNDECIDED, pytest.approx(0.05**0.1))
    assert found.sentence() == (
        "10 of 10 runs share the commonest answer (true share between 0.74 and 1.00; wanted 0.8)"
    )


def test_without_answers_outcomes_decide_and_a_run_without_an_answer_is_in_no_class():
    by_outcome = state([-1, -1, -1, -1], [True, False, False, False])
    assert (by_outcome.basis, by_outcome.alike, by_outcome.runs) == (StateBasis.OUTCOME, 3, 4)
    assert state([0, 0, -1, 1]).runs == 3
    assert state([0] * 4, [True, False] * 2, basis=StateBasis.OUTCOME).alike == 2


def test_always_failing_alike_is_stable_not_flaky():
    assert state([-1] * 14, [False] * 14).state is State.STABLE


def test_too_few_runs_are_undecided_with_the_reason():
    found = state([0, -1], basis=StateBasis.ANSWERS)
    assert (found.state, found.basis, found.low) == (State.UNDECIDED, None, None)
    assert found.sentence() == "1 run(s) with a final answer that was judged: alike needs at least two"


# Gates


def checked(tasks, *texts, **settings):
    return check_gates(evaluation(tasks), GateSettings(**settings).with_gates(texts))


def test_a_failed_gate_names_the_task_and_the_number():
    report = checked([task("a", rsd=1.0), task("b", rsd=2.0)], "rsd > 1.5")
    (failure,) = report.failures
    assert (failure.task_id, failure.gate, failure.measured) == ("b", "rsd > 1.5", True)
    assert failure.sentence() == "task b: rsd 2 > 1.5"
    assert report.checked == 2


@pytest.mark.parametrize(
    ("text", "fails"), [("rsd > 1", False), ("rsd >= 1", True), ("rsd < 1", False), ("rsd <= 1", True)]
)
def test_limits_are_met_or_not_at_the_limit(text, fails):
    assert bool(checked([task("a", rsd=1.0)], text).failures) is fails


def test_interval_ends_fail_only_where_there_is_no_doubt():
    tasks = [task("a", rsd=1.0)]  # 0.9 to 1.1
    assert not checked(tasks, "rsd.low > 0.95").failures
    assert checked(tasks, "rsd.low > 0.85").failures
    assert checked(tasks, "rsd.high > 1.05").failures


def test_means_are_checked_once():
    report = checked([task("a"), task("b")], "mean rsd > 1", "mean pass^2 < 0.5", "mean pass^3 < 0.5")
    assert [failure.sentence() for failure in report.failures] == [
        "mean over tasks: rsd 1.2 > 1",
        "mean over tasks: pass^2 0.3 < 0.5",
        "mean over tasks: pass^3 is not measured well enough: no task has 3 known outcomes",
    ]
    assert report.checked == 3


def test_a_mean_over_the_tasks_that_did_not_break_is_not_met():
    broken = [task(name, [], rsd=None) for name in ("b", "c", "d", "e", "f", "g")]
    (failure,) = checked([task("a"), *broken], "mean rsd > 2").failures
    assert (failure.task_id, failure.measured) == (None, False)
    assert failure.sentence() == "mean over tasks: rsd is measured in 1 of 7 tasks; not in b, c, d, e, f and 1 more"
    assert not checked([task("a")], "mean rsd > 2").failures


def test_pass_hat_k_of_a_task_is_the_unbiased_one():
    runs = [rollout("a", str(i), ["x"], success=i < 9) for i in range(10)]
    # 9 of 10: C(9, 10) = 0 for ten runs, and not 0.9^10 = 0.35.
    assert checked([task("a", runs)], "pass^10 < 0.3").failures[0].what == "pass^10 0 < 0.3"
    assert not checked([task("a", runs)], "pass^1 < 0.9").failures


def test_what_was_not_measured_fails_unless_it_may_pass():
    tasks = [task("a", rsd=None, success=None)]
    report = checked(tasks, "rsd > 1", "success_rate < 0.5")
    assert [failure.measured for failure in report.failures] == [False, False]
    assert report.failures[1].what == "success_rate is not measured well enough: no outcome known"
    assert not checked(tasks, "rsd > 1", "success_rate < 0.5", unmeasured_fails=False).failures


def test_cut_runs_that_leave_the_limit_open_are_not_measured_well_enough():
    open_ = task("a", rsd=1.0, rsd_band=(1.0, 2.0))
    (failure,) = checked([open_], "rsd > 1.5").failures
    assert (failure.measured, "cut runs leave it between 1 and 2" in failure.what) == (False, True)
    assert not checked([open_], "rsd > 2.5").failures
    assert checked([open_], "rsd > 0.5").failures[0].measured
    (scaled,) = checked([open_], "rsd_normalised > 0.3").failures
    assert "between 0.2 and 0.4" in scaled.what


def test_states_are_gates_too():
    report = check_gates(
        evaluation([alike([0, 1, 2, 3], task_id="apart"), alike([0] * 14, task_id="same")]),
        GateSettings().with_gates(["flaky"]),
    )
    (failure,) = report.failures
    assert failure.sentence().startswith("task apart: is flaky: 1 of 4 runs share the commonest answer")
    assert report.counts == {State.STABLE: 1, State.FLAKY: 1, State.UNDECIDED: 0}


def test_a_state_that_nobody_could_tell_fails_its_gate_unless_it_may_pass():
    nothing = [alike([-1, -1], [None, None], task_id="silent")]
    for word in ("flaky", "undecided"):
        (failure,) = checked(nothing, word).failures
        assert failure.measured is (word == "undecided")
    assert checked(nothing, "flaky").failures[0].what == (
        "whether it is flaky is not measured: 0 run(s) with a known outcome: alike needs at least two"
    )
    assert not checked(nothing, "flaky", unmeasured_fails=False).failures


def test_the_share_gate_looks_at_the_band_as_a_share():
    open_ = task("a", rsd=0.2, rsd_band=(0.2, 0.6), rsd_largest=1.0)
    (failure,) = checked([open_], "rsd_share > 0.5").failures
    assert "between 0.2 and 0.6" in failure.what
    assert not checked([open_], "rsd_share > 0.7").failures


def test_a_figure_without_an_interval_says_so_where_its_end_is_asked_for():
    (failure,) = checked([task("a", contradictory_at=(0, 1, 1))], "contradiction_max.low > 0.5").failures
    assert "this figure has no interval" in failure.what
    assert checked([task("a", contradictory_at=(0, 1, 1))], "contradiction_max > 0.5").failures[0].measured


def test_gates_for_tasks_that_are_not_there_are_named():
    from likewise.core.config import Table

    settings = gate_settings(Table("likewise.toml", "gates", {"tasks": {"gone": {"fail_on": ["rsd > 1"]}}}))
    report = check_gates(evaluation([task("a", rsd=9.0)]), settings)
    assert (report.unknown, report.failures) == (("gone",), ())


def test_the_report_is_plain_data():
    data = checked([task("a", rsd=2.0)], "rsd > 1").as_json()
    assert data["failures"] == [{"task_id": "a", "gate": "rsd > 1", "measured": True, "what": "rsd 2 > 1"}]
    assert data["states"][0]["state"] == "undecided"
    assert data["checked"] == 1


def test_an_agreement_that_a_failed_judge_left_open_is_not_measured():
    broken = task("a", agreement=Estimate.undefined("1 pair(s) of final answers could not be judged"))
    (failure,) = checked([broken], "agreement < 0.5").failures
    assert "could not be judged" in failure.what


def test_invalid_runs_are_in_no_state():
    runs = [rollout("a", str(i), ["x"]) for i in range(3)]
    runs.append(rollout("a", "9", [], success=None, stop=StopReason.INVALID, problem="infra"))
    assert task_state(task("a", runs, answer_classes=(0, 0, 0)), StateRule()).runs == 3


def test_a_gate_on_pass_hat_k_fails_where_a_task_has_too_few_outcomes():
    runs = [rollout("a", "0", ["x"]), rollout("a", "1", ["x"], success=None)]
    (failure,) = checked([task("a", runs)], "pass^2 < 1").failures
    assert not failure.measured
    assert "1 run(s) with a known outcome, pass^2 needs 2" in failure.sentence()
