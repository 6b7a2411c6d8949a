import json

import pytest

from likewise.core.rollout import Action, Observation, StopReason, ToolCall, Turn
from likewise.formats import read_rollouts


def text(words, **more):
    return {"type": "text", "text": words, **more}


def use(name, call_id="t1", **arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def message(*content, number=1, stop="end_turn", **more):
    head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "stop_reason": stop}
    return head | {"content": list(content), "usage": {}} | more


def user(content):
    return {"role": "user", "content": content}


def exchange(given, *content, task="t", **more):
    return {"task_id": task, "request": {"model": "m", "messages": given}, "response": message(*content, **more)}


def result(content, call_id="t1"):
    return user([{"type": "tool_result", "tool_use_id": call_id, "content": content}])


def read(write, *records, name="log.jsonl"):
    return read_rollouts(write(name, "".join(json.dumps(record) + "\n" for record in records)))


def test_an_exchange_is_a_run_of_one_action(write):
    record = exchange([user("Where?")], {"type": "thinking", "thinking": "Hm."}, text("Let me see."), use("find", id=1))
    record["response"]["stop_reason"] = "tool_use"
    record["request"]["system"] = [text("Be kind.")]
    found = read(write, record)
    (rollout,) = found
    assert found.files[0][1] == "anthropic-messages"
    assert rollout.turns == (
        Turn(
            (Observation("system", "Be kind."), Observation("user", "Where?")),
            Action("Let me see.", (ToolCall("find", {"id": 1}),)),
        ),
    )
    assert rollout.stop is StopReason.CUT
    assert set(rollout.notes) == {"reasoning left out", "the log ends before the agent's next action"}
    assert rollout.meta["response_ids"] == ["msg_1"]


def test_a_request_that_repeats_an_exchange_goes_on_with_its_run_however_it_is_written(write):
    first = exchange([user("Where?")], text("See.", citations=None), use("find"), stop="tool_use")
    told = {"role": "assistant", "content": [text("See."), use("find") | {"cache_control": {"type": "ephemeral"}}]}
    second = exchange([user([text("Where?")]), told, result("x")], text("Here."), number=2)
    (rollout,) = read(write, first, second)
    assert [turn.action.text for turn in rollout.turns] == ["See.", "Here."]
    assert rollout.turns[1].observations == (Observation("tool", "x", "find"),)
    assert rollout.stop is StopReason.FINISHED


def test_equal_first_answers_of_two_runs_are_gone_on_with_once_each(write):
    ask, told = user("Where?"), {"role": "assistant", "content": "Which one?"}
    firsts = [exchange([ask], text("Which one?"), number=n) for n in (1, 2)]
    seconds = [
        exchange([ask, told, user("The red one.")], text(words), number=n) for n, words in ((3, "A."), (4, "B."))
    ]
    assert [(len(each.turns), each.answer) for each in read(write, *firsts, *seconds)] == [(2, "A."), (2, "B.")]


def test_a_batch_is_read_and_what_did_not_succeed_is_invalid(write):
    records = [
        {"custom_id": "q_trial_0", "result": {"type": "succeeded", "message": message(text("A."))}},
        {"custom_id": "q_trial_1", "result": {"type": "errored", "error": {"error": {"message": "overloaded"}}}},
        {"custom_id": "q_trial_2", "result": {"type": "expired"}},
    ]
    found = read(write, *records)
    assert {each.task_id for each in found} == {"q"}
    assert [each.problem for each in found] == [None, "infra_error: overloaded", "infra_error: expired"]


def test_a_conversation_of_blocks_is_read_whole_and_not_as_openai_chat(write):
    asked = {"role": "assistant", "content": [text("See."), use("find", id=1)]}
    messages = [user("Where?"), asked, result("x"), {"role": "assistant", "content": [text("Here.")]}]
    found = read(write, {"task_id": "t", "messages": messages})
    (rollout,) = found
    assert found.files[0][1] == "anthropic-messages"
    assert rollout.actions == (Action("See.", (ToolCall("find", {"id": 1}),)), Action("Here."))


def test_a_chat_without_blocks_is_left_to_openai_chat(write):
    found = read(write, {"task_id": "t", "messages": [user("Hi."), {"role": "assistant", "content": "Hello."}]})
    assert found.files[0][1] == "openai-chat"


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", StopReason.FINISHED),
        ("stop_sequence", StopReason.FINISHED),
        ("refusal", StopReason.FINISHED),
        ("max_tokens", StopReason.CUT),
        ("model_context_window_exceeded", StopReason.CUT),
        ("pause_turn", StopReason.CUT),
        ("something_new", StopReason.CUT),
        (None, StopReason.FINISHED),
    ],
)
def test_each_stop_reason_has_its_meaning(write, reason, stop):
    (rollout,) = read(write, exchange([user("Hi.")], text("Hello."), stop=reason))
    assert rollout.stop is stop


@pytest.mark.parametrize(
    ("record", "pointer"),
    [
        (exchange([user("Q")], {"type": "text"}), "/response/content/0/text"),
        (exchange([3], text("A.")), "/request/messages/0"),
        (exchange([{"content": "x"}], text("A.")), "/request/messages/0/role"),
        (message(text("A.")), ""),
    ],
)
def test_a_record_that_cannot_be_read_is_excluded_with_line_and_pointer(write, record, pointer):
    found = read(write, exchange([user("Q")], text("A.")), record)
    assert [(item.line, item.pointer) for item in found.excluded] == [(2, pointer)]
