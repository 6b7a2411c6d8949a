"""The inputs are built by hand in the form of tau-bench; the real files are read in tests/test_data_formats.py."""

import pytest

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import Action, Observation, StopReason, ToolCall, Turn
from likewise.formats import read_rollouts

STEP_LIMIT_MESSAGES = 62


def read_one(write, record):
    (rollout,) = read_rollouts(write("runs.json", [record]))
    return rollout


def test_a_run_is_read_whole(write, tau_run):
    path = write("gpt.json", [tau_run(7, 2)])
    found = read_rollouts(path)
    (rollout,) = found
    assert found.files == ((str(path), "tau-bench"),)
    assert (rollout.task_id, rollout.run_id, rollout.path) == ("7", "gpt#7#2", str(path))
    assert rollout.turns == (
        Turn(
            (Observation("system", "Be kind."), Observation("user", "Cancel my trip.")),
            Action("", (ToolCall("get_trip", {"id": "T1"}),)),
        ),
        Turn((Observation("tool", "{}", "get_trip"),), Action("Done.")),
    )
    assert rollout.last_observations == (Observation("user", "Thanks ###STOP###"),)
    assert (rollout.stop, rollout.reward, rollout.success) == (StopReason.FINISHED, 1.0, True)
    assert (rollout.problem, rollout.notes) == (None, ())
    assert rollout.meta == {"file": "gpt.json", "trial": 2, "user_cost": 0.01}


@pytest.mark.parametrize(
    ("reward", "success"), [(1.0, True), (1 - 1e-9, True), (0.999, False), (0.0, False), (1, True)]
)
def test_success_is_a_reward_of_one(write, tau_run, reward, success):
    assert read_one(write, tau_run(reward=reward)).success is success


def capped(tau_run, last, reward_info=None, **changes):
    filler = [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}] * 30
    traj = [{"role": "system", "content": "s"}, *filler, last]
    assert len(traj) == STEP_LIMIT_MESSAGES
    return tau_run(traj=traj, reward=0.0, info={"reward_info": reward_info}, **changes)


def test_trap_2_a_run_at_the_step_cap_is_cut_valid_and_failed(write, tau_run):
    rollout = read_one(write, capped(tau_run, {"role": "user", "content": "And then?"}))
    assert (rollout.stop, rollout.reward, rollout.success) == (StopReason.CUT, 0.0, False)
    assert rollout.valid
    assert rollout.notes == ("stopped by the step limit",)


def test_a_capped_run_without_a_reward_keeps_none_and_counts_as_failed(write, tau_run):
    record = capped(tau_run, {"role": "user", "content": "And then?"})
    del record["reward"]
    rollout = read_one(write, record)
    assert (rollout.stop, rollout.reward, rollout.success) == (StopReason.CUT, None, False)


@pytest.mark.parametrize(
    "last",
    [
        {"role": "user", "content": "Bye ###STOP###"},
        {"role": "tool", "name": "transfer_to_human_agents", "content": "Transfer successful"},
    ],
)
def test_a_run_of_62_messages_that_ended_by_itself_is_finished(write, tau_run, last):
    assert read_one(write, capped(tau_run, last)).stop is StopReason.FINISHED


def test_a_run_that_was_rewarded_but_shows_no_end_is_finished_with_a_note(write, tau_run):
    rollout = read_one(write, capped(tau_run, {"role": "user", "content": "Hm"}, {"reward": 0.0}))
    assert rollout.stop is StopReason.FINISHED
    assert rollout.notes == ("the log does not say how the run ended",)


def test_trap_3_trials_that_repeat_the_task_id_are_named_in_a_warning(write, tau_run):
    path = write("range.json", [tau_run(n, n) for n in range(3)])
    assert read_rollouts(path).warnings == (
        f"{path}: every trial number equals its task id, so trials do not number the runs of a task",
    )
    assert read_rollouts(write("b.json", [tau_run(n, 0) for n in range(3)])).warnings == ()


def test_trap_4_a_crashed_run_is_invalid_and_its_zero_is_no_reward(write, tau_run):
    error = "1 validation error for EnvResponse\nobservation\n  Input should be a valid string"
    rollout = read_one(write, tau_run(traj=[], reward=0.0, info={"error": error, "traceback": "File ..."}))
    assert (rollout.stop, rollout.valid) == (StopReason.INVALID, False)
    assert rollout.problem == "infra_error: 1 validation error for EnvResponse"
    assert (rollout.reward, rollout.success) == (None, None)
    assert rollout.meta["logged_reward"] == 0.0


def test_a_run_that_crashed_midway_is_invalid_though_it_has_turns(write, tau_run):
    rollout = read_one(write, tau_run(info={"error": "(None) Token limit is exceeded."}))
    assert rollout.problem == "infra_error: (None) Token limit is exceeded."
    assert len(rollout.turns) == 2


