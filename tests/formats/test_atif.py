"""Inputs built by hand in the form of ATIF; test_data_agent_logs.py reads real ones."""

import pytest

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import Action, Observation, StopReason, ToolCall, Turn
from likewise.formats import read_rollouts

CALL = {"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}


def trajectory(*steps, **top):
    numbered = [{"step_id": n, **step} for n, step in enumerate(steps, start=1)]
    agent = {"name": "walker", "version": "1.2", "model_name": "acme/one"}
    return {"schema_version": "ATIF-v1.5", "session_id": "S", "agent": agent, "steps": numbered} | top


def user(text="Make a file.", **more):
    return {"source": "user", "message": text, **more}


def agent(text="", *calls, results=None, **more):
    step = {"source": "agent", "message": text, **more}
    step |= {"tool_calls": list(calls)} if calls else {}
    return step | ({"observation": {"results": results}} if results else {})


def test_a_trajectory_is_a_run_of_the_task_that_its_user_gives(write):
    acted = agent("Looking.", CALL, results=[{"source_call_id": "c1", "content": "a.txt"}])
    path = write("x.json", trajectory({"source": "system", "message": "Be brief."}, user(), acted, agent("Done.")))
    found = read_rollouts(path)
    (rollout,) = found
    assert found.files == ((str(path), "atif"),)
    assert (rollout.task_id, rollout.run_id, rollout.stop) == ("Make a file.", "x", StopReason.FINISHED)
    assert rollout.turns == (
        Turn(
            (Observation("system", "Be brief."), Observation("user", "Make a file.")),
            Action("Looking.", (ToolCall("bash", {"command": "ls"}),)),
        ),
        Turn((Observation("tool", "a.txt", "bash"),), Action("Done.")),
    )
    assert {key: rollout.meta[key] for key in ("model", "agent", "agent_version")} == {
        "model": "acme/one",
        "agent": "walker",
        "agent_version": "1.2",
    }


def test_results_without_a_call_are_observations_and_a_model_may_stand_at_the_steps(write):
    content = trajectory(user(), agent("<function=a>", results=[{"content": "ok"}], model_name="m"), agent("End."))
    content["agent"] = {"name": "walker"}
    (rollout,) = read_rollouts(write("x.json", content))
    assert rollout.turns[1].observations == (Observation("tool", "ok"),)
    assert rollout.meta["model"] == "m"
    assert "tool call in text" in rollout.notes


def test_steps_of_the_system_may_bring_results(write):
    reset = {"source": "system", "message": "reset", "observation": {"results": [{"content": "clean"}]}}
    (rollout,) = read_rollouts(write("x.json", trajectory(user(), agent("A."), reset, agent("B."))))
    assert rollout.turns[1].observations == (Observation("system", "reset"), Observation("tool", "clean"))


def continuation():
    copied = {"is_copied_context": True}
    steps = [
        user(**copied),
        user("Summary so far.", **copied),
        agent("A copied word.", **copied),
        agent("Second half."),
    ]
    return trajectory(*steps)


def test_trap_51_a_run_that_goes_on_in_another_file_is_one_run_and_does_nothing_twice(write, tmp_path):
    write("run.json", trajectory(user(), agent("First half."), continued_trajectory_ref="run.cont-1.json"))
    write("run.cont-1.json", continuation())
    found = read_rollouts(tmp_path)
    (rollout,) = found
    assert (rollout.task_id, rollout.run_id) == ("Make a file.", "run")
    assert rollout.actions == (Action("First half."), Action("Second half."))
    assert [(o.source, o.text) for o in rollout.turns[1].observations] == [
        ("user", "Make a file."),
        ("user", "Summary so far."),
        ("assistant", "A copied word."),
    ]
    assert rollout.stop is StopReason.FINISHED
    assert len(found.files) == 2


@pytest.mark.parametrize("reference", ["run.cont-1.json", "../../etc/passwd", "run.json"])
def test_a_run_whose_continuation_was_not_read_is_cut(write, reference):
    path = write("run.json", trajectory(user(), agent("First half."), continued_trajectory_ref=reference))
    found = read_rollouts(path)
    (rollout,) = found
    missing = f"goes on in {reference!r}, which was not read"
    assert (rollout.stop, rollout.notes) == (StopReason.CUT, (missing,))
    assert found.warnings == (f"{path}: {missing}",)


def test_two_files_that_name_each_other_do_not_loop(write, tmp_path):
    write("a.json", trajectory(user(), agent("A."), continued_trajectory_ref="b.json"))
    write("b.json", trajectory(user(), agent("B."), continued_trajectory_ref="a.json"))
    (rollout,) = read_rollouts(tmp_path)
    assert rollout.actions == (Action("A."), Action("B."))
    assert rollout.notes[-1] == "goes on in 'a.json', which was not read"


def test_the_trajectory_of_a_sub_agent_is_no_run_of_its_own(write, tmp_path):
    handed = {"results": [{"subagent_trajectory_ref": [{"session_id": "S-1", "trajectory_path": "run.summary.json"}]}]}
    steps = [user(), {"source": "system", "message": "summarised", "observation": handed}, agent("Done.")]
    write("run.json", trajectory(*steps))
    path = write("run.summary.json", trajectory(user("Summarise."), agent("So far: nothing.")))
    found = read_rollouts(tmp_path)
    assert [rollout.run_id for rollout in found] == ["run"]
    assert found.warnings == (f"{path}: the trajectory of a sub-agent, not a run of its own; left out",)


def test_two_files_of_one_session_id_are_two_runs(write, tmp_path):
    for name in "ab":
        write(f"{name}.json", trajectory(user(), agent(name)))
    assert [(each.task_id, each.run_id) for each in read_rollouts(tmp_path)] == [
        ("Make a file.", "a"),
        ("Make a file.", "b"),
    ]


def test_a_trajectory_without_a_user_is_named_by_its_session(write):
    (rollout,) = read_rollouts(write("x.json", trajectory(agent("Hello."))))
    assert rollout.task_id == "session S"


@pytest.mark.parametrize(
    ("step", "pointer"),
    [
        ("text", "/steps/1"),
        ({"source": "wizard", "message": ""}, "/steps/1"),
        ({"source": "agent", "message": 3}, "/steps/1"),
        (agent("", {"arguments": {}}), "/steps/1/tool_calls/0/function_name"),
        ({"source": "agent", "message": "", "observation": {"results": 4}}, "/steps/1/observation/results"),
    ],
)
def test_a_trajectory_with_a_wrong_type_is_excluded_with_its_pointer(write, step, pointer):
    content = trajectory(user(), agent("x"))
    content["steps"][1] = step
    found = read_rollouts(write("x.json", content))
    assert [item.pointer for item in found.excluded] == [pointer]


def test_a_file_without_steps_is_an_error(write):
    with pytest.raises(RolloutFormatError, match="/steps: missing or null"):
        read_rollouts(write("x.json", {"schema_version": "ATIF-v1.5"}))
