import json

import pytest

from likewise.core.rollout import Action, Observation, StopReason, ToolCall, Turn
from likewise.formats import read_rollouts


def said(text):
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg", "role": "assistant", "content": content}


def called(name, arguments="{}", call_id="c1"):
    return {"type": "function_call", "id": "fc", "call_id": call_id, "name": name, "arguments": arguments}


def gave(output, call_id="c1"):
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def response(*output, number=1, **more):
    head = {"id": f"resp_{number}", "object": "response", "status": "completed", "model": "m", "error": None}
    return head | {"output": list(output)} | more


def exchange(given, *output, task="t", number=1, **more):
    return {
        "task_id": task,
        "request": {"model": "m", "input": given},
        "response": response(*output, number=number, **more),
    }


def read(write, *records, name="log.jsonl"):
    return read_rollouts(write(name, "".join(json.dumps(record) + "\n" for record in records)))


def test_an_exchange_is_a_run_of_one_action(write):
    reasoning = {"type": "reasoning", "summary": []}
    record = exchange("Where is it?", reasoning, said("Let me see."), called("find", '{"id": 1}'), called("look"))
    found = read(write, record)
    (rollout,) = found
    assert found.files[0][1] == "openai-responses"
    calls = (ToolCall("find", {"id": 1}), ToolCall("look", {}))
    assert rollout.turns == (Turn((Observation("user", "Where is it?"),), Action("Let me see.", calls)),)
    assert (rollout.task_id, rollout.run_id, rollout.stop) == ("t", "log#0", StopReason.CUT)
    assert rollout.meta["response_ids"] == ["resp_1"]
    assert rollout.meta["model"] == "m"


def test_repeats_of_a_question_are_runs_of_the_task_that_it_names(write):
    records = [response(said(text), number=n, input="Where is it?") for n, text in enumerate(["Here.", "There."])]
    assert [(each.task_id, each.run_id, each.answer) for each in read(write, *records)] == [
        ("Where is it?", "log#0", "Here."),
        ("Where is it?", "log#1", "There."),
    ]


def test_a_request_that_repeats_an_exchange_goes_on_with_its_run(write):
    ask = {"role": "user", "content": "Where?"}
    first, answer = called("find", call_id="c7"), said("Here.")
    records = [exchange([ask], first), exchange([ask, first, gave("a shelf", "c7")], answer, number=2)]
    (rollout,) = read(write, *records)
    assert rollout.turns == (
        Turn((Observation("user", "Where?"),), Action("", (ToolCall("find", {}),))),
        Turn((Observation("tool", "a shelf", "find"),), Action("Here.")),
    )
    assert (rollout.stop, rollout.meta["response_ids"]) == (StopReason.FINISHED, ["resp_1", "resp_2"])


def test_two_runs_that_are_logged_in_turns_stay_apart(write):
    def run(number, call_id, text):
        call = called("find", call_id=call_id)
        ask = {"role": "user", "content": "Where?"}
        second = exchange([ask, call, gave("x", call_id)], said(text), number=number + 10)
        return exchange([ask], call, number=number), second

    (a1, a2), (b1, b2) = run(1, "ca", "A."), run(2, "cb", "B.")
    assert [(each.run_id, each.answer, len(each.turns)) for each in read(write, a1, b1, b2, a2)] == [
        ("log#0", "A.", 2),
        ("log#1", "B.", 2),
    ]


def test_previous_response_id_goes_on_with_a_run(write):
    first = exchange("Where?", called("find"), number=1)
    second = exchange([gave("x")], said("Here."), number=2, previous_response_id="resp_1")
    third = exchange("Thanks.", said("Welcome."), number=3, previous_response_id="resp_2")
    (rollout,) = read(write, first, second, third)
    assert [turn.action.text for turn in rollout.turns] == ["", "Here.", "Welcome."]
    assert rollout.turns[1].observations == (Observation("tool", "x", "find"),)


def test_words_of_the_assistant_in_a_first_request_are_prepared(write):
    prepared = [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "And?"},
    ]
    (rollout,) = read(write, exchange(prepared, said("So.")))
    assert rollout.turns == (
        Turn(
            (Observation("user", "Hi."), Observation("assistant", "Hello."), Observation("user", "And?")), Action("So.")
        ),
    )


def test_a_list_of_items_is_a_whole_conversation_whose_assistant_is_the_agent(write):
    items = [
        {"role": "user", "content": "Hi."},
        said("Hello."),
        {"role": "user", "content": "And?"},
        called("find"),
        gave("x"),
    ]
    (rollout,) = read(write, {"task_id": "t", "items": items})
    assert rollout.actions == (Action("Hello."), Action("", (ToolCall("find", {}),)))
    assert rollout.last_observations == (Observation("tool", "x", "find"),)


