"""One conversation in every vendor's shape comes out the same. The shapes are those of the vendors' documentation."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.formats.message_shapes import messages_of, parsed, text_of
from likewise.formats.messages import read_messages

ARGUMENTS = {"city": "Oslo"}
TEXT = json.dumps(ARGUMENTS)


def seen(value, role="assistant"):
    """(role, text, calls) of each message, arguments as objects."""
    found = messages_of(value, role)
    return (
        None
        if found is None
        else [(m["role"], m["content"], [(c["name"], parsed(c["arguments"])) for c in m["tool_calls"]]) for m in found]
    )


SAID = [("assistant", "It is cold.", [])]
CALLED = [("assistant", "", [("get_weather", ARGUMENTS)])]
BOTH = [("assistant", "Let me look.", [("get_weather", ARGUMENTS)])]

OUTPUTS = {
    "plain text": ("It is cold.", SAID),
    "JSON in a string": (json.dumps({"role": "assistant", "content": "It is cold."}), SAID),
    "chat completion": (
        {
            "id": "chatcmpl-1",
            "choices": [
                {
                    "finish_reason": "tool_calls",
                    "message": {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [
                            {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": TEXT}}
                        ],
                    },
                }
            ],
        },
        CALLED,
    ),
    "legacy function call": (
        {"role": "assistant", "function_call": {"name": "get_weather", "arguments": TEXT}},
        CALLED,
    ),
    "refusal": ({"role": "assistant", "content": None, "refusal": "It is cold."}, SAID),
    "responses": (
        {
            "object": "response",
            "output": [
                {"type": "reasoning", "summary": []},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]},
                {"type": "function_call", "name": "get_weather", "call_id": "c", "arguments": TEXT},
            ],
        },
        BOTH,
    ),
    "anthropic": (
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "c", "name": "get_weather", "input": ARGUMENTS},
            ],
        },
        BOTH,
    ),
    "gemini": (
        {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [
                            {"text": "hm", "thought": True},
                            {"text": "Let me look."},
                            {"functionCall": {"name": "get_weather", "args": ARGUMENTS}},
                        ],
                    }
                }
            ]
        },
        BOTH,
    ),
    "adk": (
        {"content": {"role": "model", "parts": [{"function_call": {"name": "get_weather", "args": ARGUMENTS}}]}},
        CALLED,
    ),
    "vercel calls": ([{"toolCallId": "c", "toolName": "get_weather", "input": TEXT}], CALLED),
    "vercel parts": (
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me look."},
                {"type": "tool-call", "toolCallId": "c", "toolName": "get_weather", "args": ARGUMENTS},
            ],
        },
        BOTH,
    ),
    "langchain": (
        {
            "type": "ai",
            "content": "Let me look.",
            "tool_calls": [{"name": "get_weather", "args": ARGUMENTS, "id": "c"}],
        },
        BOTH,
    ),
    "langchain kwargs": (
        {
            "role": "assistant",
            "content": "",
            "additional_kwargs": {"tool_calls": [{"id": "c", "function": {"name": "get_weather", "arguments": TEXT}}]},
        },
        CALLED,
    ),
    "langchain result": (
        {"generations": [[{"message": {"lc": 1, "kwargs": {"type": "ai", "content": "It is cold."}}}]]},
        SAID,
    ),
    "otel parts": (
        [
            {
                "role": "assistant",
                "parts": [
                    {"type": "reasoning", "content": "hm"},
                    {"type": "text", "content": "Let me look."},
                    {"type": "tool_call", "id": "c", "name": "get_weather", "arguments": ARGUMENTS},
                ],
                "finish_reason": "tool_call",
            }
        ],
        BOTH,
    ),
    "otel event": ({"index": 0, "message": {"role": "assistant", "content": "It is cold."}}, SAID),
    "several of one assistant": (
        [
            {"role": "assistant", "content": "Let me look."},
            {"role": "assistant", "tool_calls": [{"name": "get_weather", "arguments": TEXT}]},
        ],
        BOTH,
    ),
}


@pytest.mark.parametrize("shape", OUTPUTS)
def test_an_answer_in_any_shape_is_one_message(shape):
    value, expected = OUTPUTS[shape]
    assert seen(value) == expected


HISTORY = [("system", "Be kind.", []), ("user", "Weather?", []), *CALLED, ("tool", "cold", [])]
CALL = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": TEXT}}

INPUTS = {
    "chat": [
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c", "content": "cold"},
    ],
    "messages inside": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c", "content": "cold"},
        ],
    },
    "responses": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": TEXT},
        {"type": "function_call_output", "call_id": "c", "output": "cold"},
    ],
    "anthropic": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "get_weather", "input": ARGUMENTS}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "cold"}]}],
        },
    ],
    "gemini": {
        "config": {"system_instruction": "Be kind."},
        "contents": [
            {"role": "user", "parts": [{"text": "Weather?"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "get_weather", "args": ARGUMENTS}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "get_weather", "response": "cold"}}]},
        ],
    },
    "langchain": {
        "messages": [
            {"type": "system", "content": "Be kind."},
            {"type": "human", "content": "Weather?"},
            {"type": "ai", "content": "", "tool_calls": [{"name": "get_weather", "args": ARGUMENTS, "id": "c"}]},
            {"type": "tool", "name": "get_weather", "content": "cold", "tool_call_id": "c"},
        ]
    },
    "vercel": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "c", "toolName": "get_weather", "input": ARGUMENTS}],
        },
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolCallId": "c", "toolName": "get_weather", "output": "cold"}],
        },
    ],
    "otel": [
        {"role": "system", "parts": [{"type": "text", "content": "Be kind."}]},
        {"role": "user", "parts": [{"type": "text", "content": "Weather?"}]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c", "name": "get_weather", "arguments": ARGUMENTS}],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "cold"}]},
    ],
}


@pytest.mark.parametrize("shape", INPUTS)
def test_a_history_in_any_shape_is_the_same_and_results_know_their_tool(shape):
    assert seen(INPUTS[shape], "user") == HISTORY
    assert seen(json.dumps(json.dumps(INPUTS[shape])), "user") == HISTORY
    assert messages_of(INPUTS[shape], "user")[-1]["name"] == "get_weather"


def test_trap_44_messages_written_as_text_are_taken_apart_in_inputs_only():
    text = "developer: Be kind.\nuser: Weather?\nin Oslo\nassistant: None\ntool: cold"
    assert seen(text, "user") == [
        ("system", "Be kind.", []),
        ("user", "Weather?\nin Oslo", []),
        ("assistant", "", []),
        ("tool", "cold", []),
    ]
    assert seen(text) == [("assistant", text, [])]
    assert seen("I told user: hello", "user") == [("user", "I told user: hello", [])]


def test_messages_written_as_a_python_repr_are_taken_out_of_it():
    lines = [
        "role='system' content='Be \\'kind\\'.' name=None created_at=1",
        "role='user' content=\"It's\\ncold\" tool_calls=None",
        "role='assistant' content=None tool_calls=[{'id': 'c'}]",
        "role='user' content='half",
    ]
    assert seen({"messages": lines}, "user") == [
        ("system", "Be 'kind'.", []),
        ("user", "It's\ncold", []),
        ("assistant", "", []),
    ]


def test_a_prompt_with_its_system_text_is_two_messages():
    assert seen({"prompt": "Weather?", "system": "Be kind."}, "user") == HISTORY[:2]
    assert seen({"prompt": [{"role": "user", "content": "Weather?"}]}, "user") == HISTORY[1:2]


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        {},
        [],
        3,
        True,
        {"content": "role"},
        {"location": "Oslo"},
        [{"title": "a"}, {"title": "b"}],
        ["a", "b"],
    ],
)
def test_what_is_no_message_is_none(value):
    assert messages_of(value, "user") is None


def test_a_tool_definition_logged_as_a_message_of_a_tool_is_left_out():
    definition = {"role": "tool", "content": {"type": "function", "function": {"name": "f", "parameters": {}}}}
    assert seen([{"role": "user", "content": "Hi."}, definition], "user") == [("user", "Hi.", [])]


def test_other_parts_leave_their_kind():
    parts = [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {}}]
    assert seen({"role": "user", "content": parts}, "user") == [("user", "See\n[image_url]", [])]


def test_a_call_without_a_name_is_left_out():
    assert seen({"role": "assistant", "content": "a", "tool_calls": [{"id": "c", "function": {}}, 3]}) == [
        ("assistant", "a", [])
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is ", "as it is "),
        (None, ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ({"content": [{"type": "text", "text": "a"}]}, "a"),
        ({"content": "a"}, "a"),
        ({"b": 1, "a": "é"}, '{"a": "é", "b": 1}'),
        (3, "3"),
    ],
)
def test_a_result_is_the_text_that_the_agent_saw(value, text):
    assert text_of(value) == text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "parts",
                    "type",
                    "text",
                    "tool_calls",
                    "function",
                    "name",
                    "arguments",
                    "choices",
                    "message",
                    "messages",
                    "output",
                    "object",
                    "contents",
                    "config",
                    "prompt",
                    "system",
                    "kwargs",
                    "generations",
                    "additional_kwargs",
                    "toolName",
                    "input",
                    "function_call",
                    "refusal",
                ]
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


@given(json_values, st.sampled_from(["user", "assistant"]))
def test_whatever_is_logged_becomes_messages_that_can_be_read(value, role):
    read_messages(messages_of(value, role) or [], "")


def test_what_is_nested_without_end_is_none_or_cut_off():
    deep: list = ["x"]
    for _ in range(5_000):
        deep = [deep]
    assert messages_of(deep, "user") is None
    assert messages_of('{"messages":' * 5_000 + "1" + "}" * 5_000, "user") is not None  # a text that is no JSON
