"""Inputs built by hand in the form of uqlm's results; test_data_agent_logs.py reads real ones."""

import pytest

from likewise.core.errors import RolloutFormatError
from likewise.core.group import group_rollouts
from likewise.core.rollout import Action, Observation, StopReason, Turn
from likewise.formats import read_rollouts


def results(**changes):
    data = {
        "prompts": ["How many?", "Which colour?"],
        "responses": ["8", "red"],
        "sampled_responses": [["8", "8 mails"], ["black", "green"]],
        "exact_match": [0.5, 0.0],
    }
    return {"data": data | changes, "metadata": {"temperature": 1.0, "sampling_temperature": 1.0}}


@pytest.mark.parametrize("nested", [True, False])
def test_a_prompt_is_a_task_and_its_response_and_samples_are_its_runs(write, nested):
    path = write("r.json", results() if nested else results()["data"])
    found = read_rollouts(path)
    assert found.files == ((str(path), "uqlm"),)
    assert [(each.task_id, each.run_id, each.answer) for each in found] == [
        ("How many?", "r#0", "8"),
        ("How many?", "r#1", "8"),
        ("How many?", "r#2", "8 mails"),
        ("Which colour?", "r#0", "red"),
        ("Which colour?", "r#1", "black"),
        ("Which colour?", "r#2", "green"),
    ]
    assert found.rollouts[0].turns == (Turn((Observation("user", "How many?"),), Action("8")),)
    assert found.warnings == ()


def test_scores_and_temperatures_are_kept(write):
    first, second, *_ = read_rollouts(write("r.json", results()))
    assert (first.meta["exact_match"], first.meta["temperature"], first.meta["sample"]) == (0.5, 1.0, 0)
    assert second.meta["sample"] == 1


def test_a_response_made_at_another_temperature_than_the_samples_is_told(write):
    content = results() | {"metadata": {"parameters": {"temperature": 0.0, "sampling_temperature": 1.0}}}
    path = write("r.json", content)
    found = read_rollouts(path)
    assert found.warnings == (
        f"{path}: the first responses were made at temperature 0.0, the samples at 1.0; all count as runs",
    )


@pytest.mark.parametrize("blank", ["", " \n", None])
def test_issue_452_a_blank_answer_is_no_answer_and_two_of_them_do_not_agree(write, blank):
    content = results(prompts=["Q"], responses=[blank], sampled_responses=[[blank, "yes"]], exact_match=[0.0])
    (group,) = group_rollouts(read_rollouts(write("r.json", content)))
    assert [each.problem for each in group.rollouts] == ["no answer is recorded"] * 2 + [None]
    assert [each.answer for each in group.valid] == ["yes"]


@pytest.mark.parametrize("samples", [[], None])
def test_issue_452_a_prompt_without_samples_has_one_run_and_nothing_to_compare(write, samples):
    content = results(prompts=["Q"], responses=["a"], sampled_responses=[samples], exact_match=[1.0])
    (group,) = group_rollouts(read_rollouts(write("r.json", content)))
    assert (len(group.valid), group.pairs) == (1, ())


def test_a_file_without_samples_is_read_with_one_run_each(write):
    content = results()
    del content["data"]["sampled_responses"]
    assert [each.run_id for each in read_rollouts(write("r.json", content))] == ["r#0", "r#0"]


def test_a_prompt_that_comes_twice_is_one_task(write):
    content = results(prompts=["Q", "Q"])
    assert [each.run_id for each in read_rollouts(write("r.json", content))] == [f"r#{n}" for n in range(6)]


def test_a_prompt_may_be_a_chat(write):
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How many?"}]
    content = results(prompts=[chat, "Which colour?"])
    assert read_rollouts(write("r.json", content)).rollouts[0].task_id == "Be brief. How many?"


def test_an_answer_of_a_wrong_type_excludes_its_prompt(write):
    found = read_rollouts(write("r.json", results(sampled_responses=[["8", {}], ["black"]])))
    assert [item.pointer for item in found.excluded] == ["/data/sampled_responses/0/1"]
    assert {each.task_id for each in found} == {"Which colour?"}


def test_lists_of_different_lengths_are_an_error(write):
    with pytest.raises(RolloutFormatError, match="/data/prompts: 1 items beside 2 responses"):
        read_rollouts(write("r.json", results(prompts=["Q"])))


def test_every_run_is_finished(write):
    assert {each.stop for each in read_rollouts(write("r.json", results()))} == {StopReason.FINISHED}