def test_instructions_are_the_system_prompt(write):
    record = exchange("Hi.", said("Hello."))
    record["request"]["instructions"] = "Be kind."
    (rollout,) = read(write, record)
    assert rollout.turns[0].observations[0] == Observation("system", "Be kind.")


def test_tools_that_the_api_runs_itself_are_calls_and_their_output_is_seen_after(write):
    search = {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}
    mcp = {"type": "mcp_call", "name": "ask", "arguments": '{"q": 1}', "output": "42"}
    (rollout,) = read(write, exchange("Hi.", search, mcp, said("It is 42.")))
    calls = (ToolCall("web_search", {"type": "search", "query": "q"}), ToolCall("ask", {"q": 1}))
    assert rollout.actions == (Action("", calls), Action("It is 42."))
    assert [o.text for o in rollout.turns[1].observations] == ["42"]


def batch(custom_id, body, status=200, error=None):
    answer = None if body is None else {"status_code": status, "request_id": "r", "body": body}
    return {"id": "batch_1", "custom_id": custom_id, "response": answer, "error": error}


def test_a_batch_names_its_tasks_and_numbers_their_runs(write):
    records = [batch(f"q1-run-{n}", response(said(str(n)), number=n)) for n in range(2)]
    records += [batch("q2", response(said("x"), number=9))]
    assert [(each.task_id, each.run_id) for each in read(write, *records)] == [
        ("q1", "log#0"),
        ("q1", "log#1"),
        ("q2", "log#0"),
    ]


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (batch("q", None, error={"code": "expired", "message": "It took too long"}), "infra_error: It took too long"),
        (batch("q", {"error": {"message": "no quota"}}, 429), "infra_error: no quota"),
        (batch("q", {}, 500), "infra_error: 500"),
        (batch("q", response(status="failed", error={"code": "server_error", "message": "boom"})), "infra_error: boom"),
    ],
)
def test_a_call_that_failed_is_the_harness_s_failure(write, record, problem):
    found = read(write, batch("p", response(said("ok"))), record)
    assert [(each.task_id, each.problem) for each in found] == [("p", None), ("q", problem)]


def test_a_failed_call_inside_a_run_may_be_tried_again(write):
    ask, first = {"role": "user", "content": "Where?"}, called("find")
    again = [ask, first, gave("x")]
    failed = {"task_id": "t", "request": {"input": again}, "response": None, "error": "429"}
    (rollout,) = read(write, exchange([ask], first), failed)
    assert rollout.problem == "infra_error: 429"
    (rollout,) = read(write, exchange([ask], first), failed, exchange(again, said("Here."), number=2), name="b.jsonl")
    assert (rollout.stop, len(rollout.turns)) == (StopReason.FINISHED, 2)


@pytest.mark.parametrize(
    ("changes", "stop", "notes"),
    [
        ({}, StopReason.FINISHED, ()),
        ({"status": None}, StopReason.FINISHED, ("the log does not say how the run ended",)),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            StopReason.CUT,
            ("stopped by the token limit",),
        ),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            StopReason.CUT,
            ("incomplete: content_filter",),
        ),
        ({"status": "cancelled"}, StopReason.CUT, ("status: cancelled",)),
    ],
)
def test_each_status_has_its_meaning(write, changes, stop, notes):
    (rollout,) = read(write, exchange("Hi.", said("Hello."), **changes))
    assert (rollout.stop, rollout.notes) == (stop, notes)


def test_a_refusal_is_what_the_agent_said_and_an_outcome_beside_it_is_kept(write):
    refused = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    (rollout,) = read(write, exchange("Hi.", refused) | {"reward": 0.0, "success": False})
    assert (rollout.answer, rollout.reward, rollout.success) == ("No.", 0.0, False)


def test_a_list_of_responses_in_one_file_is_read(write):
    path = write("log.json", [response(said("A."), input="Q"), response(said("B."), input="Q", number=2)])
    assert [each.answer for each in read_rollouts(path)] == ["A.", "B."]


@pytest.mark.parametrize(
    ("record", "pointer"),
    [
        ({"task_id": "t", "response": {}}, ""),
        ("text", ""),
        (response(said("A.")), ""),
        (exchange("Q", {"type": "function_call"}), "/response/output/0/name"),
        (exchange("Q", 4), "/response/output/0"),
        (exchange([{"type": 1}], said("A.")), "/request/input/0/type"),
        (exchange("Q", {"type": "message", "role": "assistant", "content": 3}), "/response/output/0/content"),
        (exchange("Q", said("A.")) | {"success": "yes"}, "/success"),
    ],
)
def test_a_record_that_cannot_be_read_is_excluded_with_line_and_pointer(write, record, pointer):
    found = read(write, exchange("Q", said("A.")), record)
    assert len(found) == 1
    assert [(item.line, item.pointer) for item in found.excluded] == [(2, pointer)]
