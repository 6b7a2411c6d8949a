"""Logs of other people's making, built by hand in the forms that were seen, each read by a mapping of a few lines."""

import json

import pytest

from likewise.core.errors import RolloutFormatError, UnknownFormatError
from likewise.core.group import group_rollouts
from likewise.core.rollout import Action, Observation, StopReason, ToolCall
from likewise.core.state_text import action_key
from likewise.formats import read_rollouts

MEDICAL = """
task = "task_id"
run = "attempt"
prompt = "prompt"
answer = "result@json"
success = "correct"
model = "@folder"
error = "infra_reason"
status = "status"
finished = ["completed"]
cut = ["agent_invalid_action"]
invalid = ["infra_fail"]
[turns]
list = "turns"
text = "agent_reply"
after = "observation"
[turns.call]
only = { action_kind = ["get", "post"] }
name = ["action_kind", "url@path"]
arguments = ["url@query", "payload"]
drop = ["_format"]
instead_of_text = true
"""
BASE = "http://localhost:8080/fhir/"


def turn(kind, reply, url=None, payload=None, observation=None):
    return {"action_kind": kind, "agent_reply": reply, "url": url, "payload": payload, "observation": observation}


def visit(attempt=1, query="patient=S1&code=GLU", payload=None, result="[87.0]", **changes):
    payload = payload or {"resourceType": "Order", "dose": {"value": 5, "unit": "mg"}}
    url = f"{BASE}Observation?{query}"
    turns = [
        turn("get", f"GET {url}", url, None, json.dumps({"id": attempt, "lastUpdated": "now"})),
        turn("post", "POST ...", f"{BASE}Order", payload, "accepted"),
        turn("finish", f"FINISH({result})"),
    ]
    outcome = {"status": "completed", "result": result, "correct": True, "infra_fail": False, "infra_reason": None}
    return {"task_id": "task7_2", "attempt": attempt, "prompt": "You serve.", "turns": turns, **outcome} | changes


@pytest.fixture
def read(write):
    """Read a file by a mapping."""

    def _read(mapping, content, name="log.json"):
        return read_rollouts(write(name, content), mapping=write("map.toml", mapping))

    return _read


def test_a_medical_agent_s_calls_are_its_requests(read):
    found = read(MEDICAL, [visit()], "model-a/log.json")
    (rollout,) = found
    assert (rollout.task_id, rollout.run_id, rollout.meta["model"]) == ("task7_2", "log#1", "model-a")
    assert rollout.actions == (
        Action("", (ToolCall("get /fhir/Observation", {"patient": "S1", "code": "GLU"}),)),
        Action("", (ToolCall("post /fhir/Order", {"resourceType": "Order", "dose": {"value": 5, "unit": "mg"}}),)),
        Action("87"),
    )
    assert rollout.turns[0].observations == (Observation("user", "You serve."),)
    assert rollout.turns[2].observations == (Observation("tool", "accepted", "post /fhir/Order"),)
    assert (rollout.stop, rollout.success) == (StopReason.FINISHED, True)
    assert [name for _, name in found.files] == ["mapped"]


def test_trap_21_runs_of_several_models_are_told_apart_by_the_folder(write):
    for folder in ("model-a", "model-b"):
        write(f"runs/{folder}/log.json", [visit(query=f"patient={folder}")])
    found = read_rollouts(write("runs/x.json", []).parent, mapping=write("map.toml", MEDICAL))
    assert [(each.run_id, each.meta["model"]) for each in found] == [
        ("model-a/log#1", "model-a"),
        ("model-b/log#1", "model-b"),
    ]


def test_trap_23_and_25_the_order_of_parameters_and_keys_and_an_appended_format_make_no_difference(read):
    other = {"dose": {"unit": "mg", "value": 5}, "resourceType": "Order"}
    first, second = read(MEDICAL, [visit(1), visit(2, "code=GLU&patient=S1&_format=json", other)])
    assert [action_key(each) for each in first.actions] == [action_key(each) for each in second.actions]


