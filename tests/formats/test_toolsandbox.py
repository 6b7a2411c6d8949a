"""Result folders built by hand after ToolSandbox's own writer (cli/utils.py, scenario.py, message_conversion.py)."""

import pytest

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import Action, Observation, StopReason, ToolCall, Turn
from likewise.formats import read_rollouts

FOLDER = "agent_acme_one_user_gpt-4o_07_03_2024_00_17_44"
CALL = {"id": "c", "type": "function", "function": {"name": "set_wifi", "arguments": '{"on": false}'}}


def match(index, similarity):
    return {"milestone_matches": [{"milestone_index": index, "milestone": {}, "milestone_similarity": similarity}]}


CONVERSATION = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "Wifi off."},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "name": "set_wifi", "content": "None", "tool_details": match(0, 1.0)},
    {"role": "assistant", "content": "It is off.", "assistant_details": match(1, 0.5)},
]


def scenario(name="wifi_off", **changes):
    return {
        "name": name,
        "categories": ["SINGLE_TOOL_CALL"],
        "traceback": None,
        "exception_type": None,
        "milestone_similarity": 0.75,
        "minefield_similarity": 0.0,
        "similarity": 0.75,
        "turn_count": 4,
        "milestone_mapping": {"0": [5, 1.0], "1": [6, 0.5]},
        "minefield_mapping": {},
    } | changes


@pytest.fixture
def results(write):
    """Write a result folder; `active` says whether the conversation was still going on."""

    def _results(*scenarios, folder=FOLDER, active=False, conversation=CONVERSATION):
        for each in scenarios:
            if isinstance(each, dict) and each.get("exception_type") is None and "/" not in str(each.get("name")):
                place = f"{folder}/trajectories/{each['name']}"
                write(f"{place}/conversation.json", conversation)
                rows = [
                    {"sender": "USER", "conversation_active": True},
                    {"sender": "USER", "conversation_active": active},
                ]
                write(f"{place}/execution_context.json", {"_dbs": {"SANDBOX": rows}})
                write(f"{place}/pretty_print.txt", "text")
        summary = {"per_scenario_results": list(scenarios), "category_aggregated_results": {}, "git_sha": "x"}
        return write(f"{folder}/result_summary.json", summary)

    return _results


def test_a_folder_is_one_run_of_each_of_its_scenarios(results, tmp_path):
    path = results(scenario(), scenario("wifi_on"))
    found = read_rollouts(tmp_path)
    assert [(each.task_id, each.run_id, each.reward, each.success) for each in found] == [
        ("wifi_off", "result_summary", 0.75, None),
        ("wifi_on", "result_summary", 0.75, None),
    ]
    assert found.rollouts[0].turns == (
        Turn(
            (Observation("system", "You help."), Observation("user", "Wifi off.")),
            Action("", (ToolCall("set_wifi", {"on": False}),)),
        ),
        Turn((Observation("tool", "None", "set_wifi"),), Action("It is off.")),
    )
    assert {name for _, name in found.files} == {"toolsandbox"}
    assert found.excluded == ()
    assert [warning for warning in found.warnings if "skipped" not in warning] == []
    assert read_rollouts(path).rollouts == found.rollouts


def test_agent_and_user_are_in_the_name_of_the_folder(results):
    (rollout,) = read_rollouts(results(scenario()))
    assert (rollout.meta["agent"], rollout.meta["user_model"]) == ("acme_one", "gpt-4o")


def test_two_folders_are_two_runs_though_all_their_files_are_equal(results, tmp_path):
    for folder in ("one", "two"):
        results(scenario(), folder=folder)
    assert [(each.task_id, each.run_id) for each in read_rollouts(tmp_path)] == [
        ("wifi_off", "one/result_summary"),
        ("wifi_off", "two/result_summary"),
    ]


@pytest.mark.parametrize(("active", "stop"), [(False, StopReason.FINISHED), (True, StopReason.CUT)])
def test_the_execution_context_says_whether_the_limit_of_messages_ended_the_run(results, active, stop):
    (rollout,) = read_rollouts(results(scenario(), active=active))
    assert rollout.stop is stop


