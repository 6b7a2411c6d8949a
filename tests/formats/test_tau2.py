"""The inputs are built by hand in the form of tau2; the real files are read in tests/test_data_formats.py."""

import hashlib

import pytest

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import Action, Observation, StopReason, ToolCall, Turn
from likewise.formats import read_rollouts, summarise


@pytest.fixture
def read_one(write, tau2_file, simulation):
    def _read(**changes):
        (rollout,) = read_rollouts(write("results.json", tau2_file(simulation(**changes))))
        return rollout

    return _read


def test_a_run_is_read_whole_and_the_scripted_greeting_is_no_action(read_one):
    rollout = read_one()
    assert (rollout.task_id, rollout.run_id) == ("0", "results#0#0")
    assert rollout.turns == (
        Turn(
            (Observation("assistant", "Hi! How can I help?"), Observation("user", "Cancel T1.")),
            Action("", (ToolCall("cancel", {"id": "T1"}),)),
        ),
        Turn((Observation("tool", "ok", "cancel"),), Action("Cancelled.")),
    )
    assert (rollout.stop, rollout.reward, rollout.success) == (StopReason.FINISHED, 1.0, True)
    assert rollout.notes == ()


def test_meta_tells_model_domain_and_policy_by_its_hash(read_one):
    assert read_one().meta == {
        "file": "results.json",
        "git_commit": "abc",
        "model": "acme/one",
        "agent": "llm_agent",
        "temperature": 0.5,
        "user_model": "acme/user",
        "domain": "airline",
        "policy_sha256": hashlib.sha256(b"Be kind.").hexdigest(),
        "trial": 0,
        "seed": 7,
        "termination_reason": "user_stop",
        "record_id": "sim-0-0",
    }


@pytest.mark.parametrize("usage", [{"completion_tokens": 5}, None])
def test_trap_13_a_first_message_that_cost_something_is_an_action(read_one, usage):
    messages = [{"role": "assistant", "content": "Good day.", "cost": 0.01, "usage": usage}]
    assert read_one(messages=messages).actions == (Action("Good day."),)


def test_prepared_history_is_nobody_s_action(write, tau2_file, simulation):
    # The samples hold two such tasks (20260531-184109): the task's own messages stand before the run.
    history = [
        {"role": "user", "content": "Create it."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "name": "create", "arguments": {"n": 1}}]},
        {"role": "tool", "id": "1", "content": "made"},
        {"role": "assistant", "content": "Created."},
    ]
    played = [{"role": "user", "content": "Close it."}, {"role": "assistant", "content": "Closed.", "cost": 0.1}]
    content = tau2_file(
        simulation("t", messages=history + played),
        simulation("other", messages=history + played),
        tasks=[{"id": "t", "initial_state": {"message_history": history}}, {"id": "other", "initial_state": None}],
    )
    prepared, other = read_rollouts(write("results.json", content))
    assert prepared.turns == (
        Turn(
            (
                Observation("user", "Create it."),
                Observation("assistant", 'create({"n": 1})', "create"),
                Observation("tool", "made", "create"),
                Observation("assistant", "Created."),
                Observation("user", "Close it."),
            ),
            Action("Closed."),
        ),
    )
    assert len(other.turns) == 3


def test_calls_of_the_simulated_user_and_their_results_are_observations(read_one):
    rollout = read_one(
        messages=[
            {"role": "assistant", "content": "Hi!", "cost": 0.0, "usage": None},
            {
                "role": "user",
                "content": None,
                "tool_calls": [{"id": "u", "name": "toggle", "arguments": {"on": True}, "requestor": "user"}],
            },
            {"role": "tool", "id": "u", "content": "is on", "requestor": "user"},
            {"role": "user", "content": "It is on."},
            {"role": "assistant", "content": "Good.", "usage": {}},
        ]
    )
    assert rollout.turns == (
        Turn(
            (
                Observation("assistant", "Hi!"),
                Observation("user", 'toggle({"on": true})', "toggle"),
                Observation("tool", "is on", "toggle"),
                Observation("user", "It is on."),
            ),
            Action("Good."),
        ),
    )