def test_trap_24_agreement_is_not_correctness(read):
    runs = [visit(n, result='["The mean is 87.0"]', correct=False) for n in range(7)] + [visit(7)]
    (group,) = group_rollouts(read(MEDICAL, runs))
    assert [each.success for each in group.valid] == [False] * 7 + [True]
    assert [each.answer for each in group.valid][-2:] == ["The mean is 87.0", "87"]


@pytest.mark.parametrize(
    ("changes", "stop", "problem"),
    [
        ({"status": "agent_invalid_action"}, StopReason.CUT, None),
        (
            {"status": "infra_fail", "infra_reason": "400 No configured provider", "correct": False},
            StopReason.INVALID,
            "infra_error: 400 No configured provider",
        ),
        ({"status": "infra_fail"}, StopReason.INVALID, "infra_error: infra_fail"),
        ({"turns": []}, StopReason.INVALID, "no action of the agent"),
    ],
)
def test_each_status_has_the_meaning_that_the_mapping_gives_it(read, changes, stop, problem):
    (rollout,) = read(MEDICAL, [visit(**changes)])
    assert (rollout.stop, rollout.problem) == (stop, problem)
    assert rollout.success is (None if problem else True)  # what the log says counts, also of a run that was cut


def test_a_cut_run_is_valid_and_failed_where_the_log_does_not_say(read):
    (rollout,) = read(MEDICAL, [visit(status="agent_invalid_action", correct=None)])
    assert (rollout.valid, rollout.success) == (True, False)


def test_trap_26_texts_of_any_length_are_read(read):
    long = visit()
    long["turns"][0]["observation"] = "x" * 27_748
    (rollout,) = read(MEDICAL, [long])
    assert len(rollout.turns[1].observations[0].text) == 27_748


VOICE = """
task = "task_id"
run = "ts"
success = "outcome.task_success"
status = "outcome.end_reason"
finished = ["hang_up"]
cut = ["turn_cap"]
[turns]
list = "turns"
before = "user_msg"
text = "agent_reply"
"""


def session(ts, *turns, success=True, reason="hang_up"):
    spoken = [{"n": n, "user_msg": user, "agent_reply": agent} for n, (user, agent) in enumerate(turns)]
    return {"task_id": "book", "ts": ts, "outcome": {"task_success": success, "end_reason": reason}, "turns": spoken}


def test_traps_27_to_31_of_voice_sessions(read):
    content = [
        session("t1", ("Hello.", "Hi."), ("A room.", "")),
        session("t2", success=None, reason="not run"),
        session("t3", ("Hello.", "Hi."), success=None),
        session("t4", ("Hello.", "Hi."), reason="turn_cap", success=False),
    ]
    dropped, never, unknown, capped = read(VOICE, content)
    assert dropped.actions == (Action("Hi."), Action(""))
    assert dropped.turns[1].observations == (Observation("user", "A room."),)
    assert "empty action" in dropped.notes
    assert (never.problem, never.success) == ("no messages", None)
    assert (unknown.valid, unknown.success) == (True, None)
    assert (capped.stop, capped.success) == (StopReason.CUT, False)
    assert [each.run_id for each in (dropped, never)] == ["log#t1", "log#t2"]


TEAM = """
task = "question_ID"
success = "is_correct"
[messages]
list = "history"
agent = ["Orchestrator (-> WebSurfer)", "WebSurfer"]
skip = ["Orchestrator (thought)"]
"""


def test_messages_under_roles_of_the_log_s_own_are_read_and_thoughts_are_no_actions(read):
    history = [
        {"role": "human", "content": "Find it."},
        {"role": "Orchestrator (thought)", "content": "Hm."},
        {"role": "Orchestrator (-> WebSurfer)", "content": "Search."},
        {"role": "WebSurfer", "content": "Found."},
        {"role": "tool", "content": "page"},
    ]
    (rollout,) = read(TEAM, {"question_ID": "q", "is_correct": "no", "history": history})
    assert rollout.actions == (Action("Search."), Action("Found."))
    assert rollout.turns[0].observations == (Observation("user", "Find it."),)
    assert rollout.last_observations == (Observation("tool", "page"),)
    assert rollout.success is False


