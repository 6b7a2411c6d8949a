"""Readers of agent logs against the real samples. Expected values come from a walk over the raw JSON, or from the spec.

Where the source of a sample has more files than lie here (NOTICE), only what lies here is counted.
"""

import ast
import json

import pytest

from data_folder import data_folder
from likewise.core.group import group_rollouts
from likewise.core.rollout import StopReason
from likewise.core.state_text import canonical_text
from likewise.formats import read_rollouts

pytestmark = pytest.mark.data

FOLDERS = ("langchain-steps", "swe-agent", "claude-code", "atif", "uqlm")


@pytest.fixture(scope="module")
def samples():
    return data_folder() / "rollouts"


def raw(path):
    return json.loads(path.read_text(encoding="utf-8"))


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_is_recognised_as_its_format_and_nothing_in_it_is_lost(samples, folder):
    paths = [path for path in sorted((samples / folder).iterdir()) if not path.name.startswith("NOTICE")]
    assert paths
    for path in paths:
        found = read_rollouts(path, strict=True)  # strict: an excluded record would be an error
        assert found.files == ((str(path), folder),)
        assert len(found) > 0


def test_langchain_every_action_call_and_result_of_the_steps_is_read(samples):
    for path in sorted((samples / "langchain-steps").glob("*.json")):
        steps = raw(path)["steps"]
        (rollout,) = read_rollouts(path)
        llm = [step for step in steps if step["type"] == "llm"]
        tools = [step for step in steps if step["type"] == "tool"]
        assert [action.text for action in rollout.actions] == [step.get("output", "") for step in llm]
        calls = [(call.name, call.arguments) for action in rollout.actions for call in action.tool_calls]
        assert calls == [(step["name"], ast.literal_eval(step["input"])) for step in tools]  # trap 16
        observed = [o for turn in rollout.turns for o in turn.observations] + list(rollout.last_observations)
        results = [o.text for o in observed if o.source == "tool"]
        others = [step["output"] for step in steps if step["type"] not in ("llm", "tool")]
        assert sorted(results) == sorted([step["output"] for step in tools] + others)


def test_langchain_tasks_frameworks_and_ends(samples):
    found = read_rollouts(samples / "langchain-steps")
    by_task = {group.task_id: group.rollouts for group in group_rollouts(found)}
    assert {task: {run.meta["agent"] for run in runs} for task, runs in by_task.items()} == {
        "5": {"prompt_engineer_langgraph"},
        "8": {"rac"},
        "9": {"sagallm"},
    }
    assert [len(by_task[task]) for task in "589"] == [1, 6, 6]  # two files of task 5 are equal, byte for byte
    assert by_task["5"][0].problem == "no text and no tool call of the agent is recorded"
    cut = [run for run in by_task["9"] if run.stop is StopReason.CUT]
    assert len(cut) == 3  # "Max iterations reached"
    assert all(run.valid and run.success is False for run in cut)
    assert {run.success for run in by_task["8"]} == {None}  # trap 19


def test_swe_agent_every_command_thought_and_observation_is_read(samples):
    for path in sorted((samples / "swe-agent").glob("*.traj")):
        top = raw(path)
        (rollout,) = read_rollouts(path)
        steps = top.get("trajectory") or [each for each in top["history"] if each["role"] == "assistant"]
        commands = [action.tool_calls[0].arguments["command"] for action in rollout.actions]
        assert commands == [step["action"].strip() for step in steps]
        assert [action.text for action in rollout.actions] == [step["thought"].strip() for step in steps]
        if "trajectory" in top:
            seen = [turn.observations[0].text for turn in rollout.turns[1:]] + [rollout.last_observations[0].text]
            assert seen == [step["observation"] for step in steps]
        assert (rollout.stop, rollout.success) == (StopReason.FINISHED, None)


def test_trap_40_and_41_three_dialects_solve_one_instance_by_one_patch(samples):
    found = read_rollouts(samples / "swe-agent")
    (solved, simple) = group_rollouts(found)
    assert (solved.task_id, len(solved.rollouts), len(simple.rollouts)) == ("marshmallow-code__marshmallow-1867", 3, 1)
    patches = {
        canonical_text(raw(path)["info"]["submission"])
        for path in map(type(samples), (r.path for r in solved.rollouts))
    }
    assert len(patches) == 1
    edits = {run.actions[1].tool_calls[0].name for run in solved.rollouts} | {
        simple.rollouts[0].actions[2].tool_calls[0].name
    }
    assert edits <= {"edit", "insert"}
    system = {turn.text for run in solved.rollouts for turn in run.turns[0].observations if turn.source == "system"}
    assert len(system) > 1  # other prompts: not repeats of one agent


def test_claude_code_every_message_and_call_is_read_once(samples):
    for path in sorted((samples / "claude-code").glob("*.jsonl")):
        main = [line for line in lines(path) if line["type"] == "assistant" and not line.get("isSidechain")]
        ids = list(dict.fromkeys(line["message"]["id"] for line in main))
        blocks = [block for line in main for block in line["message"]["content"] if block["type"] == "tool_use"]
        found = read_rollouts(path)
        assert sum(len(run.turns) for run in found) == len(ids)
        assert [each for run in found for each in run.meta["response_ids"]] == ids
        calls = [(call.name, call.arguments) for run in found for action in run.actions for call in action.tool_calls]
        assert calls == [(block["name"], block["input"]) for block in blocks]
        assert {run.meta["model"] for run in found} == {line["message"]["model"] for line in main}


def test_trap_50_a_session_split_by_clear_and_one_split_over_two_files(samples):
    folder = samples / "claude-code"
    split = read_rollouts(folder / "claude_code_source__clear_split_session.jsonl")
    assert [run.task_id for run in split] == ["First conversation message", "Second conversation after clear"]
    found = read_rollouts(folder)
    assert len(found) == 9  # 8 files, two of them split by /clear, two of them one run
    (joined,) = [run for run in found if "joined from several files" in run.notes]
    assert [action.text for action in joined.actions] == ["Here is my plan.", "Executing the plan now."]
    assert joined.task_id == "Plan the feature"


def test_atif_every_step_of_the_agent_is_an_action(samples):
    for path in sorted((samples / "atif").glob("*.json")):
        agent = [step for step in raw(path)["steps"] if step["source"] == "agent"]
        (rollout,) = read_rollouts(path)
        assert [action.text for action in rollout.actions] == [step["message"] for step in agent]
        calls = [[(c.name, c.arguments) for c in action.tool_calls] for action in rollout.actions]
        logged = [[(c["function_name"], c["arguments"]) for c in step.get("tool_calls", [])] for step in agent]
        assert calls == logged
        assert ("tool call in text" in rollout.notes) == ("no_function_calling" in path.name)


def test_uqlm_the_exact_match_that_it_publishes_is_that_of_the_runs(samples):
    path = samples / "uqlm" / "blackbox_results_file.json"
    published = raw(path)["data"]["exact_match"]
    shares = []
    for group in group_rollouts(read_rollouts(path)):
        first, *rest = (run.answer for run in group.rollouts)
        assert len(rest) == 5
        shares.append(sum(answer == first for answer in rest) / len(rest))
    assert shares == published


def test_uqlm_every_answer_is_a_run(samples):
    for path in sorted((samples / "uqlm").glob("*.json")):
        data = raw(path)["data"]
        sampled = data.get("sampled_responses", [[]] * len(data["responses"]))
        expected = [answer for first, rest in zip(data["responses"], sampled, strict=True) for answer in [first, *rest]]
        assert [run.answer for run in read_rollouts(path)] == expected
