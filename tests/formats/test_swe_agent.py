"""Inputs built by hand in the form of SWE-agent's trajectories; test_data_agent_logs.py reads real ones."""

import json

import pytest

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import Action, Observation, StopReason, ToolCall, Turn
from likewise.core.state_text import observation_text
from likewise.formats import read_rollouts

TOLD = [
    {"role": "system", "content": "You use a shell.", "agent": "main"},
    {"role": "user", "content": "ISSUE: it is off by one.", "agent": "main"},
]


def step(action, observation="", thought="", **more):
    said = {"response": f"{thought}\n{action}", "state": '{"open_file": "n/a"}'}
    return {"action": action, "observation": observation, "thought": thought, **said, **more}


def traj(*steps, status="submitted", **top):
    steps = steps or (step("ls -F\n", "a.py\r\nb.py\r\n", "Look first. "), step("submit\n", "", "Done."))
    info = {"exit_status": status, "submission": "diff --git a", "model_stats": {}}
    return {"environment": "main", "trajectory": list(steps), "history": list(TOLD), "info": info} | top


def read_one(write, content, name="run.traj"):
    (rollout,) = read_rollouts(write(name, content))
    return rollout


def config(**problem):
    model = {"name": "acme/one", "temperature": 0.5}
    return {"problem_statement": problem, "agent": {"model": model}}


def test_a_step_is_a_turn_and_its_command_a_call_of_its_program(write):
    path = write("run.traj", traj())
    found = read_rollouts(path)
    (rollout,) = found
    assert found.files == ((str(path), "swe-agent"),)
    assert (rollout.run_id, rollout.stop, rollout.success) == ("run", StopReason.FINISHED, None)
    assert rollout.turns == (
        Turn(
            (Observation("system", "You use a shell."), Observation("user", "ISSUE: it is off by one.")),
            Action("Look first.", (ToolCall("ls", {"command": "ls -F"}),)),
        ),
        Turn(
            (Observation("tool", "a.py\r\nb.py\r\n", "ls"),),
            Action("Done.", (ToolCall("submit", {"command": "submit"}),)),
        ),
    )


def test_a_folder_is_searched_for_traj_files(write, tmp_path):
    write("a/run.traj", traj())
    write("b/run.traj", traj(step("ls")))
    assert [each.run_id for each in read_rollouts(tmp_path)] == ["a/run", "b/run"]


@pytest.mark.parametrize(
    ("name", "settings", "task"),
    [
        ("run.traj", config(id="acme__walker-7", text="It is off."), "acme__walker-7"),
        ("run.traj", json.dumps(config(id="acme__walker-7")), "acme__walker-7"),
        ("acme__walker-7.traj", None, "acme__walker-7"),
        ("case-3/case-3.traj", None, "case-3"),
        ("run.traj", config(text="It is off."), "It is off."),
        ("run.traj", None, "ISSUE: it is off by one."),
        ("run.traj", "not json", "ISSUE: it is off by one."),
    ],
)
def test_the_task_is_the_instance_or_the_text_of_the_issue(write, name, settings, task):
    assert read_one(write, traj(replay_config=settings), name).task_id == task


def test_the_model_is_that_of_the_configuration(write):
    meta = read_one(write, traj(replay_config=config(id="x"))).meta
    assert (meta["model"], meta["temperature"], meta["exit_status"]) == ("acme/one", 0.5, "submitted")


@pytest.mark.parametrize(
    ("status", "patch", "stop", "success", "problem"),
    [
        ("submitted", "diff", StopReason.FINISHED, None, None),
        ("exit_forfeit", None, StopReason.FINISHED, None, None),
        ("exit_cost", "", StopReason.CUT, False, None),
        ("exit_context", None, StopReason.CUT, False, None),
        ("submitted (exit_cost)", "diff", StopReason.CUT, None, None),
        ("exit_format", None, StopReason.CUT, False, None),
        ("something_new", None, StopReason.CUT, False, None),
        ("exit_api", None, StopReason.INVALID, None, "infra_error: exit_api"),
        ("exit_environment_error", None, StopReason.INVALID, None, "infra_error: exit_environment_error"),
        ("submitted (exit_error)", "diff", StopReason.INVALID, None, "infra_error: submitted (exit_error)"),
    ],
)
def test_each_exit_status_has_its_meaning(write, status, patch, stop, success, problem):
    rollout = read_one(write, traj(info={"exit_status": status, "submission": patch}))
    assert (rollout.stop, rollout.success, rollout.problem) == (stop, success, problem)


