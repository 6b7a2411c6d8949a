"""Inputs built by hand in the form of these traces; test_data_agent_logs.py reads real ones."""

import pytest

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import Action, Observation, StopReason, ToolCall, Turn
from likewise.formats import read_rollouts

SHOWN = "[SystemMessage(content='Be kind.'), HumanMessage(content='Book it.')]"


def llm(output="", shown=SHOWN, **more):
    return {"type": "llm", "name": "chat_generation", "input": shown, "output": output, "tokens": {}, **more}


def tool(name, arguments, output="content='ok' name='x'", **more):
    return {"type": "tool", "name": name, "input": arguments, "output": output, "tokens": {}, **more}


def trace(*steps, **top):
    head = {
        "trace_id": "T",
        "task_id": "8",
        "framework": "rac",
        "status": "success",
        "start_time": 1.0,
        "end_time": 2.0,
    }
    return head | top | {"steps": list(steps)}


def read_one(write, content, name="trace.json"):
    (rollout,) = read_rollouts(write(name, content))
    return rollout


def test_an_llm_step_and_the_tools_after_it_are_one_action(write):
    path = write("trace.json", trace(llm("Looking."), tool("get", "{'id': 'x'}", "found"), llm("Done.")))
    found = read_rollouts(path)
    (rollout,) = found
    assert found.files == ((str(path), "langchain-steps"),)
    assert rollout.turns == (
        Turn((Observation("user", SHOWN),), Action("Looking.", (ToolCall("get", {"id": "x"}),))),
        Turn((Observation("tool", "found", "get"),), Action("Done.")),
    )
    assert (rollout.task_id, rollout.run_id, rollout.stop) == ("8", "trace", StopReason.FINISHED)
    facts = {key: rollout.meta[key] for key in ("agent", "status", "started", "ended")}
    assert facts == {"agent": "rac", "status": "success", "started": 1.0, "ended": 2.0}


def test_trap_15_every_file_says_trial_1_and_the_file_is_the_run(write, tmp_path):
    for unix in (1768, 1769):
        write(f"trace_rac_8_trial1_{unix}.json", trace(llm(f"Said at {unix}.")))
    assert [(each.task_id, each.run_id) for each in read_rollouts(tmp_path)] == [
        ("8", "trace_rac_8_trial1_1768"),
        ("8", "trace_rac_8_trial1_1769"),
    ]


def test_a_file_with_steps_alone_has_task_and_framework_in_its_name_read_from_the_right(write):
    name = "trace_prompt_engineer_langgraph_5_trial1_1769956984.json"
    rollout = read_one(write, {"steps": [{"type": "llm", "tokens": {"total": 4000}}]}, name)
    assert (rollout.task_id, rollout.meta["agent"]) == ("5", "prompt_engineer_langgraph")
    assert rollout.problem == "no text and no tool call of the agent is recorded"


def test_a_file_that_names_no_task_is_named_by_what_its_model_was_shown(write):
    content = {"steps": [llm("Yes.", "What is it?")]}
    assert read_one(write, content, "odd.json").task_id == "What is it?"


def test_trap_16_inputs_of_tools_are_python_literals_and_nothing_of_them_is_run(write):
    evil = "__import__('os').system('false')"
    rollout = read_one(write, trace(llm(), tool("a", "{'n': 1, 'ok': True}"), tool("b", evil), tool("c", {"n": 1})))
    assert [call.arguments for call in rollout.actions[0].tool_calls] == [{"n": 1, "ok": True}, evil, {"n": 1}]
    assert rollout.notes == ("arguments written as a Python literal", "arguments that do not parse")


def test_trap_17_what_a_model_was_shown_stays_text_and_is_given_once(write):
    longer = SHOWN[:-1] + ", AIMessage(content='Looking.'), HumanMessage(content='Now?')]"
    rollout = read_one(
        write, trace(llm("A."), llm("B."), llm("C.", longer), llm("D.", "[HumanMessage(content='New.')]"))
    )
    assert [[o.text for o in turn.observations] for turn in rollout.turns] == [
        [SHOWN],
        [],
        ["AIMessage(content='Looking.'), HumanMessage(content='Now?')]"],
        ["[HumanMessage(content='New.')]"],
    ]


def test_trap_18_an_output_may_be_empty_where_a_tool_was_called_and_is_noted_where_none_is_shown(write):
    rollout = read_one(write, trace(llm(), tool("get", "{}"), llm(), llm("Done.")))
    assert rollout.actions == (Action("", (ToolCall("get", {}),)), Action(""), Action("Done."))
    assert "empty action" in rollout.notes


def test_trap_19_a_status_of_success_is_no_outcome(write):
    rollout = read_one(write, trace(llm("Which flight?")))
    assert (rollout.success, rollout.reward, rollout.valid) == (None, None, True)


def test_a_limit_of_iterations_is_cut_valid_and_failed(write):
    rollout = read_one(write, trace(llm("A."), status="failed", metadata={"error": "Max iterations reached"}))
    assert (rollout.stop, rollout.success, rollout.notes) == (StopReason.CUT, False, ("stopped by the step limit",))


@pytest.mark.parametrize("error", ["API key required", "langgraph is not installed", "Error 429: rate limit"])
def test_trap_20_a_missing_key_or_package_is_the_harness_s_failure(write, error):
    rollout = read_one(write, trace(llm("A."), status="failed", success=False, error=error))
    assert (rollout.problem, rollout.success) == (f"infra_error: {error}", None)


def test_another_failure_is_the_run_s_own(write):
    rollout = read_one(write, trace(llm("A."), status="failed", metadata={"error": "plan rejected"}))
    assert (rollout.stop, rollout.success, rollout.notes) == (
        StopReason.CUT,
        False,
        ("the framework reports: plan rejected",),
    )


def test_a_failed_run_without_any_step_is_invalid(write):
    rollout = read_one(write, trace(llm("A."), status="failed") | {"steps": [{"type": "execution", "name": "x"}]})
    assert rollout.problem == "infra_error: failed"


def test_steps_of_the_framework_are_observations(write):
    graph = {"type": "workflow_generation", "name": "phase2", "output": "{'nodes': 5}"}
    rollout = read_one(write, trace(llm("Plan."), graph, llm("Act.")))
    assert rollout.turns[1].observations == (Observation("tool", "{'nodes': 5}", "phase2"),)
    assert len(rollout.turns) == 2


def test_an_error_of_a_tool_is_what_the_agent_saw(write):
    rollout = read_one(write, trace(llm("A."), tool("get", "{}", None, error="boom"), llm("B.")))
    assert rollout.turns[1].observations == (Observation("tool", "boom", "get"),)


def test_the_model_of_a_step_is_kept(write):
    assert read_one(write, trace(llm("A.", metadata={"model": "acme/one"}))).meta["model"] == "acme/one"


@pytest.mark.parametrize(
    ("step", "pointer"),
    [("x", "/steps/1"), ({"name": "a"}, "/steps/1/type"), ({"type": "tool", "tokens": {}}, "/steps/1/name")],
)
def test_a_trace_with_a_wrong_type_is_excluded_with_its_pointer(write, step, pointer):
    found = read_rollouts(write("trace.json", trace(llm("A."), step)))
    assert [item.pointer for item in found.excluded] == [pointer]


def test_steps_that_are_no_list_are_an_error(write):
    with pytest.raises(RolloutFormatError, match="/steps: an object"):
        read_rollouts(write("t.json", {"steps": {}}), format="langchain-steps")
