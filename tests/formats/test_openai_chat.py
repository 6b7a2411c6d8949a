import json

import pytest

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import Action, StopReason
from likewise.formats import read_rollouts

MESSAGES = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def run(task="t", **more):
    return {"task_id": task, "messages": MESSAGES} | more


def read_one(write, **record):
    (rollout,) = read_rollouts(write("log.jsonl", lines({"messages": MESSAGES} | record)))
    return rollout


def test_a_run_a_line_is_read(write):
    path = write("log.jsonl", lines(run("a", model="m", reward=0.5, success=True, seed=3), run("b", run_id="own")))
    found = read_rollouts(path)
    first, second = found
    assert found.files == ((str(path), "openai-chat"),)
    assert (first.task_id, first.run_id, first.actions) == ("a", "log#a#0", (Action("Hello."),))
    assert (first.reward, first.success, first.stop) == (0.5, True, StopReason.FINISHED)
    assert first.meta == {"model": "m", "seed": 3}
    assert (second.task_id, second.run_id, second.reward, second.success) == ("b", "own", None, None)


@pytest.mark.parametrize("key", ["task_id", "task", "question_id", "example_id", "id"])
def test_each_documented_key_names_the_task(write, key):
    assert read_one(write, **{key: 5}).task_id == "5"


@pytest.mark.parametrize(
    ("keys", "run_id"),
    [
        ({"run_id": "r"}, "r"),
        ({"run": 4}, "4"),
        ({"trial": 0}, "log#t#0"),
        ({"attempt": 2}, "log#t#2"),
        ({"epoch": 3}, "log#t#3"),
        ({"sample": 1}, "log#t#1"),
        ({"run_id": "r", "trial": 2}, "r"),
    ],
)
def test_each_documented_key_names_the_run(write, keys, run_id):
    assert read_one(write, task_id="t", **keys).run_id == run_id


def test_equal_lines_without_a_run_id_are_two_runs_of_an_agent_that_acts_alike(write):
    found = read_rollouts(write("log.jsonl", lines(run(), run())))
    assert [rollout.run_id for rollout in found] == ["log#t#0", "log#t#1"]
    assert found.excluded == ()


@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_list_of_runs_is_read_and_its_pointers_count_the_elements(write, indent):
    path = write("log.json", json.dumps([run("a"), run("b", messages=7)], indent=indent))
    found = read_rollouts(path)
    assert [rollout.task_id for rollout in found] == ["a"]
    assert [(item.task_id, item.line, item.pointer) for item in found.excluded] == [("b", None, "/1/messages")]


def test_one_indented_run_is_read(write):
    assert [rollout.task_id for rollout in read_rollouts(write("log.json", json.dumps(run("a"), indent=1)))] == ["a"]


@pytest.mark.parametrize(
    ("keys", "stop", "notes"),
    [
        ({"stop": "finished"}, StopReason.FINISHED, ()),
        ({"stop": "cut"}, StopReason.CUT, ()),
        ({"finish_reason": "length"}, StopReason.CUT, ()),
        ({"finish_reason": "stop"}, StopReason.FINISHED, ()),
        ({"stop": "end_turn"}, StopReason.FINISHED, ("stop reason that is not known",)),
        ({"stop": ["a"]}, StopReason.FINISHED, ("stop reason that is not known",)),
        ({"error": None}, StopReason.FINISHED, ()),
        ({"error": ""}, StopReason.FINISHED, ()),
    ],
)
def test_how_a_run_ended_is_read_where_the_log_says_it(write, keys, stop, notes):
    rollout = read_one(write, task_id="t", **keys)
    assert (rollout.stop, rollout.notes) == (stop, notes)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"error": "VerifierTimeoutError: 30 s\nat line 3", "reward": 0.0}, "infra_error: VerifierTimeoutError: 30 s"),
        ({"error": {"code": 500}}, "infra_error: an object"),
        ({"messages": []}, "no messages"),
        ({"messages": MESSAGES[:1]}, "no action of the agent"),
    ],
)
def test_a_crashed_or_empty_run_is_invalid_and_has_no_reward(write, keys, problem):
    rollout = read_one(write, task_id="t", **keys)
    assert (rollout.problem, rollout.reward, rollout.success) == (problem, None, None)


@pytest.mark.parametrize(
    ("record", "pointer"),
    [
        ({"messages": MESSAGES}, "/task_id"),
        ({"task": {"prompt": "x"}, "messages": MESSAGES}, "/task"),
        ({"task_id": "t"}, "/messages"),
        ({"task_id": "t", "messages": MESSAGES, "success": 1}, "/success"),
        ({"task_id": "t", "messages": MESSAGES, "trial": 1.5}, "/trial"),
        ({"task_id": "t", "messages": [{"role": "user", "content": {}}]}, "/messages/0/content"),
        (["not", "a", "run"], ""),
        ("text", ""),
    ],
)
def test_a_line_that_is_no_run_is_excluded_with_line_and_pointer(write, record, pointer):
    path = write("log.jsonl", lines(run("a"), record))
    found = read_rollouts(path)
    assert [rollout.task_id for rollout in found] == ["a"]
    assert [(item.line, item.pointer) for item in found.excluded] == [(2, pointer)]
    with pytest.raises(RolloutFormatError) as caught:
        read_rollouts(path, strict=True)
    assert (caught.value.line, caught.value.pointer) == (2, pointer)


def test_issue_5947_ten_repeats_out_of_a_cache_are_noted_as_copies(write):
    line = {"task_id": "t", "messages": [{"role": "assistant", "content": "Paris"}], "response_id": "chatcmpl-1"}
    found = read_rollouts(write("a.jsonl", "\n".join(json.dumps(line | {"run_id": str(n)}) for n in range(10))))
    noted = [rollout.notes for rollout in found]
    assert noted == [(), *[("the same generation as run '0' (same response id)",)] * 9]
    cached = read_rollouts(write("b.jsonl", "\n".join(json.dumps(line | {"cached": True}) for _ in range(3))))
    assert all("an answer came from a cache" in rollout.notes for rollout in cached)


def test_ids_and_times_by_which_copies_are_known_are_kept(write):
    facts = {"response_ids": ["a", "b"], "started": "2026-01-01", "ended": "2026-01-02", "cached": False}
    line = {"task_id": "t", "messages": [{"role": "assistant", "content": "Hi."}]} | facts
    (rollout,) = read_rollouts(write("a.jsonl", json.dumps(line)))
    assert rollout.meta == facts