def test_trap_38_a_file_with_history_alone_is_read_in_the_same_form(write):
    spoken = [
        {"role": "assistant", "content": "Look.", "thought": "Look.", "action": "ls -F", "agent": "main"},
        {"role": "tool", "content": "a.py", "agent": "main", "tool_call_ids": ["c1"]},
        {"role": "assistant", "content": "End.", "thought": "End.", "action": "submit", "agent": "main"},
    ]
    rollout = read_one(write, {"history": [*TOLD, *spoken]})
    assert rollout.actions == (
        Action("Look.", (ToolCall("ls", {"command": "ls -F"}),)),
        Action("End.", (ToolCall("submit", {"command": "submit"}),)),
    )
    assert [o.text for o in rollout.turns[1].observations] == ["a.py"]
    assert (rollout.stop, rollout.notes) == (StopReason.FINISHED, ())


def test_trap_39_function_calls_and_observations_of_the_user_are_read_where_there_is_no_command(write):
    call = {"type": "function", "id": "c1", "function": {"name": "create", "arguments": '{"filename": "a.py"}'}}
    spoken = [
        {"role": "assistant", "content": "Make it.", "agent": "main", "tool_calls": [call]},
        {"role": "tool", "content": "made", "agent": "main"},
        {"role": "assistant", "content": "And then?", "agent": "main"},
        {"role": "user", "content": "Nothing.", "agent": "main"},
    ]
    rollout = read_one(write, {"history": [*TOLD, *spoken]})
    assert rollout.actions[0] == Action("Make it.", (ToolCall("create", {"filename": "a.py"}),))
    assert rollout.turns[1].observations == (Observation("tool", "made", "create"),)
    assert rollout.last_observations == (Observation("user", "Nothing."),)
    assert rollout.notes == ("the log does not say how the run ended",)


def test_trap_40_the_dialect_of_the_tools_stays_visible(write):
    first = read_one(write, traj(step("edit 1:1\nx = 1\nend_of_edit")), "a.traj")
    second = read_one(write, traj(step("insert 1 'x = 1'")), "b.traj")
    assert [each.actions[0].tool_calls[0].name for each in (first, second)] == ["edit", "insert"]
    assert first.task_id == second.task_id


def test_trap_41_line_ends_of_windows_make_no_difference(write):
    rollout = read_one(write, traj(step("ls", "a\r\nb\r\n"), step("ls", "a\nb\n"), step("submit")))
    one, other = (turn.observations[0] for turn in rollout.turns[1:])
    assert one.text != other.text
    assert observation_text(one) == observation_text(other)


def test_a_demonstration_is_nobody_s_action(write):
    shown = {"role": "assistant", "content": "Like this.", "agent": "main", "is_demo": True}
    rollout = read_one(write, traj(history=[TOLD[0], shown, TOLD[1]]))
    assert [(o.source, o.text) for o in rollout.turns[0].observations] == [
        ("system", "You use a shell."),
        ("assistant", "Like this."),
        ("user", "ISSUE: it is off by one."),
    ]


def test_a_step_without_a_command_is_what_the_model_said(write):
    broken = step("", "Your output was not in form.", "") | {"response": "I think so."}
    assert read_one(write, traj(broken, step("submit"))).actions[0] == Action("I think so.")


def test_a_command_that_starts_with_no_word_is_a_call_of_the_shell(write):
    assert read_one(write, traj(step("./run.sh"))).actions[0].tool_calls[0].name == "shell"


@pytest.mark.parametrize(
    ("content", "pointer"),
    [
        (traj(step(3)), "/trajectory/0/action"),
        (traj(step("ls", 4)), "/trajectory/0/observation"),
        (traj("step"), "/trajectory/0"),
        (traj(info={"exit_status": 3}), "/info/exit_status"),
        (traj(history=[{"role": "wizard", "agent": "m"}]), "/history/0/role"),
    ],
)
def test_a_trajectory_with_a_wrong_type_is_excluded_with_its_pointer(write, content, pointer):
    found = read_rollouts(write("run.traj", content), format="swe-agent")
    assert [item.pointer for item in found.excluded] == [pointer]


def test_a_file_with_neither_list_is_an_error(write):
    with pytest.raises(RolloutFormatError, match="no list `trajectory` or `history`"):
        read_rollouts(write("run.traj", {"info": {}}), format="swe-agent")


def test_equal_patches_are_told_whatever_their_line_ends(write):
    patches = ["\ndiff --git a\n+x\n", "\r\ndiff --git a\r\n+x\r\n", "diff --git a\n+y"]
    infos = [{"exit_status": "submitted", "submission": patch} for patch in patches]
    told = [read_one(write, traj(info=info), f"{n}.traj").meta["patch_sha256"] for n, info in enumerate(infos)]
    assert told[0] == told[1] != told[2]