QUIZ = 'task = "qid"\nrun = "serial_number"\nprompt = "query"\nanswer = "sample"\n'


def test_a_table_is_read_by_a_mapping_too(read):
    text = "serial_number,qid,query,sample\n1,q1,首都は?,ブダペスト\n2,q1,首都は?,ブダペストです。\n"
    found = read(QUIZ, text, "quiz.csv")
    assert [(each.task_id, each.run_id, each.answer) for each in found] == [
        ("q1", "quiz#1", "ブダペスト"),
        ("q1", "quiz#2", "ブダペストです。"),
    ]


def test_records_may_lie_deeper_in_the_file(read):
    content = {"data": {"rows": [{"t": "a", "x": "1"}, {"t": "a", "x": "2"}]}}
    found = read('records = "data.rows"\ntask = "t"\nanswer = "x"', content)
    assert [each.run_id for each in found] == ["log#0", "log#1"]
    found = read('records = "data.row"\ntask = "t"\nanswer = "x"', content, "other.json")
    assert [(item.pointer, item.reason) for item in found.excluded] == [
        ("/data/row", "missing or null (expected an object)")
    ]


def test_a_path_that_no_record_has_is_told_but_null_is_there(read):
    found = read('task = "t"\nanswer = "x"\nsuccess = "ok"\nreward = "score"', [{"t": "a", "x": "1", "score": None}])
    assert found.warnings == (f"{found.rollouts[0].path}: no record has 'ok'",)


def test_a_record_without_a_task_is_excluded_with_the_keys_that_it_has(read):
    found = read('task = "t"\nanswer = "x"', [{"t": "a", "x": "1"}, {"x": "2", "other": 1}, {"t": " ", "x": "3"}])
    assert [(item.pointer, item.reason) for item in found.excluded] == [
        ("/1/t", "missing or blank: no task (the record has x, other)"),
        ("/2/t", "missing or blank: no task (the record has t, x)"),
    ]


def test_facts_are_passed_on_and_words_are_understood(read):
    mapping = 'task = "t"\nanswer = "x"\nsuccess = "ok"\nreward = "r"\n'
    mapping += 'response_id = "id"\ncached = "c"\nstarted = "at"\nseed = "s"'
    row = {"t": "a", "x": "1", "ok": "Incorrect", "r": "0.25", "id": "resp_1", "c": "true", "at": "10:00", "s": 7}
    first, second = read(mapping, [row, row | {"ok": "perhaps", "r": "high", "c": "no", "id": ["a", "b"], "s": None}])
    assert (first.success, first.reward) == (False, 0.25)
    expected = {"response_ids": ["resp_1"], "cached": True, "started": "10:00", "seed": 7}
    assert {key: first.meta[key] for key in expected} == expected
    assert (second.success, second.reward) == (None, None)
    assert second.notes == ("success that is neither yes nor no", "reward that is not a number")
    assert (second.meta["cached"], second.meta["response_ids"], "seed" in second.meta) == (False, ["a", "b"], False)


def test_a_status_that_the_mapping_does_not_name_is_noted(read):
    (rollout,) = read('task = "t"\nanswer = "x"\nstatus = "s"\nfinished = ["done"]', [{"t": "a", "x": "1", "s": "odd"}])
    assert (rollout.stop, rollout.notes) == (StopReason.FINISHED, ("a status that is not known: odd",))


def test_a_mapping_and_a_format_exclude_each_other(write):
    mapping = write("map.toml", 'task = "t"\nanswer = "x"')
    with pytest.raises(UnknownFormatError):
        read_rollouts(write("a.json", [{"t": "a", "x": "1"}]), mapping=mapping, format="tau2")


def test_a_file_that_is_neither_json_nor_a_table_is_an_error(write):
    mapping = write("map.toml", 'task = "t"\nanswer = "x"')
    with pytest.raises(RolloutFormatError, match="a table without rows"):
        read_rollouts(write("a.txt", "hello"), mapping=mapping)


def test_no_file_is_taken_by_a_mapping_that_was_not_asked_for(write):
    path = write("a.json", [visit()])
    with pytest.raises(UnknownFormatError):
        read_rollouts(path)