@pytest.mark.parametrize(
    ("traj", "problem"),
    [([], "no messages"), ([{"role": "user", "content": "Hi"}], "no action of the agent")],
)
def test_a_run_in_which_the_agent_never_acts_is_invalid(write, tau_run, traj, problem):
    assert read_one(write, tau_run(traj=traj)).problem == problem


def test_trap_5_files_of_different_agents_are_told_apart_by_name(write, tau_run):
    for name in ("tool-calling", "assertions"):
        path = write(f"{name}.json", [tau_run(0, 0, info={"user_cost": len(name)})])  # no copies
    found = read_rollouts(path.parent)
    assert [rollout.run_id for rollout in found] == ["assertions#0#0", "tool-calling#0#0"]
    assert [rollout.meta["file"] for rollout in found] == ["assertions.json", "tool-calling.json"]


def test_trap_6_unknown_keys_are_ignored(write, tau_run):
    record = tau_run(records={"conversation": []}, colour="red")
    record["traj"][4] |= {"annotations": [], "refusal": None, "audio": None}
    assert read_one(write, record).actions[1] == Action("Done.")


def test_text_beside_a_call_is_kept_and_think_is_a_call_like_any_other(write, tau_run):
    thought = {"function": {"name": "think", "arguments": '{"thought": "hm"}'}, "id": "1", "type": "function"}
    record = tau_run(
        traj=[
            {"role": "assistant", "content": "One moment.", "tool_calls": [thought]},
            {"role": "tool", "name": "think", "content": ""},
            {"role": "user", "content": "###STOP###"},
        ]
    )
    rollout = read_one(write, record)
    assert rollout.actions == (Action("One moment.", (ToolCall("think", {"thought": "hm"}),)),)
    assert rollout.last_observations[0] == Observation("tool", "", "think")


def test_a_run_without_a_trial_is_numbered_in_order(write, tau_run):
    records = [tau_run(0), tau_run(1), tau_run(0)]
    for record in records:
        del record["trial"]
    found = read_rollouts(write("x.json", records))
    assert [rollout.run_id for rollout in found] == ["x#0#0", "x#1#0", "x#0#1"]


@pytest.mark.parametrize(
    ("reward", "note"),
    [
        (None, None),
        ({"a": 1}, "reward that is not a number"),
        ("1.0", "reward that is not a number"),
        (float("nan"), "reward that is not a finite number"),
        (10**400, "reward that is not a finite number"),
    ],
)
def test_a_missing_or_unusable_reward_is_none_and_never_zero(write, tau_run, reward, note):
    rollout = read_one(write, tau_run(reward=reward))
    assert (rollout.reward, rollout.success) == (None, None)
    assert rollout.notes == (() if note is None else (note,))


def wrong(tau_run, **changes):
    return [tau_run(0), tau_run(1), tau_run(2), tau_run(3) | changes]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"task_id": None}, "/3/task_id"),
        ({"task_id": " "}, "/3/task_id"),
        ({"task_id": True}, "/3/task_id"),
        ({"task_id": 1.5}, "/3/task_id"),
        ({"trial": []}, "/3/trial"),
        ({"traj": None}, "/3/traj"),
        ({"traj": "text"}, "/3/traj"),
        ({"traj": [{"role": "user", "content": 13.46}]}, "/3/traj/0/content"),
        ({"info": "none"}, "/3/info"),
    ],
)
def test_a_record_with_a_wrong_type_is_excluded_with_its_pointer(write, tau_run, changes, pointer):
    path = write("x.json", wrong(tau_run, **changes))
    found = read_rollouts(path)
    assert [rollout.task_id for rollout in found] == ["0", "1", "2"]
    assert [(item.pointer, item.line, item.path) for item in found.excluded] == [(pointer, None, str(path))]
    with pytest.raises(RolloutFormatError) as caught:
        read_rollouts(path, strict=True)
    assert (caught.value.pointer, caught.value.path) == (pointer, str(path))


def test_an_element_that_is_no_object_is_excluded(write, tau_run):
    found = read_rollouts(write("x.json", [tau_run(0), None, 5]))
    assert [(item.pointer, item.reason) for item in found.excluded] == [
        ("/1", "missing or null (expected an object)"),
        ("/2", "a number (expected an object)"),
    ]


def test_a_wrong_top_level_is_an_error_where_the_format_is_forced(write):
    with pytest.raises(RolloutFormatError, match=r"at /: an object \(expected a list of runs\)"):
        read_rollouts(write("x.json", {"traj": []}), format="tau-bench")


def test_an_empty_list_is_a_warning_where_the_format_is_forced(write):
    path = write("x.json", [])
    assert read_rollouts(path, format="tau-bench").warnings == (f"{path}: no rollouts in it",)
