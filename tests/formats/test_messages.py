import pytest

from likewise.core.rollout import Action, Observation, ToolCall, Turn
from likewise.core.state_text import action_text
from likewise.formats.fields import FieldError
from likewise.formats.messages import read_messages


def call(name, arguments, call_id="c1"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def assistant(content=None, *calls, **more):
    return {"role": "assistant", "content": content, "tool_calls": list(calls) or None, **more}


def only_action(*messages):
    talk = read_messages(list(messages), "")
    assert len(talk.turns) == 1
    return talk.turns[0].action, talk.notes


def test_a_turn_observes_everything_since_the_previous_action():
    talk = read_messages(
        [
            {"role": "system", "content": "Rules."},
            {"role": "user", "content": "Hi."},
            assistant("Let me look.", call("get", '{"id": 1}')),
            {"role": "tool", "content": "found", "tool_call_id": "c1"},
            assistant("Here it is."),
            {"role": "user", "content": "Bye."},
        ],
        "",
    )
    assert talk.turns == (
        Turn(
            (Observation("system", "Rules."), Observation("user", "Hi.")),
            Action("Let me look.", (ToolCall("get", {"id": 1}),)),
        ),
        Turn((Observation("tool", "found", "get"),), Action("Here it is.")),
    )
    assert talk.last_observations == (Observation("user", "Bye."),)
    assert talk.notes == ()


def test_two_assistant_messages_in_a_row_are_two_turns():
    talk = read_messages([{"role": "user", "content": "Hi."}, assistant("One."), assistant("Two.")], "")
    assert [turn.action.text for turn in talk.turns] == ["One.", "Two."]
    assert talk.turns[1].observations == ()


def test_trap_1_results_pair_with_calls_by_position_though_ids_repeat():
    talk = read_messages(
        [
            assistant(None, call("first", "{}", "same"), call("second", "{}", "same")),
            {"role": "tool", "content": "1", "tool_call_id": "same"},
            {"role": "tool", "content": "2", "tool_call_id": "same"},
            assistant("End."),
        ],
        "",
    )
    assert talk.turns[1].observations == (Observation("tool", "1", "first"), Observation("tool", "2", "second"))


def test_a_result_beyond_the_calls_stays_without_a_name():
    talk = read_messages([{"role": "tool", "content": "stray"}, assistant("End.")], "")
    assert talk.turns[0].observations == (Observation("tool", "stray", None),)


@pytest.mark.parametrize(
    "listed",
    [
        call("get", '{"id": 1}'),
        call("get", {"id": 1}),
        {"name": "get", "arguments": {"id": 1}},
        {"function": "get", "arguments": {"id": 1}},
        call("get", '"{\\"id\\": 1}"'),
    ],
)
def test_arguments_as_string_as_object_and_in_every_known_place_are_the_same_call(listed):
    action, notes = only_action(assistant(None, listed))
    assert action.tool_calls == (ToolCall("get", {"id": 1}),)
    assert notes == ()


@pytest.mark.parametrize("arguments", [None, "", "  ", "{}", {}])
def test_a_call_without_arguments_has_an_empty_object(arguments):
    action, notes = only_action(assistant(None, call("now", arguments)))
    assert action.tool_calls == (ToolCall("now", {}),)
    assert notes == ()


def test_arguments_that_do_not_parse_stay_the_raw_string_and_are_noted():
    action, notes = only_action(assistant(None, call("get", '{"id": ')))
    assert action.tool_calls == (ToolCall("get", '{"id": '),)
    assert notes == ("arguments that do not parse",)


def test_arguments_written_as_a_python_literal_are_read_and_noted():
    # Four of the five tau-bench samples (assertions-agent) write all their arguments this way.
    action, notes = only_action(assistant(None, call("get", "{'id': 'x', 'ids': ('a', 1), 'on': True, 'off': None}")))
    assert action.tool_calls == (ToolCall("get", {"id": "x", "ids": ["a", 1], "on": True, "off": None}),)
    assert notes == ("arguments written as a Python literal",)


@pytest.mark.parametrize(
    "text",
    [
        "{'a': open('/etc/passwd')}",
        "{'a', 'b'}",
        "{1: 2}",
        "{'a': b'x'}",
        "{'a': 1j}",
        "{'a': __import__('os')}",
        "{'a': " * 300,
        "{'a': " + "(" * 300 + ")" * 300 + "}",
        "{'a\x00': }",
        "{'a': '\\d'",
    ],
)
def test_a_python_literal_that_json_cannot_hold_stays_text(text):
    action, notes = only_action(assistant(None, call("get", text)))
    assert action.tool_calls == (ToolCall("get", text),)
    assert notes == ("arguments that do not parse",)


@pytest.mark.parametrize(("arguments", "raw"), [("[1, 2]", "[1, 2]"), ([1, 2], "[1, 2]"), ("7", "7")])
def test_arguments_that_are_no_object_stay_text_and_are_noted(arguments, raw):
    action, notes = only_action(assistant(None, call("get", arguments)))
    assert action.tool_calls == (ToolCall("get", raw),)
    assert notes == ("arguments that are not an object",)


def test_arguments_nested_101_deep_stay_text_that_the_canonical_form_survives():
    nested = 1
    for _ in range(101):
        nested = {"a": nested}
    action, notes = only_action(assistant(None, call("get", nested)))
    assert action.tool_calls[0].arguments == '{"a": ' * 101 + "1" + "}" * 101
    assert notes == ("arguments nested too deeply, kept as text",)
    assert action_text(action).startswith("get(")


def test_trap_5_of_the_issues_two_equal_calls_in_one_message_stay_two():
    action, _ = only_action(assistant(None, call("search", '{"q":"x"}'), call("search", '{"q":"x"}')))
    assert action.tool_calls == (ToolCall("search", {"q": "x"}), ToolCall("search", {"q": "x"}))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("plain", "plain"),
        ([{"type": "text", "text": "a"}, {"type": "output_text", "text": "b"}, "c"], "a\nb\nc"),
        ([], ""),
    ],
)
def test_content_may_be_null_text_or_parts(content, text):
    action, _ = only_action(assistant(content, call("get", "{}")))
    assert action.text == text


