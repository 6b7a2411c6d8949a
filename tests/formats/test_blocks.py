import pytest

from likewise.core.rollout import Action, Observation, ToolCall
from likewise.formats.blocks import chat_from_blocks
from likewise.formats.fields import FieldError
from likewise.formats.messages import read_messages


def talk(*messages):
    return read_messages(chat_from_blocks(list(messages), ""), "")


def use(name, call_id, **arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id, content):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def test_text_and_calls_of_one_message_are_one_action():
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Looking."}, use("a", "1", x=1), use("b", "2")],
    }
    assert talk(message).turns[0].action == Action("Looking.", (ToolCall("a", {"x": 1}), ToolCall("b", {})))


def test_results_are_named_by_the_id_of_their_call_whatever_their_order():
    asked = {"role": "assistant", "content": [use("a", "1"), use("b", "2")]}
    given = {"role": "user", "content": [result("2", "B"), result("1", [{"type": "text", "text": "A"}])]}
    assert talk(asked, given).last_observations == (Observation("tool", "B", "b"), Observation("tool", "A", "a"))


def test_an_id_that_returns_names_the_latest_call_of_that_id():
    first = [{"role": "assistant", "content": [use("a", "1")]}, {"role": "user", "content": [result("1", "x")]}]
    second = [{"role": "assistant", "content": [use("b", "1")]}, {"role": "user", "content": [result("1", "y")]}]
    assert talk(*first, *second).last_observations == (Observation("tool", "y", "b"),)


def test_a_user_may_speak_beside_a_result():
    asked = {"role": "assistant", "content": [use("a", "1")]}
    given = {"role": "user", "content": [result("1", None), {"type": "text", "text": "Go on."}]}
    assert talk(asked, given).last_observations == (Observation("tool", "", "a"), Observation("user", "Go on."))


def test_a_result_inside_an_answer_parts_it_into_two_actions():
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}
    found = {
        "type": "web_search_tool_result",
        "tool_use_id": "s",
        "content": [{"type": "web_search_result", "url": "u"}],
    }
    read = talk({"role": "assistant", "content": [search, found, {"type": "text", "text": "It is so."}]})
    assert [turn.action for turn in read.turns] == [
        Action("", (ToolCall("web_search", {"query": "q"}),)),
        Action("It is so."),
    ]
    assert read.turns[1].observations == (Observation("tool", "[web_search_result]", "web_search"),)


def test_thinking_is_left_out_and_a_raw_string_is_text():
    message = {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, "Yes."]}
    read = talk(message)
    assert (read.turns[0].action, read.notes) == (Action("Yes."), ("reasoning left out",))


def test_a_message_without_blocks_stays_an_empty_action():
    assert talk({"role": "assistant", "content": []}).notes == ("empty action",)


@pytest.mark.parametrize(
    ("content", "pointer"),
    [
        (3, "/0/content"),
        ([3], "/0/content/0"),
        ([{"text": "x"}], "/0/content/0/type"),
        ([{"type": "text", "text": 1}], "/0/content/0/text"),
        ([{"type": "tool_use", "input": {}}], "/0/content/0/name"),
        ([{"type": "tool_use", "name": " ", "input": {}}], "/0/content/0/name"),
        ([{"type": "tool_result", "content": 5}], "/0/content/0/content"),
        ([{"type": "tool_result", "content": [{"type": "text"}]}], "/0/content/0/content/0/text"),
    ],
)
def test_what_is_no_block_is_refused_with_its_place(content, pointer):
    with pytest.raises(FieldError) as caught:
        chat_from_blocks([{"role": "user", "content": content}], "")
    assert caught.value.pointer == pointer
