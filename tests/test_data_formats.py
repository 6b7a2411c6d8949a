"""Readers against the real samples. Expected values come from a walk over the raw JSON, or from the spec's counts."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from data_folder import data_folder
from likewise.core.rollout import StopReason
from likewise.formats import read_rollouts
from likewise.formats.sub_goals import SubGoal

pytestmark = pytest.mark.data

GPT_4O = "tau-bench/gpt-4o-airline-tasks-0-29.json"
CRASHES = "tau-bench/assertions-agent-none-0.1_range_0-100_6_18_2025.json"
GROK_MINI = "tau2/airline_relaxed_grok-3-mini_4trials.json"


@pytest.fixture(scope="module")
def samples():
    return data_folder() / "rollouts"


def raw(path):
    return json.loads(path.read_text(encoding="utf-8"))


def calls_in(messages, scripted=0):
    agent = [message for message in messages[scripted:] if message["role"] == "assistant"]
    return sum(len(message.get("tool_calls") or []) for message in agent)


def test_every_tau_bench_sample_is_read_with_all_its_runs_actions_and_calls(samples):
    paths = sorted((samples / "tau-bench").glob("*.json"))
    assert len(paths) == 5
    for path in paths:
        records, found = raw(path), read_rollouts(path, strict=True)
        assert found.files == ((str(path), "tau-bench"),)
        assert len(found) == len(records)
        for record, rollout in zip(records, found, strict=True):
            assistant = [message for message in record["traj"] if message["role"] == "assistant"]
            assert rollout.task_id == str(record["task_id"])
            assert len(rollout.turns) == len(assistant)
            assert sum(len(action.tool_calls) for action in rollout.actions) == calls_in(record["traj"])
            assert [action.text for action in rollout.actions] == [m.get("content") or "" for m in assistant]
            seen = sum(len(turn.observations) for turn in rollout.turns) + len(rollout.last_observations)
            assert seen == len(record["traj"]) - len(assistant)
            assert not any(isinstance(call.arguments, str) for action in rollout.actions for call in action.tool_calls)


def test_every_tool_result_is_paired_with_the_call_that_has_its_name(samples):
    for path in sorted((samples / "tau-bench").glob("*.json")):
        records = raw(path)
        stripped = [
            {**record, "traj": [{k: v for k, v in message.items() if k != "name"} for message in record["traj"]]}
            for record in records
        ]
        for record, rollout in zip(records, read_copy(stripped), strict=True):
            observed = [o.name for turn in rollout.turns for o in turn.observations if o.source == "tool"]
            observed += [o.name for o in rollout.last_observations if o.source == "tool"]
            logged = [message.get("name") for message in record["traj"] if message["role"] == "tool"]
            assert len(observed) == len(logged)
            assert all(name == other for name, other in zip(observed, logged, strict=True) if other is not None)


def read_copy(content):
    with TemporaryDirectory() as folder:
        path = Path(folder, "copy.json")
        path.write_text(json.dumps(content))
        return read_rollouts(path)


def test_arguments_of_the_assertions_agent_are_python_literals_and_of_gpt_4o_json(samples):
    literal = "arguments written as a Python literal"
    crashes = read_rollouts(samples / CRASHES)
    assert {rollout.notes for rollout in crashes if rollout.valid} == {(literal,)}
    assert not any(literal in rollout.notes for rollout in read_rollouts(samples / GPT_4O))


def test_the_gpt_4o_sample_has_30_tasks_120_runs_3_of_them_cut_and_none_excluded(samples):
    found = read_rollouts(samples / GPT_4O)
    assert len({rollout.task_id for rollout in found}) == 30
    assert len(found) == 120
    cut = [(rollout.task_id, rollout.meta["trial"]) for rollout in found if rollout.stop is StopReason.CUT]
    assert sorted(cut) == [("2", 1), ("9", 2), ("9", 3)]
    assert all(rollout.valid for rollout in found)
    assert all(rollout.success is False for rollout in found if rollout.stop is StopReason.CUT)
    assert (found.excluded, found.warnings) == ((), ())
    assert sum(rollout.success for rollout in found) == sum(record["reward"] == 1.0 for record in raw(samples / GPT_4O))


def test_trap_1_call_ids_do_repeat_in_the_gpt_4o_sample(samples):
    repeats = 0
    for record in raw(samples / GPT_4O):
        ids = [message["tool_call_id"] for message in record["traj"] if message["role"] == "tool"]
        repeats += len(ids) != len(set(ids))
    assert repeats > 0


def test_trap_4_34_runs_of_one_file_crashed_in_the_harness(samples):
    found = read_rollouts(samples / CRASHES)
    invalid = [rollout for rollout in found if not rollout.valid]
    assert len(invalid) == 34
    assert {rollout.reward for rollout in invalid} == {None}
    assert all(rollout.problem.startswith("infra_error: ") for rollout in invalid)
    assert [rollout.task_id for rollout in invalid] == [
        str(r["task_id"]) for r in raw(samples / CRASHES) if not r["traj"]
    ]


def test_every_tau2_sample_is_read_with_all_its_agent_calls(samples):
    paths = sorted((samples / "tau2").glob("*.json"))
    assert len(paths) == 10
    for path in paths:
        top, found = raw(path), read_rollouts(path, strict=True)
        assert found.files == ((str(path), "tau2"),)
        assert len(found) == len(top["simulations"])
        prepared = {t["id"]: len((t.get("initial_state") or {}).get("message_history") or []) for t in top["tasks"]}
        by_id = {simulation["id"]: simulation for simulation in top["simulations"]}
        for rollout in found:
            simulation = by_id[rollout.meta["record_id"]]
            scripted = prepared[rollout.task_id] or 1
            acted = [message for message in simulation["messages"][scripted:] if message["role"] == "assistant"]
            assert len(rollout.turns) == len(acted)
            called = sum(len(action.tool_calls) for action in rollout.actions)
            assert called == calls_in(simulation["messages"], scripted)
            assert all(message["usage"] is not None for message in acted)
            expected = StopReason.CUT if simulation["termination_reason"] == "max_steps" else StopReason.FINISHED
            assert (rollout.stop, rollout.reward) == (expected, simulation["reward_info"]["reward"])


def test_trap_8_and_9_all_tau2_samples_together_have_unique_runs_in_the_order_of_trials(samples):
    found = read_rollouts(samples / "tau2")
    ids = [(rollout.task_id, rollout.run_id) for rollout in found]
    assert len(set(ids)) == len(ids) == 22
    assert found.excluded == ()
    trials = [rollout.meta["trial"] for rollout in read_rollouts(samples / GROK_MINI)]
    assert [simulation["trial"] for simulation in raw(samples / GROK_MINI)["simulations"]] == [3, 1, 0, 2]
    assert trials == [0, 1, 2, 3]


def test_trap_11_and_12_grok_mini_texts_are_unwrapped_and_calls_in_text_are_noted(samples):
    found = read_rollouts(samples / GROK_MINI)
    texts = [action.text for rollout in found for action in rollout.actions]
    assert not any(text.lstrip().startswith('{\n  "message"') for text in texts)
    assert not any(text.lstrip().startswith('{\n  "type"') for text in texts)
    noted = [rollout.meta["trial"] for rollout in found if "tool call in text" in rollout.notes]
    assert noted == [0]
    trial_0 = found.rollouts[0]
    assert sum(len(action.tool_calls) for action in trial_0.actions) == 0
    assert sum('"function_call"' in action.text for action in trial_0.actions) == 5


def test_user_tool_calls_of_tau2_are_observations(samples):
    path = samples / "tau2/20260531-191847-173904.results.json"
    (rollout,) = read_rollouts(path)
    simulation = raw(path)["simulations"][0]
    user_calls = sum(len(m.get("tool_calls") or []) for m in simulation["messages"] if m["role"] == "user")
    assert user_calls > 0
    observed = [o for turn in rollout.turns for o in turn.observations] + list(rollout.last_observations)
    assert sum(o.source == "user" and o.name is not None for o in observed) == user_calls


def test_the_shipped_example_is_a_part_of_the_gpt_4o_sample(samples):
    shipped = raw(Path(__file__).resolve().parents[1] / "examples/rollouts/airline.json")
    source = raw(samples / GPT_4O)
    assert all(record in source for record in shipped)


def test_the_sub_goals_of_tau2_are_found_where_its_own_checks_say_that_they_are_met(samples):
    checked = 0
    for path in sorted((samples / "tau2").glob("*.json")):
        top = json.loads(path.read_text(encoding="utf-8"))
        runs = {(run.task_id, run.meta["trial"]): run for run in read_rollouts(path)}
        for simulation in top["simulations"]:
            checks = (simulation["reward_info"] or {}).get("action_checks")
            run = runs[str(simulation["task_id"]), simulation["trial"]]
            made = [(turn, call.name, call.arguments) for turn, call in _made(run)]
            for check in checks or ():
                wanted = check["action"]
                goal = SubGoal(wanted["name"], wanted["arguments"], wanted["compare_args"])
                assert (goal.turn(made, len(run.turns)) is not None) == check["action_match"]
                checked += 1
            if checks:
                met = sum(check["action_match"] for check in checks) / len(checks)
                assert run.meta["progress"][-1] == pytest.approx(met)
    assert checked > 10


def _made(run):
    return [(number, call) for number, turn in enumerate(run.turns, 1) for call in turn.action.tool_calls]