def test_trap_8_trials_are_sorted_within_their_task(write, tau2_file, simulation):
    order = [("b", 2), ("a", 1), ("b", 0), ("a", 10), ("a", 9), ("b", 1)]
    found = read_rollouts(write("r.json", tau2_file(*(simulation(task, trial) for task, trial in order))))
    assert [rollout.run_id for rollout in found] == ["r#b#0", "r#b#1", "r#b#2", "r#a#1", "r#a#9", "r#a#10"]


def test_trap_9_runs_that_are_all_trial_0_are_told_apart_by_their_files(write, tau2_file, simulation):
    for day in ("monday", "tuesday"):
        write(f"{day}/results.json", tau2_file(simulation("t", 0, id=day)))
    folder = write("wednesday.json", tau2_file(simulation("t", 0, id="w"))).parent
    found = read_rollouts(folder)
    assert [rollout.run_id for rollout in found] == ["monday/results#t#0", "tuesday/results#t#0", "wednesday#t#0"]
    assert found.warnings == ()


def test_a_simulation_copied_to_a_second_file_counts_once(write, tau2_file, simulation):
    first = write("a.json", tau2_file(simulation("t", 0)))
    second = write("b.json", tau2_file(simulation("t", 0), simulation("t", 1)))
    found = read_rollouts([first, second])
    assert [rollout.run_id for rollout in found] == ["a#t#0", "b#t#1"]
    assert [(item.run_id, item.reason) for item in found.excluded] == [
        ("b#t#0", f"duplicate of run 'a#t#0' in {first}"),
    ]


def test_trap_10_parallel_calls_are_one_action_and_sequential_calls_are_several(read_one):
    listed = [{"id": str(n), "name": "get", "arguments": {"n": n}} for n in range(5)]
    results = [{"role": "tool", "id": str(n), "content": str(n)} for n in range(5)]
    parallel = read_one(
        messages=[{"role": "user", "content": "Go"}, {"role": "assistant", "tool_calls": listed}, *results]
    )
    steps = [
        [{"role": "assistant", "tool_calls": [each]}, result] for each, result in zip(listed, results, strict=True)
    ]
    sequential = read_one(
        messages=[{"role": "user", "content": "Go"}, *(message for step in steps for message in step)]
    )
    assert [len(action.tool_calls) for action in parallel.actions] == [5]
    assert [len(action.tool_calls) for action in sequential.actions] == [1, 1, 1, 1, 1]
    assert [o.text for o in parallel.last_observations] == ["0", "1", "2", "3", "4"]


def test_trap_14_index_usage_and_raw_data_may_be_null(write, tau2_file, simulation):
    one = simulation()
    for message in one["messages"]:
        message |= {"usage": None, "raw_data": None, "cost": None}
    (rollout,) = read_rollouts(write("r.json", tau2_file(one, simulation_index=None)))
    assert [action.text for action in rollout.actions] == ["", "Cancelled."]


def test_task_ids_with_odd_characters_stay_as_they_are(read_one):
    odd = "[mobile_data_issue]airplane_mode_on|user_abroad[PERSONA:None]/~"
    assert read_one(task_id=odd).task_id == odd


@pytest.mark.parametrize(
    ("reason", "stop", "success", "notes"),
    [
        ("user_stop", StopReason.FINISHED, None, ()),
        ("agent_stop", StopReason.FINISHED, None, ()),
        ("max_steps", StopReason.CUT, False, ("stopped by the step limit",)),
        ("timeout", StopReason.CUT, False, ("stopped by a time limit",)),
        ("too_many_errors", StopReason.CUT, False, ("stopped by the harness: too_many_errors",)),
        ("agent_error", StopReason.CUT, False, ("stopped by the harness: agent_error",)),
        ("something_new", StopReason.CUT, False, ("the log does not say how the run ended",)),
        (None, StopReason.CUT, False, ("the log does not say how the run ended",)),
    ],
)
def test_each_termination_reason_has_its_meaning_and_a_null_reward_stays_none(read_one, reason, stop, success, notes):
    rollout = read_one(termination_reason=reason, reward_info=None)
    assert (rollout.stop, rollout.success, rollout.notes) == (stop, success, notes)
    assert rollout.reward is None


