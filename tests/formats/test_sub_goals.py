"""Sub-goals that logs name, and when runs meet them."""

import pytest

from likewise.core.rollout import Action, ToolCall, Turn
from likewise.formats import read_rollouts
from likewise.formats.sub_goals import SubGoal, agent_calls, progress_curve

BOOK = SubGoal("book", {"flight": "A1", "seats": 2})


def test_progress_is_the_share_met_after_each_turn():
    goals = [BOOK, SubGoal("pay", {"sum": 10}), SubGoal("tell", {})]
    calls = [(2, "pay", {"sum": 10}), (1, "look", {}), (2, "book", {"flight": "A1", "seats": 2.0}), (4, "tell", {})]
    assert progress_curve(goals, calls, 4) == pytest.approx([0, 0, 2 / 3, 2 / 3, 1])
    assert progress_curve([], calls, 4) == []


@pytest.mark.parametrize(
    ("goal", "tool", "arguments", "met"),
    [
        (BOOK, "book", {"seats": 2, "flight": "A1"}, True),
        (BOOK, "book", {"flight": "A1"}, False),
        (BOOK, "book", {"flight": "A1", "seats": 2, "window": True}, False),
        (BOOK, "book", '{"flight": "A1"', False),
        (BOOK, "change", {"flight": "A1", "seats": 2}, False),
        (SubGoal("book", {"flight": "A1", "seats": 2}, ("flight",)), "book", {"flight": "A1", "seats": 3}, True),
        (SubGoal("book", {"flight": "A1"}, ("flight",)), "book", {"flight": "B2"}, False),
        (SubGoal("book", {"flight": "A1"}, ()), "book", {"anything": 1}, True),
    ],
)
def test_a_call_meets_a_goal_as_the_benchmark_has_it(goal, tool, arguments, met):
    assert goal.is_met_by(tool, arguments) is met


def test_the_verdict_of_the_log_stands():
    made = [(1, "book", {"flight": "A1", "seats": 2})]
    missed = SubGoal("book", {"flight": "A1", "seats": 2}, met=False)
    unseen = SubGoal("pay", {"sum": 1}, met=True)
    assert progress_curve([missed, unseen], made, 3) == [0, 0, 0, 0.5]


def test_one_call_meets_equal_goals_and_what_was_met_stays_met():
    made = [(1, "book", {"flight": "A1", "seats": 2}), (2, "cancel", {"flight": "A1"})]
    assert progress_curve([BOOK, BOOK], made, 2) == [0, 1, 1]


def test_calls_of_the_agent_count_by_their_turn():
    turns = [Turn((), Action("Hi.")), Turn((), Action(tool_calls=(ToolCall("a", {}), ToolCall("b", "no object"))))]
    assert list(agent_calls(turns)) == [(2, "a", {}), (2, "b", "no object")]


def check(name, arguments, match, **more):
    return {"action": {"name": name, "arguments": arguments, "compare_args": None, **more}, "action_match": match}


def test_tau2_checks_give_a_curve(write, tau2_file, simulation):
    checks = [check("cancel", {"id": "T1"}, True), check("refund", {"id": "T1"}, False)]
    run = simulation(reward_info={"reward": 0.0, "action_checks": checks})
    (rollout,) = read_rollouts(write("r.json", tau2_file(run)))
    assert len(rollout.turns) == 2
    assert rollout.meta["progress"] == [0, 0.5, 0.5]  # the scripted greeting is no turn


def test_a_tau2_run_that_was_cut_has_the_goals_of_its_task(write, tau2_file, simulation):
    run = simulation(termination_reason="max_steps", reward_info={"reward": 0.0, "action_checks": None})
    wanted = [{"name": "cancel", "arguments": {"id": "T1"}}, {"name": "refund", "arguments": {"id": "T1"}}]
    tasks = [{"id": "0", "evaluation_criteria": {"actions": wanted}}, {"id": "1", "evaluation_criteria": None}, 3]
    (rollout,) = read_rollouts(write("r.json", tau2_file(run, tasks=tasks)))
    assert rollout.meta["progress"] == [0, 0.5, 0.5]


def test_a_call_that_the_simulated_user_makes_counts_to_the_turn_before_it(write, tau2_file, simulation):
    toggle = [{"id": "u", "name": "toggle", "arguments": {"on": True}, "requestor": "user"}]
    messages = [
        {"role": "assistant", "content": "Hi!", "cost": 0.0, "usage": None},
        {"role": "user", "content": "Help."},
        {"role": "assistant", "content": "Switch it on.", "usage": {}},
        {"role": "user", "content": None, "tool_calls": toggle},
        {"role": "tool", "id": "u", "content": "is on", "requestor": "user"},
        {"role": "user", "content": "It is on."},
        {"role": "assistant", "content": "Good.", "usage": {}},
    ]
    info = {"reward": 1.0, "action_checks": [check("toggle", {"on": True}, True, requestor="user")]}
    (rollout,) = read_rollouts(write("r.json", tau2_file(simulation(messages=messages, reward_info=info))))
    assert rollout.meta["progress"] == [0, 1, 1]


def test_tau_bench_names_the_actions_that_it_expects(write, tau_run):
    wanted = [{"name": "get_trip", "kwargs": {"id": "T1"}}, {"name": "cancel_trip", "kwargs": {"id": "T1"}}]
    (rollout,) = read_rollouts(write("r.json", [tau_run(info={"task": {"actions": wanted}})]))
    assert rollout.meta["progress"] == [0, 0.5, 0.5]


@pytest.mark.parametrize("actions", [None, [], "cancel", [3], [{"name": 1, "kwargs": {}}], [{"name": "a"}]])
def test_a_log_that_names_no_goals_has_no_progress(write, tau_run, actions):
    (rollout,) = read_rollouts(write("r.json", [tau_run(info={"task": {"actions": actions}})]))
    assert "progress" not in rollout.meta