def test_a_message_without_the_key_content_is_as_null():
    action, _ = only_action({"role": "assistant", "tool_calls": [call("get", "{}")]})
    assert action == Action("", (ToolCall("get", {}),))


def test_parts_that_are_not_text_leave_a_mark_and_a_note_and_thoughts_are_left_out():
    action, notes = only_action(
        assistant([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Look:"}, {"type": "image_url"}])
    )
    assert action.text == "Look:\n[image_url]"
    assert notes == ("reasoning left out", "content that is not text")


def test_a_refusal_is_the_text_where_there_is_no_content():
    assert only_action(assistant(None, refusal="I can't."))[0].text == "I can't."
    assert only_action(assistant("Yes.", refusal="I can't.", annotations=[]))[0].text == "Yes."


def test_the_old_function_call_of_openai_is_a_call():
    talk = read_messages(
        [
            {"role": "assistant", "content": None, "function_call": {"name": "get", "arguments": "{}"}},
            {"role": "function", "name": "get", "content": "1"},
        ],
        "",
    )
    assert talk.turns[0].action.tool_calls == (ToolCall("get", {}),)
    assert talk.last_observations == (Observation("tool", "1", "get"),)


@pytest.mark.parametrize("content", [None, "", "  \n", []])
def test_an_empty_assistant_message_is_kept_as_an_action_and_noted(content):
    action, notes = only_action(assistant(content))
    assert action.is_empty
    assert notes == ("empty action",)


@pytest.mark.parametrize(
    "text",
    [
        '{"message": "Your id, please?"}',
        '{\n  "message": "Your id, please?"\n}\n',
        '{"response": "Your id, please?"}',
        '{"type": "message", "content": "Your id, please?"}',
        '```json\n{"answer": "Your id, please?"}\n```',
    ],
)
def test_trap_11_a_text_in_a_json_envelope_is_unwrapped_and_noted(text):
    action, notes = only_action(assistant(text))
    assert action.text == "Your id, please?"
    assert notes == ("text unwrapped from a JSON envelope",)


@pytest.mark.parametrize(
    "text",
    [
        '{"message": "a", "text": "b"}',
        '{"message": 3}',
        '{"message": {"text": "a"}}',
        '{"price": "9"}',
        '{"message": "a"} and more',
        "{}",
        "{" * 100_000,
        "[1]",
        '{"message": "a", "price": 9}',
    ],
)
def test_json_that_is_no_envelope_stays_as_it_is(text):
    action, notes = only_action(assistant(text))
    assert (action.text, notes) == (text, ())


@pytest.mark.parametrize(
    "text",
    [
        '{\n "function_call": {"action": "book", "action_input": {"user_id": "x"}}\n}',
        '{"function_call": {"action": "book", // with a comment\n "action_input": {}}}',
        '{"name": "book", "arguments": {"user_id": "x"}}',
        'I will book.\n<tool_call>{"name": "book"}</tool_call>',
    ],
)
def test_trap_12_a_tool_call_written_as_text_stays_text_and_is_noted(text):
    action, notes = only_action(assistant(text))
    assert action == Action(text)
    assert notes == ("tool call in text",)


def test_an_envelope_of_a_user_stays_what_the_user_said():
    talk = read_messages([{"role": "user", "content": '{"message": "hi"}'}, assistant("Hello.")], "")
    assert talk.turns[0].observations == (Observation("user", '{"message": "hi"}'),)


def test_nul_and_lone_surrogates_are_kept():
    action, _ = only_action(assistant("a\x00b\ud800c"))
    assert action.text == "a\x00b\ud800c"
    assert action_text(action) == "a b c"


def test_ten_thousand_turns_are_read():
    assert len(read_messages([assistant(str(n)) for n in range(10_000)], "").turns) == 10_000


@pytest.mark.parametrize(
    ("messages", "pointer", "problem"),
    [
        (None, "/m", "missing"),
        ({}, "/m", "an object (expected a list)"),
        (["hi"], "/m/0", "a string (expected an object)"),
        ([{"content": "hi"}], "/m/0/role", "missing"),
        ([{"role": "critic", "content": "hi"}], "/m/0/role", "unknown role 'critic'"),
        ([{"role": "user", "content": 13.46}], "/m/0/content", "a number (expected a string, null or a list"),
        ([{"role": "user", "content": [7]}], "/m/0/content/0", "a number (expected an object)"),
        ([{"role": "user", "content": [{"type": "text", "text": 7}]}], "/m/0/content/0/text", "a number"),
        ([{"role": "assistant", "tool_calls": {}}], "/m/0/tool_calls", "an object (expected a list)"),
        ([{"role": "assistant", "tool_calls": [None]}], "/m/0/tool_calls/0", "missing"),
        ([{"role": "assistant", "tool_calls": [{"function": {}}]}], "/m/0/tool_calls/0/function/name", "missing"),
        ([{"role": "assistant", "tool_calls": [{"name": " "}]}], "/m/0/tool_calls/0/name", "without a name"),
        ([{"role": "assistant", "tool_calls": [{"function": 3}]}], "/m/0/tool_calls/0/function", "a number"),
    ],
)
def test_a_wrong_type_is_named_with_its_json_pointer(messages, pointer, problem):
    with pytest.raises(FieldError) as caught:
        read_messages(messages, "/m")
    assert caught.value.pointer == pointer
    assert problem in caught.value.problem