@pytest.mark.parametrize("reason", ["infrastructure_error", "user_error", "unexpected_error"])
def test_an_error_of_the_harness_makes_a_run_invalid(read_one, reason):
    rollout = read_one(termination_reason=reason, reward_info={"reward": 0.0}, messages=[])
    assert (rollout.stop, rollout.problem) == (StopReason.INVALID, f"infra_error: {reason}")
    assert (rollout.reward, rollout.success) == (None, None)


def test_issue_493_tasks_whose_runs_all_failed_in_the_harness_stay_in_sight(write, tau2_file, simulation):
    failed = {"termination_reason": "infrastructure_error", "reward_info": None, "messages": []}
    runs = [simulation("a"), *(simulation(task, **failed) for task in "bcd")]
    summary = summarise(read_rollouts(write("r.json", tau2_file(*runs))))
    assert (summary["tasks"], summary["rollouts"], summary["valid"]) == (4, 4, 1)
    assert summary["tasks_without_valid"] == ["b", "c", "d"]
    assert [item["reason"] for item in summary["excluded"]] == ["infra_error: infrastructure_error"] * 3


def test_issue_3264_a_null_reward_of_a_timed_out_verifier_is_not_zero(write, tau2_file, simulation):
    runs = [
        simulation("t", 0, reward_info={"reward": 0.0}),
        simulation("t", 1, reward_info={"reward": None}),
        simulation("t", 2, reward_info={"reward": {"a": 1}}),
    ]
    found = read_rollouts(write("r.json", tau2_file(*runs)))
    assert [rollout.reward for rollout in found] == [0.0, None, None]
    assert [rollout.success for rollout in found] == [False, None, None]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"task_id": {}}, "/simulations/1/task_id"),
        ({"messages": None}, "/simulations/1/messages"),
        ({"messages": [{"role": "tool", "content": 1}]}, "/simulations/1/messages/0/content"),
        ({"termination_reason": 3}, "/simulations/1/termination_reason"),
        ({"reward_info": "good"}, "/simulations/1/reward_info"),
    ],
)
def test_a_simulation_with_a_wrong_type_is_excluded_with_its_pointer(write, tau2_file, simulation, changes, pointer):
    path = write("r.json", tau2_file(simulation("a"), simulation("b") | changes))
    found = read_rollouts(path)
    assert [rollout.task_id for rollout in found] == ["a"]
    assert [item.pointer for item in found.excluded] == [pointer]
    with pytest.raises(RolloutFormatError, match=pointer):
        read_rollouts(path, strict=True)


@pytest.mark.parametrize(
    ("content", "pointer"),
    [([], ""), ({"simulations": {}}, "/simulations"), ({}, "/simulations"), ({"simulations": [], "info": 3}, "/info")],
)
def test_a_wrong_top_level_is_an_error(write, content, pointer):
    with pytest.raises(RolloutFormatError) as caught:
        read_rollouts(write("r.json", content), format="tau2")
    assert caught.value.pointer == pointer


def test_a_file_whose_simulations_come_after_megabytes_of_tasks_is_recognised(write, tau2_file, simulation):
    path = write("r.json", tau2_file(simulation(), tasks=[{"id": "x", "note": "n" * 2_000_000}]))
    assert read_rollouts(path).files == ((str(path), "tau2"),)


def test_ids_of_the_provider_tell_a_run_from_a_copy_of_it(write, tau2_file, simulation):
    runs = [
        simulation("t", trial) | {"start_time": f"2026-01-0{trial + 1}", "end_time": "2026-01-09"} for trial in (0, 1)
    ]
    for run in runs:
        for message in run["messages"]:
            message["raw_data"] = {"id": "chatcmpl-1"} if message["role"] == "assistant" else None
    found = read_rollouts(write("results.json", tau2_file(*runs)))
    assert [rollout.notes for rollout in found] == [
        (),
        ("the same generation as run 'results#t#0' (same response id)",),
    ]
    assert (found.rollouts[1].meta["started"], found.rollouts[1].meta["ended"]) == ("2026-01-02", "2026-01-09")