def test_without_an_execution_context_the_end_is_not_known(results):
    path = results(scenario())
    (path.parent / "trajectories/wifi_off/execution_context.json").unlink()
    (rollout,) = read_rollouts(path)
    assert (rollout.stop, rollout.notes) == (StopReason.FINISHED, ("the log does not say how the run ended",))


def test_progress_is_the_mean_best_similarity_before_the_first_turn_and_after_each(results):
    (rollout,) = read_rollouts(results(scenario()))
    assert rollout.meta["progress"] == [0.0, 0.5, 0.75]  # of two milestones: none, the first whole, half the second


def test_a_milestone_assigned_with_similarity_0_was_not_reached(results):
    talk = [*CONVERSATION[:4], {"role": "assistant", "content": "Well.", "assistant_details": match(1, 0.0)}]
    (rollout,) = read_rollouts(results(scenario(), conversation=talk))
    assert rollout.meta["progress"] == [0.0, 0.5, 0.5]


def test_a_scenario_without_milestones_has_no_progress(results):
    plain = [{key: value for key, value in each.items() if "details" not in key} for each in CONVERSATION]
    (rollout,) = read_rollouts(results(scenario(milestone_mapping={}), conversation=plain))
    assert rollout.meta["progress"] == []


def test_a_scenario_that_raised_is_invalid_and_its_similarity_of_0_no_measurement(results):
    crash = {"exception_type": "HTTPError", "traceback": "Traceback\n  File x\nHTTPError: 500\n", "similarity": 0}
    (rollout,) = read_rollouts(results(scenario(**crash)))
    assert (rollout.problem, rollout.reward) == ("infra_error: HTTPError: 500", None)
    assert rollout.meta["logged_reward"] == 0.0


def test_parts_that_were_named_without_their_summary_say_what_to_name(results):
    path = results(scenario())
    found = read_rollouts(path.parent / "trajectories/wifi_off/conversation.json")
    assert len(found) == 0
    assert found.warnings == (f"{path}: not read, but parts of it were named; name it or its folder",)


@pytest.mark.parametrize("name", ["../wifi_off", "a/b", "..", "a\\b", " ", None])
def test_a_scenario_s_name_cannot_lead_out_of_its_folder(results, name):
    found = read_rollouts(results(scenario(name)))
    assert (len(found), [item.pointer for item in found.excluded]) == (0, ["/per_scenario_results/0/name"])


def test_a_nul_in_a_scenario_s_name_is_refused(write):
    path = write("result_summary.json", {"per_scenario_results": [scenario("a\0b")]})
    assert [item.pointer for item in read_rollouts(path).excluded] == ["/per_scenario_results/0/name"]


def test_a_conversation_that_is_missing_or_broken_excludes_its_scenario(results):
    path = results(scenario("a"), scenario("b"), scenario("c"))
    (path.parent / "trajectories/a/conversation.json").unlink()
    (path.parent / "trajectories/b/conversation.json").write_text("[{")
    found = read_rollouts(path)
    assert [each.task_id for each in found] == ["c"]
    assert [item.task_id for item in found.excluded] == ["a", "b"]
    assert "no trajectories/a/conversation.json" in found.excluded[0].reason


def test_a_summary_without_its_list_is_an_error(write):
    with pytest.raises(RolloutFormatError, match="/per_scenario_results"):
        read_rollouts(write("result_summary.json", {"per_scenario_results": {}}))


def test_a_scenario_with_a_name_too_long_for_a_folder_is_excluded_and_the_others_are_read(results, write):
    path = results(scenario())
    content = {"per_scenario_results": [scenario("x" * 300), scenario()]}
    write(f"{FOLDER}/result_summary.json", content)
    found = read_rollouts(path)
    assert len(found) == 1
    assert [(each.pointer, each.reason) for each in found.excluded] == [
        ("/per_scenario_results/0/name", "a scenario's name that no folder can have")
    ]
