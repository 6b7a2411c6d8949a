"""Gates that nobody can mean."""

import pytest

from judges import NeverJudge
from likewise.core.config import Table
from likewise.core.errors import ConfigError
from likewise.evaluation.evaluate import evaluate
from likewise.evaluation.gate_checks import Reach, conflict, out_of_range, out_of_reach, reach_of_evaluation
from likewise.evaluation.gate_checks import reach_of_groups as reach_of
from likewise.evaluation.gate_rules import GateSettings, gate_settings, parse_gate
from likewise.scoring.score import ScoringOptions
from scoring.runs import INVALID, group, run, speaking

ONE_TURN = Reach("one turn", 4, 1.0)
TEN_TURNS = Reach("ten turns", 4, sum(0.8**t for t in range(10)))


def settings(*texts):
    return GateSettings().with_gates(texts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rsd_share > 1", "'rsd_share > 1' can never fail: rsd_share lies between 0 and 1"),
        ("success_rate < 0", "can never fail"),
        ("pass^4 <= -0.1", "can never fail: pass\\^4 lies between 0 and 1"),
        ("contradiction_share >= 0", "always fails"),
        ("rsd_normalised.high > 1.5", "can never fail: rsd_normalised.high"),
        ("mean total_variance > 40", "can never fail"),
        ("agreement <= 1", "always fails"),
        ("rsd > -1", "always fails: rsd is at least 0"),
        ("rsd < 0", "can never fail"),
        ("rsd >= 0", "always fails"),
    ],
)
def test_a_threshold_outside_the_range_of_its_figure_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_gate(text)


@pytest.mark.parametrize(
    "text", ["rsd > 0", "success_rate < 1", "pass^4 <= 0", "rsd_share >= 1", "rsd <= 0", "rsd > 9"]
)
def test_a_threshold_at_the_edge_says_something(text):
    assert out_of_range(parse_gate(text)) is None


def test_the_discount_limits_rsd():
    assert out_of_range(parse_gate("rsd > 4.9"), 0.8) is None
    assert out_of_range(parse_gate("rsd > 5"), 0.8) == "'rsd > 5' can never fail: rsd lies between 0 and 5"
    assert out_of_range(parse_gate("rsd > 5"), 0.9) is None
    assert out_of_range(parse_gate("flaky"), 0.8) is None


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("rsd > 0.5", "rsd < 0.5", False),
        ("rsd < 0.7", "rsd > 0.5", False),
        ("mean pass^2 < 0.9", "mean pass^2 > 0.9", False),
        ("rsd > 0.7", "rsd < 0.5", True),  # 0.5 to 0.7 passes
        ("rsd > 0.5", "rsd > 0.7", True),
        ("rsd.low > 0.5", "rsd.high < 0.5", True),  # two ends of one interval
        ("rsd > 0.5", "mean rsd < 0.5", True),
        ("pass^2 > 0.5", "pass^3 < 0.5", True),
        ("flaky", "undecided", True),
    ],
)
def test_gates_that_leave_no_value_that_passes_are_refused(one, other, together):
    if together:
        assert conflict(settings(one, other)) is None
        return
    with pytest.raises(ValueError, match="cannot both be passed: every value fails one of them"):
        settings(one, other)


def test_a_task_of_its_own_is_named_where_its_gates_contradict_each_other():
    section = {"fail_on": ["rsd < 0.5"], "tasks": {"t1": {"fail_on": ["rsd > 0.5"]}}}
    gate_settings(Table("likewise.toml", "gates", section))  # the task's own gate replaces the shared one
    section = {"tasks": {"t1": {"fail_on": ["rsd > 0.5", "rsd < 0.5"]}}}
    with pytest.raises(ConfigError, match="cannot both be passed by task t1"):
        gate_settings(Table("likewise.toml", "gates", section))


def test_a_gate_that_so_few_turns_cannot_fail_is_refused_and_the_way_out_is_named():
    problem, _ = out_of_reach(settings("rsd_normalised > 0.4"), [ONE_TURN], 0.8)
    assert "'rsd_normalised > 0.4' cannot fail here" in problem
    assert "0.2 at most" in problem
    assert "rsd_share" in problem
    assert out_of_reach(settings("rsd_share > 0.4"), [ONE_TURN], 0.8) == (None, [])
    assert out_of_reach(settings("rsd >= 1"), [ONE_TURN], 0.8) == (None, [])
    assert out_of_reach(settings("rsd > 1"), [ONE_TURN], 0.8)[0]


def test_a_gate_that_some_tasks_cannot_fail_is_a_warning():
    problem, warnings = out_of_reach(settings("rsd_normalised > 0.4"), [ONE_TURN, TEN_TURNS], 0.8)
    assert problem is None
    assert "cannot fail in 1 of 2 tasks" in warnings[0]
    assert out_of_reach(settings("mean rsd_normalised > 0.4"), [ONE_TURN, TEN_TURNS], 0.8) == (None, [])


def test_a_k_that_no_task_has_runs_for_is_refused_and_one_that_some_have_is_not():
    assert "no task here has more than 4" in out_of_reach(settings("pass^8 < 0.5"), [ONE_TURN], 0.8)[0]
    assert "needs 8 runs" in out_of_reach(settings("mean pass^8 < 0.5"), [ONE_TURN], 0.8)[0]
    assert out_of_reach(settings("pass^8 < 0.5"), [ONE_TURN, Reach("many", 8, 1.0)], 0.8)[0] is None


def test_a_task_of_its_own_is_what_its_gate_is_about():
    own = gate_settings(Table("", "gates", {"tasks": {"one turn": {"fail_on": ["rsd > 2"]}}}))
    assert out_of_reach(own, [ONE_TURN, TEN_TURNS], 0.8)[0]
    own = gate_settings(Table("", "gates", {"tasks": {"ten turns": {"fail_on": ["rsd > 2"]}}}))
    assert out_of_reach(own, [ONE_TURN, TEN_TURNS], 0.8) == (None, [])


def test_groups_and_evaluations_reach_equally_far():
    runs = [*speaking("ab", "ab").rollouts, run("broken", stop=INVALID), run("0", "x", task="lone")]
    groups = [group(*runs[:3]), group(runs[3])]
    half = ScoringOptions(gamma=0.5)
    expected = [Reach("t", 3, 1.5), Reach("lone", 1, None)]
    assert reach_of(groups, half) == expected
    assert reach_of_evaluation(evaluate(runs, judge=NeverJudge(), options=half)) == expected
    assert out_of_reach(settings("rsd_normalised > 0.9"), expected[1:], 0.5) == (None, [])  # nothing to compare
